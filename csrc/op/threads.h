// Torch's threads for the emulator.
#pragma once

#include "base/parallel.h"

namespace wave {

/// Runs on the threads of torch's own OpenMP runtime, as many as torch.set_num_threads() allows. Empty where that is
/// one, where the caller is in a parallel region already, in a forked process, or where torch has no OpenMP.
Parallel torch_threads();

}  // namespace wave
