// emulator/workgroup_ranges: each workgroup is given out once, however many threads ask, in whatever order.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "emulator/workgroup_ranges.h"

namespace {

using wave::emulator::WorkgroupRange;
using wave::emulator::WorkgroupRanges;

void expect(bool is_so, const char* what) {
  if (is_so) return;
  std::printf("%s\n", what);
  std::exit(1);
}

/// How often each of `count` was given out to a thread, or to any in the order of their numbers.
class Taken {
 public:
  explicit Taken(uint64_t count) : times_(count) {}

  void add(WorkgroupRange range) {
    for (uint64_t number = range.next; number < range.end; ++number) ++times_.at(number);
  }
  bool is_each_once(uint64_t below) const {
    for (uint64_t number = 0; number < times_.size(); ++number)
      if (times_[number] != (number < below ? 1 : 0)) return false;
    return true;
  }

 private:
  std::vector<int> times_;
};

void test_own_ranges_first() {
  WorkgroupRanges ranges(100);
  ranges.share_out(4);
  expect(ranges.take(0, 1).next == 0, "the first thread begins with the first workgroup");
  expect(ranges.take(3, 1).next == 75, "the last of four threads begins with the last quarter");
  expect(ranges.take(1, 16).size() == 25 / 8, "a thread takes an eighth of its range");
  expect(ranges.take(1, 2).size() == 2, "and not more than it wants");
}

void test_half_of_the_longest() {
  WorkgroupRanges ranges(8);
  ranges.share_out(2);
  for (uint64_t number = 0; number < 4; ++number) expect(ranges.take(0, 1).next == number, "its own, in order");
  expect(ranges.take(0, 1).next == 6, "then those of the other thread, from the middle of what that has left");
  expect(ranges.take(1, 1).next == 4, "which goes on with its own");
  expect(ranges.take(0, 1).next == 7 && ranges.take(0, 1).next == 5, "until there is none");
  expect(ranges.take(0, 1).size() == 0 && ranges.take(1, 1).size() == 0 && ranges.left() == 0, "left");
}

void test_in_order() {
  WorkgroupRanges ranges(50);
  ranges.share_out(7);
  for (uint64_t number = 0; number < 50; ++number)
    expect(ranges.take_first() == number, "the first one is that with the lowest number");
  expect(!ranges.take_first(), "there is no first one of none");
}

void test_given_back() {
  WorkgroupRanges ranges(200);
  ranges.share_out(2);
  WorkgroupRange taken = ranges.take(0, 16);
  ++taken.next;
  expect(ranges.give_back(0, taken) && ranges.left() == 199, "all but the first one are given back");
  expect(ranges.take_first() == 1, "the next one is the first of them");
  taken = ranges.take(0, 16);
  expect(ranges.take_first() == taken.end && !ranges.give_back(0, taken), "not where others took what is behind them");
  while (ranges.take(1, 1).next < 199) continue;  // all of its own
  const uint64_t stolen = ranges.take(1, 1).next;
  expect(stolen > taken.end && ranges.give_back(1, {stolen, stolen + 1}), "the last one of a range goes back, too");
  expect(ranges.take(1, 1).next == stolen, "and is taken again");
}

void test_what_is_behind_a_failure() {
  for (uint64_t end : {0, 1, 12, 13, 49, 50, 1000}) {
    WorkgroupRanges ranges(50);
    ranges.share_out(4);
    Taken taken(50);
    for (int i = 0; i < 3; ++i) taken.add(ranges.take(0, 1));
    ranges.end_before(end);
    ranges.end_before(1000);  // what was forgotten stays so
    const uint64_t left = ranges.left();
    uint64_t count = 0;
    while (const auto first = ranges.take_first()) {
      taken.add({*first, *first + 1});
      ++count;
    }
    expect(count == left, "it is known how many are left");
    expect(taken.is_each_once(std::max<uint64_t>(3, std::min<uint64_t>(end, 50))), "none behind the failure begins");
  }
}

void test_many_threads() {
  std::mt19937 random(1);
  for (int trial = 0; trial < 48; ++trial) {
    const uint64_t count = random() % 3000;
    const int threads = 1 + static_cast<int>(random() % 8), ranges_of = 1 + static_cast<int>(random() % 70);
    WorkgroupRanges ranges(count);
    if (trial % 4 != 0) ranges.share_out(ranges_of);
    std::vector<std::vector<WorkgroupRange>> taken(static_cast<size_t>(threads));
    std::vector<std::thread> workers;
    for (int thread = 0; thread < threads; ++thread) {
      workers.emplace_back([&, thread] {
        for (uint64_t turn = 0;; ++turn) {
          WorkgroupRange range{};
          if (trial % 3 == 0 && turn % 5 == 4) {
            if (const auto first = ranges.take_first()) range = {*first, *first + 1};
          } else {
            range = ranges.take(thread, 1 + turn % 16);
          }
          if (range.size() == 0) return;
          const WorkgroupRange rest{range.next + 1, range.end};
          if (trial % 2 == 0 && turn % 7 == 3 && ranges.give_back(thread, rest)) range.end = rest.next;
          taken[static_cast<size_t>(thread)].push_back(range);
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    Taken all(count);
    for (const auto& of_thread : taken)
      for (const WorkgroupRange range : of_thread) all.add(range);
    expect(all.is_each_once(count) && ranges.left() == 0, "each is given out once");
  }
}

}  // namespace

int main() {
  test_own_ranges_first();
  test_half_of_the_longest();
  test_in_order();
  test_given_back();
  test_what_is_behind_a_failure();
  test_many_threads();
}
