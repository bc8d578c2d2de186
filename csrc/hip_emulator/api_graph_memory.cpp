// Memory that graphs allocate, and how much of it there is.
#include <cstring>

#include "hip_emulator/api.h"
#include "hip_emulator/graph_memory.h"
#include "hip_emulator/graph_nodes.h"

namespace wave::hip {

namespace {

/// Nothing is kept that is not in use, so that what is reserved is what is used.
std::atomic<uint64_t>& use_of(int device, GraphMemoryAttribute attribute) {
  require(attribute >= kGraphUsed && attribute <= kGraphReservedHigh);
  PoolUse& use = *runtime().device(device).graph_memory;
  return attribute == kGraphUsed || attribute == kGraphReserved ? use.current : use.high;
}

}  // namespace

Error hipGraphAddMemAllocNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                              AllocationParameters* parameters) {
  return add(__func__, node, graph, dependencies, count, [&] { return allocate_operation(parameters); });
}

Error hipGraphMemAllocNodeGetParams(GraphNode node, AllocationParameters* parameters) {
  return get(__func__, node, parameters,
             [](const NodeRecord& found) { return work_of<AllocateWork>(found).memory->parameters; });
}

Error hipGraphAddMemFreeNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count, void* pointer) {
  return add(__func__, node, graph, dependencies, count, [&] { return release_operation(pointer); });
}

Error hipDrvGraphAddMemFreeNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                                DevicePointer pointer) {
  return hipGraphAddMemFreeNode(node, graph, dependencies, count, pointer);
}

Error hipGraphMemFreeNodeGetParams(GraphNode node, void* pointer) {
  return get(__func__, node, static_cast<void**>(pointer),
             [](const NodeRecord& found) { return work_of<ReleaseWork>(found).pointer; });
}

Error hipDeviceGetGraphMemAttribute(int device, GraphMemoryAttribute attribute, void* value) {
  return call(__func__, [&] {
    const uint64_t result = use_of(device, attribute);
    require(value != nullptr);
    std::memcpy(value, &result, sizeof(result));
  });
}

Error hipDeviceSetGraphMemAttribute(int device, GraphMemoryAttribute attribute, void* value) {
  return call(__func__, [&] {
    std::atomic<uint64_t>& high = use_of(device, attribute);
    uint64_t given = 0;
    require(value != nullptr && attribute != kGraphUsed && attribute != kGraphReserved);
    std::memcpy(&given, value, sizeof(given));
    require(given == 0, hipErrorInvalidValue, "the highest use can be set to 0 only");
    high = runtime().device(device).graph_memory->current.load();
  });
}

Error hipDeviceGraphMemTrim(int device) {
  return call(__func__, [&] { runtime().device(device); });
}

}  // namespace wave::hip
