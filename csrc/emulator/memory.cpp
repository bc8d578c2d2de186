#include "emulator/memory.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "emulator/op.h"

namespace wave::emulator {

namespace {

/// Bytes from a region within which an address was meant for it, as far as messages are concerned.
constexpr u64 kNear = u64{1} << 20;

/// Cuts overlapping regions into disjoint ones; a piece is writable where any region over it is.
std::vector<Region> make_disjoint(const std::vector<Region>& given) {
  std::vector<u64> cuts;
  for (const Region& region : given) {
    cuts.push_back(region.begin);
    cuts.push_back(region.end);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Region> pieces;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Region* cover = nullptr;
    bool writable = false;
    for (const Region& region : given) {
      if (region.begin <= cuts[i] && cuts[i + 1] <= region.end) {
        if (cover == nullptr || (region.writable && !writable)) cover = &region;
        writable |= region.writable;
      }
    }
    if (cover == nullptr) continue;
    Region piece{cuts[i], cuts[i + 1], writable, cover->name};
    // Pieces of one storage that differ in nothing a check asks for are one piece, so that accesses stay on the fast
    // path.
    if (!pieces.empty() && pieces.back().end == piece.begin && pieces.back().writable == writable) {
      pieces.back().end = piece.end;
    } else {
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

u64 distance(const Region& region, u64 address) {
  if (address < region.begin) return region.begin - address;
  return address < region.end ? 0 : address - region.end + 1;
}

}  // namespace

void check_atomic(u64 address, u32 size, int lane) {
  if (address % size != 0) fault_at(text("an atomic access of ", size, " bytes that is not aligned"), lane, address);
}

Memory::Memory(std::vector<Region> regions, size_t arguments, bool strict, AccessTrace* trace, FindRegion find_region)
    : named_(std::move(regions)),
      arguments_(arguments),
      strict_(strict),
      find_region_(std::move(find_region)),
      trace_(trace) {
  regions_ = make_disjoint(named_);
}

const Region* Memory::before(u64 address) const {
  auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                [](u64 value, const Region& region) { return value < region.begin; });
  return after == regions_.begin() ? nullptr : &*(after - 1);
}

const Region* Memory::find(u64 address) const {
  const Region* region = before(address);
  if (region != nullptr && address < region->end) return region;
  const Region* more = find_region_ ? find_more(address) : nullptr;
  return more != nullptr && more->readable ? more : nullptr;
}

const Region* Memory::find_more(u64 address) const {
  const auto known = [&]() -> const Region* {
    for (const More* more = newest_.load(std::memory_order_acquire); more != nullptr; more = more->next) {
      if (address >= more->region.begin && address < more->region.end) return &more->region;
    }
    return nullptr;
  };
  if (const Region* region = known()) return region;
  std::lock_guard lock(mutex_);
  if (const Region* region = known()) return region;
  std::optional<Region> found = find_region_(address);
  if (!found) return nullptr;
  more_.push_back({std::move(*found), newest_.load(std::memory_order_relaxed)});
  newest_.store(&more_.back(), std::memory_order_release);
  return &more_.back().region;
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

void Memory::read(u64 address, void* to, u32 size, int lane) const {
  if (trace_ != nullptr) trace_->mark(address, address + size, true, false);
  u8* out = static_cast<u8*>(to);
  for (u64 done = 0; done < size;) {
    const u64 at = address + done;
    if (const Region* region = find(at)) {
      const u64 count = std::min<u64>(size - done, region->end - at);
      std::memcpy(out + done, reinterpret_cast<const void*>(at), count);
      done += count;
      continue;
    }
    const Region* last = before(at);
    if (last == nullptr || !forgive(address, size, last->end, last->name, lane)) refuse(address, size, false, lane);
    out[done++] = 0;
  }
}

void Memory::write(u64 address, const void* from, u32 size, int lane) const {
  for (u64 at = address; at < address + size;) {
    const Region* region = find(at);
    if (region == nullptr || !region->writable) refuse(address, size, true, lane);
    at = region->end;
  }
  if (trace_ != nullptr) trace_->mark(address, address + size, false, true);
  std::memcpy(reinterpret_cast<void*>(address), from, size);
}

u8* Memory::atomic(u64 address, u32 size, int lane) const {
  check_atomic(address, size, lane);
  const Region* region = find(address);
  if (region == nullptr || !region->writable || address + size > region->end) refuse(address, size, true, lane);
  if (trace_ != nullptr) trace_->mark(address, address + size, true, true);
  return reinterpret_cast<u8*>(address);
}

void Memory::refuse(u64 address, u32 size, bool write, int lane) const {
  const std::string access = text(write ? "a store of " : "a load of ", size, " bytes ");
  if (const Region* found = find_region_ ? find_more(address) : nullptr) {
    if (!found->readable) fault_at(text(access, write ? "into " : "from ", found->name), lane, address);
    if (write && !found->writable) {
      fault_at(text(access, "into ", found->name, ", which the process may only read"), lane, address);
    }
  }
  const Region* region = nearest(address);
  if (find_region_ && (arguments_ == 0 || distance(*region, address) > kNear)) {
    fault_at(access + "at an address that the process has not mapped", lane, address);
  }
  if (region == nullptr) fault_at(access + "in a launch that was given no memory", lane, address);
  const bool inside = address >= region->begin && address + size <= region->end;
  if (inside) {
    fault_at(text(access, "into ", region->name, ", ", address - region->begin,
                  " bytes from its begin: the kernel's signature says that it only reads it (load() takes writes=)"),
             lane, address);
  }
  std::string place;
  if (address < region->begin) {
    place = text(region->begin - address, " bytes before the begin of ");
  } else if (address >= region->end) {
    place = text(address - region->end, " bytes past the end of ");
  } else {
    place = text("from ", region->end - address, " bytes before the end of ");
  }
  fault_at(text(access, "out of bounds: ", place, region->name, ", which has ", region->end - region->begin, " bytes"),
           lane, address);
}

bool Memory::forgive(u64 address, u32 size, u64 end, const std::string& name, int lane) const {
  if (strict_ || address + size - end > kOverRead) return false;
  std::lock_guard lock(mutex_);
  if (std::find(over_read_names_.begin(), over_read_names_.end(), name) == over_read_names_.end()) {
    over_read_names_.push_back(name);
    over_reads_.push_back(text("a load of ", size, " bytes that ends ", address + size - end, " bytes past the end of ",
                               name, " (lane ", lane, "); what lies outside reads as zero"));
  }
  return true;
}

std::vector<std::string> Memory::over_reads() const {
  std::lock_guard lock(mutex_);
  return over_reads_;
}

}  // namespace wave::emulator
