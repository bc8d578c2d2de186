// Errors of HIP's functions.
#pragma once

#include <stdexcept>
#include <string>

#include "driver/hip/hip_types.h"

namespace wave::hip_emulator {

/// hipError_t
enum Code : hip::Error {
#define ERROR(name, number, text) name = number,
#include "hip_emulator/errors.inc"
#undef ERROR
};

/// What a function fails with: a code, and where the code alone does not tell, why.
struct Failure : std::runtime_error {
  explicit Failure(Code error, const std::string& reason = {}) : std::runtime_error(reason), code(error) {}
  Code code;
};

const char* error_name(hip::Error code);
const char* error_text(hip::Error code);

/// Writes a line to stderr, where HIP's callers find what a code does not tell.
void report(const std::string& what, const std::string& reason);

/// What hipGetLastError returns and clears, of this thread: as Release::keeps_errors says the last error, or what the
/// last function returned.
hip::Error& last_error();

/// What the last function returned to this thread.
hip::Error& last_result();

/// Keeps what a function returns as the last result, and maybe as the last error. Returns it.
hip::Error keep_result(hip::Error code);

/// Translates the exception in flight, and reports its reason.
Code current_code(const char* function);

/// Throws hipErrorNotInitialized in a forked child, which has no worker threads, and hipErrorDeinitialized at exit.
void check_alive();

/// Whether this process was forked by one that had a runtime.
bool is_forked();

/// The body of an exported function, with its exceptions as codes.
template <class Body>
hip::Error call(const char* function, const Body& body) {
  try {
    check_alive();
    body();
    return keep_result(hipSuccess);
  } catch (...) {
    return keep_result(current_code(function));
  }
}

inline void require(bool condition, Code code = hipErrorInvalidValue, const char* reason = "") {
  if (!condition) throw Failure(code, reason);
}

}  // namespace wave::hip_emulator
