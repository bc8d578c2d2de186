#pragma once

/// The number of a work-item in a grid of one dimension.
__device__ inline int work_item() { return blockIdx.x * blockDim.x + threadIdx.x; }
