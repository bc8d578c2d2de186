// A wave, and a loop over its instructions in several ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace bound {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

inline constexpr int kLanes = 64;
inline constexpr u32 kVcc = 106, kExec = 126;

/// Before a loop over lanes: iterations do not depend on each other.
#if defined(__clang__)
#define WAVE_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define WAVE_LANES _Pragma("GCC ivdep")
#endif

struct alignas(64) Row {
  u32 lane[kLanes];
};

struct AddressRange {
  u64 begin, end;
};

struct Wave {
  Row v[16];
  Row exec_lanes;  ///< EXEC with a lane's bit spread over its dword
  u64 exec;
  u32 s[128];
  bool scc;
  AddressRange regions[3];
};

struct Op;
using Execute = const Op* (*)(Wave&, const Op*);

/// As large as the emulator's.
struct alignas(64) Op {
  Execute execute;
  u32 dst = 0, a = 0, b = 0, imm = 0;
  u64 value = 0;
  int target = -1;  ///< of a branch: the index of an operation
  const Op* jump = nullptr;
};

/// Sets the branches' targets.
inline std::vector<Op> linked(std::vector<Op> ops) {
  for (Op& op : ops) op.jump = op.target < 0 ? nullptr : &ops[static_cast<size_t>(op.target)];
  return ops;
}

/// Runs from an operation on, as the emulator does, until one returns nullptr.
inline void interpret(Wave& wave, const Op* op) {
  u64 left = ~u64{0};
  do {
    op = op->execute(wave, op);
  } while (--left != 0 && op != nullptr);
}

struct Way {
  const char* name;
  std::function<void()> run;
};

struct Loop {
  const char* name;
  int runs;
  std::vector<Way> ways;
  std::function<bool()> is_right;  ///< whether the last run's results are
};

Loop matmul_loop();
Loop collatz_loop();

}  // namespace bound
