// How the functions of wave_runtime.h report what went wrong.
#pragma once

#include <wave_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string>

#include "base/error.h"

namespace wave::c_api {

/// What opening or reading a file failed with.
struct FileError : Error {
  using Error::Error;
};

/// The status for the exception that is being handled. Keeps its message for wave_error_message().
wave_status status_of_exception() noexcept;

/// Runs `body`, and turns what it throws into a status.
template <class Body>
wave_status guarded(Body body) noexcept {
  try {
    body();
    return WAVE_OK;
  } catch (...) {
    return status_of_exception();
  }
}

template <class T>
T& required(T* pointer, const char* what) {
  if (pointer == nullptr) throw ValueError(text(what, " is NULL"));
  return *pointer;
}

void check_struct_size(size_t size, size_t smallest, const char* what);

/// Fills the caller's struct as far as it knows the fields; the first of them is its size.
template <class Info>
void fill(Info* info, Info filled, const char* what) {
  const size_t size = required(info, what).size;
  check_struct_size(size, sizeof(size_t), what);
  filled.size = size;
  std::memcpy(info, &filled, std::min(size, sizeof(Info)));
}

}  // namespace wave::c_api
