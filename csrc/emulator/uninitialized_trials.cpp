// What of an instruction's results depends on undefined bits: it is tried several times, each time with other bits in
// their place.
#include <algorithm>
#include <bit>
#include <span>

#include "emulator/step.h"
#include "emulator/uninitialized.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// Bits without a pattern, of a register and a lane: always the same, and in every 16 lanes, as matrices of RDNA3 are
/// there.
u32 scattered(u32 number, int lane) {
  u32 x = (number * kLanes + static_cast<u32>(lane % 16) + 1) * 0x9e3779b9u;
  x = (x ^ x >> 15) * 0x85ebca6bu;
  return x ^ x >> 13;
}

u32 turned_bits(int turn, u32 value, u32 undefined, u32 scatter) {
  using enum UninitializedChecker::Turn;
  const u32 half = std::rotl(scatter, 13), other = std::rotl(scatter, 7), some = std::rotl(scatter, 22);
  const u32 masks[kTurns] = {
      0,     ~0u,    scatter, ~scatter, half, half & scatter, half & ~scatter, other, other & some, other & ~some,
      value, ~value, 0,       0};
  return undefined & masks[turn];
}

/// What depends on undefined bits, by the differences to the first trial.
struct Difference {
  u32 bits;
  bool is_computed;
};
template <class Value>
Difference difference(int turns, const Value& value) {
  using enum UninitializedChecker::Turn;
  u32 d[kTurns], bits = 0;
  for (int turn = kAll; turn < turns; ++turn) bits |= d[turn] = value(turn) ^ value(kAsIs);
  return {bits, d[kAll] != (d[kSome] ^ d[kOthers]) || d[kHalf] != (d[kSomeOfHalf] ^ d[kOthersOfHalf]) ||
                    d[kOtherHalf] != (d[kSomeOfOtherHalf] ^ d[kOthersOfOtherHalf]) ||
                    ((d[kToZero] | d[kToOne]) & ~d[kAll]) != 0};
}

}  // namespace

void UninitializedChecker::save_rows(const Wave& wave) {
  saved_.resize(now_->rows.size());
  for (size_t i = 0; i < saved_.size(); ++i) saved_[i] = wave.v[now_->rows[i]];
  const bool loads_scalars = now_->effect == Effect::Loads && now_->scalar_writes.any();
  saved_scalars_.assign(wave.s, wave.s + (loads_scalars ? 128 : 0));
}

void UninitializedChecker::restore_rows(const Wave& wave) {
  for (size_t i = 0; i < saved_.size(); ++i) wave.v[now_->rows[i]] = saved_[i];
}

int UninitializedChecker::turns() const { return now_->compared.empty() ? kToOther : kTurns; }

/// Only one value makes `x == 7` true: no other turn is likely to try it.
void UninitializedChecker::meet_other(Wave& wave, u32 below) const {
  const auto value = [&](const Compared& operand, u32 dword, int lane) {
    if (dword >= operand.dwords) return 0u;
    if (operand.is_constant) return static_cast<u32>(operand.constant >> 32 * dword);
    return operand.is_vector ? wave.v[operand.number + dword].lane[lane] : wave.s[operand.number + dword];
  };
  for (size_t i = 0; i < now_->compared.size(); ++i) {
    const Compared &own = now_->compared[i], &other = now_->compared[1 - i];
    for (u32 dword = 0; !own.is_constant && dword < own.dwords; ++dword) {
      const u32 number = own.number + dword;
      const auto met = [&](u32 had, u32 bits, int lane) {
        return (had & ~bits) | ((value(other, dword, lane) - (dword == 0 ? below : 0)) & bits);
      };
      if (!own.is_vector) {
        const u32 bits = state_->scalars_with_some[number] ? state_->scalars[number] : 0;
        wave.s[number] = met(wave.s[number], bits, std::countr_zero(wave.exec() | u64{1} << (kLanes - 1)));
        continue;
      }
      for (u64 left = state_->lanes[number]; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        u32& register_ = wave.v[number].lane[lane];
        register_ = met(register_, state_->bits_of(number, lane), lane);
      }
    }
  }
}

/// Leaves the rows as the trial has made them.
void UninitializedChecker::try_with(const Op* op, int turn, Trial& trial) {
  const State& state = *state_;
  Wave wave = *wave_;
  std::ranges::copy(saved_scalars_, wave.s);
  wave.enable(wave.pair(sreg::kExec));
  for (size_t i = 0; i < saved_.size(); ++i) {
    const u32 row = now_->rows[i];
    for (u64 left = state.lanes[row]; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const u32 value = saved_[i].lane[lane];
      wave.v[row].lane[lane] = value ^ turned_bits(turn, value, state.bits_of(row, lane), scattered(row, lane));
    }
  }
  const std::bitset<128> turned = scalars_that_matter() & state.scalars_with_some;
  for (u32 number = 0; turned.any() && number < 128; ++number) {
    if (!turned[number]) continue;
    wave.s[number] ^= turned_bits(turn, wave.s[number], state.scalars[number], scattered(number, 0));
  }
  if (turn >= kToOther) meet_other(wave, turn == kBelowOther ? 1 : 0);
  if (state.scc) wave.scc = (turned_bits(turn, wave.scc, 1, 1) ^ u32{wave.scc}) != 0;
  trial.has_failed = false;
  try {
    trial.next = step(wave, op);
  } catch (const Fault&) {
    trial.has_failed = true;
    trial.next = nullptr;
  }
  trial.rows.resize(now_->writes.size());
  for (size_t i = 0; i < trial.rows.size(); ++i) trial.rows[i] = wave.v[now_->writes[i]];
  std::copy_n(wave.s, trial.scalars.size(), trial.scalars.begin());
  trial.scc = wave.scc;
}

void UninitializedChecker::compute(const Op* op) {
  const Wave& wave = *wave_;
  save_rows(wave);
  for (int turn = kAsIs; turn < turns(); ++turn) {
    try_with(op, turn, trials_[turn]);
    restore_rows(wave);
    if (trials_[kAsIs].has_failed) return;  // as it will when it is carried out
  }
  bool jumps = false;
  for (Trial& trial : std::span(trials_).first(static_cast<size_t>(turns()))) {
    if (trial.has_failed) trial = trials_[kAsIs];  // as one whose copies of a matrix differ, since their bits do
    jumps |= trial.next != trials_[kAsIs].next;
  }
  if (jumps) {
    report(state_->scc ? state_->scc_source : source_for(-1, 0), -1, "where the wave goes on");
    state_->scc = false;
  }
  take_rows();
  take_scalars();
}

void UninitializedChecker::take_rows() {
  State& state = *state_;
  for (size_t i = 0; i < now_->writes.size(); ++i) {
    const u32 row = now_->writes[i];
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto [bits, is_computed] = difference(turns(), [&](int turn) { return trials_[turn].rows[i].lane[lane]; });
      const bool had_some = state.lanes[row] >> lane & 1;
      if (bits == 0) {
        if (had_some) pending_.push_back({row, lane, 0, 0});
        continue;
      }
      const Source own = had_some ? state.source_of(row, lane) : 0;
      const bool is_enabled = now_->ignores_exec || (wave_->exec() >> lane & 1);
      const Source source = is_enabled ? source_for(lane, own) : own;
      if (had_some && source == own && bits == state.bits_of(row, lane) && !is_computed) continue;
      pending_.push_back({row, lane, bits, source | (is_computed ? kComputed : 0)});
    }
  }
  // All at once, since results may be sources.
  for (const Pending& one : pending_) state.set(one.row, one.lane, one.bits, one.source);
  pending_.clear();
}

void UninitializedChecker::take_scalars() {
  State& state = *state_;
  const Source source = source_for(-1, 0);
  std::array<u32, 128> differ{};
  for (int turn = kAll; turn < turns(); ++turn) {
    for (u32 number = 0; number < 128; ++number)
      differ[number] |= trials_[turn].scalars[number] ^ trials_[kAsIs].scalars[number];
  }
  const std::bitset<128> matter = scalars_that_matter();
  for (u32 number = 0; number < 128; ++number) {
    if (differ[number] == 0 && !matter[number]) continue;
    const auto [bits, is_computed] = difference(turns(), [&](int turn) { return trials_[turn].scalars[number]; });
    const u32 had = state.scalars_with_some[number] ? state.scalars[number] : 0;
    if (bits == had && !now_->scalar_writes[number]) continue;
    if (bits != 0 && (number == sreg::kExec || number == sreg::kExec + 1)) {
      report(source, -1, "EXEC");
    } else {
      // Of a large number a comparison may be its sign, a bit as it was.
      state.set_scalar(number, bits, source | (is_computed || now_->compares ? kComputed : 0));
    }
  }
  const bool scc = difference(turns(), [&](int turn) { return u32{trials_[turn].scc}; }).bits != 0 &&
                   (state.scc || now_->writes_scc);
  if (scc && now_->writes_scc) state.scc_source = source | kComputed;
  state.scc = scc;
}

}  // namespace wave::emulator
