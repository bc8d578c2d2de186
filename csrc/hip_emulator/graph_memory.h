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

/// Throws hipErrorInvalidValue where a launch of the graph would allocate what an earlier launch did, and nobody freed;
/// unless the graph frees that itself (hipGraphInstantiateFlagAutoFreeOnLaunch).
void check_memory(const ReadyGraph& graph);
/// Notes what a launch of the graph allocates and frees, when it has been submitted.
void promise_memory(const ReadyNodes& nodes);

}  // namespace wave::hip_emulator
