// For functions that Python calls.
#pragma once

#include "python/errors.h"

namespace wave {

/// Runs `body`, which returns a new reference; null with the error set where it throws.
template <class Body>
PyObject* with_python_errors(Body body) {
  try {
    return body();
  } catch (...) {
    set_error(std::current_exception());
    return nullptr;
  }
}

}  // namespace wave
