// Copies of boxes as the driver's interface describes them, at once and as nodes of graphs.
#include "hip_emulator/api.h"
#include "hip_emulator/release.h"

namespace wave::hip {

namespace {

template <class Side>
PitchedPointer memory_of(const Side& side, size_t width) {
  require(side.array == nullptr && side.level == 0, hipErrorNotSupported, "there are no arrays");
  const bool is_host = side.type == release().memory_type.host;
  const size_t pitch = side.pitch != 0 ? side.pitch : side.x + width;
  return {is_host ? side.host : side.device, pitch, pitch, side.height};
}

template <class Number>
Copy3d read(const DriverCopyLayout<Number>& copy) {
  const auto position = [](const auto& side) { return BoxPosition{side.x, side.y, side.z}; };
  return {nullptr,
          position(copy.from),
          memory_of(copy.from, copy.width),
          nullptr,
          position(copy.to),
          memory_of(copy.to, copy.width),
          {copy.width, copy.height, copy.depth},
          kCopyDefault};
}

template <class Side>
void write(Side& to, const PitchedPointer& memory, const BoxPosition& position) {
  using Number = decltype(to.x);
  const auto allocation = runtime().memory.find(reinterpret_cast<uint64_t>(memory.pointer));
  const bool is_host = !allocation || allocation->kind == AllocationKind::Host;
  const auto& types = release().memory_type;
  to = {};
  to.x = static_cast<Number>(position.x);
  to.y = static_cast<Number>(position.y);
  to.z = static_cast<Number>(position.z);
  to.type = static_cast<MemoryType>(is_host ? types.host : types.device);
  (is_host ? to.host : to.device) = memory.pointer;
  to.pitch = static_cast<Number>(memory.pitch);
  to.height = static_cast<Number>(memory.height);
}

template <class Number>
void write(DriverCopyLayout<Number>& to, const Copy3d& copy) {
  write(to.from, copy.from, copy.from_position);
  write(to.to, copy.to, copy.to_position);
  to.width = static_cast<Number>(copy.extent.width);
  to.height = static_cast<Number>(copy.extent.height);
  to.depth = static_cast<Number>(copy.extent.depth);
}

bool has_short_numbers() { return release().major < 6; }

/// Calls a function with the copy, or fails as that would.
template <class Function>
Error with_copy(const char* name, const DriverCopy3d* given, const Function& function) {
  Copy3d copy{};
  const Error error = call(name, [&] {
    require(given != nullptr);
    copy = has_short_numbers() ? read(*reinterpret_cast<const DriverCopyLayout<uint32_t>*>(given))
                               : read(*reinterpret_cast<const DriverCopyLayout<size_t>*>(given));
  });
  return error != hipSuccess ? error : function(&copy);
}

}  // namespace

Error hipDrvMemcpy3D(const DriverCopy3d* copy) { return with_copy(__func__, copy, hipMemcpy3D); }

Error hipDrvMemcpy3DAsync(const DriverCopy3d* copy, Stream stream) {
  return with_copy(__func__, copy, [&](const Copy3d* read) { return hipMemcpy3DAsync(read, stream); });
}

Error hipDrvGraphAddMemcpyNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                               const DriverCopy3d* copy, Context) {
  return with_copy(__func__, copy,
                   [&](const Copy3d* read) { return hipGraphAddMemcpyNode(node, graph, dependencies, count, read); });
}

Error hipDrvGraphMemcpyNodeGetParams(GraphNode node, DriverCopy3d* copy) {
  Copy3d found{};
  if (const Error error = hipGraphMemcpyNodeGetParams(node, &found); error != hipSuccess) return error;
  return call(__func__, [&] {
    require(copy != nullptr);
    if (has_short_numbers()) {
      write(*reinterpret_cast<DriverCopyLayout<uint32_t>*>(copy), found);
    } else {
      write(*reinterpret_cast<DriverCopyLayout<size_t>*>(copy), found);
    }
  });
}

Error hipDrvGraphMemcpyNodeSetParams(GraphNode node, const DriverCopy3d* copy) {
  return with_copy(__func__, copy, [&](const Copy3d* read) { return hipGraphMemcpyNodeSetParams(node, read); });
}

Error hipDrvGraphExecMemcpyNodeSetParams(GraphExec exec, GraphNode node, const DriverCopy3d* copy, Context) {
  return with_copy(__func__, copy, [&](Copy3d* read) { return hipGraphExecMemcpyNodeSetParams(exec, node, read); });
}

Error hipDrvGraphAddMemsetNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                               const FillParameters* fill, Context) {
  return hipGraphAddMemsetNode(node, graph, dependencies, count, fill);
}

Error hipDrvGraphExecMemsetNodeSetParams(GraphExec exec, GraphNode node, const FillParameters* fill, Context) {
  return hipGraphExecMemsetNodeSetParams(exec, node, fill);
}

}  // namespace wave::hip
