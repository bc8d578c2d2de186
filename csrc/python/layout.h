// Where torch's Python binding keeps what ours reads without its headers, which need all of Python's API:
// python_error.h and torch_python.h assert that they say the same, layout.cpp that torch does.
#pragma once

#include <cstddef>

namespace wave::layout {

constexpr size_t kTensor = 16;  ///< in THPVariable
constexpr size_t kErrorType = 8, kErrorValue = 16, kErrorTraceback = 24, kErrorMessage = 32, kErrorSize = 64;

constexpr size_t kTypeVectorCall = 400;  ///< in a type's object, of Python 3.10 to 3.13

constexpr size_t kListItems = 24;  ///< in a list, of Python before 3.15: a pointer to its items

}  // namespace wave::layout
