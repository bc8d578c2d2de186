// The loop of matmul_naive: eleven instructions, of which two load.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "loop.h"

namespace bound {

namespace {

constexpr u32 kSize = 128;

bool covers(const Wave& wave, u64 low, u64 high) {
  return std::any_of(std::begin(wave.regions), std::end(wave.regions),
                     [=](const AddressRange& region) { return low >= region.begin && high + 4 <= region.end; });
}

void check(const Wave& wave, u64 low, u64 high) {
  if (!covers(wave, low, high)) std::abort();
}

// In what follows kFull says that all lanes are enabled.
template <bool kFull>
inline void put(const Wave& wave, Row& row, int lane, u32 value) {
  const u32 mask = kFull ? ~0u : wave.exec_lanes.lane[lane];
  row.lane[lane] = (value & mask) | (row.lane[lane] & ~mask);
}

inline u64 pair(const Wave& wave, u32 row, int lane) {
  return u64{wave.v[row + 1].lane[lane]} << 32 | wave.v[row].lane[lane];
}

template <bool kFull>
inline void ashr(Wave& w, u32 dst, u32 a, u32 count) {
  WAVE_LANES
  for (int i = 0; i < kLanes; ++i)
    put<kFull>(w, w.v[dst], i, static_cast<u32>(static_cast<i32>(w.v[a].lane[i]) >> count));
}

template <bool kFull>
inline void lshl_add_u64(Wave& w, u32 dst, u32 a, u32 shift, u64 addend) {
  WAVE_LANES
  for (int i = 0; i < kLanes; ++i) {
    const u64 sum = (pair(w, a, i) << shift) + addend;
    put<kFull>(w, w.v[dst], i, static_cast<u32>(sum));
    put<kFull>(w, w.v[dst + 1], i, static_cast<u32>(sum >> 32));
  }
}

template <bool kFull>
inline void add(Wave& w, u32 dst, u32 a, u32 addend) {
  WAVE_LANES
  for (int i = 0; i < kLanes; ++i) put<kFull>(w, w.v[dst], i, w.v[a].lane[i] + addend);
}

template <bool kFull>
inline void fmac(Wave& w, u32 dst, u32 a, u32 b) {
  const auto real = [](const Row& row, int lane) { return __builtin_bit_cast(float, row.lane[lane]); };
  WAVE_LANES
  for (int i = 0; i < kLanes; ++i) {
    const float sum = __builtin_fmaf(real(w.v[a], i), real(w.v[b], i), real(w.v[dst], i));
    put<kFull>(w, w.v[dst], i, __builtin_bit_cast(u32, sum));
  }
}

/// Loads where of each sixteen lanes all have one address, or lie side by side. False where it is otherwise.
inline bool load_sixteens(Wave& w, Row& to, const u64 (&at)[kLanes]) {
  u64 not_beside = 0, not_alike = 0, low = ~u64{0}, high = 0;
  for (u32 first = 0; first < kLanes; first += 16) {
    const u64 begin = at[first];
    for (u32 i = 0; i < 16; ++i) {
      not_beside |= at[first + i] - begin - i * sizeof(u32);
      not_alike |= at[first + i] ^ begin;
    }
  }
  if (not_beside != 0 && not_alike != 0) return false;
  for (int i = 0; i < kLanes; i += 16) {
    low = std::min(low, at[i]);
    high = std::max(high, at[i + 15]);
  }
  check(w, low, high);
  for (int i = 0; i < kLanes; i += 16) {
    if (not_beside == 0) {
      std::memcpy(&to.lane[i], reinterpret_cast<const void*>(at[i]), 16 * sizeof(u32));
    } else {
      std::fill_n(&to.lane[i], 16, *reinterpret_cast<const u32*>(at[i]));
    }
  }
  return true;
}

template <bool kFull>
inline void load(Wave& w, u32 dst, u32 a) {
  alignas(64) u64 at[kLanes];
  WAVE_LANES
  for (int i = 0; i < kLanes; ++i) at[i] = pair(w, a, i);
  if (kFull && load_sixteens(w, w.v[dst], at)) return;
  const auto mask = [&](int lane) {
    return static_cast<u64>(static_cast<i64>(static_cast<i32>(w.exec_lanes.lane[lane])));
  };
  u64 low = ~u64{0}, high = 0;
  for (int i = 0; i < kLanes; ++i) {
    low = std::min(low, at[i] | ~mask(i));
    high = std::max(high, at[i] & mask(i));
  }
  check(w, low, high);
  for (int i = 0; i < kLanes; ++i) {
    put<kFull>(w, w.v[dst], i, *reinterpret_cast<const u32*>((at[i] & mask(i)) | (low & ~mask(i))));
  }
}

#define WAVE_BODY(name, ...)                                                         \
  template <bool kFull>                                                              \
  __attribute__((noinline)) const Op* name([[maybe_unused]] Wave& w, const Op* op) { \
    __VA_ARGS__;                                                                     \
    return op + 1;                                                                   \
  }
WAVE_BODY(v_ashrrev_i32, ashr<kFull>(w, op->dst, op->a, op->imm))
WAVE_BODY(v_lshl_add_u64, lshl_add_u64<kFull>(w, op->dst, op->a, op->imm, op->value))
WAVE_BODY(v_lshl_add_u64_scalar,
          lshl_add_u64<kFull>(w, op->dst, op->a, op->imm, u64{w.s[op->b + 1]} << 32 | w.s[op->b]))
WAVE_BODY(v_add_u32_scalar, add<kFull>(w, op->dst, op->a, w.s[op->b]))
WAVE_BODY(v_fmac_f32, fmac<kFull>(w, op->dst, op->a, op->b))
WAVE_BODY(global_load_dword, load<kFull>(w, op->dst, op->a))
WAVE_BODY(s_add_i32, w.s[op->dst] += op->imm)
WAVE_BODY(s_cmp_eq_u32, w.scc = w.s[op->a] == op->imm)
WAVE_BODY(s_waitcnt)
#undef WAVE_BODY

const Op* s_cbranch_scc0(Wave& w, const Op* op) { return w.scc ? op + 1 : op->jump; }
const Op* stop(Wave&, const Op*) { return nullptr; }

template <bool kFull>
std::vector<Op> program() {
  return linked({{v_ashrrev_i32<kFull>, 5, 4, 0, 31},
                 {v_lshl_add_u64_scalar<kFull>, 8, 4, 6, 2},
                 {global_load_dword<kFull>, 7, 2},
                 {global_load_dword<kFull>, 5, 8},
                 {s_add_i32<kFull>, 0, 0, 0, ~0u},
                 {v_lshl_add_u64<kFull>, 2, 2, 0, 0, 4},
                 {v_add_u32_scalar<kFull>, 4, 4, 8},
                 {s_cmp_eq_u32<kFull>, 0, 0, 0, 0},
                 {s_waitcnt<kFull>},
                 {v_fmac_f32<kFull>, 1, 7, 5},
                 {s_cbranch_scc0, 0, 0, 0, 0, 0, 0},
                 {stop}});
}

void run_calls(Wave& w, const Op* op) {
  do {
    v_ashrrev_i32<true>(w, op);
    v_lshl_add_u64_scalar<true>(w, op + 1);
    global_load_dword<true>(w, op + 2);
    global_load_dword<true>(w, op + 3);
    w.s[0] -= 1;
    v_lshl_add_u64<true>(w, op + 5);
    v_add_u32_scalar<true>(w, op + 6);
    w.scc = w.s[0] == 0;
    v_fmac_f32<true>(w, op + 9);
  } while (!w.scc);
}

void run_block(Wave& w, const Op*) {
  do {
    ashr<true>(w, 5, 4, 31);
    lshl_add_u64<true>(w, 8, 4, 2, u64{w.s[7]} << 32 | w.s[6]);
    load<true>(w, 7, 2);
    load<true>(w, 5, 8);
    w.s[0] -= 1;
    lshl_add_u64<true>(w, 2, 2, 0, 4);
    add<true>(w, 4, 4, w.s[8]);
    w.scc = w.s[0] == 0;
    fmac<true>(w, 1, 7, 5);
  } while (!w.scc);
}

struct Matrices {
  std::vector<float> a, b, c, right;

  Matrices() : a(kSize * kSize), b(a), c(a), right(a) {
    for (u32 i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>(i * 7 % 13) - 6;
      b[i] = static_cast<float>(i * 5 % 11) - 5;
    }
    multiply(right);
  }

  void multiply(std::vector<float>& to) const {
    for (u32 y = 0; y < kSize; ++y) {
      for (u32 x = 0; x < kSize; ++x) {
        float sum = 0;
        for (u32 k = 0; k < kSize; ++k) sum += a[y * kSize + k] * b[k * kSize + x];
        to[y * kSize + x] = sum;
      }
    }
  }

  static AddressRange range(const std::vector<float>& matrix) {
    const u64 begin = reinterpret_cast<u64>(matrix.data());
    return {begin, begin + matrix.size() * sizeof(float)};
  }
};

/// A wave makes four rows of sixteen elements, as in workgroups of 16 by 16.
void run_waves(Matrices& m, void (*run)(Wave&, const Op*), const Op* ops) {
  static Wave w;
  w.regions[0] = Matrices::range(m.c), w.regions[1] = Matrices::range(m.a), w.regions[2] = Matrices::range(m.b);
  std::fill_n(w.exec_lanes.lane, kLanes, ~0u);
  for (u32 top = 0; top < kSize; top += 4) {
    for (u32 left = 0; left < kSize; left += 16) {
      for (u32 i = 0; i < kLanes; ++i) {
        const u64 row = w.regions[1].begin + (top + i / 16) * kSize * sizeof(float);
        w.v[1].lane[i] = 0;
        w.v[2].lane[i] = static_cast<u32>(row);
        w.v[3].lane[i] = static_cast<u32>(row >> 32);
        w.v[4].lane[i] = left + i % 16;
      }
      w.s[0] = w.s[8] = kSize;
      w.s[6] = static_cast<u32>(w.regions[2].begin);
      w.s[7] = static_cast<u32>(w.regions[2].begin >> 32);
      run(w, ops);
      for (u32 i = 0; i < kLanes; i += 16) {
        std::memcpy(&m.c[(top + i / 16) * kSize + left], &w.v[1].lane[i], 16 * sizeof(float));
      }
    }
  }
}

}  // namespace

Loop matmul_loop() {
  static const std::vector<Op> masked = program<false>(), full = program<true>();
  const auto m = std::make_shared<Matrices>();
  const auto way = [m](const char* name, void (*run)(Wave&, const Op*), const std::vector<Op>& ops) {
    return Way{name, [=, first = ops.data()] { run_waves(*m, run, first); }};
  };
  return {"matmul_naive, 128",
          25,
          {way("interpreter, masks", interpret, masked),
           way("interpreter, EXEC full", interpret, full),
           way("EXEC full, no dispatch", run_calls, full),
           way("EXEC full, one block", run_block, full),
           {"compiled for the host", [m] { m->multiply(m->c); }}},
          [m] { return m->c == m->right; }};
}

}  // namespace bound
