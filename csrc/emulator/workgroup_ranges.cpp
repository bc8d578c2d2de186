#include "emulator/workgroup_ranges.h"

#include <algorithm>
#include <utility>

namespace wave::emulator {

namespace {

/// A thread takes one of so many equal shares of its range at a time.
constexpr uint64_t kShares = 8;

}  // namespace

WorkgroupRange WorkgroupRanges::Range::take(uint64_t count) {
  const uint64_t begin = next.load(std::memory_order_relaxed);
  next.store(begin + count, std::memory_order_relaxed);
  return {begin, begin + count};
}

WorkgroupRanges::WorkgroupRanges(uint64_t workgroups) : left_(workgroups) { ranges_[0].set({0, workgroups}); }

void WorkgroupRanges::share_out(int threads) {
  const WorkgroupRange all = ranges_[0].take(ranges_[0].size());
  count_ = static_cast<size_t>(std::clamp<int>(threads, 1, static_cast<int>(ranges_.size())));
  uint64_t next = all.next;
  for (size_t i = 0; i < count_; ++i) {
    const uint64_t end = all.next + all.size() * (i + 1) / count_;
    ranges_[i].set({std::exchange(next, end), end});
  }
}

WorkgroupRange WorkgroupRanges::take(int thread, uint64_t most) {
  Range& own = range_of(thread);
  do {
    const std::lock_guard lock(own.mutex);
    if (own.size() == 0) continue;
    const uint64_t count = std::clamp<uint64_t>(own.size() / kShares, 1, most);
    left_.fetch_sub(count, std::memory_order_acq_rel);
    return own.take(count);
  } while (take_half_of_longest(own));
  return {};
}

/// False where none is left.
bool WorkgroupRanges::take_half_of_longest(Range& own) {
  for (;;) {
    Range& longest = *std::ranges::max_element(ranges(), {}, [](const Range& range) { return range.size(); });
    if (longest.size() == 0 || &longest == &own) return longest.size() != 0;
    const std::scoped_lock lock(own.mutex, longest.mutex);
    if (longest.size() == 0 || own.size() != 0) continue;  // others were faster
    const uint64_t end = longest.end.load(std::memory_order_relaxed);
    const uint64_t middle = longest.next.load(std::memory_order_relaxed) + longest.size() / 2;
    own.set({middle, end});
    longest.end.store(middle, std::memory_order_relaxed);
    return true;
  }
}

bool WorkgroupRanges::give_back(int thread, WorkgroupRange rest) {
  Range& own = range_of(thread);
  const std::lock_guard lock(own.mutex);
  if (own.next.load(std::memory_order_relaxed) != rest.end) return false;
  own.next.store(rest.next, std::memory_order_relaxed);
  left_.fetch_add(rest.size(), std::memory_order_acq_rel);
  return true;
}

std::optional<uint64_t> WorkgroupRanges::take_first() {
  for (Range& range : ranges()) {
    const std::lock_guard lock(range.mutex);
    if (range.size() == 0) continue;
    left_.fetch_sub(1, std::memory_order_acq_rel);
    return range.take(1).next;
  }
  return std::nullopt;
}

void WorkgroupRanges::end_before(uint64_t workgroup) {
  for (Range& range : ranges()) {
    const std::lock_guard lock(range.mutex);
    const uint64_t next = range.next.load(std::memory_order_relaxed), end = range.end.load(std::memory_order_relaxed);
    const uint64_t new_end = std::clamp(workgroup, next, end);
    left_.fetch_sub(end - new_end, std::memory_order_acq_rel);
    range.end.store(new_end, std::memory_order_relaxed);
  }
}

}  // namespace wave::emulator
