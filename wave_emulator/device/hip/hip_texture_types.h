// Textures, of which there are none, under the name of HIP's own header.
#pragma once

#include "hip/hip_runtime.h"
