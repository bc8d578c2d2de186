// Torch's devices and streams as the drivers know them. Nothing of torch's GPU libraries is linked.
#pragma once

#include <c10/core/Device.h>

#include <optional>

#include "launch/place.h"

namespace wave {

/// Where kernels on tensors of a device run. Throws ValueError for devices that are neither CPU nor CUDA (ROCm).
Place place_of(c10::Device device);

/// Torch's current GPU, where the driver for GPU tensors has one. Torch alone is not to be asked: on a machine without
/// GPUs it has one for stand-ins, once a compiler has made some.
std::optional<c10::Device> current_gpu();

/// The driver's handle of this thread's current stream on a device; nullptr for its default stream, and on the CPU.
void* current_stream(c10::Device device);

}  // namespace wave
