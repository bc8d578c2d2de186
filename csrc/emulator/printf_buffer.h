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
  /// throws, which is asked while nobody takes the text.
  void print(const KernelOutput::Look& look) const;

 private:
  void add_records(KernelOutput& output) const;
  void add_record(KernelOutput& output, const std::map<u64, std::string>& formats, u32 control,
                  std::span<const u8> record) const;

  const CodeObject& code_;
  const MappedMemory memory_;
};

}  // namespace wave::emulator
