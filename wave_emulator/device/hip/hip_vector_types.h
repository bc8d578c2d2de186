// float4 and its like under the name of HIP's own header.
#pragma once

#include "hip/hip_runtime.h"
