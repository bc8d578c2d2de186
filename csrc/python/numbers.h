// Python numbers, as all launches read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/kernel.h"
#include "python/python_api.h"

namespace wave {

/// What an error is about: "kernel 'gemm', argument 2 'c'", "kernel 'gemm', tensors[2]", "gridX".
struct Where {
  const Kernel* kernel = nullptr;
  const char* what = nullptr;  ///< nullptr: the kernel's argument `index`
  Py_ssize_t index = -1;

  std::string text() const;
};

/// An int in the range of 64 bits, and nothing that only behaves like one. Nothing is allocated, and nothing thrown.
inline bool read_exact_integer(PyObject* object, int64_t& value) {
  if (!PyLong_CheckExact(object)) return false;
  int overflow = 0;
  value = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0;
}

struct Integer {
  uint64_t word;     ///< of a negative one the two's complement
  bool is_negative;  ///< else the word may be 2^63 or more
};

/// An int, or what has __index__, in [-2^(bits-1), 2^bits). Throws TypeError, "expected an int, given str", and
/// ValueError, "... does not fit in 64 bits".
Integer read_integer(PyObject* object, int bits, const Where& where, const char* expected = "an int");

/// A value of 64 bits with a sign. Throws the same.
int64_t read_signed(PyObject* object, const Where& where);

/// Whether an int is larger than all floats. One that is larger than those of its parameter's type alone becomes
/// infinity, as in torch.
bool is_beyond_floats(PyObject* integer);

/// What Python's float() makes of a number; nothing for what is none.
std::optional<double> read_real(PyObject* object);

}  // namespace wave
