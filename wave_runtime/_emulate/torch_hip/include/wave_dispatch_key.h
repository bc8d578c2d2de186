// Kernels that are registered for GPUs are the CPU's here, whose tensors an emulated GPU's are.
#pragma once

#include <c10/core/DispatchKey.h>

namespace c10 {

constexpr DispatchKey wave_key(DispatchKey key) {
  if (key == DispatchKey::AutocastCUDA) return DispatchKey::AutocastCPU;
  if (toBackendComponent(key) != BackendComponent::CUDABit) return key;
  return toRuntimePerBackendFunctionalityKey(toFunctionalityKey(key), BackendComponent::CPUBit);
}

// Of two kernels for one key the one that is registered later holds. Registrations with a lower number run first; 65535
// is the number of what names none.
constexpr int wave_priority(DispatchKey key) {
  const bool of_cpu = toBackendComponent(key) == BackendComponent::CPUBit || key == DispatchKey::AutocastCPU;
  return of_cpu ? 65000 : 65535;
}

}  // namespace c10
