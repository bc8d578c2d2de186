// The code of kernels as tensors, which exported programs hold as constants.
#pragma once

#include <ATen/core/Tensor.h>

#include "launch/embedded.h"

namespace wave {

/// The kernel's code, [bytes] of uint8 on the CPU: the same tensor for all kernels of the same builds. Not to be
/// written.
at::Tensor code_tensor(const Kernel& kernel);

/// The kernel of wave::launch_embedded, from inputs[0] where the process does not know it. Throws ValueError.
const Kernel& find_embedded(std::string_view handle, at::TensorList inputs);

}  // namespace wave
