// hipRTC, for programs that compile kernels themselves.
#include <cstring>

#include "hip_emulator/api.h"
#include "hip_emulator/rtc_call.h"

namespace wave::hip {

namespace {

Handles<RtcProgramHandle, RtcProgram>& programs() {
  static auto& all = *new Handles<RtcProgramHandle, RtcProgram>();
  return all;
}

std::shared_ptr<RtcProgram> relocatable(RtcProgramHandle program) {
  auto found = programs().find(program);
  if (found->bitcode.empty()) throw RtcFailure(kRtcInvalidProgram, "bitcode is made where -fgpu-rdc is an option");
  return found;
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
  if (result == kRtcLinking) return "HIPRTC_ERROR_LINKING";
  return result >= 0 && result <= kRtcInternalError ? kNames[result] : nullptr;
}

RtcResult hiprtcVersion(int* major, int* minor) {
  return rtc_call(__func__, [&] {
    rtc_check(major != nullptr && minor != nullptr);
    *major = 9;  // as AMD's has it in every release
    *minor = 0;
  });
}

RtcResult hiprtcCreateProgram(RtcProgramHandle* program, const char* source, const char* name, int count,
                              const char** headers, const char** include_names) {
  return rtc_call(__func__, [&] {
    rtc_check(program != nullptr && source != nullptr && count >= 0);
    rtc_check(count == 0 || (headers != nullptr && include_names != nullptr));
    auto made = std::make_shared<RtcProgram>();
    made->source = source;
    if (name != nullptr) made->name = name;
    for (int i = 0; i < count; ++i) made->headers[include_names[i]] = headers[i];
    *program = programs().add(std::move(made));
  });
}

RtcResult hiprtcDestroyProgram(RtcProgramHandle* program) {
  return rtc_call(__func__, [&] {
    rtc_check(program != nullptr);
    programs().remove(*program);
    *program = nullptr;
  });
}

RtcResult hiprtcAddNameExpression(RtcProgramHandle program, const char* expression) {
  return rtc_call(__func__, [&] {
    rtc_check(expression != nullptr);
    const auto found = programs().find(program);
    rtc_check(!found->is_compiled, kRtcNoNameExpressionsAfterCompilation);
    found->expressions.push_back(expression);
  });
}

RtcResult hiprtcCompileProgram(RtcProgramHandle program, int count, const char** options) {
  return rtc_call(__func__, [&] {
    rtc_check(count >= 0 && (count == 0 || options != nullptr));
    compile(*programs().find(program), {options, options + count});
  });
}

RtcResult hiprtcGetLoweredName(RtcProgramHandle program, const char* expression, const char** name) {
  return rtc_call(__func__, [&] {
    rtc_check(expression != nullptr && name != nullptr);
    const auto found = programs().find(program);
    rtc_check(found->is_compiled, kRtcNoLoweredNamesBeforeCompilation);
    const auto lowered = found->lowered.find(expression);
    rtc_check(lowered != found->lowered.end(), kRtcNameExpressionNotValid);
    *name = lowered->second.c_str();
  });
}

RtcResult hiprtcGetProgramLogSize(RtcProgramHandle program, size_t* size) {
  return rtc_call(__func__, [&] {
    rtc_check(size != nullptr);
    *size = programs().find(program)->log.size() + 1;
  });
}

RtcResult hiprtcGetProgramLog(RtcProgramHandle program, char* log) {
  return rtc_call(__func__, [&] {
    rtc_check(log != nullptr);
    const auto found = programs().find(program);
    std::memcpy(log, found->log.c_str(), found->log.size() + 1);
  });
}

RtcResult hiprtcGetCodeSize(RtcProgramHandle program, size_t* size) {
  return rtc_call(__func__, [&] {
    rtc_check(size != nullptr);
    *size = programs().find(program)->code.size();
  });
}

RtcResult hiprtcGetCode(RtcProgramHandle program, char* code) {
  return rtc_call(__func__, [&] {
    rtc_check(code != nullptr);
    const auto found = programs().find(program);
    rtc_check(found->is_compiled, kRtcInvalidProgram);
    std::memcpy(code, found->code.data(), found->code.size());
  });
}

RtcResult hiprtcGetBitcodeSize(RtcProgramHandle program, size_t* size) {
  return rtc_call(__func__, [&] {
    rtc_check(size != nullptr);
    *size = relocatable(program)->bitcode.size();
  });
}

RtcResult hiprtcGetBitcode(RtcProgramHandle program, char* bitcode) {
  return rtc_call(__func__, [&] {
    rtc_check(bitcode != nullptr);
    const auto found = relocatable(program);
    std::memcpy(bitcode, found->bitcode.data(), found->bitcode.size());
  });
}

}  // namespace wave::hip
