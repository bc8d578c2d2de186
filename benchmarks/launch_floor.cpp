// The floor of bench_launch.py: a loop over the CUDA driver's own launch call, with everything prepared. A C interface
// for ctypes; the driver is opened at run time, so that neither headers nor libraries of CUDA are needed to build this.
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "launch_loop.h"

namespace {

using Result = int;
using Context = void*;
using Module = void*;
using Function = void*;
using Stream = void*;

// CUDA_DRIVER(name, parameters)
#define CUDA_DRIVER_TABLE                                                                            \
  CUDA_DRIVER(cuCtxGetCurrent, (Context*))                                                           \
  CUDA_DRIVER(cuCtxSetCurrent, (Context))                                                            \
  CUDA_DRIVER(cuModuleLoadData, (Module*, const void*))                                              \
  CUDA_DRIVER(cuModuleGetFunction, (Function*, Module, const char*))                                 \
  CUDA_DRIVER(cuLaunchKernel, (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                               unsigned shared_memory, Stream, void** parameters, void** buffer))    \
  CUDA_DRIVER(cuGetErrorName, (Result, const char**))

struct Driver {
#define CUDA_DRIVER(name, parameters) Result(*name) parameters;
  CUDA_DRIVER_TABLE
#undef CUDA_DRIVER

  Driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) throw std::runtime_error(dlerror());
#define CUDA_DRIVER(name, parameters)                                   \
  name = reinterpret_cast<Result(*) parameters>(dlsym(library, #name)); \
  if (!name) throw std::runtime_error("libcuda.so.1 lacks " #name);
    CUDA_DRIVER_TABLE
#undef CUDA_DRIVER
  }
};

const Driver& driver() {
  static const Driver driver;
  return driver;
}

void check(Result result, const char* call) {
  if (result == 0) return;
  const char* name = nullptr;
  driver().cuGetErrorName(result, &name);
  throw std::runtime_error(std::string(call) + ": " + (name ? name : "unknown error"));
}

/// Runs `body`; where it throws, returns the message, which lives until the thread's next error.
template <class Body>
const char* message_of(Body body) {
  thread_local std::string message;
  try {
    body();
    return nullptr;
  } catch (const std::exception& error) {
    message = error.what();
    return message.c_str();
  }
}

constexpr int MAX_ARGUMENTS = 64;
constexpr uint32_t MAX_LINES = 512;

// Functions that do nothing, each in a cache line of its own.
extern "C" const char code_lines[] __attribute__((visibility("hidden")));
asm(".text\n.p2align 6\ncode_lines:\n.rept 512\n.p2align 6\nret\n.endr\n");

void run_code_lines(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) reinterpret_cast<void (*)()>(const_cast<char*>(code_lines + 64 * i))();
}

}  // namespace

extern "C" {

/// One launch. Borrows all it points to.
struct FloorLaunch {
  Function function;
  Stream stream;
  uint32_t grid, block;
  uint8_t* arguments;       ///< the kernel's argument buffer
  uint64_t size;            ///< its bytes
  const uint64_t* offsets;  ///< where in it each argument begins
  uint32_t count;           ///< of the arguments
  uint32_t as_buffer;       ///< pass the buffer whole, else a pointer to each argument
  uint32_t code_lines;      ///< cache lines of code that run after each launch
};

/// Loads the module for good and finds the kernel. Returns nullptr, or what went wrong. All functions here do.
const char* floor_load(const void* image, const char* kernel, Function* function) {
  return message_of([&] {
    Module module = nullptr;
    check(driver().cuModuleLoadData(&module, image), "cuModuleLoadData");
    check(driver().cuModuleGetFunction(function, module, kernel), "cuModuleGetFunction");
  });
}

/// Times `calls` launches on each of `threads` threads in the calling thread's context.
const char* floor_seconds(const FloorLaunch* launch, int calls, int warm_up, int threads, double* seconds) {
  return message_of([&] {
    void* pointers[MAX_ARGUMENTS];
    if (launch->count > MAX_ARGUMENTS) throw std::runtime_error("too many arguments");
    if (launch->code_lines > MAX_LINES) throw std::runtime_error("too many lines of code");
    for (uint32_t i = 0; i < launch->count; ++i) pointers[i] = launch->arguments + launch->offsets[i];
    // CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
    size_t size = launch->size;
    void* buffer[] = {reinterpret_cast<void*>(1), launch->arguments, reinterpret_cast<void*>(2), &size, nullptr};
    void** const parameters = launch->as_buffer ? nullptr : pointers;
    void** const extra = launch->as_buffer ? buffer : nullptr;

    Context context = nullptr;
    check(driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
    const auto call = driver().cuLaunchKernel;
    const auto prepare = [context] { check(driver().cuCtxSetCurrent(context), "cuCtxSetCurrent"); };
    *seconds = seconds_of_launches(threads, calls, warm_up, prepare, [=] {
      check(call(launch->function, launch->grid, 1, 1, launch->block, 1, 1, 0, launch->stream, parameters, extra),
            "cuLaunchKernel");
      run_code_lines(launch->code_lines);
    });
  });
}

}  // extern "C"
