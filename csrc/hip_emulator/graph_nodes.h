// What functions about the nodes of graphs have in common.
#pragma once

#include "hip_emulator/api.h"

namespace wave::hip {

inline std::vector<NodeRecord*> find_nodes(const GraphNode* handles, size_t count) {
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

inline void check_same_kind(const StreamOperation& before, const StreamOperation& after) {
  require(before.work.index() == after.work.index(), hipErrorInvalidValue, "the node is of another kind");
}

/// Adds a node that runs what `make` makes.
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

/// Has a node, of a graph or of one that is ready, run something else of the same kind.
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
    std::shared_ptr<const ReadyNodes> before;  // which end without the lock: objects of children may call HIP
    std::lock_guard lock(runtime().order);
    before = found->nodes;
    found->change(node, [&](ReadyNode& ready) {
      check_same_kind(ready.operation, operation);
      require(keeps_direction(ready.operation, operation), hipErrorInvalidValue,
              "the copy's kind cannot change any more");
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

}  // namespace wave::hip
