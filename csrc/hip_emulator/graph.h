// Graphs: what their nodes do, and in which order.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "hip_emulator/hip_handles.h"
#include "hip_emulator/user_object.h"

namespace wave::hip_emulator {

struct EventRecord;
struct OperationGraph;
struct PackedLaunch;

/// How an operation comes to run.
enum class Via { Stream, Graph };

/// The parameters of a node. Which of these it has is the node's kind.
struct KernelWork {
  std::shared_ptr<const PackedLaunch> launch;
};
struct CopyWork {
  std::shared_ptr<const hip::Copy3d> copy;
};
struct FillWork {
  std::shared_ptr<const hip::FillParameters> fill;
};
struct HostWork {
  hip::HostParameters function;
};
struct ChildWork {
  std::shared_ptr<OperationGraph> graph;                         ///< nullptr where it is a launch that was captured
  std::shared_ptr<const class OwnHandle> handle{};               ///< of the node's own graph
  std::shared_ptr<const std::vector<struct ReadyNode>> ready{};  ///< of such a launch, or where the graph is ready
};
struct EmptyWork {};
struct WaitWork {
  hip::Event event;
};
struct RecordWork {
  hip::Event event;
};
struct AllocateWork {
  std::shared_ptr<const struct GraphMemory> memory;
};
struct ReleaseWork {
  void* pointer;
};
/// In the order of hipGraphNodeType, which has two of semaphores before those of memory.
using NodeWork = std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork, WaitWork, RecordWork,
                              AllocateWork, ReleaseWork>;
inline int type_of(const NodeWork& work) {
  constexpr int kSemaphores = 8;
  const int index = static_cast<int>(work.index());
  return index < kSemaphores ? index : index + 2;
}

/// What a stream or a graph runs, and, for graphs, what it is. Running it may throw.
struct StreamOperation {
  /// Of what graphs need not know, the work is empty.
  template <class Run>
    requires std::invocable<const Run&, Via>
  StreamOperation(Run run, NodeWork work = EmptyWork()) : run(std::move(run)), work(std::move(work)) {}

  void operator()(Via via) const { run(via); }

  std::function<void(Via via)> run;
  NodeWork work;
  bool runs_after_errors = false;  ///< of the device: else nothing runs any more
};

/// hipGraphNode_t. Guarded by Runtime::order.
struct NodeRecord {
  StreamOperation operation;
  OperationGraph* graph;
  std::vector<NodeRecord*> dependencies{};  ///< of the same graph, each once
  hip::GraphNode handle = nullptr;
  hip::GraphNode cloned_from = nullptr;
  std::vector<void*> pointers{};     ///< to the kernel's arguments, where they were asked for
  hip::LaunchAttribute attribute{};  ///< of a kernel, which has one at a time; its id is 0 where none was set
};

/// Whether it allocates or frees memory.
bool is_of_memory(const NodeRecord& node);

/// hipGraph_t. Guarded by Runtime::order.
struct OperationGraph {
  explicit OperationGraph(const OwnedObjects& objects = {}) : objects(objects) {}
  OperationGraph(const OperationGraph&) = delete;
  ~OperationGraph();

  /// Adds a node, which gets a handle. Throws hipErrorInvalidValue where a dependency is another graph's.
  NodeRecord& add(StreamOperation operation, std::vector<NodeRecord*> dependencies);
  void remove(NodeRecord& node);
  /// A graph with nodes of its own that know which they are copies of.
  std::shared_ptr<OperationGraph> clone() const;
  /// The nodes, each behind what it depends on, else in the order in which they were added. Throws hipErrorInvalidValue
  /// where they depend on each other in a circle.
  std::vector<NodeRecord*> ordered() const;

  /// Whether a node allocates or frees memory: then one graph at a time is made ready of it, and it is not copied.
  bool has_memory() const;

  std::vector<std::shared_ptr<NodeRecord>> nodes;
  OwnedObjects objects;
  std::weak_ptr<const struct ReadyGraph> ready{};  ///< that was made of it last
};

/// The handle of a graph that belongs to a node, as long as that is there.
class OwnHandle {
 public:
  explicit OwnHandle(const std::shared_ptr<OperationGraph>& graph);
  OwnHandle(const OwnHandle&) = delete;
  ~OwnHandle();

  const hip::Graph handle;
};

/// A node's work: a graph that is a copy of this one.
ChildWork child_of(const OperationGraph& graph);

/// A node of a graph that is ready to run.
struct ReadyNode {
  StreamOperation operation;  ///< of a child, its work has the nodes that are ready
  hip::GraphNode node;        ///< that it was made of
  std::vector<size_t> dependencies;
  bool enabled = true;
};
using ReadyNodes = std::vector<ReadyNode>;

/// hipGraphExec_t. Launches keep the nodes that there were. Guarded by Runtime::order.
struct ReadyGraph {
  std::shared_ptr<const ReadyNodes> nodes;
  unsigned long long flags = 0;
  std::shared_ptr<const OwnedObjects> objects{};  ///< of the graph as it was

  /// Changes a copy of a node's entry. Throws hipErrorInvalidValue where the graph has none of it.
  void change(hip::GraphNode node, const std::function<void(ReadyNode&)>& edit);
};

std::shared_ptr<const ReadyNodes> make_ready(const OperationGraph& graph);
/// The same of a child.
std::shared_ptr<const ReadyNodes> make_ready(const ChildWork& child);
/// Calls `visit` with the nodes in their order, and with those of a child in its place.
void for_each(const ReadyNodes& nodes, const std::function<void(const ReadyNode&)>& visit);
/// Whether nodes can take the place of those that are ready, and where not, from which on.
hip::UpdateResult compare(const ReadyNodes& before, const ReadyNodes& after, hip::GraphNode* different);
/// Whether what is a copy copies from and to where it did before. Both are of one kind.
bool keeps_direction(const StreamOperation& before, const StreamOperation& after);

}  // namespace wave::hip_emulator
