// The linker: of hipRTC, and under HIP's own names, which ROCm 6.4 has added.
#include <fstream>

#include "base/error.h"
#include "hip_emulator/api.h"
#include "hip_emulator/rtc_call.h"
#include "hip_emulator/rtc_compiler.h"

namespace wave::hip {

namespace {

Handles<LinkState, LinkedProgram>& links() {
  static auto& all = *new Handles<LinkState, LinkedProgram>();
  return all;
}

std::shared_ptr<LinkedProgram> find(LinkState state) {
  try {
    return links().find(state);
  } catch (const Failure&) {
    throw RtcFailure(kRtcInvalidInput);
  }
}

/// What the linker takes; else it is CUDA's.
void check_input(JitInput kind) {
  rtc_check(kind >= kBitcode && kind <= kSpirv);
  const bool known = kind == kBitcode || kind == kBundledBitcode;
  if (!known) throw RtcFailure(kRtcInvalidInput, "archives of bitcode and SPIR-V are not linked");
}

void add_input(LinkedProgram& program, JitInput kind, std::string bytes) {
  program.inputs.push_back(kind == kBundledBitcode ? bitcode_in_bundle(bytes) : std::move(bytes));
}

/// The options that the compiler gets: an array of them, and as another "value" their number.
void read_options(LinkedProgram& program, unsigned count, const JitOption* options, void** values) {
  rtc_check(count == 0 || (options != nullptr && values != nullptr));
  const char** words = nullptr;
  size_t word_count = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kCompilerOptions) words = static_cast<const char**>(values[i]);
    if (options[i] == kCompilerOptionCount) word_count = reinterpret_cast<size_t>(values[i]);
  }
  rtc_check(words != nullptr || word_count == 0, kRtcInvalidOption);
  program.options.assign(words, words + word_count);
}

/// A function of HIP, by the one of hipRTC that does the same.
Error by_rtc(const char* function, RtcResult result, Code linking) {
  return call(function, [&] {
    if (result == kRtcSuccess) return;
    if (result == kRtcLinking || result == kRtcProgramCreationFailure) throw Failure(linking);
    throw Failure(result == kRtcOutOfMemory ? hipErrorOutOfMemory : hipErrorInvalidValue);
  });
}

}  // namespace

RtcResult hiprtcLinkCreate(unsigned count, JitOption* options, void** values, LinkState* state) {
  return rtc_call(__func__, [&] {
    rtc_check(state != nullptr);
    auto made = std::make_shared<LinkedProgram>();
    read_options(*made, count, options, values);
    *state = links().add(std::move(made));
  });
}

RtcResult hiprtcLinkAddFile(LinkState state, JitInput kind, const char* path, unsigned, JitOption*, void**) {
  return rtc_call(__func__, [&] {
    rtc_check(path != nullptr);
    const auto program = find(state);
    check_input(kind);
    if (!std::ifstream(path)) throw RtcFailure(kRtcProgramCreationFailure, text("cannot open ", path));
    add_input(*program, kind, read_file(path));
  });
}

RtcResult hiprtcLinkAddData(LinkState state, JitInput kind, void* data, size_t size, const char*, unsigned, JitOption*,
                            void**) {
  return rtc_call(__func__, [&] {
    rtc_check(data != nullptr && size > 0);
    const auto program = find(state);
    check_input(kind);
    add_input(*program, kind, std::string(static_cast<const char*>(data), size));
  });
}

RtcResult hiprtcLinkComplete(LinkState state, void** image, size_t* size) {
  return rtc_call(__func__, [&] {
    rtc_check(image != nullptr && size != nullptr);
    const auto program = find(state);
    link(*program);
    *image = program->code.data();
    *size = program->code.size();
  });
}

RtcResult hiprtcLinkDestroy(LinkState state) {
  return rtc_call(__func__, [&] {
    find(state);
    links().remove(state);
  });
}

Error hipLinkCreate(unsigned count, JitOption* options, void** values, LinkState* state) {
  return by_rtc(__func__, hiprtcLinkCreate(count, options, values, state), hipErrorInvalidValue);
}
Error hipLinkAddFile(LinkState state, JitInput kind, const char* path, unsigned count, JitOption* options,
                     void** values) {
  return by_rtc(__func__, hiprtcLinkAddFile(state, kind, path, count, options, values), hipErrorInvalidConfiguration);
}
Error hipLinkAddData(LinkState state, JitInput kind, void* data, size_t size, const char* name, unsigned count,
                     JitOption* options, void** values) {
  return by_rtc(__func__, hiprtcLinkAddData(state, kind, data, size, name, count, options, values),
                hipErrorInvalidConfiguration);
}
Error hipLinkComplete(LinkState state, void** image, size_t* size) {
  return by_rtc(__func__, hiprtcLinkComplete(state, image, size), hipErrorInvalidImage);
}
Error hipLinkDestroy(LinkState state) { return by_rtc(__func__, hiprtcLinkDestroy(state), hipErrorInvalidHandle); }

}  // namespace wave::hip
