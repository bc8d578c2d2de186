// Attributes of nodes that launch kernels.
#include <cstring>

#include "hip_emulator/api.h"
#include "hip_emulator/launch.h"

namespace wave::hip {

namespace {

/// What an attribute's value takes of the union, which is larger in newer releases.
size_t attribute_size(KernelAttributeId id) {
  return id == kAttributeAccessWindow ? sizeof(AccessWindow) : sizeof(int32_t);
}

/// As AMD's runtime checks it (ROCm/clr, GraphKernelNode::SetAttrParams). The device sets no memory apart.
void check_window(const AccessWindow& window) {
  constexpr int kPersisting = 2;
  require(window.hit_ratio >= 0 && window.hit_ratio <= 1 && window.miss_property != kPersisting && window.size == 0);
}

const KernelWork& kernel_of(const NodeRecord& node) {
  const auto* const work = std::get_if<KernelWork>(&node.operation.work);
  require(work != nullptr, hipErrorInvalidValue, "the node launches no kernel");
  return *work;
}

void set_attribute(NodeRecord& node, KernelAttributeId id, const KernelAttributeValue& value) {
  const PackedLaunch& launch = *kernel_of(node).launch;
  constexpr int kMostPriority = 1;
  if (id == kAttributeAccessWindow) check_window(value.window);
  if (id == kAttributePriority) require(value.priority >= -kMostPriority && value.priority <= kMostPriority);
  if (id == kAttributeCooperative) node.operation = launch_operation(launch, value.cooperative != 0);
  node.attribute.id = id;
  std::memcpy(&node.attribute.value, &value, attribute_size(id));
}

void check_id(KernelAttributeId id) {
  require(id == kAttributeAccessWindow || id == kAttributeCooperative || id == kAttributePriority);
}

}  // namespace

Error hipGraphKernelNodeSetAttribute(GraphNode node, KernelAttributeId id, const KernelAttributeValue* value) {
  return call(__func__, [&] {
    require(value != nullptr);
    check_id(id);
    const auto found = runtime().nodes.find(node);
    std::lock_guard lock(runtime().order);
    set_attribute(*found, id, *value);
  });
}

/// Where another attribute was set, an error, as in AMD's runtime.
Error hipGraphKernelNodeGetAttribute(GraphNode node, KernelAttributeId id, KernelAttributeValue* value) {
  return call(__func__, [&] {
    require(value != nullptr);
    check_id(id);
    const auto found = runtime().nodes.find(node);
    std::lock_guard lock(runtime().order);
    const PackedLaunch& launch = *kernel_of(*found).launch;
    require(found->attribute.id == 0 || found->attribute.id == id);
    std::memcpy(value, &found->attribute.value, attribute_size(id));
    if (id == kAttributeCooperative) value->cooperative = launch.cooperative;  // also where it was captured so
  });
}

Error hipGraphKernelNodeCopyAttributes(GraphNode from, GraphNode to) {
  return call(__func__, [&] {
    const auto source = runtime().nodes.find(from), changed = runtime().nodes.find(to);
    std::lock_guard lock(runtime().order);
    kernel_of(*source);
    kernel_of(*changed);
    const LaunchAttribute& attribute = source->attribute;
    require(changed->attribute.id == 0 || changed->attribute.id == attribute.id, hipErrorInvalidContext);
    if (attribute.id != 0) set_attribute(*changed, attribute.id, attribute.value);
  });
}

}  // namespace wave::hip
