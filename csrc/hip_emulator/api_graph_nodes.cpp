// Graphs that programs build by hand: nodes, their parameters, in a graph and in one that is ready to run.
#include <algorithm>

#include "hip_emulator/api.h"
#include "hip_emulator/host_program.h"
#include "hip_emulator/launch.h"
#include "hip_emulator/release.h"
#include "hip_emulator/stream_order.h"
#include "hip_emulator/transfer.h"

namespace wave::hip {

namespace {

// --- what nodes run ---

std::shared_ptr<KernelFunction> find_kernel(void* function, const void** host) {
  try {
    return runtime().functions.find(static_cast<Function>(function));
  } catch (const Failure&) {  // then it is a host function
    *host = function;
    return host_program().kernel(function, current_device());
  }
}

StreamOperation kernel_operation(const KernelParameters* given) {
  require(given != nullptr && given->function != nullptr);
  const auto& [block, extra, function, grid, parameters, shared_memory] = *given;
  LaunchRequest request{
      nullptr, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_memory, nullptr, parameters, extra};
  request.function = find_kernel(function, &request.host);
  return launch_operation(request, current_device());
}

StreamOperation copy_operation(const RowCopy& copy) {
  check_span(span_of(copy.to, copy.counts));
  check_span(span_of(copy.from, copy.counts));
  return copy_operation(copy.to, copy.from, copy.counts);
}

StreamOperation copy_operation(void* to, const void* from, size_t size, MemcpyKind kind) {
  require(to != nullptr && from != nullptr && size != 0);
  require(kind >= kHostToHost && kind <= kCopyDefault, hipErrorInvalidMemcpyDirection);
  return copy_operation({{to}, {const_cast<void*>(from)}, {size}});
}

StreamOperation fill_operation(const FillParameters* given) {
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
  return copy_operation(to, from, size, kind);
}

/// The other side of a copy from or to a symbol: what the host's program calls a symbol is no memory.
template <class Pointer>
Pointer no_symbol(Pointer pointer) {
  require(!host_program().is_symbol(pointer), hipErrorInvalidValue, "a symbol was given for memory");
  return pointer;
}

/// As of copies that are no nodes: one side is the symbol, on the device.
void check_kind(MemcpyKind kind, MemcpyKind other) {
  const bool known = kind == other || kind == kDeviceToDevice || kind == kCopyDefault;
  require(known, hipErrorInvalidMemcpyDirection);
}

StreamOperation copy_to_symbol(const void* symbol, const void* from, size_t size, size_t offset, MemcpyKind kind) {
  check_kind(kind, kHostToDevice);
  return copy_operation(part_of(symbol, size, offset), from, size, kind);
}

StreamOperation copy_from_symbol(void* to, const void* symbol, size_t size, size_t offset, MemcpyKind kind) {
  check_kind(kind, kDeviceToHost);
  return copy_operation(to, part_of(symbol, size, offset), size, kind);
}

StreamOperation host_operation(const HostParameters* given) {
  require(given != nullptr && given->function != nullptr);
  const auto run = [function = *given](Via) {
    stream_order().learn_running();
    function.function(function.data);
  };
  return {run, HostWork{*given}};
}

StreamOperation record_operation(Event handle) {
  require(handle != nullptr);
  const auto run = [event = runtime().events.find(handle)](Via) {
    stream_order().give_up();
    auto marker = std::make_shared<Marker>();
    marker->complete();
    std::lock_guard lock(runtime().order);
    event->capture = nullptr;
    event->marker = std::move(marker);
  };
  return {run, RecordWork{handle}};
}

StreamOperation wait_operation(Event handle) {
  require(handle != nullptr);
  const auto run = [event = runtime().events.find(handle)](Via) {
    stream_order().give_up();
    std::shared_ptr<Marker> marker;
    {
      std::lock_guard lock(runtime().order);
      marker = event->marker;
    }
    while (marker != nullptr && !marker->wait(std::chrono::milliseconds(50))) check_not_stopped();
  };
  return {run, WaitWork{handle}};
}

StreamOperation child_operation(Graph graph) {
  std::shared_ptr<OperationGraph> own;
  {
    std::lock_guard lock(runtime().order);
    own = runtime().graphs.find(graph)->clone();
  }
  const Graph handle = runtime().graphs.add(own);
  return {[](Via) {}, ChildWork{std::move(own), handle}};  // make_ready() says what runs
}

// --- nodes ---

std::vector<NodeRecord*> find_nodes(const GraphNode* handles, size_t count) {
  require(count == 0 || handles != nullptr);
  std::vector<NodeRecord*> result;
  for (size_t i = 0; i < count; ++i) result.push_back(runtime().nodes.find(handles[i]).get());
  return result;
}

/// The parameters of a node of this kind. Throws hipErrorInvalidValue where it is of another.
template <class Work>
const Work& work_of(const NodeRecord& node) {
  const Work* const work = std::get_if<Work>(&node.operation.work);
  require(work != nullptr, hipErrorInvalidValue, "the node is of another kind");
  return *work;
}

void check_same_kind(const StreamOperation& before, const StreamOperation& after) {
  require(before.work.index() == after.work.index(), hipErrorInvalidValue, "the node is of another kind");
}

template <class Make>
Error add(const char* name, GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
          const Make& make) {
  return call(name, [&] {
    require(node != nullptr);
    const auto found = runtime().graphs.find(graph);
    StreamOperation operation = make();
    std::lock_guard lock(runtime().order);
    *node = found->add(std::move(operation), find_nodes(dependencies, count)).handle;
  });
}

template <class Make>
Error set(const char* name, GraphNode node, const Make& make) {
  return call(name, [&] {
    const auto found = runtime().nodes.find(node);
    StreamOperation operation = make();
    std::lock_guard lock(runtime().order);
    check_same_kind(found->operation, operation);
    found->operation = std::move(operation);
  });
}

template <class Make>
Error set(const char* name, GraphExec exec, GraphNode node, const Make& make) {
  return call(name, [&] {
    const auto found = runtime().execs.find(exec);
    const StreamOperation operation = make();
    std::lock_guard lock(runtime().order);
    found->change(node, [&](ReadyNode& ready) {
      check_same_kind(ready.operation, operation);
      ready.operation = operation;
    });
  });
}

/// Gives out what `read` makes of the node.
template <class T, class Read>
Error get(const char* name, GraphNode node, T* to, const Read& read) {
  return call(name, [&] {
    require(to != nullptr);
    const auto found = runtime().nodes.find(node);
    std::lock_guard lock(runtime().order);
    *to = read(*found);
  });
}

/// Fills a list of `*count` places as far as it goes, or counts only.
template <class T>
void give_out(const std::vector<T>& values, T* to, size_t* count) {
  require(count != nullptr);
  if (to == nullptr) {
    *count = values.size();
    return;
  }
  for (size_t i = 0; i < *count; ++i) to[i] = i < values.size() ? values[i] : T{};
  *count = std::min(*count, values.size());
}

KernelParameters parameters_of(NodeRecord& node) {
  const PackedLaunch& launch = *work_of<KernelWork>(node).launch;
  const KernelFunction& function = *launch.function;
  node.pointers.clear();
  auto* const bytes = const_cast<uint8_t*>(launch.arguments.data());
  if (const auto& arguments = function.kernel->metadata.arguments) {
    for (const ArgumentMetadata& argument : *arguments) {
      if (!is_hidden(argument.kind)) node.pointers.push_back(bytes + argument.offset);
    }
  }
  void* const named = launch.host != nullptr ? const_cast<void*>(launch.host)
                                             : static_cast<void*>(function_handle(function.module, function.kernel));
  const auto& [bx, by, bz] = launch.block;
  const auto& [gx, gy, gz] = launch.grid;
  return {{bx, by, bz}, nullptr, named, {gx, gy, gz}, node.pointers.data(), launch.shared_memory};
}

}  // namespace

// --- the graph ---

Error hipGraphCreate(Graph* graph, unsigned flags) {
  return call(__func__, [&] {
    require(graph != nullptr && flags == 0);
    *graph = runtime().graphs.add(std::make_shared<OperationGraph>());
  });
}

Error hipGraphClone(Graph* clone, Graph graph) {
  return call(__func__, [&] {
    require(clone != nullptr);
    const auto found = runtime().graphs.find(graph);
    std::lock_guard lock(runtime().order);
    *clone = runtime().graphs.add(found->clone());
  });
}

Error hipGraphNodeFindInClone(GraphNode* node, GraphNode original, Graph clone) {
  return call(__func__, [&] {
    require(node != nullptr);
    const auto found = runtime().graphs.find(clone);
    std::lock_guard lock(runtime().order);
    for (const auto& candidate : found->nodes) {
      if (original == nullptr || candidate->cloned_from != original) continue;
      *node = candidate->handle;
      return;
    }
    throw Failure(hipErrorInvalidValue, "the graph has no copy of the node");
  });
}

Error hipGraphDestroyNode(GraphNode node) {
  return call(__func__, [&] {
    const auto found = runtime().nodes.find(node);
    std::lock_guard lock(runtime().order);
    found->graph->remove(*found);
  });
}

Error hipGraphAddDependencies(Graph graph, const GraphNode* from, const GraphNode* to, size_t count) {
  return call(__func__, [&] {
    const auto found = runtime().graphs.find(graph);
    std::lock_guard lock(runtime().order);
    const auto before = find_nodes(from, count), after = find_nodes(to, count);
    for (size_t i = 0; i < count; ++i) {
      require(before[i]->graph == found.get() && after[i]->graph == found.get() && before[i] != after[i]);
      require(std::ranges::find(after[i]->dependencies, before[i]) == after[i]->dependencies.end());
      after[i]->dependencies.push_back(before[i]);
    }
  });
}

Error hipGraphRemoveDependencies(Graph graph, const GraphNode* from, const GraphNode* to, size_t count) {
  return call(__func__, [&] {
    runtime().graphs.find(graph);
    std::lock_guard lock(runtime().order);
    const auto before = find_nodes(from, count), after = find_nodes(to, count);
    for (size_t i = 0; i < count; ++i) require(std::erase(after[i]->dependencies, before[i]) == 1);
  });
}

Error hipGraphGetNodes(Graph graph, GraphNode* nodes, size_t* count) {
  return call(__func__, [&] {
    const auto found = runtime().graphs.find(graph);
    std::lock_guard lock(runtime().order);
    std::vector<GraphNode> all;
    for (const auto& node : found->nodes) all.push_back(node->handle);
    give_out(all, nodes, count);
  });
}

Error hipGraphGetRootNodes(Graph graph, GraphNode* nodes, size_t* count) {
  return call(__func__, [&] {
    const auto found = runtime().graphs.find(graph);
    std::lock_guard lock(runtime().order);
    std::vector<GraphNode> roots;
    for (const auto& node : found->nodes) {
      if (node->dependencies.empty()) roots.push_back(node->handle);
    }
    give_out(roots, nodes, count);
  });
}

Error hipGraphGetEdges(Graph graph, GraphNode* from, GraphNode* to, size_t* count) {
  return call(__func__, [&] {
    require(count != nullptr && (from == nullptr) == (to == nullptr));
    const auto found = runtime().graphs.find(graph);
    std::lock_guard lock(runtime().order);
    std::vector<GraphNode> begins, ends;
    for (const auto& node : found->nodes) {
      for (const NodeRecord* dependency : node->dependencies) {
        begins.push_back(dependency->handle);
        ends.push_back(node->handle);
      }
    }
    size_t same = *count;
    give_out(begins, from, count);
    give_out(ends, to, &same);
  });
}

Error hipGraphNodeGetDependencies(GraphNode node, GraphNode* dependencies, size_t* count) {
  return call(__func__, [&] {
    const auto found = runtime().nodes.find(node);
    std::lock_guard lock(runtime().order);
    std::vector<GraphNode> handles;
    for (const NodeRecord* dependency : found->dependencies) handles.push_back(dependency->handle);
    give_out(handles, dependencies, count);
  });
}

Error hipGraphNodeGetDependentNodes(GraphNode node, GraphNode* dependents, size_t* count) {
  return call(__func__, [&] {
    const auto found = runtime().nodes.find(node);
    std::lock_guard lock(runtime().order);
    std::vector<GraphNode> handles;
    for (const auto& other : found->graph->nodes) {
      const bool depends = std::ranges::find(other->dependencies, found.get()) != other->dependencies.end();
      if (depends) handles.push_back(other->handle);
    }
    give_out(handles, dependents, count);
  });
}

Error hipGraphNodeGetType(GraphNode node, NodeType* type) {
  return get(__func__, node, type, [](const NodeRecord& found) {
    return static_cast<NodeType>(release().first_node_type + type_of(found.operation.work));
  });
}

// --- nodes of each kind ---

Error hipGraphAddEmptyNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count) {
  return add(__func__, node, graph, dependencies, count, [] { return StreamOperation([](Via) {}); });
}

Error hipGraphAddKernelNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                            const KernelParameters* parameters) {
  return add(__func__, node, graph, dependencies, count, [&] { return kernel_operation(parameters); });
}
Error hipGraphKernelNodeGetParams(GraphNode node, KernelParameters* parameters) {
  return get(__func__, node, parameters, [](NodeRecord& found) { return parameters_of(found); });
}
Error hipGraphKernelNodeSetParams(GraphNode node, const KernelParameters* parameters) {
  return set(__func__, node, [&] { return kernel_operation(parameters); });
}
Error hipGraphExecKernelNodeSetParams(GraphExec exec, GraphNode node, const KernelParameters* parameters) {
  return set(__func__, exec, node, [&] { return kernel_operation(parameters); });
}

Error hipGraphAddMemcpyNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                            const Copy3d* copy) {
  return add(__func__, node, graph, dependencies, count, [&] { return copy_operation(rows_of(copy)); });
}
Error hipGraphMemcpyNodeGetParams(GraphNode node, Copy3d* copy) {
  return get(__func__, node, copy, [](const NodeRecord& found) { return *work_of<CopyWork>(found).copy; });
}
Error hipGraphMemcpyNodeSetParams(GraphNode node, const Copy3d* copy) {
  return set(__func__, node, [&] { return copy_operation(rows_of(copy)); });
}
Error hipGraphExecMemcpyNodeSetParams(GraphExec exec, GraphNode node, Copy3d* copy) {
  return set(__func__, exec, node, [&] { return copy_operation(rows_of(copy)); });
}

Error hipGraphAddMemcpyNode1D(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count, void* to,
                              const void* from, size_t size, MemcpyKind kind) {
  return add(__func__, node, graph, dependencies, count, [&] { return copy_operation(to, from, size, kind); });
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
  return add(__func__, node, graph, dependencies, count, [&] { return fill_operation(fill); });
}
Error hipGraphMemsetNodeGetParams(GraphNode node, FillParameters* fill) {
  return get(__func__, node, fill, [](const NodeRecord& found) { return *work_of<FillWork>(found).fill; });
}
Error hipGraphMemsetNodeSetParams(GraphNode node, const FillParameters* fill) {
  return set(__func__, node, [&] { return fill_operation(fill); });
}
Error hipGraphExecMemsetNodeSetParams(GraphExec exec, GraphNode node, const FillParameters* fill) {
  return set(__func__, exec, node, [&] { return fill_operation(fill); });
}

Error hipGraphAddHostNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                          const HostParameters* function) {
  return add(__func__, node, graph, dependencies, count, [&] { return host_operation(function); });
}
Error hipGraphHostNodeGetParams(GraphNode node, HostParameters* function) {
  return get(__func__, node, function, [](const NodeRecord& found) { return work_of<HostWork>(found).function; });
}
Error hipGraphHostNodeSetParams(GraphNode node, const HostParameters* function) {
  return set(__func__, node, [&] { return host_operation(function); });
}
Error hipGraphExecHostNodeSetParams(GraphExec exec, GraphNode node, const HostParameters* function) {
  return set(__func__, exec, node, [&] { return host_operation(function); });
}

Error hipGraphAddChildGraphNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                                Graph child) {
  return add(__func__, node, graph, dependencies, count, [&] { return child_operation(child); });
}
Error hipGraphChildGraphNodeGetGraph(GraphNode node, Graph* graph) {
  return get(__func__, node, graph, [](const NodeRecord& found) { return work_of<ChildWork>(found).handle; });
}
Error hipGraphExecChildGraphNodeSetParams(GraphExec exec, GraphNode node, Graph child) {
  return set(__func__, exec, node, [&] {
    const auto found = runtime().graphs.find(child);
    std::lock_guard lock(runtime().order);
    const auto run = [nodes = make_ready(*found)](Via) { run_nodes(*nodes); };
    return StreamOperation(run, ChildWork{found, child});
  });
}

Error hipGraphAddEventRecordNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                                 Event event) {
  return add(__func__, node, graph, dependencies, count, [&] { return record_operation(event); });
}
Error hipGraphEventRecordNodeGetEvent(GraphNode node, Event* event) {
  return get(__func__, node, event, [](const NodeRecord& found) { return work_of<RecordWork>(found).event; });
}
Error hipGraphEventRecordNodeSetEvent(GraphNode node, Event event) {
  return set(__func__, node, [&] { return record_operation(event); });
}
Error hipGraphExecEventRecordNodeSetEvent(GraphExec exec, GraphNode node, Event event) {
  return set(__func__, exec, node, [&] { return record_operation(event); });
}

Error hipGraphAddEventWaitNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count, Event event) {
  return add(__func__, node, graph, dependencies, count, [&] { return wait_operation(event); });
}
Error hipGraphEventWaitNodeGetEvent(GraphNode node, Event* event) {
  return get(__func__, node, event, [](const NodeRecord& found) { return work_of<WaitWork>(found).event; });
}
Error hipGraphEventWaitNodeSetEvent(GraphNode node, Event event) {
  return set(__func__, node, [&] { return wait_operation(event); });
}
Error hipGraphExecEventWaitNodeSetEvent(GraphExec exec, GraphNode node, Event event) {
  return set(__func__, exec, node, [&] { return wait_operation(event); });
}

}  // namespace wave::hip
