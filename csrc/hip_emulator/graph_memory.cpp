#include "hip_emulator/graph_memory.h"

#include "hip_emulator/runtime.h"

namespace wave::hip_emulator {

namespace {

constexpr unsigned long long kFreesOnLaunch = 1;

}  // namespace

GraphMemory::GraphMemory(const hip::AllocationParameters& given, void* pointer) : parameters(given) {
  parameters.pointer = pointer;
}

GraphMemory::~GraphMemory() { runtime().memory.abandon(parameters.pointer); }

StreamOperation allocate_operation(hip::AllocationParameters* parameters) {
  require(parameters != nullptr);
  parameters->pointer = nullptr;
  const hip::PoolProperties& pool = parameters->pool;
  require(parameters->size != 0 && pool.allocation_type == hip::kPinned && pool.location.type == hip::kLocationDevice);
  require(pool.location.id >= 0 && static_cast<size_t>(pool.location.id) < runtime().devices.size());
  require(parameters->access_count <= runtime().devices.size());
  const auto& use = runtime().device(pool.location.id).graph_memory;
  parameters->pointer = runtime().memory.reserve(parameters->size, pool.location.id, use);
  auto memory = std::make_shared<const GraphMemory>(*parameters, parameters->pointer);
  const auto run = [pointer = parameters->pointer](Via) {
    if (runtime().memory.restore(pointer)) return;
    runtime().memory.free(pointer);  // what an earlier launch left
    runtime().memory.restore(pointer);
  };
  return {run, AllocateWork{std::move(memory)}};
}

StreamOperation release_operation(void* pointer) {
  const uint64_t address = reinterpret_cast<uint64_t>(pointer);
  auto allocation = runtime().memory.reserved_at(address);
  if (!allocation) allocation = runtime().memory.find(address);
  require(allocation && allocation->begin == address, hipErrorInvalidValue, "no allocation begins there");
  require(!allocation->is_leaving, hipErrorInvalidValue, "hipFreeAsync was given this memory before");
  const auto run = [pointer](Via) {
    require(runtime().memory.free(pointer), hipErrorInvalidValue, "memory that was freed is freed again");
  };
  return {run, ReleaseWork{pointer}};
}

void check_memory(const ReadyGraph& graph) {
  if ((graph.flags & kFreesOnLaunch) != 0) return;
  for_each(*graph.nodes, [](const ReadyNode& node) {
    const auto* const allocated = std::get_if<AllocateWork>(&node.operation.work);
    require(allocated == nullptr || !runtime().memory.is_promised(allocated->memory->parameters.pointer),
            hipErrorInvalidValue, "the graph's memory was not freed since its last launch");
  });
}

void promise_memory(const ReadyNodes& nodes) {
  for_each(nodes, [](const ReadyNode& node) {
    if (const auto* allocated = std::get_if<AllocateWork>(&node.operation.work)) {
      runtime().memory.promise(allocated->memory->parameters.pointer, true);
    } else if (const auto* released = std::get_if<ReleaseWork>(&node.operation.work)) {
      runtime().memory.promise(released->pointer, false);
    }
  });
}

}  // namespace wave::hip_emulator
