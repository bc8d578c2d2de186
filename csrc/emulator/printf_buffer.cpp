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
constexpr u64 kMuch = 1 << 20;   ///< bytes, of formats and of text
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

/// Why something cannot be done, or nothing.
template <class Do>
std::string problem_of(Do something) {
  try {
    something();
  } catch (const Fault& fault) {
    return fault.reason;
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

PrintfBuffer::PrintfBuffer(const CodeObject& code) : code_(code), memory_(kSize, "the printf buffer") {
  const u32 size = kSize;
  std::memcpy(memory_.begin() + 4, &size, sizeof(size));
}

/// A look and a flush now and then: a small record may ask for much text, and the buffer has room for millions.
void PrintfBuffer::print(const KernelOutput::Look& look) const {
  const u64 used = dword(memory_.begin());
  if (used == 0) return;
  KernelOutput output;
  std::map<u64, std::string> formats;
  std::string problem = problem_of([&] { formats = read_printf_formats(code_); });
  const u64 end = kHead + std::min(used, kSize - kHead);
  u64 handled = 0;
  for (u64 at = kHead; at < end && problem.empty();) {
    problem = problem_of([&] { at += add_record(output, formats, {memory_.begin() + at, end - at}, handled); });
    if (handled < kMuch) continue;
    handled = 0;
    output.write(look);
    look();
  }
  if (!problem.empty()) output.add(true, text("wave_runtime: text that a kernel printed is lost: ", problem, "\n"));
  output.write(look);
}

Region PrintfBuffer::region() const { return {memory_.span(), true, "the printf buffer"}; }

/// A record begins with a dword: bit 0 for stderr, bit 1 for a format by its number, and from bit 2 on its bytes.
u64 PrintfBuffer::add_record(KernelOutput& output, const std::map<u64, std::string>& formats, std::span<const u8> left,
                             u64& handled) const {
  const u32 control = dword(left.data());
  const u64 size = control >> 2;
  if (size <= sizeof(control) || size > left.size())
    throw RuntimeError("the buffer is not as clang's code for HIP fills it");
  const bool is_error = control & 1, has_number = control & 2;
  std::vector<u64> words = as_words(left.first(size).subspan(sizeof(control)));
  if (has_number) {
    const auto format = formats.find(words.front());
    if (format == formats.end()) throw RuntimeError(text("no format has the number ", hex(words.front())));
    const std::string& string = format->second;
    const std::vector<u64> begin = as_words({reinterpret_cast<const u8*>(string.c_str()), string.size() + 1});
    words.erase(words.begin());
    words.insert(words.begin(), begin.begin(), begin.end());
  }
  const std::string line = print_format(words);
  output.add(is_error, line);
  handled += words.size() * sizeof(u64) + line.size();
  return size;
}

}  // namespace wave::emulator
