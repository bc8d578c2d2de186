// The stable ABI with what it has for GPUs. Not in stable.cpp, where hipify would make USE_ROCM of the name.
#pragma once

#define USE_CUDA
#include <torch/csrc/stable/c/shim.h>
#undef USE_CUDA
