// ROCm's release, as that of HIP.
#pragma once

#include <hip/hip_version.h>

#define ROCM_VERSION_MAJOR HIP_VERSION_MAJOR
#define ROCM_VERSION_MINOR HIP_VERSION_MINOR
#define ROCM_VERSION_PATCH HIP_VERSION_PATCH
