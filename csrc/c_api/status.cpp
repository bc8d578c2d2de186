#include "c_api/status.h"

#include <new>

namespace wave::c_api {

namespace {

thread_local std::string message;

wave_status keep(wave_status status, const char* what) noexcept {
  try {
    message = what;
  } catch (const std::bad_alloc&) {
    message.clear();
  }
  return status;
}

}  // namespace

wave_status status_of_exception() noexcept {
  try {
    throw;
  } catch (const KernelFault& error) {
    return keep(WAVE_KERNEL_FAULT, error.what());
  } catch (const ValueError& error) {
    return keep(WAVE_INVALID_VALUE, error.what());
  } catch (const TypeError& error) {
    return keep(WAVE_INVALID_TYPE, error.what());
  } catch (const RuntimeError& error) {
    return keep(WAVE_DRIVER_ERROR, error.what());
  } catch (const FileError& error) {
    return keep(WAVE_FILE_ERROR, error.what());
  } catch (const std::bad_alloc&) {
    return keep(WAVE_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return keep(WAVE_INTERNAL_ERROR, error.what());
  } catch (...) {
    return keep(WAVE_INTERNAL_ERROR, "an exception of an unknown type");
  }
}

void check_struct_size(size_t size, size_t smallest, const char* what) {
  if (size >= smallest) return;
  throw ValueError(text(what, "->size is ", size, ": set it to the struct's size"));
}

}  // namespace wave::c_api

extern "C" uint32_t wave_api_version(void) { return WAVE_API_VERSION; }

extern "C" const char* wave_error_message(void) { return wave::c_api::message.c_str(); }
