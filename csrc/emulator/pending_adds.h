// Additions of integers to memory that nobody has seen yet.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>

#include "base/address_span.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// Sums up what a worker's atomics add to the same addresses, whose old values nobody wants, before it adds the sums:
/// the cache lines of a histogram's counters would go from core to core with each of them. An atomic is as well made a
/// little later, as long as nobody can tell: make() must come before the worker does anything else that others see,
/// before it reads the same bytes, and before it lets others wait.
class PendingAdds {
 public:
  bool is_empty() const { return high_ == 0; }
  /// Whether some are to be made to these bytes, or near them.
  bool are_near(AddressSpan bytes) const { return bytes.begin() < high_ && low_ < bytes.end(); }

  /// At an address that is a multiple of the value's size and may be written.
  template <class T>
  void add(u64 address, T value) {
    if (sums_ == nullptr) sums_ = std::make_unique<Sum[]>(kPlaces);
    const u32 place = static_cast<u32>(address / sizeof(u32) % kPlaces);
    Sum& sum = sums_[place];
    if (sum.size != 0 && (sum.address != address || sum.size != sizeof(T))) make(sum);
    if (sum.size == 0) sum = {address, 0, sizeof(T)};
    sum.value += value;
    used_[place / 64] |= u64{1} << place % 64;
    low_ = std::min(low_, address);
    high_ = std::max(high_, address + sizeof(T));
  }

  void make() {
    if (is_empty()) return;
    for (u32 i = 0; i < used_.size(); ++i) {
      for (; used_[i] != 0; used_[i] &= used_[i] - 1)
        make(sums_[64 * i + static_cast<u32>(std::countr_zero(used_[i]))]);
    }
    low_ = ~u64{0};
    high_ = 0;
  }

 private:
  struct Sum {
    u64 address = 0, value = 0;
    u32 size = 0;  ///< 0: none
  };

  static constexpr u32 kPlaces = 1024;  ///< those of addresses one behind the other, and so on in a circle

  static void make(Sum& sum) {
    if (sum.size == sizeof(u32)) {
      __atomic_fetch_add(reinterpret_cast<u32*>(sum.address), static_cast<u32>(sum.value), __ATOMIC_SEQ_CST);
    } else {
      __atomic_fetch_add(reinterpret_cast<u64*>(sum.address), sum.value, __ATOMIC_SEQ_CST);
    }
    sum.size = 0;
  }

  std::unique_ptr<Sum[]> sums_;
  std::array<u64, kPlaces / 64> used_{};  ///< a bit for each place
  u64 low_ = ~u64{0}, high_ = 0;          ///< of all bytes
};

}  // namespace wave::emulator
