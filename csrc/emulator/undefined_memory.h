// Which bits of a memory nobody has defined.
#pragma once

#include <algorithm>
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
  /// Whether all bits of some bytes are defined.
  bool is_defined(u64 address, u64 size) const {
    if (address + size > undefined_.size()) return false;
    if (size % sizeof(u32) == 0) {  // the most frequent case
      u32 any = 0;
      for (u64 i = 0; i < size; i += sizeof(u32)) {
        u32 bits;
        std::memcpy(&bits, &undefined_[address + i], sizeof(bits));
        any |= bits;
      }
      return any == 0;
    }
    const u8* const bits = &undefined_[address];
    return std::all_of(bits, bits + size, [](u8 some) { return some == 0; });
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
