// emulator/lds_log: a barrier leaves nothing of what was waited for, and all else, so that what it says of races is
// looked at closely no more often than there is something.

#include <cstdio>
#include <vector>

#include "emulator/lds_log.h"

namespace {

using wave::emulator::kLanes;
using wave::emulator::LaneAccesses;
using wave::emulator::LdsAccess;
using wave::emulator::LdsLog;
using wave::emulator::LdsWave;
using wave::emulator::Wave;

constexpr uint64_t kBytes = 4096;
constexpr uint8_t kQueue = 2;

enum class What { Load, Store, StoreOfTheSame, Atomic };
constexpr const char* kNames[] = {"a load", "a store", "a store of what is there", "an atomic"};

int failures = 0;

void expect(bool is_so, const char* what, What access, const LaneAccesses& all) {
  if (is_so) return;
  std::printf("%s of %u bytes, lanes %llx from %llu on: %s\n", kNames[static_cast<int>(access)], all.size,
              static_cast<unsigned long long>(all.lanes), static_cast<unsigned long long>(all.begins[0]), what);
  ++failures;
}

LaneAccesses lanes_from(uint64_t begin, uint32_t size, uint64_t step, uint64_t lanes) {
  LaneAccesses all{.begins = {}, .lanes = lanes, .size = size};
  for (size_t lane = 0; lane < kLanes; ++lane) all.begins[lane] = begin + lane * step;
  return all;
}

/// What is noted of one access after the other.
class Trial {
 public:
  Trial() { log_.forget(kBytes); }

  bool make(What what, LaneAccesses all, uint8_t by) {
    static const std::vector<uint8_t> others(kLanes * 16, 0xff);
    const LdsAccess access{.pc = 4, .number = 1, .kind = kQueue, .wave = by};
    if (what == What::Load) return log_.load(wave_, row_, access, all);
    if (what != What::Atomic) all.data = what == What::Store ? others.data() : lds_.data();
    return log_.store(wave_, row_, access, all, lds_.data());
  }
  /// Whether nothing is known of any byte, as far as a store by another wave tells.
  bool is_empty() {
    bool meets_nobody = true;
    for (uint64_t begin = 0; begin < kBytes; begin += kLanes * 16)
      meets_nobody &= make(What::Store, lanes_from(begin, 16, 16, ~uint64_t{0}), 1);
    return meets_nobody;
  }
  void pass_barrier(bool has_waited) {
    std::vector<LdsWave> waves(2);
    waves[0].done[kQueue] = has_waited;
    log_.keep_pending(waves);
  }
  void forget() { log_.forget(kBytes); }

 private:
  LdsLog log_;
  Wave wave_;
  wave::isa::Row row_{};
  std::vector<uint8_t> lds_ = std::vector<uint8_t>(kBytes, 0);
};

}  // namespace

int main() {
  const LaneAccesses places[] = {
      lanes_from(0, 4, 4, ~uint64_t{0}),
      lanes_from(512, 16, 16, ~uint64_t{0}),
      lanes_from(64, 4, 12, ~uint64_t{0}),
      lanes_from(3000, 1, 1, ~uint64_t{0}),
      lanes_from(2048, 4, 4, 1),
      lanes_from(128, 8, 8, 0xff00),
      lanes_from(1024, 4, 0, ~uint64_t{0}),
  };
  for (const LaneAccesses& all : places) {
    for (const What what : {What::Load, What::Store, What::StoreOfTheSame, What::Atomic}) {
      const auto after = [&](const auto& step) {
        Trial trial;
        trial.make(what, all, 0);
        step(trial);
        return trial.is_empty();
      };
      expect(!after([](Trial&) {}), "unknown to who comes next", what, all);
      expect(!after([](Trial& trial) { trial.pass_barrier(false); }), "unknown behind a barrier", what, all);
      expect(after([](Trial& trial) { trial.pass_barrier(true); }), "known behind a wait and a barrier", what, all);
      expect(after([](Trial& trial) { trial.forget(); }), "known in the next workgroup", what, all);
      const auto two = [](Trial& trial) {
        trial.pass_barrier(false);
        trial.pass_barrier(true);
      };
      expect(after(two), "known behind a barrier, a wait and a barrier", what, all);
    }
  }
  return failures != 0;
}
