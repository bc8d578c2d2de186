// Loading and launching for C: the functions of upstream's wave_hip_runtime.h, which code that wave-lang's execution
// engine compiles calls. They throw what the product throws, as upstream's throw std::runtime_error.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Nothing has to be loaded before the other functions are called.
void load_functions(void);

/// The kernel of this name in a code object of `binary_size` bytes, for wave_launch_kernel; found only where
/// `*cached_kernel_handle` is null, and kept there. Loaded where it is launched; `stream` plays no part.
void* wave_load_kernel(void* stream, void** cached_kernel_handle, const void* binary_pointer, size_t binary_size,
                       const char* kernel_name);

/// Launches on the current GPU, on the stream (the driver's handle), or without a GPU on the emulator, which has run
/// the kernel when this returns. `args` points to each argument's value. The grid counts workgroups; shared memory is
/// that of a workgroup, with what the kernel declares itself.
void wave_launch_kernel(void* stream, void* function, int shared_memory_bytes, int grid_x, int grid_y, int grid_z,
                        int block_x, int block_y, int block_z, int cluster_x, int cluster_y, int cluster_z, void** args,
                        int num_args);

#ifdef __cplusplus
}
#endif
