// HIP's extensions of its host interface under the name of HIP's own header.
#pragma once

#include "hip/hip_runtime.h"
