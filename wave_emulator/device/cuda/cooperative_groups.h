// Cooperative groups under CUDA's name of their header, for sources that serve both vendors.
#pragma once

#include "hip/hip_cooperative_groups.h"
