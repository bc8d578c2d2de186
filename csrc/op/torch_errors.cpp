#include "op/torch_errors.h"

#include <c10/util/Exception.h>

#include <atomic>

namespace wave {

namespace {

std::atomic<ErrorTranslator> error_translator = nullptr;

}  // namespace

void set_error_translator(ErrorTranslator translator) { error_translator = translator; }

void throw_out_of_operator() {
  if (const ErrorTranslator translate = error_translator) translate(std::current_exception());
  try {
    throw;
  } catch (const ValueError& error) {
    C10_THROW_ERROR(ValueError, error.what());
  } catch (const TypeError& error) {
    C10_THROW_ERROR(TypeError, error.what());
  }
}

}  // namespace wave
