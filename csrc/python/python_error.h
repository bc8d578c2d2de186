// A Python error as a C++ exception: torch's own type, so that one that is thrown below an operator comes out of
// torch's dispatcher and of its autograd threads as what it was, and one that torch throws can be told from others.
#pragma once

#include <exception>
#include <string>

#include "python/python_api.h"

/// As torch/csrc/Exceptions.h has it, which needs all of Python's API: the same members in the same order, which
/// layout.cpp compares.
struct __attribute__((visibility("default"))) python_error : public std::exception {
  /// Takes the error that is set.
  python_error();
  python_error(const python_error& other);
  python_error(python_error&& other) noexcept;
  python_error& operator=(const python_error&) = delete;
  python_error& operator=(python_error&&) = delete;
  ~python_error() override;

  const char* what() const noexcept override { return message.c_str(); }
  /// Sets the error again.
  void restore() const;

  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  std::string message;
};
