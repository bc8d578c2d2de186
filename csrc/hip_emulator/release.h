// The release of ROCm whose interface a program finds: enumerations changed with 5.7 and 6, what functions return
// with 6.
#pragma once

namespace wave::hip_emulator {

struct Release {
  const char* name;  ///< what the library's name ends in
  int major;
  int version;  ///< as hipRuntimeGetVersion has it: 10,000,000 for each major release, 100,000 for each minor one
  /// hipMemoryType
  struct {
    int unregistered, host, device, managed, array;
  } memory_type;
  int first_node_type;      ///< hipGraphNodeTypeKernel
  bool knows_unregistered;  ///< hipPointerGetAttributes has an answer for memory that the runtime does not know
  bool keeps_errors;        ///< hipGetLastError has the last error, not what the last function returned
};

/// By the name under which the library was opened, a link's included: libamdhip64.so.5, .5.7, .6 or .7. AMD's 5.7 is
/// called .so.5, as 5.2 is: what `python -m wave_emulator toolchain` links asks for .so.5.7. By any other name it
/// is 6.4.
const Release& release();

}  // namespace wave::hip_emulator
