// What waves read and write beside their registers, as far as it is not done for whole rows of lanes at once.
#include <algorithm>
#include <cstring>

#include "emulator/checks.h"
#include "emulator/constants.h"
#include "emulator/launch_hints.h"
#include "emulator/observer.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// Bytes of each lane's scratch that are poisoned at a time, at least.
constexpr u32 kScratchStep = 256;

/// Where no processor has LDS, so that what is loaded there is zero (ISA document, "Out of Range"). Kernels of Tensile,
/// which rocBLAS is made of, clear their accumulation registers so: it takes no instructions of the vector ALU. The
/// instruction's offset comes on top. Any other address that is as far away is a mistake.
constexpr AddressSpan kZerosOfTensile(0xf00000, 0x10000);

}  // namespace

const char* verb(ScratchAccess access) {
  constexpr const char* kVerbs[] = {"a load of ", "a store of ", "an atomic access of "};
  return kVerbs[static_cast<int>(access)];
}

bool Workgroup::finds_region(AddressSpan span, bool write) {
  const Region* const region = launch_.memory().covering(span, write);
  if (region == nullptr) return false;
  known_regions_[oldest_known_++ % known_regions_.size()] = {region->bytes, region->writable};
  return true;
}

void Workgroup::read_memory(AddressSpan span, void* to, int lane) {
  make_pending_adds();
  if (recalled_ != nullptr && (*recalled_)(span, to, lane)) return;
  launch_.memory().read(span, to, lane);
  if (memory_observer_ != nullptr) memory_observer_->load_memory(span, lane);
}

void Workgroup::write_memory(AddressSpan span, const void* from, int lane) {
  make_pending_adds();
  if (memory_observer_ == nullptr) return launch_.memory().write(span, from, lane);
  launch_.memory().check_write(span, lane);
  memory_observer_->store_memory(span, from, lane);
  launch_.memory().write(span, from, lane);
}

AtomicTarget Workgroup::atomic_memory(const AtomicAccess& access) {
  make_pending_adds();
  const AtomicTarget target = launch_.memory().atomic(access.span, access.serves_parts, access.lane);
  if (memory_observer_ != nullptr && access.expected != nullptr && target.is_whole()) {
    memory_observer_->compare_memory(access.span, access.expected, access.lane);
  } else if (memory_observer_ != nullptr) {
    memory_observer_->store_memory(access.span, nullptr, access.lane);
  }
  return target;
}

void Workgroup::read_lds(AddressSpan span, void* to, int lane) const {
  if (kZerosOfTensile.contains(span)) {
    std::memset(to, 0, span.size());
    return;
  }
  const AddressSpan inside = lds_bytes().common(span);
  if (inside != span) {
    const Checks* const checks = launch_.dispatch.checks;
    const u64 most = checks != nullptr && checks->skips_faults() ? kSuspectOverReadOfLds : kOverReadOfLds;
    if (!launch_.memory().forgive(span, lds_bytes().excess(span), most, "LDS", lane))
      check_lds("a load of ", span, lane, false);
  }
  if (lds_observer_ != nullptr) lds_observer_->load_lds(inside, lane);
  std::memset(to, 0, span.size());
  if (!inside.is_empty()) std::memcpy(to, lds_.get() + inside.begin(), inside.size());
}

void Workgroup::write_lds(AddressSpan span, const void* from, int lane) {
  check_lds("a store of ", span, lane, true);
  if (lds_observer_ != nullptr) lds_observer_->store_lds(span, from, lane);
  std::memcpy(lds_.get() + span.begin(), from, span.size());
}

AtomicTarget Workgroup::atomic_lds(const AtomicAccess& access) {
  const AddressSpan span = access.span;
  check_atomic(span, access.lane);
  check_lds("an atomic access of ", span, access.lane, true);
  if (lds_observer_ != nullptr && access.expected != nullptr) {
    lds_observer_->compare_lds(span, access.expected, access.lane);
  } else if (lds_observer_ != nullptr) {
    lds_observer_->store_lds(span, nullptr, access.lane);
  }
  return {lds_.get() + span.begin()};
}

void Workgroup::check_lds(const char* verb, AddressSpan span, int lane, bool write) const {
  if (lds_bytes().contains(span)) return;
  const u64 address = span.begin(), size = lds_bytes().size();
  const bool is_negative = static_cast<i64>(address) < 0;  // M0 and an offset
  const std::string place = is_negative ? text(-address, " bytes before the beginning of LDS")
                                        : text(address < size ? 0 : address - size, " bytes past the end of LDS");
  fault_at(text(verb, span.size(), " bytes out of bounds: ", place, ", of which the workgroup has ", size, " bytes",
                is_negative ? "" : lds_hint(launch_)),
           lane, address,
           is_over_read(lds_bytes(), span, kSuspectOverReadOfLds, write) ? "over-read" : "out-of-bounds");
}

/// Poisons as much as is accessed, so that a kernel with a large stack pays for what it uses of it. Where somebody
/// watches, nothing counts as ready, so that every access comes here.
void Workgroup::prepare_scratch(Wave& wave, AddressSpan span, ScratchAccess access, int lane) {
  if (!AddressSpan(0, wave.scratch_size).contains(span)) {
    fault_at(
        text(verb(access), span.size(), " bytes of scratch, of which a work-item has ", wave.scratch_size, " bytes"),
        lane, span.begin(), "scratch-overflow");
  }
  if (span.end() > wave.scratch_poisoned) {
    const u64 wanted = std::max<u64>({span.end(), u64{wave.scratch_poisoned} * 2, kScratchStep});
    const u32 ready = static_cast<u32>(std::min<u64>((wanted + 3) / 4 * 4, wave.scratch_size));
    for (u32 i = 0; i < static_cast<u32>(launch_.lanes); ++i) {
      u8* const bytes = wave.scratch + u64{i} * wave.scratch_size;
      std::fill(reinterpret_cast<u32*>(bytes + wave.scratch_poisoned), reinterpret_cast<u32*>(bytes + ready), kPoison);
    }
    wave.scratch_poisoned = ready;
  }
  if (memory_observer_ == nullptr) {
    wave.scratch_ready = wave.scratch_poisoned;
  } else if (access == ScratchAccess::Load) {
    memory_observer_->load_scratch(span, lane);
  } else {
    memory_observer_->store_scratch(span, lane, access == ScratchAccess::Atomic);
  }
}

}  // namespace wave::emulator
