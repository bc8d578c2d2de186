// Functions of kernels under the name of HIP's own header.
#pragma once

#include "hip/hip_runtime.h"
