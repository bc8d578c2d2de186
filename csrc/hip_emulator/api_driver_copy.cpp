// Copies of boxes as the driver's interface describes them, at once and as nodes of graphs.
#include "hip_emulator/api.h"
#include "hip_emulator/array.h"
#include "hip_emulator/release.h"

namespace wave::hip {

namespace {

template <class Side>
PitchedPointer memory_of(const Side& side, size_t width, bool is_one_row) {
  const bool is_host = side.type == release().memory_type.host;
  const size_t row = size_t{side.x} + width, pitch = side.pitch != 0 ? side.pitch : row;
  require(row <= pitch || is_one_row, hipErrorInvalidValue, "a row is longer than the pitch");
  return {is_host ? side.host : side.device, pitch, pitch, side.height};
}

/// The array that a side is, or nullptr.
template <class Side>
Array array_of(const Side& side) {
  require(side.level == 0, hipErrorNotSupported, "there are no mipmapped arrays");
  if (side.type != release().memory_type.array) return nullptr;
  require(side.array != nullptr);
  find_array(side.array);
  return side.array;
}

size_t element_size(Array array) { return array == nullptr ? 1 : find_array(array)->element.size(); }

/// The driver's interface counts bytes, the other, of arrays, elements.
size_t elements_of(size_t bytes, size_t element) {
  require(bytes % element == 0, hipErrorInvalidValue, "a copy begins or ends within an element of an array");
  return bytes / element;
}

template <class Number>
Copy3d read(const DriverCopyLayout<Number>& copy) {
  Copy3d result{};
  const auto read_side = [&](const auto& side, Array& array, BoxPosition& position, PitchedPointer& memory) {
    array = array_of(side);
    position = {elements_of(side.x, element_size(array)), side.y, side.z};
    if (array == nullptr) memory = memory_of(side, copy.width, copy.height <= 1 && copy.depth <= 1);
  };
  read_side(copy.from, result.from_array, result.from_position, result.from);
  read_side(copy.to, result.to_array, result.to_position, result.to);
  const size_t element = element_size(result.to_array != nullptr ? result.to_array : result.from_array);
  result.extent = {elements_of(copy.width, element), copy.height, copy.depth};
  result.kind = kCopyDefault;
  return result;
}

template <class Side>
void write(Side& to, Array array, const PitchedPointer& memory, const BoxPosition& position) {
  using Number = decltype(to.x);
  const auto allocation = runtime().memory.find(reinterpret_cast<uint64_t>(memory.pointer));
  const bool is_host = !allocation || allocation->kind == AllocationKind::Host;
  const auto& types = release().memory_type;
  to = {};
  to.x = static_cast<Number>(position.x * element_size(array));
  to.y = static_cast<Number>(position.y);
  to.z = static_cast<Number>(position.z);
  if (array != nullptr) {
    to.type = static_cast<MemoryType>(types.array);
    to.array = array;
    return;
  }
  to.type = static_cast<MemoryType>(is_host ? types.host : types.device);
  (is_host ? to.host : to.device) = memory.pointer;
  to.pitch = static_cast<Number>(memory.pitch);
  to.height = static_cast<Number>(memory.height);
}

template <class Number>
void write(DriverCopyLayout<Number>& to, const Copy3d& copy) {
  write(to.from, copy.from_array, copy.from, copy.from_position);
  write(to.to, copy.to_array, copy.to, copy.to_position);
  const size_t element = element_size(copy.to_array != nullptr ? copy.to_array : copy.from_array);
  to.width = static_cast<Number>(copy.extent.width * element);
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
