// HIP's host interface under the name of its own header.
#pragma once

#include "hip/hip_runtime.h"
