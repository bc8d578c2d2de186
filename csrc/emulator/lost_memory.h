// Memory that goes away while a kernel runs on it: another thread of the process unmaps or protects it, or somebody
// truncates the file that it is mapped from.
#pragma once

#include "base/address_span.h"
#include "emulator/memory.h"

namespace wave::emulator {

/// While one lives, accesses on its thread of what is there no more throw Fault, where the process would else end by
/// SIGSEGV or SIGBUS: those that code of this library makes, or a function of the C library that it calls, of bytes
/// that the guard knows. All other signals go to who handled them before.
///
/// Nothing is asked before an access. The signal's handler throws, as compilers allow it with -fnon-call-exceptions
/// (CMakeLists.txt), and as it may be thrown through functions that have nothing to clean up. The bodies of
/// instructions are such: what has a destructor to call, such as the text of a fault, stands out of line.
class LostMemoryGuard {
 public:
  /// Of the bytes for which a launch has a region. `memory` must outlive it.
  explicit LostMemoryGuard(const Memory& memory);
  /// Of what a copy reads and writes.
  LostMemoryGuard(AddressSpan to, AddressSpan from);
  LostMemoryGuard(const LostMemoryGuard&) = delete;
  LostMemoryGuard& operator=(const LostMemoryGuard&) = delete;
  ~LostMemoryGuard();

  bool knows(u64 address) const noexcept {
    return (memory_ != nullptr && memory_->has_region(address)) || to_.contains(address) || from_.contains(address);
  }

 private:
  const Memory* const memory_ = nullptr;
  const AddressSpan to_, from_;
  const LostMemoryGuard* const outer_;
};

/// memmove and memcmp under a guard: compilers take for granted that those two throw nothing.
void copy_guarded(void* to, const void* from, u64 size);
bool is_equal_guarded(const void* one, const void* other, u64 size);

}  // namespace wave::emulator
