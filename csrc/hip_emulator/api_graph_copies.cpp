// Nodes of graphs that copy and fill memory.
#include "hip_emulator/api.h"
#include "hip_emulator/graph_nodes.h"
#include "hip_emulator/host_program.h"
#include "hip_emulator/transfer.h"

namespace wave::hip {

namespace {

StreamOperation node_copy(const Copy3d* given) {
  const RowCopy copy = rows_of(given);
  check_rows(copy.to, copy.counts);
  check_rows(copy.from, copy.counts);
  return copy_operation(copy, *given);
}

/// `symbol` is the side that is a symbol, which is the device's memory; other memory that HIP did not allocate is the
/// host's.
StreamOperation node_copy(void* to, const void* from, size_t size, MemcpyKind kind, const void* symbol = nullptr) {
  require(to != nullptr && from != nullptr && size != 0);
  check_kind(kind);
  const RowCopy copy{{to}, {const_cast<void*>(from)}, {size}};
  const bool to_host = !check_rows(copy.to, copy.counts) && to != symbol;
  const bool from_host = !check_rows(copy.from, copy.counts) && from != symbol;
  const bool fits = to_host == from_host || kind == (to_host ? kDeviceToHost : kHostToDevice) || kind == kCopyDefault;
  require(fits, hipErrorInvalidValue, "the memory is not where the copy's kind says");
  return copy_operation(copy, kind);
}

StreamOperation node_fill(const FillParameters* given) {
  require(given != nullptr && given->to != nullptr && given->width != 0 && given->height != 0);
  const unsigned size = given->element_size;
  require(size == 1 || size == 2 || size == 4);
  require(given->width <= ~size_t{0} / size);
  require(given->height == 1 || given->width * size <= given->pitch, hipErrorInvalidValue,
          "a row is longer than the pitch");
  return hip_emulator::fill_operation({given->to, given->pitch}, {given->width * size, given->height},
                                      {given->value, size});
}

/// Of a node that is there: AMD's runtime takes no copy of memory to itself then.
StreamOperation changed_copy(void* to, const void* from, size_t size, MemcpyKind kind) {
  require(to != from);
  return node_copy(to, from, size, kind);
}

/// The other side of a copy from or to a symbol: what the host's program calls a symbol is no memory.
template <class Pointer>
Pointer no_symbol(Pointer pointer) {
  require(!host_program().is_symbol(pointer), hipErrorInvalidValue, "a symbol was given for memory");
  return pointer;
}

StreamOperation copy_to_symbol(const void* symbol, const void* from, size_t size, size_t offset, MemcpyKind kind) {
  check_symbol_kind(kind, kHostToDevice);
  void* const part = part_of(symbol, size, offset);
  return node_copy(part, from, size, kind, part);
}

StreamOperation copy_from_symbol(void* to, const void* symbol, size_t size, size_t offset, MemcpyKind kind) {
  check_symbol_kind(kind, kDeviceToHost);
  const void* const part = part_of(symbol, size, offset);
  return node_copy(to, part, size, kind, part);
}

}  // namespace

Error hipGraphAddMemcpyNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                            const Copy3d* copy) {
  return add(__func__, node, graph, dependencies, count, [&] { return node_copy(copy); });
}
Error hipGraphMemcpyNodeGetParams(GraphNode node, Copy3d* copy) {
  return get(__func__, node, copy, [](const NodeRecord& found) { return *work_of<CopyWork>(found).copy; });
}
Error hipGraphMemcpyNodeSetParams(GraphNode node, const Copy3d* copy) {
  return set(__func__, node, [&] { return node_copy(copy); });
}
Error hipGraphExecMemcpyNodeSetParams(GraphExec exec, GraphNode node, Copy3d* copy) {
  return set(__func__, exec, node, [&] { return node_copy(copy); });
}

Error hipGraphAddMemcpyNode1D(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count, void* to,
                              const void* from, size_t size, MemcpyKind kind) {
  return add(__func__, node, graph, dependencies, count, [&] { return node_copy(to, from, size, kind); });
}
Error hipGraphMemcpyNodeSetParams1D(GraphNode node, void* to, const void* from, size_t size, MemcpyKind kind) {
  return set(__func__, node, [&] { return changed_copy(to, from, size, kind); });
}
Error hipGraphExecMemcpyNodeSetParams1D(GraphExec exec, GraphNode node, void* to, const void* from, size_t size,
                                        MemcpyKind kind) {
  return set(__func__, exec, node, [&] { return changed_copy(to, from, size, kind); });
}

Error hipGraphAddMemcpyNodeToSymbol(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                                    const void* symbol, const void* from, size_t size, size_t offset, MemcpyKind kind) {
  return add(__func__, node, graph, dependencies, count,
             [&] { return copy_to_symbol(symbol, from, size, offset, kind); });
}
Error hipGraphMemcpyNodeSetParamsToSymbol(GraphNode node, const void* symbol, const void* from, size_t size,
                                          size_t offset, MemcpyKind kind) {
  return set(__func__, node, [&] { return copy_to_symbol(symbol, no_symbol(from), size, offset, kind); });
}
Error hipGraphExecMemcpyNodeSetParamsToSymbol(GraphExec exec, GraphNode node, const void* symbol, const void* from,
                                              size_t size, size_t offset, MemcpyKind kind) {
  return set(__func__, exec, node, [&] { return copy_to_symbol(symbol, no_symbol(from), size, offset, kind); });
}

Error hipGraphAddMemcpyNodeFromSymbol(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                                      void* to, const void* symbol, size_t size, size_t offset, MemcpyKind kind) {
  return add(__func__, node, graph, dependencies, count,
             [&] { return copy_from_symbol(to, symbol, size, offset, kind); });
}
Error hipGraphMemcpyNodeSetParamsFromSymbol(GraphNode node, void* to, const void* symbol, size_t size, size_t offset,
                                            MemcpyKind kind) {
  return set(__func__, node, [&] { return copy_from_symbol(no_symbol(to), symbol, size, offset, kind); });
}
Error hipGraphExecMemcpyNodeSetParamsFromSymbol(GraphExec exec, GraphNode node, void* to, const void* symbol,
                                                size_t size, size_t offset, MemcpyKind kind) {
  return set(__func__, exec, node, [&] { return copy_from_symbol(no_symbol(to), symbol, size, offset, kind); });
}

Error hipGraphAddMemsetNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                            const FillParameters* fill) {
  return add(__func__, node, graph, dependencies, count, [&] { return node_fill(fill); });
}
Error hipGraphMemsetNodeGetParams(GraphNode node, FillParameters* fill) {
  return get(__func__, node, fill, [](const NodeRecord& found) { return *work_of<FillWork>(found).fill; });
}
Error hipGraphMemsetNodeSetParams(GraphNode node, const FillParameters* fill) {
  return set(__func__, node, [&] { return node_fill(fill); });
}
Error hipGraphExecMemsetNodeSetParams(GraphExec exec, GraphNode node, const FillParameters* fill) {
  return set(__func__, exec, node, [&] { return node_fill(fill); });
}

}  // namespace wave::hip
