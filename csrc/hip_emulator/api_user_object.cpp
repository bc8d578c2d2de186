// Objects that graphs own, and a picture of a graph.
#include <algorithm>
#include <array>
#include <climits>
#include <fstream>

#include "hip_emulator/api.h"

namespace wave::hip {

namespace {

/// As in AMD's runtime (ROCm/clr, hipamd/src/hip_graph.cpp) it is no error to name an object that has ended, or to give
/// back more references than there are: nothing is done then.
template <class Body>
void with_object(UserObject object, unsigned count, const Body& body) {
  require(object != nullptr && count != 0 && count <= INT_MAX);
  if (const auto found = runtime().user_objects.find_if_there(object)) body(found);
}

}  // namespace

Error hipUserObjectCreate(UserObject* object, void* data, HostFunction destroy, unsigned count, unsigned flags) {
  return call(__func__, [&] {
    constexpr unsigned kNoDestructorSync = 1;
    require(object != nullptr && destroy != nullptr && flags == kNoDestructorSync);
    require(count != 0 && count <= INT_MAX);
    auto made = std::make_shared<KeptObject>(data, destroy, count);
    *object = runtime().user_objects.add(made);
    made->set_handle(*object);
  });
}

Error hipUserObjectRetain(UserObject object, unsigned count) {
  return call(__func__, [&] { with_object(object, count, [&](const auto& found) { found->retain(count); }); });
}

Error hipUserObjectRelease(UserObject object, unsigned count) {
  return call(__func__, [&] { with_object(object, count, [&](const auto& found) { found->release(count); }); });
}

Error hipGraphRetainUserObject(Graph graph, UserObject object, unsigned count, unsigned flags) {
  return call(__func__, [&] {
    constexpr unsigned kMove = 1;
    require(flags <= kMove);
    const auto owner = runtime().graphs.find(graph);
    with_object(object, count, [&](const auto& owned) {
      std::lock_guard lock(runtime().order);
      owner->objects.add(owned, count);
      if (flags == kMove) owned->hand_over(count);
    });
  });
}

Error hipGraphReleaseUserObject(Graph graph, UserObject object, unsigned count) {
  return call(__func__, [&] {
    const auto owner = runtime().graphs.find(graph);
    with_object(object, count, [&](const auto& owned) {
      std::unique_lock lock(runtime().order);
      const bool is_removed = owner->objects.remove(owned, count);
      lock.unlock();
      if (is_removed) owned->give_back(count);
    });
  });
}

/// In the language of Graphviz: each node with its number and its kind, and what it depends on.
Error hipGraphDebugDotPrint(Graph graph, const char* path, unsigned) {
  return call(__func__, [&] {
    constexpr std::array kKinds = {"kernel", "copy", "fill",   "host",     "graph",
                                   "empty",  "wait", "record", "allocate", "free"};
    static_assert(kKinds.size() == std::variant_size_v<NodeWork>);
    require(path != nullptr);
    const auto found = runtime().graphs.find(graph);
    std::ofstream file(path);
    std::lock_guard lock(runtime().order);
    file << "digraph graph_of_hip {\n";
    const auto number = [&](const NodeRecord* node) {
      return std::ranges::find(found->nodes, node, &std::shared_ptr<NodeRecord>::get) - found->nodes.begin();
    };
    for (const auto& node : found->nodes) {
      file << "  n" << number(node.get()) << " [label=\"" << number(node.get()) << ": "
           << kKinds[node->operation.work.index()] << "\"];\n";
      for (const NodeRecord* before : node->dependencies) {
        file << "  n" << number(before) << " -> n" << number(node.get()) << ";\n";
      }
    }
    file << "}\n" << std::flush;
    require(file.good(), hipErrorOperatingSystem, "the file cannot be written");
  });
}

}  // namespace wave::hip
