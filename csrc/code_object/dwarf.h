// What readers of debugging information share (DWARF 4 and 5).
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "code_object/elf.h"

namespace wave {

/// How values are written (DWARF 5, section 7.5.6).
enum DwarfForm : uint64_t {
  DW_FORM_addr = 0x01,
  DW_FORM_block2 = 0x03,
  DW_FORM_block4 = 0x04,
  DW_FORM_data2 = 0x05,
  DW_FORM_data4 = 0x06,
  DW_FORM_data8 = 0x07,
  DW_FORM_string = 0x08,
  DW_FORM_block = 0x09,
  DW_FORM_block1 = 0x0a,
  DW_FORM_data1 = 0x0b,
  DW_FORM_flag = 0x0c,
  DW_FORM_sdata = 0x0d,
  DW_FORM_strp = 0x0e,
  DW_FORM_udata = 0x0f,
  DW_FORM_ref_addr = 0x10,
  DW_FORM_ref1 = 0x11,
  DW_FORM_ref2 = 0x12,
  DW_FORM_ref4 = 0x13,
  DW_FORM_ref8 = 0x14,
  DW_FORM_ref_udata = 0x15,
  DW_FORM_sec_offset = 0x17,
  DW_FORM_exprloc = 0x18,
  DW_FORM_flag_present = 0x19,
  DW_FORM_strx = 0x1a,
  DW_FORM_addrx = 0x1b,
  DW_FORM_ref_sup4 = 0x1c,
  DW_FORM_strp_sup = 0x1d,
  DW_FORM_data16 = 0x1e,
  DW_FORM_line_strp = 0x1f,
  DW_FORM_ref_sig8 = 0x20,
  DW_FORM_implicit_const = 0x21,
  DW_FORM_loclistx = 0x22,
  DW_FORM_rnglistx = 0x23,
  DW_FORM_ref_sup8 = 0x24,
  DW_FORM_strx1 = 0x25,
  DW_FORM_strx2 = 0x26,
  DW_FORM_strx3 = 0x27,
  DW_FORM_strx4 = 0x28,
  DW_FORM_addrx1 = 0x29,
  DW_FORM_addrx2 = 0x2a,
  DW_FORM_addrx3 = 0x2b,
  DW_FORM_addrx4 = 0x2c,
};

/// What reading a file's debugging information may still cost, in steps of about a byte. Entries share strings, tables
/// and lists, so that a small file can ask for one long list a hundred thousand times; what compilers write shares
/// little.
class DwarfBudget {
 public:
  explicit DwarfBudget(uint64_t file_size) : steps_(kStepsForByte * file_size) {}

  /// Counts what was read of `bytes`, and throws FormatError where that is too much.
  void spend(const Bytes& bytes, uint64_t steps) {
    if (steps > steps_) bytes.fail(0, "entries that share more than the file's size accounts for");
    steps_ -= steps;
  }

  /// The string at `offset`, which others may name, too.
  std::string_view string(const Bytes& bytes, uint64_t offset) {
    const std::string_view value = bytes.c_string(offset);
    spend(bytes, value.size());
    return value;
  }

 private:
  static constexpr uint64_t kStepsForByte = 16;

  uint64_t steps_;
};

/// Reads on and on.
class DwarfCursor {
 public:
  explicit DwarfCursor(const Bytes& bytes) : bytes_(bytes) {}

  bool at_end() const { return at_ >= bytes_.size(); }
  uint64_t position() const { return at_; }

  template <class T>
  T read() {
    const T value = bytes_.read<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  Bytes take(uint64_t size) {
    const Bytes part = bytes_.slice(at_, size);
    at_ += size;
    return part;
  }
  std::string_view string() {
    const std::string_view value = bytes_.c_string(at_);
    at_ += value.size() + 1;
    return value;
  }
  uint64_t uleb128() { return leb128(nullptr); }
  int64_t sleb128() {
    int bits = 0;
    const uint64_t value = leb128(&bits);
    const bool negative = bits < 64 && bits > 0 && (value >> (bits - 1) & 1) != 0;
    return static_cast<int64_t>(negative ? value | ~uint64_t{0} << bits : value);
  }
  [[noreturn]] void fail(const std::string& reason) const { bytes_.fail(at_, reason); }

 private:
  uint64_t leb128(int* bits) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t byte = read<uint8_t>();
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if (byte & 0x80) continue;
      if (bits != nullptr) *bits = std::min(shift + 7, 64);
      return value;
    }
  }

  Bytes bytes_;
  uint64_t at_ = 0;
};

/// The sections of a file. Those that are compressed (SHF_COMPRESSED, by clang's -gz, as Linux distributions build) are
/// decompressed.
class DwarfSections {
 public:
  /// Borrows the file.
  explicit DwarfSections(const Elf& elf) : elf_(elf), size_(elf.bytes().size()) {}

  /// A section's contents, called `what` in errors; none where the file has no such section. Lives as long as this and
  /// the file.
  Bytes get(std::string_view name, const char* what);
  /// Of the file, and of what was decompressed.
  uint64_t size() const { return size_; }

 private:
  const Elf& elf_;
  uint64_t size_;
  std::deque<std::vector<uint8_t>> decompressed_;
};

}  // namespace wave
