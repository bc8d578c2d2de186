// Memory that nodes of graphs allocate and free.
#pragma once

#include "hip_emulator/graph.h"

namespace wave::hip_emulator {

/// What a node allocates each time it runs, at the same addresses: they are its graph's, and those of the graphs that
/// were made ready of it. What was not freed by then is memory like any other.
struct GraphMemory {
  GraphMemory(const hip::AllocationParameters& parameters, void* pointer);
  GraphMemory(const GraphMemory&) = delete;
  ~GraphMemory();

  hip::AllocationParameters parameters;
};

StreamOperation allocate_operation(hip::AllocationParameters* parameters);
/// Throws hipErrorInvalidValue where nobody has allocated this.
StreamOperation release_operation(void* pointer);

/// Notes what the graph's launch allocates and frees. Throws hipErrorInvalidValue where it would allocate what an
/// earlier launch did, and nobody freed; unless the graph frees that itself (hipGraphInstantiateFlagAutoFreeOnLaunch).
void promise_memory(const ReadyGraph& graph);

}  // namespace wave::hip_emulator
