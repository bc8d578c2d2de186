// Launches a kernel without torch and Python:
//
//   host_kernel examples/kernels/binaries/basics.hsaco
#include <cstdio>
#include <vector>
#include <wave_runtime.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: host_kernel basics.hsaco\n");
    return 2;
  }
  const wave_runtime::Module module(argv[1]);
  const wave_runtime::Kernel add =
      module.kernel("vector_add", "a: *f32 const, b: *f32 const, c: *f32, n: i32");  // the binary does not say

  constexpr int kElements = 1000, kBlock = 256;
  std::vector<float> a(kElements), b(kElements, 0.5f), c(kElements);
  for (int i = 0; i < kElements; ++i) a[i] = static_cast<float>(i);

  // With device = wave_runtime::hip() or cuda(), pass that device's pointers and a stream.
  wave_runtime::Options options;
  options.device = wave_runtime::emulator();
  options.grid = {(kElements + kBlock - 1) / kBlock, 1, 1};  // workgroups
  options.block = {kBlock, 1, 1};
  using wave_runtime::memory;
  add.launch(options, memory(a), memory(b), memory(c), kElements);
  std::printf("%s on %s: c[999] = %g\n", add.info().name, wave_runtime::device_info(options.device).name, c[999]);

  try {
    add.launch(options, memory(a), memory(b), memory(c.data(), 500), kElements);
  } catch (const wave_runtime::Error& error) {  // what a GPU would do in silence
    std::printf("half of c: %s\n", error.what());
  }
  return 0;
} catch (const wave_runtime::Error& error) {
  std::fprintf(stderr, "host_kernel: %s\n", error.what());
  return 1;
}
