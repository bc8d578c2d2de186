#include "emulator/waiting_workgroups.h"

#include <iterator>

namespace wave::emulator {

namespace {

/// Before others begin, workgroups that waited may carry out so many instructions in vain, and one for each kInVainOf
/// that others have carried out in their first turns.
constexpr u64 kInVain = 512, kInVainOf = 32;

}  // namespace

bool WaitingWorkgroups::is_time_to_resume() const {
  if (groups_.empty()) return false;
  return resuming_helps_ || spent_resuming_ + spent_in_vain_ <= kInVain + spent_beginning_ / kInVainOf;
}

/// Where one has come to its end, that one before it which may have waited for it, or, if there is none, the first
/// one: chains of workgroups end so, in either direction. Else each in its turn, and, as long as little has been
/// spent on it, the first one in between.
WaitingWorkgroups::Groups::iterator WaitingWorkgroups::next() {
  if (resuming_helps_) {
    const auto behind = groups_.lower_bound(last_ended_);
    return behind == groups_.begin() ? behind : std::prev(behind);
  }
  is_in_turn_ = !is_in_turn_ || spent_resuming_ > kInVain;
  if (!is_in_turn_) return groups_.begin();
  const auto behind = groups_.upper_bound(last_in_turn_);
  const auto next = behind == groups_.end() ? groups_.begin() : behind;
  last_in_turn_ = next->first;
  return next;
}

WaitingWorkgroups::Groups::node_type WaitingWorkgroups::take() { return groups_.extract(next()); }

void WaitingWorkgroups::note(const TurnResult& turn) {
  (turn.is_resumed ? spent_resuming_ : spent_beginning_) += turn.spent;
  if (!turn.has_ended) spent_in_vain_ = turn.spent;
  if (!turn.is_resumed) return;
  resuming_helps_ = turn.has_ended;
  if (!resuming_helps_) return;
  last_ended_ = turn.number;
  spent_resuming_ = spent_beginning_ = 0;
}

}  // namespace wave::emulator
