// Cooperative groups under HIP's name of their header.
#pragma once

#include "hip/hip_runtime.h"
#include "wave_device/cooperative_groups.h"
