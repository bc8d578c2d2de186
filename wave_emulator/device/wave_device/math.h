// Mathematics without device libraries: HIP's functions, in single and double precision. docs/math.md has their errors.
#pragma once

#include "wave_device/math/classification.h"
#include "wave_device/math/intrinsics.h"
#include "wave_device/math/overloads.h"
