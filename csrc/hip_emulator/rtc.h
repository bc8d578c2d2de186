// hipRTC: programs in HIP's C++ that are compiled while another runs, by the clang that is there.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace wave::hip_emulator {

/// hiprtcResult
enum RtcResult : int {
  kRtcSuccess = 0,
  kRtcOutOfMemory = 1,
  kRtcProgramCreationFailure = 2,
  kRtcInvalidInput = 3,
  kRtcInvalidProgram = 4,
  kRtcInvalidOption = 5,
  kRtcCompilation = 6,
  kRtcBuiltinOperationFailure = 7,
  kRtcNoNameExpressionsAfterCompilation = 8,
  kRtcNoLoweredNamesBeforeCompilation = 9,
  kRtcNameExpressionNotValid = 10,
  kRtcInternalError = 11,
  kRtcLinking = 100,
};

/// What a function of hipRTC fails with, and why.
struct RtcFailure : std::runtime_error {
  explicit RtcFailure(RtcResult error, const std::string& reason = {}) : std::runtime_error(reason), code(error) {}
  RtcResult code;
};

/// hiprtcProgram. Not thread-safe, as its callers expect of it.
struct RtcProgram {
  std::string source;
  std::string name;                            ///< of the file that messages name
  std::map<std::string, std::string> headers;  ///< by the names that #include has
  std::vector<std::string> expressions{};      ///< whose names in the code are wanted

  bool is_compiled = false;
  std::string log{};
  std::vector<uint8_t> code{};                   ///< a code object, unless it was compiled to be linked
  std::string bitcode{};                         ///< of LLVM, where it was (-fgpu-rdc)
  std::map<std::string, std::string> lowered{};  ///< the names, by expression
};

/// Compiles for the emulated processor, or for the one that an option names. Without ROCm it takes this project's own
/// headers of the device, which lie beside the library. Throws RtcFailure; the log says why.
void compile(RtcProgram& program, const std::vector<std::string>& options);

/// hipLinkState_t, hiprtcLinkState: bitcode of several programs that becomes one code object.
struct LinkedProgram {
  std::vector<std::string> options{};  ///< of the compiler
  std::vector<std::string> inputs{};   ///< bitcode
  std::string code{};
};

/// The bitcode for the emulated processor in a bundle. Throws RtcFailure(kRtcInvalidInput).
std::string bitcode_in_bundle(std::string_view bundle);

/// Links for the emulated processor. Throws RtcFailure(kRtcLinking), which says why.
void link(LinkedProgram& program);

}  // namespace wave::hip_emulator
