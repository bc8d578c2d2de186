// Where an atomic instruction works.
#pragma once

#include "base/address_span.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// An atomic of one lane, or of the wave (-1).
struct AtomicAccess {
  AddressSpan span;
  int lane;
  bool serves_parts;               ///< whether compilers make it for a part of a dword (AtomicTarget)
  const void* expected = nullptr;  ///< of a compare-and-swap: it stores only where memory holds these bytes
};

/// Host memory, aligned, of which the launch may have only a part. Compilers make atomics on elements of one or two
/// bytes of a dword's: the last one of a tensor of odd length reaches past its end. Bytes that cannot be read count as
/// zero, and those that cannot be written must stay as they are. A value of 64 bits is always whole.
struct AtomicTarget {
  u8* memory;
  u32 readable = ~0u;  ///< masks of the dword's bits
  u32 writable = ~0u;

  bool is_whole() const { return writable == ~0u; }

  /// The dword, of one that is not whole.
  u32 load_part() const;

  enum class Outcome { Done, Changed, Outside };
  /// Replaces what load_part() has given, as one atomic access of an element of one or two bytes. Changed: another
  /// thread was first. Outside: bytes that cannot be written, or more than one such element, would change.
  Outcome replace_part(u32 old, u32 replacement) const;
};

}  // namespace wave::emulator
