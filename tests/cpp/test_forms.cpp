// emulator/bodies: the routines of a body do the same (struct Forms), for each kind of sources, whatever EXEC and MODE
// are, and go on to the next operation by a jump. At the host's SIMD level, or the one that WAVE_RUNTIME_SIMD names.

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "emulator/bodies.h"

namespace {

using namespace wave::emulator;

constexpr u32 kRows = 16, kSources = 3, kDestination = 10;
constexpr u32 kPlainMode = 0xf0, kClampingMode = 0x1f0, kFlushingMode = 0;  // the second with DX10_CLAMP
constexpr u16 kFirstScalar = 40, kMask = 60, kResultMask = 64;

std::mt19937 random_numbers(1);

/// Small ones, ends of ranges, ordinary floats, infinities and denormals, and anything.
u32 random_dword() {
  constexpr u32 kEdges[] = {0,          1,          2,          31,         32,         ~0u,
                            0x7fffffff, 0x80000000, 0x3f800000, 0xc0490fdb, 0x7f800000, 0x00400000};
  return random_numbers() % 2 != 0 ? kEdges[random_numbers() % std::size(kEdges)] : static_cast<u32>(random_numbers());
}

/// Many of them, of which each machine takes some that lie side by side: to draw them takes longer than to compute.
const std::vector<u32> random_dwords = [] {
  std::vector<u32> dwords(1 << 18);
  std::ranges::generate(dwords, random_dword);
  return dwords;
}();

void fill(void* to, size_t bytes) {
  const size_t first = random_numbers() % (random_dwords.size() - bytes / sizeof(u32));
  std::memcpy(to, &random_dwords[first], bytes);
}

/// What a wave has: its rows, and scalar registers.
struct Machine {
  std::vector<LaneRow> rows = std::vector<LaneRow>(kRows);
  std::unique_ptr<Wave> wave = std::make_unique<Wave>();

  Machine(u32 lanes, u64 exec, u32 mode, const Machine* like) {
    wave->v = rows.data();
    wave->lanes = lanes;
    wave->spread_exec = ~exec;  // so that it is set
    if (like == nullptr) {
      fill(rows.data(), kRows * sizeof(LaneRow));
      fill(wave->s, sizeof(wave->s));
    } else {
      std::ranges::copy(like->rows, rows.begin());
      std::ranges::copy(like->wave->s, wave->s);
    }
    wave->set_mode(mode);
    wave->set_exec(exec);
  }
};

/// The bits of a register that belong to a NaN, of the floats that a body's name says. Of f64 the register above, whose
/// NaNs are quiet in results, decides for both.
u32 nan_bits(std::string_view name, u32 bits, u32 above) {
  const auto is_f16_nan = [](u32 half) { return (half & 0x7fff) > 0x7c00; };
  if (name.ends_with("f16")) return (is_f16_nan(bits) ? 0xffffu : 0) | (is_f16_nan(bits >> 16) ? 0xffff0000u : 0);
  const auto is_f64_nan = [](u32 upper) { return (upper & 0x7fffffff) >= 0x7ff80000; };
  if (name.ends_with("f64")) return is_f64_nan(bits) || is_f64_nan(above) ? ~0u : 0;
  return (bits & 0x7fffffff) > 0x7f800000 ? ~0u : 0;
}

/// But for which NaN it is: of two, compilers may take one or the other.
bool same(std::string_view name, const Machine& a, const Machine& b) {
  for (u32 row = 0; row < kRows; ++row) {
    for (u32 lane = 0; lane < a.wave->lanes; ++lane) {
      const auto bits = [&](const Machine& machine, u32 at) { return at < kRows ? machine.rows[at].lane[lane] : 0; };
      const u32 one = bits(a, row), other = bits(b, row);
      const u32 nans = nan_bits(name, one, bits(a, row + 1)) & nan_bits(name, other, bits(b, row + 1));
      if (((one ^ other) & ~nans) != 0) return false;
    }
  }
  return std::ranges::equal(a.wave->s, b.wave->s) && a.wave->exec() == b.wave->exec();
}

enum class Source { Row, Constant, Scalar };

/// An operation on sources of these kinds.
Op operation(const Body& body, const Source (&kinds)[kSources], const LaneRow* constants) {
  Op op;
  op.size = static_cast<u8>(1 + random_numbers() % 3);
  op.vector.dst = random_numbers() % 2 != 0 ? kDestination : 2;  // which is a source as well
  op.vector.scalar_dst = kResultMask;
  op.vector.mask_high = kResultMask + 1;
  for (u32 i = 0; i < kSources; ++i) {
    if (body.forms.masks >> i & 1) {
      op.vector.src[i] = kMask;
      op.vector.rows[i] = kSourceScalar;
    } else if (kinds[i] == Source::Row) {
      op.vector.rows[i] = 2 * i * sizeof(LaneRow);
      op.vector.src[i] = static_cast<u16>(sreg::kVgpr0 + 2 * i);
    } else if (kinds[i] == Source::Constant) {
      op.vector.rows[i] = reinterpret_cast<uintptr_t>(constants + 2 * i) | kSourceConstant;
    } else {
      op.vector.src[i] = static_cast<u16>(kFirstScalar + 2 * i);
      op.vector.rows[i] = kSourceScalar;
    }
  }
  op.execute = body.forms.of(op.vector);
  return op;
}

int failures = 0;

void fail(const Body& body, const char* what) {
  std::printf("%.*s: %s\n", static_cast<int>(body.name.size()), body.name.data(), what);
  ++failures;
}

uintptr_t reached_at = 0;  ///< the stack's depth there; 0: it was not reached
const Op* reach(Wave&, const Op*) {
  reached_at = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return nullptr;
}
uintptr_t depth_behind(Wave& wave, const Op* op) {
  reached_at = 0;
  op->execute(wave, op);
  return reached_at;
}

/// Of a routine that takes stack for each operation that follows, a long piece of code would take all.
void test_going_on(const Body& body, const Op& op, u64 exec, bool must) {
  Op ops[4] = {op, Op(), Op(), Op()};
  ops->behind = kEveryOp | size_flag(op.size);
  ops[op.size].execute = reach;
  Machine machine(kLanes, exec, kPlainMode, nullptr);
  if (depth_behind(*machine.wave, ops) != 0) fail(body, "does not return where it is asked to");
  machine.wave->returns_at = kSizes;
  const uintptr_t depth = depth_behind(*machine.wave, ops);
  if (depth == 0 && must) fail(body, "does not go on");
  if (depth != 0 && depth != depth_behind(*machine.wave, ops + op.size)) fail(body, "takes stack as it goes on");
}

void test(const Body& body, const Op& op) {
  if (op.execute == body.forms.general) return fail(body, "no other routine is chosen");
  test_going_on(body, op, ~u64{0}, true);
  test_going_on(body, op, 1, false);
  Op general = op;
  general.execute = body.forms.general;
  test_going_on(body, general, ~u64{0}, false);
  for (const u32 lanes : {32u, 64u}) {
    const u64 all = ~u64{0} >> (64 - lanes), some = (u64{random_numbers()} << 32 | random_numbers()) & all;
    for (const u64 exec : {all, some, u64{0}}) {
      for (const u32 mode : {kPlainMode, kClampingMode, kFlushingMode}) {
        Machine one(lanes, exec, mode, nullptr), other(lanes, exec, mode, &one);
        const Op* const after = op.execute(*one.wave, &op);
        if (body.forms.general(*other.wave, &op) != after || after != next(&op)) fail(body, "another one follows");
        if (!same(body.name, one, other)) fail(body, "a result differs");
      }
    }
  }
}

/// With modifiers as the routine for them applies.
void test_modified(const Body& body, Op op) {
  const u32 does = body.forms.modified_does;
  const auto some = [](u32 of) { return random_numbers() & of; };
  Modifiers modifiers;
  modifiers.negate = static_cast<u8>(some(7));
  modifiers.absolute = static_cast<u8>(some(7));
  modifiers.negate_high = static_cast<u8>(some(7));
  modifiers.op_sel = static_cast<u8>(some(7));
  modifiers.op_sel_hi = static_cast<u8>(some(7));
  modifiers.clamp = some(does & kClamps) != 0;
  modifiers.asks = static_cast<u8>(kChangesSources | (modifiers.clamp ? kClamps : 0));
  for (u32 i = 0; i < kSources; ++i) {
    if ((does >> i & kHalfOfSource) == 0 || some(1) != 0) continue;
    modifiers.source[i] = {static_cast<u8>(16 * some(1)), 16, false};
    modifiers.asks |= static_cast<u8>(kHalfOfSource << i);
  }
  if ((does & kKeepsHalf) != 0 && some(1) != 0) {
    modifiers.destination = {static_cast<u8>(16 * some(1)), 16, false};
    modifiers.unused = Unused::Kept;
    modifiers.asks |= kKeepsHalf;
  }
  op.vector.modifiers = &modifiers;
  op.execute = body.forms.of(op.vector);
  if (op.execute != body.forms.modified) fail(body, "not the routine with modifiers is chosen");
  test(body, op);
}

}  // namespace

int main() {
  std::vector<LaneRow> constants(2 * kSources);
  for (LaneRow& row : constants) std::ranges::fill(row.lane, random_dword());
  int tested = 0, modified = 0;
  for (const Body& body : bodies()) {
    if (body.forms.rows == nullptr && body.forms.modified == nullptr) continue;
    ++tested;
    const u32 sources = static_cast<u32>(std::bit_width(u32{body.forms.sources}));
    for (u32 number = 0; number < (sources == 3 ? 27 : sources == 2 ? 9 : 3); ++number) {
      const Source kinds[] = {static_cast<Source>(number % 3), static_cast<Source>(number / 3 % 3),
                              static_cast<Source>(number / 9)};
      const Op op = operation(body, kinds, constants.data());
      if (body.forms.rows != nullptr) test(body, op);
      if (body.forms.modified == nullptr) continue;
      ++modified;
      for (int i = 0; i < 3; ++i) test_modified(body, op);
    }
    // What only the general routine can do.
    const Source rows[kSources] = {}, scalars[] = {Source::Scalar, Source::Scalar, Source::Scalar};
    Op op = operation(body, scalars, constants.data());
    op.vector.src[0] = sreg::kSharedBase;
    if (body.forms.of(op.vector) != body.forms.general) fail(body, "a scalar that is no register");
    op = operation(body, rows, constants.data());
    Modifiers modifiers;
    modifiers.asks = kAsksMore;
    op.vector.modifiers = &modifiers;
    if (body.forms.of(op.vector) != body.forms.general) fail(body, "modifiers");
  }
  if (tested < 90) std::printf("only %d bodies have forms\n", tested);
  if (modified < 400) std::printf("only %d operations have modifiers\n", modified);
  return failures == 0 && tested >= 90 && modified >= 400 ? 0 : 1;
}
