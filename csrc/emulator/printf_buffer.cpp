#include "emulator/printf_buffer.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "code_object/printf_formats.h"
#include "emulator/op.h"
#include "emulator/print_format.h"

namespace wave::emulator {

namespace {

constexpr u64 kSize = 64 << 20;  ///< bytes, which take memory as they are written
constexpr u64 kHead = 8;         ///< two dwords: the bytes that are used behind them, and the buffer's size

u32 dword(const u8* at) {
  u32 value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

/// As words, the last one filled up with zeros.
std::vector<u64> as_words(std::span<const u8> bytes) {
  std::vector<u64> words((bytes.size() + 7) / 8);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<u8*>(words.data()));
  return words;
}

}  // namespace

PrintfBuffer::PrintfBuffer(const CodeObject& code) : code_(code), memory_(kSize, "the printf buffer") {
  const u32 size = kSize;
  std::memcpy(memory_.begin() + 4, &size, sizeof(size));
}

void PrintfBuffer::print(const KernelOutput::Look& look) const {
  if (dword(memory_.begin()) == 0) return;
  KernelOutput output;
  std::string problem;
  try {
    add_records(output);
  } catch (const Fault& fault) {
    problem = fault.reason;
  } catch (const std::exception& error) {
    problem = error.what();
  }
  if (!problem.empty()) output.add(true, text("wave_runtime: text that a kernel printed is lost: ", problem, "\n"));
  output.write(look);
}

Region PrintfBuffer::region() const { return {memory_.span(), true, "the printf buffer"}; }

/// A record begins with a dword: bit 0 for stderr, bit 1 for a format by its number, and from bit 2 on its bytes.
void PrintfBuffer::add_records(KernelOutput& output) const {
  const std::map<u64, std::string> formats = read_printf_formats(code_);
  const u64 end = kHead + std::min<u64>(dword(memory_.begin()), kSize - kHead);
  for (u64 at = kHead; at < end;) {
    const u32 control = dword(memory_.begin() + at);
    const u64 size = control >> 2;
    if (size <= sizeof(control) || size > end - at)
      throw RuntimeError("the buffer is not as clang's code for HIP fills it");
    add_record(output, formats, control, {memory_.begin() + at + sizeof(control), size - sizeof(control)});
    at += size;
  }
}

void PrintfBuffer::add_record(KernelOutput& output, const std::map<u64, std::string>& formats, u32 control,
                              std::span<const u8> record) const {
  const bool is_error = control & 1, has_number = control & 2;
  std::vector<u64> words = as_words(record);
  if (has_number) {
    const auto format = formats.find(words.front());
    if (format == formats.end()) throw RuntimeError(text("no format has the number ", hex(words.front())));
    const std::string& string = format->second;
    const std::vector<u64> begin = as_words({reinterpret_cast<const u8*>(string.c_str()), string.size() + 1});
    words.erase(words.begin());
    words.insert(words.begin(), begin.begin(), begin.end());
  }
  output.add(is_error, print_format(words));
}

}  // namespace wave::emulator
