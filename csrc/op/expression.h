// Expressions over sizes and scalars of an operator's inputs, as postfix programs.
#pragma once

#include <c10/core/TensorImpl.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace wave {

/// A value on a program's stack. Which of the two it is, the program's text says.
union Number {
  int64_t integer;
  double real;
};

/// An input of an operator as expressions see it: a tensor, or a scalar.
struct InputView {
  const c10::TensorImpl* tensor;  ///< borrowed
  Number number;
};

/// Instructions put their results on a stack; binary ones take two values from it first.
class Program {
 public:
  /// The room that programs have.
  static constexpr size_t kStack = 128;

  /// Adds an instruction, by its name in the list of expression.cpp. Throws ValueError where there is none of this
  /// name, the stack has too little room or the values are missing.
  void add(std::string_view name, Number value, size_t input, int64_t dim);

  /// How many values a run leaves on the stack.
  size_t results() const { return depth_; }

  /// Leaves the results at the beginning of `stack`. Integers wrap around; `//` and `%` round down as Python's do.
  /// Returns false where an integer is divided by zero.
  [[nodiscard]] bool run(const InputView* inputs, Number (&stack)[kStack]) const;

 private:
  struct Instruction {
    uint8_t operation;
    uint8_t input;
    uint16_t dim;
    Number value;
  };
  std::vector<Instruction> code_;
  size_t depth_ = 0;
};

}  // namespace wave
