#include "hip_emulator/graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "hip_emulator/runtime.h"

namespace wave::hip_emulator {

bool is_of_memory(const NodeRecord& node) {
  const NodeWork& work = node.operation.work;
  return std::holds_alternative<AllocateWork>(work) || std::holds_alternative<ReleaseWork>(work);
}

OperationGraph::~OperationGraph() {
  for (const auto& node : nodes) runtime().nodes.remove(node->handle);
}

NodeRecord& OperationGraph::add(StreamOperation operation, std::vector<NodeRecord*> dependencies) {
  for (const NodeRecord* dependency : dependencies) {
    require(dependency->graph == this, hipErrorInvalidValue, "a node depends on one of another graph");
  }
  std::ranges::sort(dependencies);
  const auto [repeated, end] = std::ranges::unique(dependencies);
  dependencies.erase(repeated, end);
  auto node = std::make_shared<NodeRecord>(std::move(operation), this, std::move(dependencies));
  node->handle = runtime().nodes.add(node);
  return *nodes.emplace_back(std::move(node));
}

void OperationGraph::remove(NodeRecord& node) {
  for (const auto& other : nodes) std::erase(other->dependencies, &node);
  for (const auto& capture : runtime().captures) {
    for (auto& [queue, last] : capture->last) std::erase(last, &node);
  }
  for (const auto& event : runtime().events.all()) std::erase(event->captured_last, &node);
  runtime().nodes.remove(node.handle);
  std::erase_if(nodes, [&](const auto& owned) { return owned.get() == &node; });
}

std::shared_ptr<OperationGraph> OperationGraph::clone() const {
  auto copy = std::make_shared<OperationGraph>(objects);
  std::map<const NodeRecord*, NodeRecord*> copies;
  for (const auto& node : nodes) {
    NodeRecord& made = copy->add(node->operation, {});
    const auto* const child = std::get_if<ChildWork>(&node->operation.work);
    if (child != nullptr && child->graph != nullptr) made.operation.work = child_of(*child->graph);
    made.cloned_from = node->handle;
    made.attribute = node->attribute;
    copies[node.get()] = &made;
  }
  for (const auto& node : nodes) {
    for (const NodeRecord* dependency : node->dependencies) {
      copies[node.get()]->dependencies.push_back(copies[dependency]);
    }
  }
  return copy;
}

OwnHandle::OwnHandle(const std::shared_ptr<OperationGraph>& graph) : handle(runtime().graphs.add(graph)) {}

OwnHandle::~OwnHandle() { runtime().graphs.forget(handle); }

ChildWork child_of(const OperationGraph& graph) {
  std::shared_ptr<OperationGraph> own = graph.clone();
  auto handle = std::make_shared<const OwnHandle>(own);
  return {std::move(own), std::move(handle)};
}

std::vector<NodeRecord*> OperationGraph::ordered() const {
  std::vector<NodeRecord*> result, waiting;
  for (const auto& node : nodes) waiting.push_back(node.get());
  const auto is_done = [&](const NodeRecord* node) { return std::ranges::find(result, node) != result.end(); };
  while (!waiting.empty()) {
    const auto ready = std::ranges::find_if(
        waiting, [&](const NodeRecord* node) { return std::ranges::all_of(node->dependencies, is_done); });
    require(ready != waiting.end(), hipErrorInvalidValue, "nodes of the graph depend on each other in a circle");
    result.push_back(*ready);
    waiting.erase(ready);
  }
  return result;
}

bool OperationGraph::has_memory() const {
  return std::ranges::any_of(nodes, [](const auto& node) { return is_of_memory(*node); });
}

void ReadyGraph::change(hip::GraphNode node, const std::function<void(ReadyNode&)>& edit) {
  auto changed = std::make_shared<ReadyNodes>(*nodes);
  const auto found = std::ranges::find(*changed, node, &ReadyNode::node);
  require(found != changed->end(), hipErrorInvalidValue, "the graph was made without this node");
  edit(*found);
  nodes = std::move(changed);
}

std::shared_ptr<const ReadyNodes> make_ready(const OperationGraph& graph) {
  auto result = std::make_shared<ReadyNodes>();
  const std::vector<NodeRecord*> order = graph.ordered();
  for (const NodeRecord* node : order) {
    std::vector<size_t> dependencies;
    for (const NodeRecord* dependency : node->dependencies) {
      dependencies.push_back(static_cast<size_t>(std::ranges::find(order, dependency) - order.begin()));
    }
    std::ranges::sort(dependencies);
    StreamOperation operation = node->operation;
    if (const auto* child = std::get_if<ChildWork>(&operation.work)) {
      operation.work = ChildWork{child->graph, nullptr, make_ready(*child)};  // with the graph, whose objects it keeps
    }
    result->push_back({std::move(operation), node->handle, std::move(dependencies)});
  }
  return result;
}

std::shared_ptr<const ReadyNodes> make_ready(const ChildWork& child) {
  return child.ready != nullptr ? child.ready : make_ready(*child.graph);
}

void for_each(const ReadyNodes& nodes, const std::function<void(const ReadyNode&)>& visit) {
  for (const ReadyNode& node : nodes) {
    const auto* const child = std::get_if<ChildWork>(&node.operation.work);
    if (child == nullptr) {
      visit(node);
    } else {
      for_each(*child->ready, visit);
    }
  }
}

bool keeps_direction(const StreamOperation& before, const StreamOperation& after) {
  const auto* const copy = std::get_if<CopyWork>(&before.work);
  return copy == nullptr || copy->copy->kind == std::get<CopyWork>(after.work).copy->kind;
}

hip::UpdateResult compare(const ReadyNodes& before, const ReadyNodes& after, hip::GraphNode* different) {
  if (before.size() != after.size()) return hip::kUpdateTopologyChanged;
  for (size_t i = 0; i < before.size(); ++i) {
    *different = after[i].node;
    if (before[i].dependencies != after[i].dependencies) return hip::kUpdateTopologyChanged;
    if (before[i].operation.work.index() != after[i].operation.work.index()) return hip::kUpdateNodeTypeChanged;
    if (!keeps_direction(before[i].operation, after[i].operation)) return hip::kUpdateParametersChanged;
  }
  *different = nullptr;
  return hip::kUpdateSuccess;
}

}  // namespace wave::hip_emulator
