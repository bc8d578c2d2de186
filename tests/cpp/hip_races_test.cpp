// Launches whose workgroups meet in the same pages, dwords and blocks, on several threads and streams at once: for the
// check for races, which the environment asks for. A part of the program of hip_emulator_test.cpp.
#include <array>

#include "hip_program.h"

namespace {

constexpr int kItems = 1 << 14, kTile = 64, kTimes = 3;

struct Kernels {
  Loaded basic{basics()}, mistakes{root + "/tests/emulator/kernels/mistakes_gfx942.hsaco"};
};

/// Atomics at three addresses, stores side by side, bytes of one dword, tiles in LDS, and a race in LDS.
struct Work {
  Buffer<unsigned char> values{few()}, bytes{128};
  Buffer<unsigned> counts{std::vector<unsigned>(256)};
  Buffer<float> sums{ramp(1)}, tiles{std::vector<float>(kTile * kTile, 1)}, products{kTile * kTile};
  Buffer<int> out{128};

  static std::vector<unsigned char> few() {
    std::vector<unsigned char> values(kItems);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<unsigned char>(i % 3);
    return values;
  }
  void enqueue(const Kernels& kernels, hip::Stream stream) {
    for (int i = 0; i < kTimes; ++i) {
      OK(launch(kernels.basic["histogram"], kItems / 256, 256, stream, values.data, counts.data, kItems));
      OK(launch(kernels.basic["vector_add"], 16, 64, stream, sums.data, sums.data, sums.data, kCount));
      OK(launch(kernels.mistakes["bytes_between_groups"], 2, 64, stream, bytes.data, 0));
      OK(launch(kernels.mistakes["lds_without_barrier"], 1, 128, stream, out.data, 1));
    }
    int size = kTile;
    void* parameters[] = {&tiles.data, &tiles.data, &products.data, &size};
    OK(api.hipModuleLaunchKernel(kernels.basic["matmul_tiled"], kTile / 16, kTile / 16, 1, 16, 16, 1, 0, stream,
                                 parameters, nullptr));
  }
  void check() const {
    EXPECT_EQ(counts.values()[2], unsigned{kTimes * (kItems / 3)});
    EXPECT_EQ(sums.values()[9], 80.0f);
    EXPECT_EQ(int{bytes.values()[2 * 9 + 1]}, 2);
    EXPECT_EQ(products.values()[0], float{kTile});
  }
};

TEST(workgroups_side_by_side) {
  const Kernels kernels;
  std::array<Work, 2> works;
  std::array<hip::Stream, 2> streams;
  for (size_t i = 0; i < works.size(); ++i) works[i].enqueue(kernels, streams[i] = new_stream());
  for (const hip::Stream stream : streams) OK(api.hipStreamSynchronize(stream));
  for (const Work& work : works) work.check();
  for (const hip::Stream stream : streams) OK(api.hipStreamDestroy(stream));
}

}  // namespace
