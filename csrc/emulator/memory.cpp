#include "emulator/memory.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/freed_memory.h"
#include "emulator/launch_hints.h"
#include "emulator/lost_memory.h"
#include "emulator/op.h"

namespace wave::emulator {

namespace {

/// Bytes from a region within which an address was meant for it, as far as messages are concerned.
constexpr u64 kNearRegion = u64{1} << 20;

void check_addressable(const std::vector<Region>& regions) {
  for (const Region& region : regions) {
    if (region.bytes.is_addressable()) continue;
    throw ValueError(text(region.name.text(), ": ", region.bytes.size(), " bytes at ", hex(region.bytes.begin()),
                          " end past the last address"));
  }
}

/// Regions in the order of their addresses. Neighbours that differ in nothing a check asks for are one, so that
/// accesses stay on the fast path.
class Pieces {
 public:
  explicit Pieces(size_t most) { pieces_.reserve(most); }

  void add(AddressSpan bytes, bool writable, const RangeName& name) {
    if (!pieces_.empty() && pieces_.back().bytes.end() == bytes.begin() && pieces_.back().writable == writable) {
      pieces_.back().bytes = AddressSpan::up_to(pieces_.back().bytes.begin(), bytes.end());
    } else {
      pieces_.push_back({bytes, writable, name});
    }
  }
  std::vector<Region> take() { return std::move(pieces_); }

 private:
  std::vector<Region> pieces_;
};

/// Cuts overlapping regions into disjoint ones; a piece is writable where any region over it is.
std::vector<Region> cut(const std::vector<Region>& given) {
  std::vector<u64> cuts;
  cuts.reserve(2 * given.size());
  for (const Region& region : given) {
    cuts.push_back(region.bytes.begin());
    cuts.push_back(region.bytes.end());
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  Pieces pieces(cuts.size());
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    const AddressSpan bytes = AddressSpan::up_to(cuts[i], cuts[i + 1]);
    const Region* cover = nullptr;
    bool writable = false;
    for (const Region& region : given) {
      if (region.bytes.contains(bytes)) {
        if (cover == nullptr || (region.writable && !writable)) cover = &region;
        writable |= region.writable;
      }
    }
    if (cover != nullptr) pieces.add(bytes, writable, cover->name);
  }
  return pieces.take();
}

/// The same. Most launches have regions that do not overlap, which are put in order only.
std::vector<Region> make_disjoint(const std::vector<Region>& given) {
  std::vector<const Region*> sorted;
  sorted.reserve(given.size());
  for (const Region& region : given) {
    if (region.bytes.size() != 0) sorted.push_back(&region);
  }
  std::ranges::sort(sorted, {}, [](const Region* region) { return region->bytes.begin(); });
  Pieces pieces(sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    const Region& region = *sorted[i];
    if (i + 1 < sorted.size() && region.bytes.overlaps(sorted[i + 1]->bytes)) return cut(given);
    pieces.add(region.bytes, region.writable, region.name);
  }
  return pieces.take();
}

u64 distance(const Region& region, u64 address) {
  if (address < region.bytes.begin()) return region.bytes.begin() - address;
  return region.bytes.contains(address) ? 0 : address - region.bytes.end() + 1;
}

}  // namespace

bool is_over_read(const AddressSpan& bytes, AddressSpan span, u64 most, bool write) {
  return !write && bytes.excess(span) <= most;
}

void check_atomic(AddressSpan span, int lane) {
  if (span.begin() % span.size() == 0) return;
  fault_at(text("an atomic access of ", span.size(), " bytes that is not aligned"), lane, span.begin(), "misaligned");
}

Memory::Memory(std::vector<Region> regions, size_t arguments, bool strict, AccessTrace* trace, FindRegion find_region,
               WatchedAccesses watched)
    : named_(std::move(regions)),
      arguments_(arguments),
      strict_(strict),
      find_region_(std::move(find_region)),
      trace_(trace),
      is_direct_(trace == nullptr && watched == WatchedAccesses::None),
      constants_are_direct_(trace == nullptr && watched != WatchedAccesses::All) {
  check_addressable(named_);
  regions_ = make_disjoint(named_);
}

const Region* Memory::before(u64 address) const {
  auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                [](u64 value, const Region& region) { return value < region.bytes.begin(); });
  return after == regions_.begin() ? nullptr : &*(after - 1);
}

const Region* Memory::find(u64 address) const {
  const Region* region = before(address);
  if (region != nullptr && region->bytes.contains(address)) return region;
  // Of LDS and scratch FLAT asks, and buffer instructions, at each access: they are not looked for in the process.
  static_assert(kScratchWindow < kSharedAperture && kScratchWindow < kPrivateAperture);
  const Region* more = find_region_ && address < kScratchWindow ? find_more(address) : nullptr;
  return more != nullptr && more->readable ? more : nullptr;
}

const Region* Memory::known_more(u64 address) const noexcept {
  for (const More* more = newest_.load(std::memory_order_acquire); more != nullptr; more = more->next) {
    if (more->region.bytes.contains(address)) return &more->region;
  }
  return nullptr;
}

bool Memory::has_region(u64 address) const noexcept {
  const Region* region = before(address);
  if (region == nullptr || !region->bytes.contains(address)) region = known_more(address);
  return region != nullptr && region->readable;
}

const Region* Memory::find_more(u64 address) const {
  if (const Region* region = known_more(address)) return region;
  std::lock_guard lock(mutex_);
  if (const Region* region = known_more(address)) return region;
  std::optional<Region> found = find_region_(address);
  if (!found) return nullptr;
  more_.push_back({std::move(*found), newest_.load(std::memory_order_relaxed)});
  newest_.store(&more_.back(), std::memory_order_release);
  return &more_.back().region;
}

const Region* Memory::more_before(u64 address) const noexcept {
  const Region* best = nullptr;
  for (const More* more = newest_.load(std::memory_order_acquire); more != nullptr; more = more->next) {
    const Region& region = more->region;
    const bool counts = region.readable && region.bytes.begin() <= address;
    if (counts && (best == nullptr || region.bytes.begin() > best->bytes.begin())) best = &region;
  }
  return best;
}

const Region* Memory::nearest(u64 address) const {
  const Region* best = nullptr;
  for (size_t i = 0; i < named_.size(); ++i) {
    const u64 away = distance(named_[i], address);
    if (away == 0) return &named_[i];
    const bool counts = i < arguments_ || arguments_ == 0;
    if (counts && (best == nullptr || away < distance(*best, address))) best = &named_[i];
  }
  return best;
}

std::string Memory::name_of(u64 address) const {
  const Region* region = find(address);
  if (region == nullptr) return "memory";
  return text("memory, ", address - region->bytes.begin(), " bytes from the beginning of ", region->name.text(), ",");
}

void Memory::read(AddressSpan span, void* to, int lane) const {
  if (trace_ != nullptr) trace_->mark(span, true, false);
  u8* out = static_cast<u8*>(to);
  for (u64 done = 0; done < span.size();) {
    const AddressSpan rest(span.begin() + done, span.size() - done);
    if (const Region* region = find(rest.begin())) {
      const u64 count = std::min(rest.size(), region->bytes.left_from(rest.begin()));
      copy_guarded(out + done, reinterpret_cast<const void*>(rest.begin()), count);
      done += count;
      continue;
    }
    const Region* last = before(rest.begin());
    const Region* const more = more_before(rest.begin());
    if (more != nullptr && (last == nullptr || more->bytes.begin() > last->bytes.begin())) last = more;
    const bool is_forgiven =
        last != nullptr && forgive(span, last->bytes.excess(rest), kOverRead, last->name.text(), lane);
    if (!is_forgiven && !forgive_part_of_dword(span, lane)) refuse(span, false, lane);
    out[done++] = 0;
  }
}

void Memory::check_write(AddressSpan span, int lane) const {
  for (u64 done = 0; done < span.size();) {
    const u64 at = span.begin() + done;
    const Region* region = find(at);
    if (region == nullptr || !region->writable) refuse(span, true, lane);
    done += region->bytes.left_from(at);
  }
}

void Memory::write(AddressSpan span, const void* from, int lane) const {
  check_write(span, lane);
  if (trace_ != nullptr) trace_->mark(span, false, true);
  copy_guarded(reinterpret_cast<void*>(span.begin()), from, span.size());
}

AtomicTarget Memory::atomic(AddressSpan span, bool serves_parts, int lane) const {
  check_atomic(span, lane);
  const Region* region = find(span.begin());
  if (region != nullptr && region->writable && region->bytes.contains(span)) {
    if (trace_ != nullptr) trace_->mark(span, true, true);
    return {reinterpret_cast<u8*>(span.begin())};
  }
  if (!serves_parts) refuse(span, true, lane);
  return atomic_part(span, lane);
}

AtomicTarget Memory::atomic_part(AddressSpan span, int lane) const {
  AtomicTarget target{reinterpret_cast<u8*>(span.begin()), 0, 0};
  for (u32 i = 0; i < span.size(); ++i) {
    const AddressSpan byte(span.begin() + i, 1);
    const Region* region = find(byte.begin());
    if (region == nullptr) continue;
    target.readable |= 0xffu << 8 * i;
    if (region->writable) target.writable |= 0xffu << 8 * i;
    if (trace_ != nullptr) trace_->mark(byte, true, region->writable);
  }
  if (target.writable == 0) refuse(span, true, lane);
  return target;
}

void Memory::refuse(AddressSpan span, bool write, int lane) const {
  const u64 address = span.begin();
  const std::string access = text(write ? "a store of " : "a load of ", span.size(), " bytes ");
  if (const auto freed = FreedMemory::of_process().at(address))
    fault_at(text(access, write ? "into " : "from ", freed->name.text()), lane, address, "use-after-free");
  if (const Region* found = find_region_ ? find_more(address) : nullptr) {
    if (!found->readable)
      fault_at(text(access, write ? "into " : "from ", found->name.text()), lane, address, found->why_unreadable);
    if (write && !found->writable) {
      fault_at(text(access, "into ", found->name.text(), ", which the process may only read"), lane, address,
               "read-only");
    }
  }
  if (is_near_null(address))
    fault_at(access + near_null_text(address, {named_.data(), arguments_}), lane, address, "unmapped");
  const Region* region = find_region_ && arguments_ == 0 ? nullptr : nearest(address);
  const Region* const more = more_before(address);
  if (more != nullptr && (region == nullptr || distance(*more, address) < distance(*region, address))) region = more;
  if (find_region_ && (region == nullptr || distance(*region, address) > kNearRegion)) {
    fault_at(access + "at an address that the process has not mapped", lane, address, "unmapped");
  }
  if (region == nullptr) fault_at(access + "in a launch that was given no memory", lane, address, "unmapped");
  const AddressSpan& bytes = region->bytes;
  if (bytes.contains(span)) {
    fault_at(text(access, "into ", region->name.text(), ", ", address - bytes.begin(),
                  " bytes from its beginning: ", region->why_const),
             lane, address, "read-only");
  }
  std::string place;
  if (address < bytes.begin()) {
    place = text(bytes.begin() - address, " bytes before the beginning of ");
  } else if (!bytes.contains(address)) {
    place = text(address - bytes.end(), " bytes past the end of ");
  } else {
    place = text("from ", bytes.left_from(address), " bytes before the end of ");
  }
  fault_at(text(access, "out of bounds: ", place, region->name.text(), ", which has ", bytes.size(), " bytes"), lane,
           address, is_over_read(bytes, span, kOverRead, write) ? "over-read" : "out-of-bounds");
}

bool Memory::forgive(AddressSpan span, u64 past, u64 most, const std::string& name, int lane) const {
  if (strict_ || past > most) return false;
  if (!is_first_over_read(name)) return true;
  record(text("a load of ", span.size(), " bytes that ends ", past, " bytes past the end of ", name, " (lane ", lane,
              "); what lies outside reads as zero"));
  return true;
}

/// Of a dword whose first bytes are outside: compilers load it for an element of fewer bytes that they change in it.
bool Memory::forgive_part_of_dword(AddressSpan span, int lane) const {
  const u64 last = span.begin() + (span.size() - 1);
  if (strict_ || span.size() > sizeof(u32) || span.begin() / sizeof(u32) != last / sizeof(u32)) return false;
  const Region* region = find(last);
  if (region == nullptr) return false;
  if (!is_first_over_read(region->name.text())) return true;
  record(text("a load of ", span.size(), " bytes that begins ", region->bytes.begin() - span.begin(),
              " bytes before the beginning of ", region->name.text(), " (lane ", lane,
              "); what lies outside reads as zero"));
  return true;
}

bool Memory::is_first_over_read(const std::string& name) const {
  std::lock_guard lock(mutex_);
  if (std::find(over_read_names_.begin(), over_read_names_.end(), name) != over_read_names_.end()) return false;
  over_read_names_.push_back(name);
  return true;
}

void Memory::record(std::string over_read) const {
  std::lock_guard lock(mutex_);
  over_reads_.push_back(std::move(over_read));
}

std::vector<std::string> Memory::over_reads() const {
  std::lock_guard lock(mutex_);
  return over_reads_;
}

}  // namespace wave::emulator
