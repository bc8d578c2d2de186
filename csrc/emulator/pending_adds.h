// Additions of integers to memory that nobody has seen yet.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/address_span.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// Sums up what a worker's atomics add to the same addresses, whose old values nobody wants, before it adds the sums:
/// the cache lines of a histogram's counters would go from core to core with each of them. An atomic is as well made a
/// little later, as long as nobody can tell: make() must come before the worker does anything else that others see,
/// before it reads the same bytes, before a fence, behind which it may look for what others have done meanwhile, and
/// before it lets others wait.
class PendingAdds {
 public:
  bool is_empty() const { return used_ == 0; }
  /// Whether some are to be made to these bytes, or near them.
  bool are_near(AddressSpan bytes) const { return bytes.begin() < high_ && low_ < bytes.end(); }

  /// All that add() is told of until make() lies in here.
  void expect(AddressSpan bytes) {
    if (sums_ == nullptr) sums_ = std::make_unique<Sums>();
    low_ = std::min(low_, bytes.begin());
    high_ = std::max(high_, bytes.end());
  }

  /// At an address that is a multiple of the value's size and may be written.
  template <class T>
  void add(u64 address, T value) {
    const u64 key = sizeof(T) == sizeof(u64) ? address | kLarge : address;
    Sum& sum = sums_->sums[address / sizeof(u32) % kPlaces];
    if (sum.key != key) [[unlikely]] {
      if (sum.key != 0) return add_now({key, value});
      sums_->used[used_++] = &sum;
      sum.key = key;
    }
    sum.value += value;
  }

  void make() {
    while (used_ != 0) add_now(std::exchange(*sums_->used[--used_], {}));  // also where one throws, and others are left
    low_ = ~u64{0};
    high_ = 0;
  }

 private:
  struct Sum {
    u64 key = 0;  ///< the address, and kLarge; 0: none
    u64 value = 0;
  };

  static constexpr u64 kLarge = 1;      ///< the value has 64 bits
  static constexpr u32 kPlaces = 1024;  ///< those of addresses one behind the other, and so on in a circle

  struct Sums {
    std::array<Sum, kPlaces> sums;
    std::array<Sum*, kPlaces> used;
  };

  static void add_now(const Sum& sum) {
    if (sum.key & kLarge) {
      __atomic_fetch_add(reinterpret_cast<u64*>(sum.key - kLarge), sum.value, __ATOMIC_SEQ_CST);
    } else {
      __atomic_fetch_add(reinterpret_cast<u32*>(sum.key), static_cast<u32>(sum.value), __ATOMIC_SEQ_CST);
    }
  }

  std::unique_ptr<Sums> sums_;
  u32 used_ = 0;                  ///< how many are
  u64 low_ = ~u64{0}, high_ = 0;  ///< of all bytes
};

}  // namespace wave::emulator
