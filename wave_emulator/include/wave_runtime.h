/* Compiled GPU kernels for programs in C and C++, without torch and without Python: load a file, look up a kernel,
 * check and launch it on an AMD or NVIDIA GPU or on the emulator.
 *
 *   wave_module* module;
 *   const wave_kernel* add;
 *   wave_module_load_file("kernels.hsaco", NULL, &module);
 *   wave_module_get_kernel(module, "vector_add", "*f32 const, *f32 const, *f32, i32", &add);
 *
 *   wave_launch_options options = {.size = sizeof options};
 *   options.device.driver = WAVE_EMULATOR;
 *   options.grid[0] = 4, options.grid[1] = 1, options.grid[2] = 1;
 *   options.block[0] = 256, options.block[1] = 1, options.block[2] = 1;
 *   wave_argument arguments[] = {wave_memory(a, bytes), wave_memory(b, bytes), wave_memory(c, bytes), wave_integer(n)};
 *   if (wave_launch(add, &options, arguments, 4) != WAVE_OK) puts(wave_error_message());
 *
 * The library is libwave_launch.so: in CMake find_package(wave_emulator), target wave_emulator::launch. It links no GPU
 * library: HIP's and CUDA's are opened when a call first needs them, the copy that the process has loaded already
 * before any other.
 *
 * Errors. Functions return WAVE_OK or say by their status what went wrong; the text is wave_error_message(). A function
 * that fails has launched nothing and leaves what its last parameters point to as it was; but WAVE_KERNEL_FAULT is
 * found while the kernel runs.
 *
 * Threads. Everything may be called from any thread, at the same time, but wave_module_free for a module in use.
 *
 * Ownership. Pointers to structs and arrays that are passed are borrowed for the call. A module is the caller's until
 * wave_module_free. Kernels and all strings that are returned stay valid until the process ends.
 *
 * Versions. What is declared here keeps its meaning; structs only grow at their ends, and their `size` tells the
 * library which fields the caller knows of. wave_api_version() >= WAVE_API_VERSION: all that this header declares is
 * there. */
#ifndef WAVE_RUNTIME_H
#define WAVE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WAVE_API_VERSION 1

/* The version of the library that was loaded. */
uint32_t wave_api_version(void);

typedef enum wave_status {
  WAVE_OK = 0,
  WAVE_INVALID_VALUE = 1,  /* an argument has a wrong value: file contents, sizes, ranges, geometry, names */
  WAVE_INVALID_TYPE = 2,   /* an argument does not fit the kernel's signature */
  WAVE_FILE_ERROR = 3,     /* a file cannot be read */
  WAVE_DRIVER_ERROR = 4,   /* the driver cannot be used, or failed: its own name of the error is in the message */
  WAVE_KERNEL_FAULT = 5,   /* on the emulator the kernel did what it must not: where is in the message */
  WAVE_OUT_OF_MEMORY = 6,  /* of the host */
  WAVE_INTERNAL_ERROR = 7, /* a bug of the library */
} wave_status;

/* What went wrong in the last call of this thread that did not return WAVE_OK. Valid until this thread's next call that
 * fails. "" before the first. */
const char* wave_error_message(void);

/* ---- Devices ---- */

typedef enum wave_driver {
  WAVE_EMULATOR =
      0,        /* in this process, for AMD's gfx942; one device, pointers are the host's, a launch returns when done */
  WAVE_HIP = 1, /* AMD's GPUs; WAVE_RUNTIME_LIBHIP in the environment may name another library */
  WAVE_CUDA = 2, /* NVIDIA's GPUs */
} wave_driver;

typedef struct wave_device {
  wave_driver driver;
  int32_t index; /* counts the driver's devices from 0 */
} wave_device;

typedef struct wave_device_info {
  size_t size;        /* sizeof(wave_device_info), set by the caller */
  const char* name;   /* "NVIDIA H200" */
  const char* target; /* what code is to be built for: "gfx942:sramecc+:xnack-", "sm_90" */
  uint32_t multiprocessors;
  uint32_t max_block_size; /* work-items of a workgroup */
  uint32_t shared_memory;  /* bytes of a workgroup (LDS), static and dynamic together */
} wave_device_info;

/* WAVE_DRIVER_ERROR where the driver's library is not there, with all places that were looked at. */
wave_status wave_device_count(wave_driver driver, int32_t* count);
wave_status wave_device_get_info(wave_device device, wave_device_info* info);

/* ---- Modules: files with kernels ---- */

typedef struct wave_module wave_module;
typedef struct wave_kernel wave_kernel;

/* Parses a file; no GPU is touched. It may be an AMD code object, a clang offload bundle, a cubin, PTX, a CUDA fat
 * binary, or a host object or library that has HIP or CUDA fat binaries. Of several builds all are taken, and each
 * launch uses the one that suits its device best; `target` ("gfx942", "sm_90") takes the one for that target; NULL:
 * all. */
wave_status wave_module_load_file(const char* path, const char* target, wave_module** module);

/* The same for a file's contents, which are copied. */
wave_status wave_module_load(const void* data, size_t size, const char* target, wave_module** module);

/* Lets go of the module. Its code is unloaded from the devices where no launch uses it and no captured graph may hold
 * it. Its kernels stay valid: a launch loads them again. NULL is allowed. */
void wave_module_free(wave_module* module);

/* Unloads the module's code from all devices, but where a captured graph may hold it; says from how many, if `devices`
 * is not NULL. The next launch loads it again. Waits for launches that are being enqueued; that the kernels have ended
 * is for the caller to know. */
wave_status wave_module_unload(wave_module* module, size_t* devices);

size_t wave_module_kernel_count(const wave_module* module);
/* Kernels in the order of the file; NULL beyond the last. */
const char* wave_module_kernel_name(const wave_module* module, size_t index);

/* ---- Kernels ---- */

/* Looks a kernel up. `signature` says the parameters' types where the binary does not say enough (an AMD code object
 * does not tell ints from floats, a cubin not even pointers from numbers), and which pointers are only read: "a: *f32
 * const, out: *f32, scale: f32, n: i32". NULL: as the binary says. WAVE_INVALID_VALUE where there is no such kernel,
 * with the names there are, and where the signature does not fit the binary. */
wave_status wave_module_get_kernel(wave_module* module, const char* name, const char* signature,
                                   const wave_kernel** kernel);

typedef struct wave_kernel_info {
  size_t size; /* sizeof(wave_kernel_info), set by the caller */
  const char* name;
  const char* signature;
  const char* handle; /* names the kernel and its code, the same in every process */
  size_t parameter_count;
  size_t argument_bytes; /* of packed arguments */
  uint32_t block[3];     /* the workgroup size that the binary requires; zeros: any */
  int32_t writes_known;  /* whether it is known which pointers are only read; if not, all count as written */
} wave_kernel_info;

wave_status wave_kernel_get_info(const wave_kernel* kernel, wave_kernel_info* info);

typedef struct wave_parameter {
  size_t size;      /* sizeof(wave_parameter), set by the caller */
  const char* name; /* "" where it has none */
  const char* type; /* "*f32 const", "i32", "bytes[16]" */
  uint32_t offset;  /* among packed arguments, in bytes */
  uint32_t bytes;
  int32_t is_pointer;
  int32_t is_written; /* of a pointer: the kernel may write what it points to */
} wave_parameter;

wave_status wave_kernel_get_parameter(const wave_kernel* kernel, size_t index, wave_parameter* parameter);

/* ---- Launches ---- */

typedef enum wave_argument_kind {
  WAVE_ARGUMENT_POINTER = 1,
  WAVE_ARGUMENT_INTEGER = 2,
  WAVE_ARGUMENT_UNSIGNED = 3,
  WAVE_ARGUMENT_FLOAT = 4,
  WAVE_ARGUMENT_BYTES = 5,
} wave_argument_kind;

typedef struct wave_argument {
  wave_argument_kind kind;
  union {
    const void* pointer; /* of the device's memory (POINTER), or to the bytes of a struct (BYTES) */
    int64_t integer;
    uint64_t unsigned_integer;
    double number;
  } value;
  size_t bytes; /* BYTES: of the struct. POINTER: that the kernel may touch there, which the emulator checks */
} wave_argument;

/* A pointer to `bytes` bytes. A GPU does not check them. On the emulator the kernel may touch these and those of the
 * options' `memory`, nothing else; const ones are not to be written. NULL has 0 bytes. */
static inline wave_argument wave_memory(const void* pointer, size_t bytes) {
  wave_argument argument;
  argument.kind = WAVE_ARGUMENT_POINTER;
  argument.value.pointer = pointer;
  argument.bytes = bytes;
  return argument;
}

/* For i8 to i64, u8 to u64, bool, bits, and floats: must be in the type's range. */
static inline wave_argument wave_integer(int64_t value) {
  wave_argument argument;
  argument.kind = WAVE_ARGUMENT_INTEGER;
  argument.value.integer = value;
  argument.bytes = 0;
  return argument;
}

/* The same for values of 2^63 and more. */
static inline wave_argument wave_unsigned(uint64_t value) {
  wave_argument argument;
  argument.kind = WAVE_ARGUMENT_UNSIGNED;
  argument.value.unsigned_integer = value;
  argument.bytes = 0;
  return argument;
}

/* For f16, bf16, f32 and f64, rounded to nearest even; and for bits, which get the float of their size. */
static inline wave_argument wave_float(double value) {
  wave_argument argument;
  argument.kind = WAVE_ARGUMENT_FLOAT;
  argument.value.number = value;
  argument.bytes = 0;
  return argument;
}

/* A struct: bytes[N]. */
static inline wave_argument wave_bytes(const void* data, size_t bytes) {
  wave_argument argument = wave_memory(data, bytes);
  argument.kind = WAVE_ARGUMENT_BYTES;
  return argument;
}

typedef struct wave_range {
  const void* begin;
  size_t bytes;
} wave_range;

typedef struct wave_launch_options {
  size_t size; /* sizeof(wave_launch_options), set by the caller. All that is not set is to be zero. */
  wave_device device;
  void* stream;             /* a hipStream_t or CUstream of the device; NULL: its default stream */
  int64_t grid[3];          /* workgroups, each extent at least 1 */
  int64_t block[3];         /* work-items of a workgroup; all zero: what the binary requires */
  int64_t shared_memory;    /* bytes of dynamic shared memory (LDS) */
  int64_t cluster[3];       /* workgroups of a cluster; all zero: none */
  int32_t cooperative;      /* whether all workgroups must be resident at once */
  int32_t programmatic;     /* whether it may begin before the launch ahead of it in its stream has ended */
  const int32_t* priority;  /* as the device numbers them; NULL: the stream's */
  const wave_range* memory; /* on the emulator: what the kernel may read and write besides its pointer arguments */
  size_t memory_count;
} wave_launch_options;

/* Checks arguments and options, and launches: all that is wrong with them is said before anything runs. Returns when
 * the launch is enqueued, on the emulator when it is done. The first launch on a device loads the code there. */
wave_status wave_launch(const wave_kernel* kernel, const wave_launch_options* options, const wave_argument* arguments,
                        size_t count);

/* The same for arguments that the caller has packed, at the offsets of wave_parameter; what is left out at their end is
 * zero. On the emulator the kernel may touch the options' `memory` only. */
wave_status wave_launch_packed(const wave_kernel* kernel, const wave_launch_options* options, const void* arguments,
                               size_t bytes);

/* All checks of wave_launch, and nothing else. Loads the code on the device. */
wave_status wave_check(const wave_kernel* kernel, const wave_launch_options* options, const wave_argument* arguments,
                       size_t count);

/* Loads the kernel on a device, so that no launch has to. */
wave_status wave_kernel_preload(const wave_kernel* kernel, wave_device device);

#ifdef __cplusplus
}
#endif

#endif
