// emulator/waiting_workgroups: what waits goes on soon after what it waits for, and nobody is forgotten. Workgroups are
// stood for by their numbers, and those that they wait for.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>

#include "emulator/waiting_workgroups.h"

namespace {

using wave::emulator::TurnResult;
using wave::emulator::WaitingWorkgroups;

constexpr uint64_t kFirst = 100, kPoll = 10;  // instructions of a first turn, and of one that asks in vain

void expect(bool is_so, const char* what, uint64_t instructions) {
  if (is_so) return;
  std::printf("%s: %llu instructions\n", what, static_cast<unsigned long long>(instructions));
  std::exit(1);
}

/// Whether a workgroup may end, of those that have begun and those that have ended.
using MayEnd = std::function<bool(uint64_t number, uint64_t begun, const std::set<uint64_t>& ended)>;

/// The instructions of all turns of a launch of so many on one thread, of which the device holds `resident`.
uint64_t instructions_of(uint64_t count, uint64_t resident, const MayEnd& may_end) {
  WaitingWorkgroups waiting;
  std::set<uint64_t> ended;
  uint64_t begun = 0, instructions = 0;
  while (ended.size() < count) {
    expect(instructions < 100 * count * kFirst, "a launch does not end", instructions);
    TurnResult turn{};
    if (begun < count && begun - ended.size() < resident && !waiting.is_time_to_resume()) {
      turn.number = begun++;
      turn.spent = kFirst;
    } else {
      expect(!waiting.is_empty(), "nothing is left to run", instructions);
      turn.number = waiting.take().key();
      turn.is_resumed = true;
      turn.spent = kPoll;
    }
    turn.has_ended = may_end(turn.number, begun, ended);
    if (turn.has_ended) {
      ended.insert(turn.number);
    } else {
      waiting.add(turn.number, nullptr);
    }
    waiting.note(turn);
    instructions += turn.spent;
  }
  expect(waiting.is_empty(), "one that has ended waits", instructions);
  return instructions;
}

}  // namespace

int main() {
  constexpr uint64_t kCount = 1000, kMany = 5000, kLeast = kCount * kFirst;
  const auto nobody = [](uint64_t, uint64_t, const auto&) { return true; };
  const uint64_t least = instructions_of(kCount, kMany, nobody);
  expect(least == kLeast, "where nobody waits, each has one turn", least);

  const auto meets_all = [](uint64_t, uint64_t begun, const auto&) { return begun == kCount; };
  const uint64_t meeting = instructions_of(kCount, kMany, meets_all);
  expect(meeting < 2 * kLeast, "those that meet all others begin before those that wait are asked much", meeting);

  const auto waits_for_next = [](uint64_t number, uint64_t, const auto& ended) {
    return number + 1 == kCount || ended.contains(number + 1);
  };
  const uint64_t backwards = instructions_of(kCount, kMany, waits_for_next);
  expect(backwards < 2 * kLeast, "a chain from the last to the first goes on from link to link", backwards);

  // Pairs, of which the first one waits for the second: which is the one that begins next.
  const auto pairs = [](uint64_t number, uint64_t begun, const auto&) { return number % 2 == 1 || begun > number + 1; };
  const uint64_t paired = instructions_of(kCount, 4, pairs);
  expect(paired < 5 * kLeast, "as few as the device holds come to their end", paired);

  // What the first workgroup waits for comes late, and from elsewhere.
  int asked = 0;
  const auto comes_late = [&](uint64_t number, uint64_t, const auto&) { return number != 0 || ++asked > 50; };
  const uint64_t late = instructions_of(kCount, kMany, comes_late);
  expect(asked == 51 && late < 2 * kLeast, "one that waits for something else is not forgotten", late);
}
