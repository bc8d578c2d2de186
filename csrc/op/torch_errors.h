// This project's exceptions as torch's.
#pragma once

#include <exception>

#include "base/error.h"

namespace wave {

/// Throws, in place of one of this project's exceptions, what the caller of an operator understands.
using ErrorTranslator = void (*)(const std::exception_ptr& thrown);

/// Where Python is: its errors, which are as special as this project's. Without, for programs in C++, torch's.
void set_error_translator(ErrorTranslator translator);

/// Throws the exception that is being handled, one of this project's, as torch lets it out of an operator.
[[noreturn]] void throw_out_of_operator();

/// Runs `body`, whose exceptions leave an operator.
template <class Body>
void with_torch_errors(Body body) {
  try {
    body();
  } catch (const Error&) {
    throw_out_of_operator();
  }
}

}  // namespace wave
