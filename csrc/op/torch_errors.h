// This project's exceptions as torch's.
#pragma once

#include <c10/util/Exception.h>

#include "base/error.h"

namespace wave {

/// Runs `body` with this project's exceptions turned into those that torch maps to the same Python types.
template <class Body>
void with_torch_errors(Body body) {
  try {
    body();
  } catch (const ValueError& error) {
    C10_THROW_ERROR(ValueError, error.what());
  } catch (const TypeError& error) {
    C10_THROW_ERROR(TypeError, error.what());
  }
}

}  // namespace wave
