// Graphs that programs build by hand: nodes, their parameters, in a graph and in one that is ready to run. Nodes that
// copy and fill are in api_graph_copies.cpp.
#include <algorithm>
#include <map>

#include "hip_emulator/api.h"
#include "hip_emulator/graph_nodes.h"
#include "hip_emulator/host_program.h"
#include "hip_emulator/launch.h"
#include "hip_emulator/release.h"

namespace wave::hip {

namespace {

// --- what nodes run ---

std::shared_ptr<KernelFunction> find_either_kernel(void* function, const void** host) {
  try {
    return find_kernel(static_cast<Function>(function));
  } catch (const Failure&) {  // then it is a host function
    *host = function;
    return host_program().kernel(function, current_device());
  }
}

/// New parameters of a launch do not change that its workgroups wait for each other.
bool is_cooperative(const StreamOperation& operation) {
  const auto* const work = std::get_if<KernelWork>(&operation.work);
  return work != nullptr && work->launch->cooperative;
}

bool is_cooperative(GraphNode node) {
  const auto found = runtime().nodes.find(node);
  std::lock_guard lock(runtime().order);
  return is_cooperative(found->operation);
}

bool is_cooperative(GraphExec exec, GraphNode node) {
  const auto found = runtime().execs.find(exec);
  std::lock_guard lock(runtime().order);
  const auto ready = std::ranges::find(*found->nodes, node, &ReadyNode::node);
  return ready != found->nodes->end() && is_cooperative(ready->operation);
}

StreamOperation kernel_operation(const KernelParameters* given, bool cooperative = false) {
  require(given != nullptr && given->function != nullptr);
  const auto& [block, extra, function, grid, parameters, shared_memory] = *given;
  LaunchRequest request{
      nullptr, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_memory, nullptr, parameters, extra};
  request.function = find_either_kernel(function, &request.host);
  request.cooperative = cooperative;
  return launch_operation(request, current_device());
}

StreamOperation host_operation(const HostParameters* given) {
  require(given != nullptr && given->function != nullptr);
  const auto run = [function = *given](Via) {
    const RunsHostFunction runs;
    function.function(function.data);
  };
  return {run, HostWork{*given}};
}

StreamOperation record_operation(Event handle) {
  require(handle != nullptr);
  runtime().events.find(handle);            // must be there
  return {[](Via) {}, RecordWork{handle}};  // EventsOfLaunch records it
}

StreamOperation wait_operation(Event handle) {
  require(handle != nullptr);
  runtime().events.find(handle);  // must be there
  return {[](Via) {}, WaitWork{handle}};
}

StreamOperation child_operation(Graph graph) {
  const auto found = runtime().graphs.find(graph);
  std::lock_guard lock(runtime().order);
  return {[](Via) {}, child_of(*found)};  // make_ready() says what runs
}

// --- nodes ---

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

/// Changes edges of a graph, one after the other: all of them, or none where `change` throws, which gets the nodes and
/// what the second one depends on.
template <class Change>
void change_edges(Graph graph, const GraphNode* from, const GraphNode* to, size_t count, const Change& change) {
  const auto found = runtime().graphs.find(graph);
  std::lock_guard lock(runtime().order);
  const auto before = find_nodes(from, count), after = find_nodes(to, count);
  std::map<NodeRecord*, std::vector<NodeRecord*>> changed;
  for (size_t i = 0; i < count; ++i) {
    require(before[i]->graph == found.get() && after[i]->graph == found.get());
    change(before[i], after[i], changed.try_emplace(after[i], after[i]->dependencies).first->second);
  }
  for (auto& [node, dependencies] : changed) node->dependencies = std::move(dependencies);
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
    require(!found->has_memory(), hipErrorNotSupported, "a graph that allocates or frees memory is not copied");
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
    const auto found = runtime().nodes.find(node);  // which ends without the lock: objects of a child may call HIP
    std::lock_guard lock(runtime().order);
    require(!is_of_memory(*found), hipErrorNotSupported, "a node that allocates or frees memory stays in its graph");
    found->graph->remove(*found);
  });
}

Error hipGraphAddDependencies(Graph graph, const GraphNode* from, const GraphNode* to, size_t count) {
  return call(__func__, [&] {
    change_edges(graph, from, to, count, [](NodeRecord* before, const NodeRecord* after, auto& dependencies) {
      require(before != after && std::ranges::find(dependencies, before) == dependencies.end());
      dependencies.push_back(before);
    });
  });
}

Error hipGraphRemoveDependencies(Graph graph, const GraphNode* from, const GraphNode* to, size_t count) {
  return call(__func__, [&] {
    change_edges(graph, from, to, count, [](NodeRecord* before, const NodeRecord*, auto& dependencies) {
      require(std::erase(dependencies, before) == 1);
    });
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
  return set(__func__, node, [&] { return kernel_operation(parameters, is_cooperative(node)); });
}
Error hipGraphExecKernelNodeSetParams(GraphExec exec, GraphNode node, const KernelParameters* parameters) {
  return set(__func__, exec, node, [&] { return kernel_operation(parameters, is_cooperative(exec, node)); });
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
  return get(__func__, node, graph, [](const NodeRecord& found) {
    const auto& handle = work_of<ChildWork>(found).handle;
    require(handle != nullptr, hipErrorInvalidValue, "a launch that was captured has no graph any more");
    return handle->handle;
  });
}
Error hipGraphExecChildGraphNodeSetParams(GraphExec exec, GraphNode node, Graph child) {
  return set(__func__, exec, node, [&] {
    const auto found = runtime().graphs.find(child);
    const auto changed = runtime().nodes.find(node);
    std::lock_guard lock(runtime().order);
    const auto nodes = make_ready(*found);
    GraphNode different = nullptr;
    require(compare(*make_ready(work_of<ChildWork>(*changed)), *nodes, &different) == kUpdateSuccess, hipErrorUnknown,
            "the graph has other nodes than the one whose place it would take");
    return StreamOperation([](Via) {}, ChildWork{found, nullptr, nodes});
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
