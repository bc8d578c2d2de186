// Which registers an instruction reads and writes, as sets that are compared quickly.
#pragma once

#include <array>
#include <bit>

#include "emulator/isa/isa.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// Of vector registers, by their rows in a wave's file.
class RowSet {
 public:
  static constexpr u32 kRows = 512;

  void add(u32 first, u32 count) {
    for (u32 row = first; row < first + count && row < kRows; ++row) {
      bits_[row / 64] |= bit_of(row);
      summary_ |= bit_of(row);
    }
  }
  void add(const RowSet& other) {
    for (u32 i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
    summary_ |= other.summary_;
  }
  /// All of them, by the remainder of 64: what has none in common with it meets nowhere. Most kernels have no more
  /// rows.
  u64 summary() const { return summary_; }
  void remove(const RowSet& other) {
    if ((summary_ & other.summary_) == 0) return;
    summary_ = 0;
    for (u32 i = 0; i < bits_.size(); ++i) summary_ |= bits_[i] &= ~other.bits_[i];
  }
  void remove(u32 row) {
    bits_[row / 64] &= ~bit_of(row);
    u64 all = 0;
    for (const u64 bits : bits_) all |= bits;
    summary_ = all;
  }
  bool contains(u32 row) const { return row < kRows && (bits_[row / 64] & bit_of(row)) != 0; }
  bool meets(const RowSet& other) const {
    if ((summary_ & other.summary_) == 0) return false;
    u64 common = 0;
    for (u32 i = 0; i < bits_.size(); ++i) common |= bits_[i] & other.bits_[i];
    return common != 0;
  }
  bool is_empty() const { return summary_ == 0; }

 private:
  static u64 bit_of(u32 row) { return u64{1} << row % 64; }

  std::array<u64, kRows / 64> bits_{};
  u64 summary_ = 0;
};

/// Of scalar registers, VCC, M0 and EXEC by their codes.
class ScalarSet {
 public:
  void add(u32 first, u32 count) {
    for (u32 code = first; code < first + count && code < 128; ++code) bits_[code / 64] |= u64{1} << code % 64;
  }
  void add(const ScalarSet& other) {
    for (size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
  }
  ScalarSet common(const ScalarSet& other) const {
    ScalarSet both;
    for (size_t i = 0; i < bits_.size(); ++i) both.bits_[i] = bits_[i] & other.bits_[i];
    return both;
  }
  /// The code of the first one; there must be one.
  u32 first() const {
    return static_cast<u32>(bits_[0] != 0 ? std::countr_zero(bits_[0]) : 64 + std::countr_zero(bits_[1]));
  }
  void remove(u32 code) { bits_[code / 64 % 2] &= ~(u64{1} << code % 64); }
  void remove(const ScalarSet& other) {
    for (size_t i = 0; i < bits_.size(); ++i) bits_[i] &= ~other.bits_[i];
  }
  bool contains(u32 code) const { return code < 128 && (bits_[code / 64] >> code % 64 & 1) != 0; }
  bool meets(const ScalarSet& other) const { return ((bits_[0] & other.bits_[0]) | (bits_[1] & other.bits_[1])) != 0; }
  bool is_empty() const { return (bits_[0] | bits_[1]) == 0; }

 private:
  std::array<u64, 2> bits_{};
};

struct Touched {
  RowSet reads, writes;
  ScalarSet scalar_reads, scalar_writes;
};

}  // namespace wave::emulator
