// The loop of collatz: sixteen instructions, none of which accesses memory. The carry of v_mad_u64_u32, which is 0
// here, is left out. Needs AVX-512.
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <memory>

#include "loop.h"

namespace bound {

namespace {

constexpr u32 kCount = 65536;
constexpr int kParts = 4;  ///< sixteen lanes each

inline __mmask16 part_of(u64 mask, int part) { return static_cast<__mmask16>(mask >> 16 * part); }
inline __m512i part_of(const Row& row, int part) { return _mm512_load_si512(&row.lane[16 * part]); }

void spread(u64 mask, Row& row) {
  static constexpr std::array<u32, 32> kBits = [] {
    std::array<u32, 32> bits{};
    for (u32 i = 0; i < 32; ++i) bits[i] = 1u << i;
    return bits;
  }();
  const u32 low = static_cast<u32>(mask), high = static_cast<u32>(mask >> 32);
  for (int i = 0; i < 32; ++i) row.lane[i] = (low & kBits[i]) == kBits[i] ? ~0u : 0;
  for (int i = 0; i < 32; ++i) row.lane[32 + i] = (high & kBits[i]) == kBits[i] ? ~0u : 0;
}

// In what follows kRows says that EXEC is spread over a row of masks; else it is 64 bits.
inline u64 pair(const Wave& w, u32 reg) { return reg == kExec ? w.exec : u64{w.s[reg + 1]} << 32 | w.s[reg]; }

template <bool kRows>
inline void set_pair(Wave& w, u32 reg, u64 value) {
  if (reg == kExec) {
    w.exec = value;
    if (kRows) spread(value, w.exec_lanes);
  } else {
    w.s[reg] = static_cast<u32>(value);
    w.s[reg + 1] = static_cast<u32>(value >> 32);
  }
}

template <bool kRows, class Body>
inline void each_lane(Wave& w, u32 dst, Body body) {
  Row result;
  WAVE_LANES
  for (int i = 0; i < kLanes; ++i) result.lane[i] = body(i);
  if (kRows) {
    WAVE_LANES
    for (int i = 0; i < kLanes; ++i) {
      const u32 mask = w.exec_lanes.lane[i];
      w.v[dst].lane[i] = (result.lane[i] & mask) | (w.v[dst].lane[i] & ~mask);
    }
  } else {
    for (int part = 0; part < kParts; ++part) {
      _mm512_mask_store_epi32(&w.v[dst].lane[16 * part], part_of(w.exec, part), part_of(result, part));
    }
  }
}

template <bool kRows>
inline void compare_equal(Wave& w, u32 constant, u32 a) {
  u64 equal = 0, enabled = 0;
  for (int part = 0; part < kParts; ++part) {
    const __m512i right = _mm512_set1_epi32(static_cast<int>(constant));
    equal |= u64{_mm512_cmpeq_epi32_mask(part_of(w.v[a], part), right)} << 16 * part;
    if (kRows) enabled |= u64{_mm512_movepi32_mask(part_of(w.exec_lanes, part))} << 16 * part;
  }
  set_pair<kRows>(w, kVcc, equal & (kRows ? enabled : w.exec));
}

/// v[2:3] = v2 * 3 + 1
template <bool kRows>
inline void times_three_and_one(Wave& w) {
  for (int i = 0; i < kLanes; i += 8) {
    const __m512i wide = _mm512_cvtepu32_epi64(_mm256_load_si256(reinterpret_cast<const __m256i*>(&w.v[2].lane[i])));
    const __m512i sum = _mm512_add_epi64(_mm512_mul_epu32(wide, _mm512_set1_epi64(3)), _mm512_set1_epi64(1));
    const __m256i enabled = _mm256_load_si256(reinterpret_cast<const __m256i*>(&w.exec_lanes.lane[i]));
    const __mmask8 mask = kRows ? _mm256_movepi32_mask(enabled) : static_cast<__mmask8>(w.exec >> i);
    _mm256_mask_store_epi32(&w.v[2].lane[i], mask, _mm512_cvtepi64_epi32(sum));
    _mm256_mask_store_epi32(&w.v[3].lane[i], mask, _mm512_cvtepi64_epi32(_mm512_srli_epi64(sum, 32)));
  }
  set_pair<kRows>(w, 10, 0);
}

template <bool kRows>
inline void set_and_test(Wave& w, u32 dst, u64 value) {
  w.scc = value != 0;
  set_pair<kRows>(w, dst, value);
}

/// EXEC to `dst`, and `value` to EXEC.
template <bool kRows>
inline void save_exec(Wave& w, u32 dst, u64 value) {
  set_pair<kRows>(w, dst, w.exec);
  set_and_test<kRows>(w, kExec, value);
}

#define WAVE_BODY(name, ...)                                        \
  template <bool kRows>                                             \
  __attribute__((noinline)) const Op* name(Wave& w, const Op* op) { \
    __VA_ARGS__;                                                    \
    return op + 1;                                                  \
  }
WAVE_BODY(s_or_b64, set_and_test<kRows>(w, op->dst, pair(w, op->a) | pair(w, op->b)))
WAVE_BODY(s_andn2_b64, set_and_test<kRows>(w, op->dst, pair(w, op->a) & ~pair(w, op->b)))
WAVE_BODY(s_xor_b64, set_and_test<kRows>(w, op->dst, pair(w, op->a) ^ pair(w, op->b)))
WAVE_BODY(s_and_saveexec_b64, save_exec<kRows>(w, op->dst, pair(w, op->a) & w.exec))
WAVE_BODY(s_andn2_saveexec_b64, save_exec<kRows>(w, op->dst, pair(w, op->a) & ~w.exec))
WAVE_BODY(s_add_i32, w.s[op->dst] = w.s[op->a] + op->imm)
WAVE_BODY(v_cmp_eq_u32, compare_equal<kRows>(w, op->imm, op->a))
WAVE_BODY(v_mov_b32_scalar, each_lane<kRows>(w, op->dst, [value = w.s[op->a]](int) { return value; }))
WAVE_BODY(v_and_b32, each_lane<kRows>(w, op->dst, [&w, op](int i) { return w.v[op->a].lane[i] & op->imm; }))
WAVE_BODY(v_lshrrev_b32, each_lane<kRows>(w, op->dst, [&w, op](int i) { return w.v[op->a].lane[i] >> op->imm; }))
WAVE_BODY(v_mad_u64_u32, times_three_and_one<kRows>(w))
#undef WAVE_BODY

const Op* s_cbranch_execz(Wave& w, const Op* op) { return w.exec == 0 ? op->jump : op + 1; }
const Op* s_branch(Wave&, const Op* op) { return op->jump; }

constexpr int kEntry = 7;  ///< the loop is entered in its middle

template <bool kRows>
std::vector<Op> program() {
  return linked({{s_or_b64<kRows>, kExec, kExec, 6},
                 {s_add_i32<kRows>, 8, 8, 0, 1},
                 {v_cmp_eq_u32<kRows>, 0, 2, 0, 1},
                 {s_or_b64<kRows>, 4, kVcc, 4},
                 {v_mov_b32_scalar<kRows>, 3, 8},
                 {s_andn2_b64<kRows>, kExec, kExec, 4},
                 {s_cbranch_execz},
                 {v_and_b32<kRows>, 3, 2, 0, 1},
                 {v_cmp_eq_u32<kRows>, 0, 3, 0, 1},
                 {s_and_saveexec_b64<kRows>, 6, kVcc},
                 {s_xor_b64<kRows>, 6, kExec, 6},
                 {v_mad_u64_u32<kRows>},
                 {s_andn2_saveexec_b64<kRows>, 6, 6},
                 {s_cbranch_execz, 0, 0, 0, 0, 0, 0},
                 {v_lshrrev_b32<kRows>, 2, 2, 0, 1},
                 {s_branch, 0, 0, 0, 0, 0, 0}});
}

void run_interpreter(Wave& w, const Op* op) { interpret(w, op + kEntry); }

void run_calls(Wave& w, const Op* op) {
  for (;;) {
    v_and_b32<false>(w, op + 7);
    v_cmp_eq_u32<false>(w, op + 8);
    s_and_saveexec_b64<false>(w, op + 9);
    s_xor_b64<false>(w, op + 10);
    v_mad_u64_u32<false>(w, op + 11);
    s_andn2_saveexec_b64<false>(w, op + 12);
    if (w.exec != 0) v_lshrrev_b32<false>(w, op + 14);
    s_or_b64<false>(w, op);
    s_add_i32<false>(w, op + 1);
    v_cmp_eq_u32<false>(w, op + 2);
    s_or_b64<false>(w, op + 3);
    v_mov_b32_scalar<false>(w, op + 4);
    s_andn2_b64<false>(w, op + 5);
    if (w.exec == 0) return;
  }
}

void run_block(Wave& w, const Op*) {
  do {
    each_lane<false>(w, 3, [&w](int i) { return w.v[2].lane[i] & 1; });
    compare_equal<false>(w, 1, 3);
    save_exec<false>(w, 6, pair(w, kVcc) & w.exec);
    set_pair<false>(w, 6, w.exec ^ pair(w, 6));
    times_three_and_one<false>(w);
    save_exec<false>(w, 6, pair(w, 6) & ~w.exec);
    if (w.exec != 0) each_lane<false>(w, 2, [&w](int i) { return w.v[2].lane[i] >> 1; });
    w.exec |= pair(w, 6);
    w.s[8] += 1;
    compare_equal<false>(w, 1, 2);
    set_pair<false>(w, 4, pair(w, kVcc) | pair(w, 4));
    each_lane<false>(w, 3, [value = w.s[8]](int) { return value; });
    w.exec &= ~pair(w, 4);
  } while (w.exec != 0);
}

/// v[2:3] = v2 * 3 + 1 of sixteen lanes.
inline void times_three_and_one(__m512i& low, __m512i& high, __mmask16 mask) {
  const __m512i three = _mm512_set1_epi64(3), one = _mm512_set1_epi64(1);
  const __m512i even = _mm512_add_epi64(_mm512_mul_epu32(low, three), one);
  const __m512i odd = _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(low, 32), three), one);
  constexpr __mmask16 kOdd = 0xaaaa;
  high = _mm512_mask_mov_epi32(high, mask, _mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), kOdd, odd));
  low = _mm512_mask_mov_epi32(low, mask, _mm512_mask_mov_epi32(even, kOdd, _mm512_slli_epi64(odd, 32)));
}

/// v2, v3 and the scalar registers stay in the host's for the whole loop.
void run_registers(Wave& w, const Op*) {
  const __m512i one = _mm512_set1_epi32(1);
  __m512i v2[kParts], v3[kParts];
  for (int p = 0; p < kParts; ++p) v2[p] = part_of(w.v[2], p), v3[p] = part_of(w.v[3], p);
  u64 exec = w.exec, done = 0;
  u32 steps = 0;
  do {
    u64 odd = 0;
    for (int p = 0; p < kParts; ++p) {
      v3[p] = _mm512_mask_and_epi32(v3[p], part_of(exec, p), v2[p], one);
      odd |= u64{_mm512_mask_cmpeq_epi32_mask(part_of(exec, p), v3[p], one)} << 16 * p;
    }
    const u64 even = exec ^ odd;
    for (int p = 0; p < kParts; ++p) times_three_and_one(v2[p], v3[p], part_of(odd, p));
    for (int p = 0; p < kParts; ++p) v2[p] = _mm512_mask_srli_epi32(v2[p], part_of(even, p), v2[p], 1);
    ++steps;
    for (int p = 0; p < kParts; ++p) {
      done |= u64{_mm512_mask_cmpeq_epi32_mask(part_of(exec, p), v2[p], one)} << 16 * p;
      v3[p] = _mm512_mask_mov_epi32(v3[p], part_of(exec, p), _mm512_set1_epi32(static_cast<int>(steps)));
    }
    exec &= ~done;
  } while (exec != 0);
  for (int p = 0; p < kParts; ++p) {
    _mm512_store_si512(&w.v[2].lane[16 * p], v2[p]);
    _mm512_store_si512(&w.v[3].lane[16 * p], v3[p]);
  }
}

using Numbers = std::vector<u32>;

void count_steps(Numbers& steps) {
  for (u32 i = 0; i < kCount; ++i) {
    steps[i] = 0;
    for (u32 value = i + 1; value != 1; ++steps[i]) value = value & 1 ? 3 * value + 1 : value >> 1;
  }
}

void run_waves(Numbers& steps, void (*run)(Wave&, const Op*), const Op* ops) {
  static Wave w;
  for (u32 first = 0; first < kCount; first += kLanes) {
    for (u32 i = 0; i < kLanes; ++i) w.v[2].lane[i] = first + i + 1;
    std::fill_n(w.v[3].lane, kLanes, 0);
    set_pair<true>(w, kExec, first == 0 ? ~u64{1} : ~u64{0});  // 1 needs no step
    set_pair<true>(w, 4, 0);
    w.s[8] = 0;
    run(w, ops);
    std::copy_n(w.v[3].lane, kLanes, &steps[first]);
  }
}

}  // namespace

Loop collatz_loop() {
  static const std::vector<Op> rows = program<true>(), bits = program<false>();
  const auto steps = std::make_shared<Numbers>(kCount), right = std::make_shared<Numbers>(kCount);
  count_steps(*right);
  const auto way = [steps](const char* name, void (*run)(Wave&, const Op*), const std::vector<Op>& ops) {
    return Way{name, [=, first = ops.data()] { run_waves(*steps, run, first); }};
  };
  return {"collatz, 65,536",
          7,
          {way("interpreter, EXEC a row of masks", run_interpreter, rows),
           way("interpreter, EXEC 64 bits", run_interpreter, bits),
           way("EXEC 64 bits, no dispatch", run_calls, bits),
           way("EXEC 64 bits, one block", run_block, bits),
           way("registers in the host's", run_registers, bits),
           {"compiled for the host", [steps] { count_steps(*steps); }}},
          [=] { return *steps == *right; }};
}

}  // namespace bound
