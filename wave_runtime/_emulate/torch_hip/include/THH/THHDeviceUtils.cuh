// What torch for GPUs keeps of its library THC, for extensions that were written for it.
#pragma once

#include <ATen/hip/DeviceUtils.cuh>
