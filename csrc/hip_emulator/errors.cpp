#include "hip_emulator/errors.h"

#include <cstdio>
#include <new>

#include "base/error.h"
#include "hip_emulator/release.h"

namespace wave::hip_emulator {

namespace {

/// Of the functions that a thread has called.
struct ResultsOfThread {
  hip::Error error = hipSuccess, result = hipSuccess;
};

thread_local ResultsOfThread of_thread;

}  // namespace

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

hip::Error& last_error() { return release().keeps_errors ? of_thread.error : of_thread.result; }

hip::Error& last_result() { return of_thread.result; }

hip::Error keep_result(hip::Error code) {
  of_thread.result = code;
  if (code != hipSuccess && code != hipErrorNotReady) of_thread.error = code;
  return code;
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
