// Memory for allocations beyond those that have mappings of their own.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/address_span.h"

namespace wave::hip_emulator {

/// Pages in few mappings, of which pieces are taken, and given back. Nothing but who looks at the pieces' bounds keeps
/// accesses out of what is between them. Not thread-safe.
class SharedPages {
 public:
  /// Where there are so many bytes now, whole pages of zeros; 0 if there is no memory.
  uint64_t take(uint64_t size);
  /// Empties pages of a piece, which stays taken.
  static void empty(AddressSpan pages);
  /// Takes a piece back, whose pages were emptied.
  void give_back(AddressSpan piece);
  bool contains(uint64_t address) const;

 private:
  std::vector<AddressSpan> mappings_;
  uint64_t next_ = 0;                                     ///< of the last mapping, the first byte that was never taken
  std::map<uint64_t, std::vector<uint64_t>> given_back_;  ///< where, by size
};

}  // namespace wave::hip_emulator
