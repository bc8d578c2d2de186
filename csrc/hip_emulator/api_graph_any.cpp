// Nodes of any kind, by one structure: what the functions of each kind do.
#include "hip_emulator/api.h"
#include "hip_emulator/release.h"

namespace wave::hip {

namespace {

/// hipGraphNodeType as it is since ROCm 6.
enum KindOfNode : int { kKernel, kCopy, kFill, kHost, kChild, kEmpty, kWait, kRecord, kAllocate = 10, kRelease };

/// The kind of node that a structure is for. Throws hipErrorNotSupported for semaphores and batches.
KindOfNode kind_of(const AnyNodeParameters* given) {
  require(given != nullptr);
  const int kind = given->type - release().first_node_type;
  constexpr int kLast = 13;
  require(kind >= 0 && kind <= kLast);
  const bool is_known = kind <= kRecord || kind == kAllocate || kind == kRelease;
  require(is_known, hipErrorNotSupported, "nodes of semaphores and batches");
  if (kind == kCopy) require(given->copy.flags == 0);
  return static_cast<KindOfNode>(kind);
}

/// hipMemAllocNodeParams and hipMemFreeNodeParams, which lie where the others do.
AllocationParameters* allocation_of(AnyNodeParameters* given) {
  return reinterpret_cast<AllocationParameters*>(given->bytes);
}
void* freed_by(const AnyNodeParameters* given) { return reinterpret_cast<void*>(given->bytes[0]); }

/// Calls a function with the kind of node, or fails as that would.
template <class Function>
Error with_kind(const char* name, const AnyNodeParameters* given, const Function& function) {
  KindOfNode kind{};
  const Error error = call(name, [&] { kind = kind_of(given); });
  return error != hipSuccess ? error : function(kind);
}

}  // namespace

Error hipGraphAddNode(GraphNode* node, Graph graph, const GraphNode* dependencies, size_t count,
                      AnyNodeParameters* given) {
  return with_kind(__func__, given, [&](KindOfNode kind) {
    switch (kind) {
      case kKernel:
        return hipGraphAddKernelNode(node, graph, dependencies, count, &given->kernel);
      case kCopy:
        return hipGraphAddMemcpyNode(node, graph, dependencies, count, &given->copy.copy);
      case kFill:
        return hipGraphAddMemsetNode(node, graph, dependencies, count, &given->fill);
      case kHost:
        return hipGraphAddHostNode(node, graph, dependencies, count, &given->host);
      case kChild:
        return hipGraphAddChildGraphNode(node, graph, dependencies, count, given->child);
      case kEmpty:
        return hipGraphAddEmptyNode(node, graph, dependencies, count);
      case kWait:
        return hipGraphAddEventWaitNode(node, graph, dependencies, count, given->event);
      case kAllocate:
        return hipGraphAddMemAllocNode(node, graph, dependencies, count, allocation_of(given));
      case kRelease:
        return hipGraphAddMemFreeNode(node, graph, dependencies, count, freed_by(given));
      case kRecord:
        break;
    }
    return hipGraphAddEventRecordNode(node, graph, dependencies, count, given->event);
  });
}

Error hipGraphNodeSetParams(GraphNode node, AnyNodeParameters* given) {
  return with_kind(__func__, given, [&](KindOfNode kind) {
    switch (kind) {
      case kKernel:
        return hipGraphKernelNodeSetParams(node, &given->kernel);
      case kCopy:
        return hipGraphMemcpyNodeSetParams(node, &given->copy.copy);
      case kFill:
        return hipGraphMemsetNodeSetParams(node, &given->fill);
      case kHost:
        return hipGraphHostNodeSetParams(node, &given->host);
      case kWait:
        return hipGraphEventWaitNodeSetEvent(node, given->event);
      case kRecord:
        return hipGraphEventRecordNodeSetEvent(node, given->event);
      default:
        return call("hipGraphNodeSetParams", [] { throw Failure(hipErrorInvalidValue, "the node has no parameters"); });
    }
  });
}

Error hipGraphExecNodeSetParams(GraphExec exec, GraphNode node, AnyNodeParameters* given) {
  return with_kind(__func__, given, [&](KindOfNode kind) {
    switch (kind) {
      case kKernel:
        return hipGraphExecKernelNodeSetParams(exec, node, &given->kernel);
      case kCopy:
        return hipGraphExecMemcpyNodeSetParams(exec, node, &given->copy.copy);
      case kFill:
        return hipGraphExecMemsetNodeSetParams(exec, node, &given->fill);
      case kHost:
        return hipGraphExecHostNodeSetParams(exec, node, &given->host);
      case kChild:
        return hipGraphExecChildGraphNodeSetParams(exec, node, given->child);
      case kWait:
        return hipGraphExecEventWaitNodeSetEvent(exec, node, given->event);
      case kRecord:
        return hipGraphExecEventRecordNodeSetEvent(exec, node, given->event);
      default:
        break;
    }
    return call("hipGraphExecNodeSetParams", [] { throw Failure(hipErrorInvalidValue, "the node has no parameters"); });
  });
}

}  // namespace wave::hip
