#include "emulator/wait_counters.h"

#include <algorithm>
#include <string_view>

namespace wave::emulator {

Counter counter_of(const isa::Row& row) {
  using isa::Format;
  const std::string_view name = row.mnemonic;
  switch (row.format) {
    case Format::SMEM:
      return Counter::Scalar;
    case Format::DS:
      return name == "ds_nop" ? Counter::None : Counter::Lds;
    case Format::FLAT:
      return Counter::Flat;
    case Format::GLOBAL:
    case Format::SCRATCH:
    case Format::MUBUF:
    case Format::MTBUF:
      return name == "buffer_inv" || name.starts_with("buffer_wbinv") ? Counter::None : Counter::Vector;
    default:
      return Counter::None;
  }
}

const char* counter_name(Counter counter) {
  constexpr const char* kNames[] = {"", "vmcnt", "lgkmcnt", "lgkmcnt", "vmcnt(0) lgkmcnt"};
  return kNames[static_cast<int>(counter)];
}

/// VM_CNT in bits 3:0 and 15:14, LGKM_CNT in bits 11:8. At most so many are outstanding then; those that end in order
/// are done but for the last ones.
void WaitCounters::wait(u32 immediate) {
  const u32 vector = (immediate & 15) | (immediate >> 14 & 3) << 4, lds = immediate >> 8 & 15;
  const auto leave = [&](Counter counter, u64 outstanding) {
    u64& done = done_[static_cast<int>(counter)];
    done = std::max(done, issued(counter) - std::min(issued(counter), outstanding));
  };
  const u64 flats = issued(Counter::Flat);
  leave(Counter::Vector, vector);
  leave(Counter::Lds, lds);
  if (vector == 0) flat_done_for_vector_ = flats;
  if (lds == 0) {
    flat_done_for_lds_ = flats;
    leave(Counter::Scalar, 0);
  }
  done_[static_cast<int>(Counter::Flat)] = std::min(flat_done_for_vector_, flat_done_for_lds_);
}

}  // namespace wave::emulator
