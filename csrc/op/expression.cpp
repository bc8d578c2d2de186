#include "op/expression.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/error.h"

namespace wave {

namespace {

/// Rounds down. Sets `failed` where `b` is zero.
int64_t floor_divide(int64_t a, int64_t b, bool& failed) {
  failed |= b == 0;
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));  // INT64_MIN / -1 traps
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t word(Number number) { return static_cast<uint64_t>(number.integer); }

// The instructions: a name, how many values it takes from the stack, and what it does. `a` is the first of these
// values, `b` the second; `a` becomes the result.
#define WAVE_INSTRUCTIONS(X)                                                                                      \
  X(integer, 0, a = instruction.value)                                                                            \
  X(real, 0, a = instruction.value)                                                                               \
  X(size, 0, a.integer = input.tensor->sizes()[instruction.dim])                                                  \
  X(stride, 0, a.integer = input.tensor->strides()[instruction.dim])                                              \
  X(elements, 0, a.integer = input.tensor->numel())                                                               \
  X(scalar, 0, a = input.number)                                                                                  \
  X(to_real, 1, a.real = static_cast<double>(a.integer))                                                          \
  X(add, 2, a.integer = wrapped(word(a) + word(*b)))                                                              \
  X(sub, 2, a.integer = wrapped(word(a) - word(*b)))                                                              \
  X(mul, 2, a.integer = wrapped(word(a) * word(*b)))                                                              \
  X(floordiv, 2, a.integer = floor_divide(a.integer, b->integer, failed))                                         \
  X(mod, 2,                                                                                                       \
    a.integer = wrapped(word(a) - static_cast<uint64_t>(floor_divide(a.integer, b->integer, failed)) * word(*b))) \
  X(min, 2, a.integer = std::min(a.integer, b->integer))                                                          \
  X(max, 2, a.integer = std::max(a.integer, b->integer))                                                          \
  X(real_add, 2, a.real += b->real)                                                                               \
  X(real_sub, 2, a.real -= b->real)                                                                               \
  X(real_mul, 2, a.real *= b->real)                                                                               \
  X(real_div, 2, a.real /= b->real)                                                                               \
  X(real_pow, 2, a.real = std::pow(a.real, b->real))                                                              \
  X(real_min, 2, a.real = std::min(a.real, b->real))                                                              \
  X(real_max, 2, a.real = std::max(a.real, b->real))

enum class Operation : uint8_t {
#define WAVE_NAME(name, taken, action) name,
  WAVE_INSTRUCTIONS(WAVE_NAME)
#undef WAVE_NAME
};

struct InstructionKind {
  std::string_view name;
  size_t taken;
};
constexpr InstructionKind kKinds[] = {
#define WAVE_KIND(name, taken, action) {#name, taken},
    WAVE_INSTRUCTIONS(WAVE_KIND)
#undef WAVE_KIND
};

}  // namespace

void Program::add(std::string_view name, Number value, size_t input, int64_t dim) {
  const auto* const found = std::ranges::find(kKinds, name, &InstructionKind::name);
  if (found == std::end(kKinds)) throw ValueError(text("no instruction '", name, "'"));
  if (depth_ < found->taken || depth_ - found->taken + 1 > kStack || input > std::numeric_limits<uint8_t>::max()) {
    throw ValueError(text("an expression needs more than ", kStack, " values, or has too few"));
  }
  depth_ += 1 - found->taken;
  code_.push_back(
      {static_cast<uint8_t>(found - kKinds), static_cast<uint8_t>(input), static_cast<uint16_t>(dim), value});
}

bool Program::run(const InputView* inputs, Number (&stack)[kStack]) const {
  Number* top = stack;
  bool failed = false;
  for (const Instruction& instruction : code_) {
    const InputView& input = inputs[instruction.input];
    switch (static_cast<Operation>(instruction.operation)) {
#define WAVE_CASE(name, taken, action)        \
  case Operation::name: {                     \
    Number& a = *(top -= taken);              \
    [[maybe_unused]] const Number* b = ++top; \
    action;                                   \
    break;                                    \
  }
      WAVE_INSTRUCTIONS(WAVE_CASE)
#undef WAVE_CASE
    }
  }
  return !failed;
}

}  // namespace wave
