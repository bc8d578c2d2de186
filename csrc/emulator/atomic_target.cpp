#include "emulator/atomic_target.h"

namespace wave::emulator {

namespace {

/// Element `index` of those of type T that the dword has, as a mask of its bits.
template <class T>
constexpr u32 mask_of(u32 index) {
  return u32{static_cast<T>(~T{0})} << 8 * sizeof(T) * index;
}

template <class T>
u32 load(const u8* dword, u32 index) {
  return u32{__atomic_load_n(reinterpret_cast<const T*>(dword) + index, __ATOMIC_SEQ_CST)} << 8 * sizeof(T) * index;
}

template <class T>
bool exchange(u8* dword, u32 index, u32 old, u32 replacement) {
  const u32 shift = 8 * sizeof(T) * index;
  T expected = static_cast<T>(old >> shift);
  return __atomic_compare_exchange_n(reinterpret_cast<T*>(dword) + index, &expected,
                                     static_cast<T>(replacement >> shift), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

}  // namespace

u32 AtomicTarget::load_part() const {
  u32 value = 0;
  for (u32 half = 0; half < 2; ++half) {
    if ((mask_of<u16>(half) & ~readable) == 0) {
      value |= load<u16>(memory, half);
      continue;
    }
    for (u32 byte = 2 * half; byte < 2 * half + 2; ++byte) {
      if ((mask_of<u8>(byte) & ~readable) == 0) value |= load<u8>(memory, byte);
    }
  }
  return value;
}

AtomicTarget::Outcome AtomicTarget::replace_part(u32 old, u32 replacement) const {
  const u32 changed = old ^ replacement;
  if (changed == 0) return Outcome::Done;
  const auto is_element = [&](u32 mask) { return (changed & ~mask) == 0 && (mask & ~writable) == 0; };
  const auto outcome = [](bool done) { return done ? Outcome::Done : Outcome::Changed; };
  for (u32 half = 0; half < 2; ++half) {
    if (is_element(mask_of<u16>(half))) return outcome(exchange<u16>(memory, half, old, replacement));
  }
  for (u32 byte = 0; byte < 4; ++byte) {
    if (is_element(mask_of<u8>(byte))) return outcome(exchange<u8>(memory, byte, old, replacement));
  }
  return Outcome::Outside;
}

}  // namespace wave::emulator
