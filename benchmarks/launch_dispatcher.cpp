// How a C++ program calls wave::launch: a typed handle, looked up once, and lists on the stack.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/SymInt.h>
#include <c10/core/SymIntArrayRef.h>
#include <torch/library.h>

#include <algorithm>
#include <vector>

#include "launch_loop.h"

namespace {

using Launch = void(std::string_view, at::TensorList, at::TensorList, c10::SymIntArrayRef, at::ArrayRef<double>,
                    c10::SymIntArrayRef, c10::SymIntArrayRef, c10::SymInt, at::OptionalSymIntArrayRef, bool, bool,
                    std::optional<int64_t>);

/// Times `calls` calls of the operator on each of `threads` threads. Returns the seconds.
double seconds_of_operator(std::string_view kernel, at::TensorList inputs, at::TensorList outputs, at::IntArrayRef ints,
                           at::ArrayRef<double> floats, at::IntArrayRef grid, at::IntArrayRef block, int64_t calls,
                           int64_t warm_up, int64_t threads) {
  static const auto launch = c10::Dispatcher::singleton().findSchemaOrThrow("wave::launch", "").typed<Launch>();
  const auto prepare = [] {};
  return seconds_of_launches(
      static_cast<int>(threads), static_cast<int>(calls), static_cast<int>(warm_up), prepare, [&] {
        launch.call(kernel, inputs, outputs, c10::fromIntArrayRefSlow(ints), floats, c10::fromIntArrayRefSlow(grid),
                    c10::fromIntArrayRefSlow(block), 0, std::nullopt, false, false, std::nullopt);
      });
}

}  // namespace

TORCH_LIBRARY(wave_benchmark, m) {
  m.def(
      "seconds_of_operator(str kernel, Tensor[] inputs, Tensor(a!)[] outputs, int[] ints, float[] floats, "
      "int[] grid, int[] block, int calls, int warm_up, int threads) -> float",
      seconds_of_operator);
}
