// hipRTC, for programs that compile kernels themselves.
#include <cstring>

#include "hip_emulator/api.h"

namespace wave::hip {

namespace {

/// The body of an exported function, with its exceptions as results.
template <class Body>
RtcResult rtc_call(const char* function, const Body& body) {
  try {
    body();
    return kRtcSuccess;
  } catch (const RtcFailure& failure) {
    report(function, failure.what());
    return failure.code;
  } catch (const Failure&) {  // of a handle
    return kRtcInvalidProgram;
  } catch (const std::bad_alloc&) {
    return kRtcOutOfMemory;
  } catch (const std::exception& error) {
    report(function, error.what());
    return kRtcInternalError;
  }
}

void check(bool condition, RtcResult result = kRtcInvalidInput) {
  if (!condition) throw RtcFailure(result);
}

Handles<RtcProgramHandle, RtcProgram>& programs() {
  static auto& all = *new Handles<RtcProgramHandle, RtcProgram>();
  return all;
}

RtcResult refuse(const char* function) {
  return rtc_call(function,
                  [] { throw RtcFailure(kRtcBuiltinOperationFailure, "bitcode is not given out, and not linked"); });
}

}  // namespace

const char* hiprtcGetErrorString(RtcResult result) {
  static constexpr const char* kNames[] = {"HIPRTC_SUCCESS",
                                           "HIPRTC_ERROR_OUT_OF_MEMORY",
                                           "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                           "HIPRTC_ERROR_INVALID_INPUT",
                                           "HIPRTC_ERROR_INVALID_PROGRAM",
                                           "HIPRTC_ERROR_INVALID_OPTION",
                                           "HIPRTC_ERROR_COMPILATION",
                                           "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                           "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                           "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                           "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                           "HIPRTC_ERROR_INTERNAL_ERROR"};
  return result >= 0 && result <= kRtcInternalError ? kNames[result] : nullptr;
}

RtcResult hiprtcVersion(int* major, int* minor) {
  return rtc_call(__func__, [&] {
    check(major != nullptr && minor != nullptr);
    *major = 9;  // as AMD's has it in every release
    *minor = 0;
  });
}

RtcResult hiprtcCreateProgram(RtcProgramHandle* program, const char* source, const char* name, int count,
                              const char** headers, const char** include_names) {
  return rtc_call(__func__, [&] {
    check(program != nullptr && source != nullptr && count >= 0);
    check(count == 0 || (headers != nullptr && include_names != nullptr));
    auto made = std::make_shared<RtcProgram>();
    made->source = source;
    if (name != nullptr) made->name = name;
    for (int i = 0; i < count; ++i) made->headers[include_names[i]] = headers[i];
    *program = programs().add(std::move(made));
  });
}

RtcResult hiprtcDestroyProgram(RtcProgramHandle* program) {
  return rtc_call(__func__, [&] {
    check(program != nullptr);
    programs().remove(*program);
    *program = nullptr;
  });
}

RtcResult hiprtcAddNameExpression(RtcProgramHandle program, const char* expression) {
  return rtc_call(__func__, [&] {
    check(expression != nullptr);
    const auto found = programs().find(program);
    check(!found->is_compiled, kRtcNoNameExpressionsAfterCompilation);
    found->expressions.push_back(expression);
  });
}

RtcResult hiprtcCompileProgram(RtcProgramHandle program, int count, const char** options) {
  return rtc_call(__func__, [&] {
    check(count >= 0 && (count == 0 || options != nullptr));
    compile(*programs().find(program), {options, options + count});
  });
}

RtcResult hiprtcGetLoweredName(RtcProgramHandle program, const char* expression, const char** name) {
  return rtc_call(__func__, [&] {
    check(expression != nullptr && name != nullptr);
    const auto found = programs().find(program);
    check(found->is_compiled, kRtcNoLoweredNamesBeforeCompilation);
    const auto lowered = found->lowered.find(expression);
    check(lowered != found->lowered.end(), kRtcNameExpressionNotValid);
    *name = lowered->second.c_str();
  });
}

RtcResult hiprtcGetProgramLogSize(RtcProgramHandle program, size_t* size) {
  return rtc_call(__func__, [&] {
    check(size != nullptr);
    *size = programs().find(program)->log.size() + 1;
  });
}

RtcResult hiprtcGetProgramLog(RtcProgramHandle program, char* log) {
  return rtc_call(__func__, [&] {
    check(log != nullptr);
    const auto found = programs().find(program);
    std::memcpy(log, found->log.c_str(), found->log.size() + 1);
  });
}

RtcResult hiprtcGetCodeSize(RtcProgramHandle program, size_t* size) {
  return rtc_call(__func__, [&] {
    check(size != nullptr);
    *size = programs().find(program)->code.size();
  });
}

RtcResult hiprtcGetCode(RtcProgramHandle program, char* code) {
  return rtc_call(__func__, [&] {
    check(code != nullptr);
    const auto found = programs().find(program);
    check(found->is_compiled, kRtcInvalidProgram);
    std::memcpy(code, found->code.data(), found->code.size());
  });
}

RtcResult hiprtcGetBitcodeSize(RtcProgramHandle, size_t*) { return refuse(__func__); }
RtcResult hiprtcGetBitcode(RtcProgramHandle, char*) { return refuse(__func__); }
RtcResult hiprtcLinkCreate(unsigned, int*, void**, void**) { return refuse(__func__); }
RtcResult hiprtcLinkAddFile(void*, int, const char*, unsigned, int*, void**) { return refuse(__func__); }
RtcResult hiprtcLinkAddData(void*, int, void*, size_t, const char*, unsigned, int*, void**) { return refuse(__func__); }
RtcResult hiprtcLinkComplete(void*, void**, size_t*) { return refuse(__func__); }
RtcResult hiprtcLinkDestroy(void*) { return refuse(__func__); }

}  // namespace wave::hip
