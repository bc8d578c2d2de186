// CUDA's header of this name, for .cu files that are compiled for AMD GPUs.
#pragma once

#include "cuda_runtime.h"
