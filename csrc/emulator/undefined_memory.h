// Which bits of a memory nobody has defined.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "emulator/wave.h"

namespace wave::emulator {

/// Of LDS or of a wave's scratch, from its beginning as far as somebody has stored to it. Behind that nothing is
/// defined.
class UndefinedMemory {
 public:
  void clear() {
    undefined_.clear();
    sources_.clear();
  }
  /// Of so many bytes nothing is defined, and there are no more.
  void begin(u64 size) {
    undefined_.assign(size, 0xff);
    sources_.assign((size + 3) / 4, 0);
  }
  /// Whether all bits of some bytes are defined.
  bool is_defined(u64 address, u64 size) const {
    return address + size <= undefined_.size() && has_none(&undefined_[address], size);
  }
  /// The same of what lanes access, which is all within what there is.
  bool are_defined(const u64* begins, u64 lanes, u64 size) const {
    const u8* const all = undefined_.data();
    if (lanes != ~u64{0} || size != sizeof(u32)) {
      for (u64 last = ~u64{0}; lanes != 0; lanes &= lanes - 1) {
        const u64 begin = begins[std::countr_zero(lanes)];
        if (begin != last && !has_none(all + begin, size)) return false;
        last = begin;
      }
      return true;
    }
    u32 any = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      u32 bits;
      std::memcpy(&bits, all + begins[lane], sizeof(bits));
      any |= bits;
    }
    return any == 0;
  }
  void define(u64 address, u64 size) {
    if (size == 0) return;
    reach(address + size - 1);
    std::memset(&undefined_[address], 0, size);
  }
  /// The undefined bits of a byte.
  u8 bits(u64 address) const { return address < undefined_.size() ? undefined_[address] : 0xff; }
  /// Where they come from, as who stored them has named it; 0: nobody has stored any.
  u32 source(u64 address) const { return address / 4 < sources_.size() ? sources_[address / 4] : 0; }
  void set(u64 address, u8 bits, u32 source) {
    reach(address);
    undefined_[address] = bits;
    if (bits != 0) sources_[address / 4] = source;
  }

 private:
  /// Whether no bits are set of some bytes.
  static bool has_none(const u8* bits, u64 size) {
    u64 any = 0, some = 0;
    u64 i = 0;
    for (; i + sizeof(some) <= size; i += sizeof(some)) {
      std::memcpy(&some, bits + i, sizeof(some));
      any |= some;
    }
    for (; i + sizeof(u32) <= size; i += sizeof(u32)) {
      u32 dword;
      std::memcpy(&dword, bits + i, sizeof(dword));
      any |= dword;
    }
    for (; i < size; ++i) any |= bits[i];
    return any == 0;
  }
  void reach(u64 address) {
    if (address < undefined_.size()) [[likely]]
      return;
    const u64 size = std::max<u64>(2 * undefined_.size(), (address + 256) / 256 * 256);
    undefined_.resize(size, 0xff);
    sources_.resize(size / 4, 0);
  }

  std::vector<u8> undefined_;
  std::vector<u32> sources_;
};

}  // namespace wave::emulator
