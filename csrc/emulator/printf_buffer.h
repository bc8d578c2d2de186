// printf through a buffer that the host reads when the launch has ended (-mprintf-kind=buffered).
#pragma once

#include <map>
#include <string>

#include "code_object/code_object.h"
#include "emulator/memory.h"

namespace wave::emulator {

/// What a launch's `hidden_printf_buffer` points to. The destructor writes the text to stdout and stderr; where it
/// cannot tell what the text is, stderr says so. What finds no room in the buffer is lost, as on a GPU.
class PrintfBuffer {
 public:
  explicit PrintfBuffer(const CodeObject& code);
  ~PrintfBuffer();
  PrintfBuffer(const PrintfBuffer&) = delete;
  PrintfBuffer& operator=(const PrintfBuffer&) = delete;

  u64 address() const { return reinterpret_cast<u64>(memory_); }
  Region region() const;

 private:
  void print() const;
  void print_record(const std::map<u64, std::string>& formats, u32 control, std::span<const u8> record) const;

  const CodeObject& code_;
  u8* memory_;
};

}  // namespace wave::emulator
