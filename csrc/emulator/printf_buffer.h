// printf through a buffer that the host reads when the launch has ended (-mprintf-kind=buffered).
#pragma once

#include <map>
#include <string>

#include "code_object/code_object.h"
#include "emulator/kernel_output.h"
#include "emulator/mapped_memory.h"
#include "emulator/memory.h"

namespace wave::emulator {

/// What a launch's `hidden_printf_buffer` points to. What finds no room in the buffer is lost, as on a GPU.
class PrintfBuffer {
 public:
  explicit PrintfBuffer(const CodeObject& code);
  PrintfBuffer(const PrintfBuffer&) = delete;
  PrintfBuffer& operator=(const PrintfBuffer&) = delete;

  u64 address() const { return memory_.span().begin(); }
  Region region() const;

  /// Writes the text to stdout and stderr; where it cannot tell what the text is, stderr says so. Throws what `look`
  /// throws, which is asked while nobody takes the text, and behind each MiB of it.
  void print(const KernelOutput::Look& look) const;

 private:
  /// Adds the text of the first record of those that are left, and to `handled` the bytes that this took. Returns how
  /// long the record is.
  u64 add_record(KernelOutput& output, const std::map<u64, std::string>& formats, std::span<const u8> left,
                 u64& handled) const;

  const CodeObject& code_;
  const MappedMemory memory_;
};

}  // namespace wave::emulator
