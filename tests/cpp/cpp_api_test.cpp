// wave_runtime.hpp: cpp_api_test KERNELS DRIVER, as c_api_test.c.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <wave_runtime.hpp>

using wave_runtime::Kernel;
using wave_runtime::memory;
using wave_runtime::Module;
using wave_runtime::Options;

namespace {

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::_Exit(1);
}
#define EXPECT(condition) expect(condition, #condition)

struct Mixed {
  float x;
  short y;
  double z;
  signed char w[3];
};

/// Threads that launch, look up and unload at once.
void test_threads(Module& module, const Options& options) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 20; ++round) {
        const Kernel add = module.kernel("vector_add", "*f32 const, *f32 const, *f32, i32");
        std::vector<float> a(100, static_cast<float>(thread)), b(100, 0.5f), c(100);
        add.launch(options, memory(a), memory(b), memory(c), 100);
        EXPECT(c[99] == static_cast<float>(thread) + 0.5f);
        if (thread == 0) module.unload();
        if (thread == 1) {
          try {
            add.launch(options, 1, 2);
            EXPECT(!"a launch with two arguments");
          } catch (const wave_runtime::Error& error) {
            EXPECT(error.status() == WAVE_INVALID_TYPE);
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int, char** argv) {
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Module first(bytes.data(), bytes.size());
  Module module = std::move(first);
  EXPECT(module.kernels().front() == "vector_add");

  Options options;
  options.device = {static_cast<wave_driver>(std::atoi(argv[2])), 0};
  options.block = {64, 1, 1};
  EXPECT(wave_runtime::device_count(options.device.driver) >= 1);
  EXPECT(std::string(wave_runtime::device_info(options.device).target).find("gfx942") == 0);

  const Kernel store =
      module.kernel("store_scalars", "*u8, i8, u8, i16, u16, i32, u32, i64, u64, bool, f16, f32, f64, bytes[24]");
  EXPECT(std::string(store.parameter(13).type) == "bytes[24]" && store.info().parameter_count == 14);
  std::array<unsigned char, 128> out{};
  const Mixed mixed{1.5f, -7, -2.25, {1, -2, 3}};
  store.check_launch(options, memory(out), -1, 2u, short{-3}, 4, -5, 6, int64_t{-7}, ~uint64_t{0}, true, 0.5f, 3, 1e-9,
                     mixed);
  EXPECT(out[8] == 0);
  store.launch(options, memory(out), -1, 2u, short{-3}, 4, -5, 6, int64_t{-7}, ~uint64_t{0}, true, 0.5f, 3, 1e-9,
               mixed);
  EXPECT(out[0] == 255 && out[8] == 2 && out[63] == 255 && out[64] == 1 && out[122] == 3);

  const Kernel take = module.kernel("take", "out: *i32, step: i32, entry: i32");
  take.preload(options.device);
  int taken[2] = {};
  const struct {
    int* out;
    int step, entry;
  } packed{taken, 0, 3};
  options.memory = {{taken, sizeof taken}};
  take.launch_packed(options, &packed, sizeof packed);
  EXPECT(taken[1] == 8);
  options.memory.clear();

  options.grid = {2, 1, 1};
  test_threads(module, options);
  try {
    Module("/nowhere/file");
    EXPECT(!"a module without a file");
  } catch (const wave_runtime::Error& error) {
    EXPECT(error.status() == WAVE_FILE_ERROR && std::string(error.what()).find("/nowhere/file") == 0);
  }
  std::puts("passed");
  return 0;
}
