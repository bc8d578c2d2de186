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

// The binary instructions: name, kind of operands and result, value.
#define WAVE_BINARY(X)                                                                                                \
  X(add, integer, wrapped(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)))                                       \
  X(sub, integer, wrapped(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)))                                       \
  X(mul, integer, wrapped(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)))                                       \
  X(floordiv, integer, floor_divide(a, b, failed))                                                                    \
  X(mod, integer,                                                                                                     \
    wrapped(static_cast<uint64_t>(a) - static_cast<uint64_t>(floor_divide(a, b, failed)) * static_cast<uint64_t>(b))) \
  X(min, integer, std::min(a, b))                                                                                     \
  X(max, integer, std::max(a, b))                                                                                     \
  X(real_add, real, a + b)                                                                                            \
  X(real_sub, real, a - b)                                                                                            \
  X(real_mul, real, a* b)                                                                                             \
  X(real_div, real, a / b)                                                                                            \
  X(real_pow, real, std::pow(a, b))                                                                                   \
  X(real_min, real, std::min(a, b))                                                                                   \
  X(real_max, real, std::max(a, b))

enum class Operation : uint8_t {
  integer,
  real,
  size,
  stride,
  elements,
  scalar,
  to_real,
#define WAVE_NAME(name, kind, value) name,
  WAVE_BINARY(WAVE_NAME)
#undef WAVE_NAME
};

constexpr std::string_view kNames[] = {"integer",
                                       "real",
                                       "size",
                                       "stride",
                                       "elements",
                                       "scalar",
                                       "to_real",
#define WAVE_NAME(name, kind, value) #name,
                                       WAVE_BINARY(WAVE_NAME)
#undef WAVE_NAME
};

}  // namespace

void Program::add(std::string_view name, Number value, size_t input, int64_t dim) {
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) throw ValueError(text("no instruction '", name, "'"));
  const auto operation = static_cast<Operation>(found - kNames);
  const size_t taken = operation < Operation::to_real ? 0 : operation == Operation::to_real ? 1 : 2;
  if (depth_ < taken || depth_ - taken + 1 > kStack || input > std::numeric_limits<uint8_t>::max()) {
    throw ValueError(text("an expression needs more than ", kStack, " values, or has too few"));
  }
  depth_ += 1 - taken;
  code_.push_back({static_cast<uint8_t>(operation), static_cast<uint8_t>(input), static_cast<uint16_t>(dim), value});
}

bool Program::run(const InputView* inputs, Number (&stack)[kStack]) const {
  Number* top = stack;
  bool failed = false;
  for (const Instruction& instruction : code_) {
    const InputView& input = inputs[instruction.input];
    switch (static_cast<Operation>(instruction.operation)) {
      case Operation::integer:
      case Operation::real:
        *top++ = instruction.value;
        break;
      case Operation::size:
        (top++)->integer = input.tensor->sizes()[instruction.dim];
        break;
      case Operation::stride:
        (top++)->integer = input.tensor->strides()[instruction.dim];
        break;
      case Operation::elements:
        (top++)->integer = input.tensor->numel();
        break;
      case Operation::scalar:
        *top++ = input.number;
        break;
      case Operation::to_real:
        top[-1].real = static_cast<double>(top[-1].integer);
        break;
#define WAVE_CASE(name, kind, value) \
  case Operation::name: {            \
    const auto b = (--top)->kind;    \
    const auto a = top[-1].kind;     \
    top[-1].kind = value;            \
    break;                           \
  }
        WAVE_BINARY(WAVE_CASE)
#undef WAVE_CASE
    }
  }
  return !failed;
}

}  // namespace wave
