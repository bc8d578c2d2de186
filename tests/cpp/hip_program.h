// What test programs share that use HIP's interface as programs do: through a library that they open.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "hip_emulator/hip_handles.h"

namespace hip = wave::hip;

namespace wave::hip {

/// The functions by their names.
struct Functions {
#define REQUIRED(name, parameters) Error(*name) parameters;
#define OPTIONAL(name, parameters) Error(*name) parameters;
#define FUNCTION(name, parameters) Error(*name) parameters;
#define TEXT(name) const char* (*name)(Error);
#include "driver/hip/hip_symbols.inc"
#include "hip_emulator/functions.inc"
#undef REQUIRED
#undef OPTIONAL
#undef FUNCTION
#undef TEXT

  /// Opens a library; without one, the functions are the program's own.
  void open(const char* path) {
    void* library = dlopen(path, RTLD_NOW);
    if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror()), std::exit(2);
#define REQUIRED(name, parameters) name = reinterpret_cast<decltype(name)>(dlsym(library, #name));
#define OPTIONAL REQUIRED
#define FUNCTION REQUIRED
#define TEXT(name) REQUIRED(name, )
#include "driver/hip/hip_symbols.inc"
#include "hip_emulator/functions.inc"
#undef REQUIRED
#undef OPTIONAL
#undef FUNCTION
#undef TEXT
  }
};

}  // namespace wave::hip

inline hip::Functions api;

/// Ends the program unless both are equal.
template <class Given, class Wanted>
void expect_equal(const char* file, int line, const char* what, const Given& given, const Wanted& wanted) {
  if (given == wanted) return;
  std::fprintf(stderr, "%s:%d: %s is %s, not %s\n", file, line, what, std::to_string(given).c_str(),
               std::to_string(wanted).c_str());
  std::_Exit(1);
}

#define EXPECT_EQ(given, wanted) expect_equal(__FILE__, __LINE__, #given, given, wanted)
#define OK(call) EXPECT_EQ(call, 0)

inline std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Device memory.
template <class T>
struct Buffer {
  explicit Buffer(size_t count) : count(count) {
    OK(api.hipMalloc(reinterpret_cast<void**>(&data), count * sizeof(T)));
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    OK(api.hipMemcpy(data, values.data(), count * sizeof(T), hip::kHostToDevice));
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { OK(api.hipFree(data)); }

  std::vector<T> values() const {
    std::vector<T> result(count);
    OK(api.hipMemcpy(result.data(), data, count * sizeof(T), hip::kDeviceToHost));
    return result;
  }

  T* data = nullptr;
  size_t count;
};

/// A module and its kernels.
struct Loaded {
  explicit Loaded(const std::string& path) {
    const std::vector<char> image = read_file(path);  // need not outlive the call
    OK(api.hipModuleLoadData(&module, image.data()));
  }
  Loaded(const Loaded&) = delete;
  ~Loaded() {
    if (module != nullptr) OK(api.hipModuleUnload(module));
  }
  hip::Function operator[](const char* name) const {
    hip::Function function = nullptr;
    OK(api.hipModuleGetFunction(&function, module, name));
    return function;
  }
  hip::Module module = nullptr;
};

/// Launches with a pointer to each argument; returns the error.
template <class... Arguments>
hip::Error launch(hip::Function function, unsigned grid, unsigned block, hip::Stream stream, Arguments... arguments) {
  void* parameters[] = {&arguments..., nullptr};
  return api.hipModuleLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, parameters, nullptr);
}

/// Of the repository.
inline std::string root;

inline std::string basics() { return root + "/examples/kernels/binaries/basics.hsaco"; }
inline std::string language() { return root + "/tests/emulator/kernels/language.hsaco"; }
inline std::string conformance() { return root + "/tests/conformance/kernels.hsaco"; }
inline std::string probes() { return root + "/tests/emulator/kernels/probes.hsaco"; }

constexpr int kCount = 1000;
inline const hip::Stream kPerThread = reinterpret_cast<hip::Stream>(2);  // hipStreamPerThread

inline std::vector<float> ramp(float begin) {
  std::vector<float> values(kCount);
  std::iota(values.begin(), values.end(), begin);
  return values;
}

inline hip::Stream new_stream(unsigned flags = hip::kStreamNonBlocking) {
  hip::Stream stream = nullptr;
  OK(api.hipStreamCreateWithFlags(&stream, flags));
  return stream;
}

inline hip::Event new_event() {
  hip::Event event = nullptr;
  OK(api.hipEventCreate(&event));
  return event;
}

/// A kernel that takes a while: Collatz sequences of numbers with long ones.
struct Slow {
  Slow() : start(std::vector<unsigned>(kItems, 837799)), steps(kItems) {}
  void enqueue(hip::Stream stream) {
    OK(launch(module["collatz"], kItems / 256, 256, stream, start.data, steps.data, kItems));
  }
  bool is_done() { return steps.data[0] == 524 && steps.data[kItems - 1] == 524; }
  static constexpr int kItems = 1 << 16;
  Loaded module{basics()};
  Buffer<unsigned> start, steps;
};

/// A test, which TEST(name) { ... } adds.
struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> tests;
  return tests;
}

#define TEST(name)                                                       \
  static void name();                                                    \
  const bool name##_is_added = (tests().push_back({#name, name}), true); \
  static void name()
