#include "hip_emulator/errors.h"

#include <cstdio>
#include <new>

#include "base/error.h"

namespace wave::hip_emulator {

const char* error_name(hip::Error code) {
  switch (code) {
#define ERROR(name, number, text) \
  case number:                    \
    return #name;
#include "hip_emulator/errors.inc"
#undef ERROR
  }
  return "hipErrorUnknown";
}

const char* error_text(hip::Error code) {
  switch (code) {
#define ERROR(name, number, text) \
  case number:                    \
    return text;
#include "hip_emulator/errors.inc"
#undef ERROR
  }
  return "unknown error";
}

void report(const std::string& what, const std::string& reason) {
  if (!reason.empty()) std::fputs(text("HIP emulator: ", what, ": ", reason, "\n").c_str(), stderr);
}

hip::Error& last_error() {
  thread_local hip::Error error = hipSuccess;
  return error;
}

Code current_code(const char* function) {
  try {
    throw;
  } catch (const Failure& failure) {
    report(function, failure.what());
    return failure.code;
  } catch (const ValueError& error) {  // of an environment variable
    report(function, error.what());
    return hipErrorInvalidValue;
  } catch (const std::bad_alloc&) {
    return hipErrorOutOfMemory;
  } catch (const std::exception& error) {
    report(function, error.what());
    return hipErrorUnknown;
  }
}

}  // namespace wave::hip_emulator
