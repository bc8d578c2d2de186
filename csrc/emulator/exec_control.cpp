// Program flow: SOPP and the scalar instructions that read or write the program counter (ISA document, "SOPP
// Instructions").
#include <bit>

#include "base/error.h"
#include "emulator/bodies.h"
#include "emulator/isa/disassemble.h"
#include "emulator/scalar.h"
#include "emulator/step.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// The target of a relative branch: resolved when decoded, or looked up where it lies in another function.
const Op* branch(Wave& wave, const Op* op) {
  if (op->scalar.target != nullptr) [[likely]]
    return go_to(wave, op, op->scalar.target);
  const i64 offset = i64{static_cast<i16>(op->scalar.simm16)} * 4 + 4;
  return go_to(wave, op, wave.jump(wave.address(op) + static_cast<u64>(offset)));
}

template <bool (*kTaken)(const Wave&)>
const Op* branch_if(Wave& wave, const Op* op) {
  return kTaken(wave) ? branch(wave, op) : go_on(wave, op);
}

bool scc0(const Wave& wave) { return !wave.scc; }
bool scc1(const Wave& wave) { return wave.scc; }
bool vccz(const Wave& wave) { return wave.vcc() == 0; }
bool vccnz(const Wave& wave) { return wave.vcc() != 0; }
bool low_vccz(const Wave& wave) { return wave.s[sreg::kVcc] == 0; }
bool low_vccnz(const Wave& wave) { return wave.s[sreg::kVcc] != 0; }
bool execz(const Wave& wave) { return wave.exec() == 0; }
bool execnz(const Wave& wave) { return wave.exec() != 0; }
bool never(const Wave&) { return false; }  // conditions that only a debugger sets

const Op* s_endpgm(Wave& wave, const Op* op) { return stop(wave, op, Status::Ended); }
const Op* s_barrier(Wave& wave, const Op* op) { return stop(wave, op, Status::Barrier); }
const Op* s_sleep(Wave& wave, const Op* op) { return stop(wave, op, Status::Yielded); }

const Op* s_getpc_b64(Wave& wave, const Op* op) {
  wave.set_mask(op->scalar.dst, wave.address(next(op)));
  return go_on(wave, op);
}
const Op* s_setpc_b64(Wave& wave, const Op* op) {
  return go_to(wave, op, wave.jump(read_scalar64(wave, op->scalar, 0)));
}
const Op* s_swappc_b64(Wave& wave, const Op* op) {
  const u64 target = read_scalar64(wave, op->scalar, 0);
  wave.set_mask(op->scalar.dst, wave.address(next(op)));
  return go_to(wave, op, wave.jump(target));
}

const Op* s_call_b64(Wave& wave, const Op* op) {
  wave.set_mask(op->scalar.dst, wave.address(next(op)));
  return branch(wave, op);
}

// Forks: the lanes that take a branch and those that do not run one after the other, the fewer first. What the others
// wait with, EXEC and an address, is in four scalar registers of a stack, whose depth is MODE.CSP.
u32 stack_depth(const Wave& wave) { return wave.mode.bits >> Mode::kStackShift; }
u32 stack_registers(const Wave& wave, u32 depth) {
  constexpr u32 kMost = 7;
  if (depth == kMost || 4 * depth + 4 > wave.sgpr_count) fault("more than 7 forks, or than registers for them");
  return 4 * depth;
}
void set_stack_depth(Wave& wave, u32 depth) {
  wave.set_mode((wave.mode.bits & ~(7u << Mode::kStackShift)) | depth << Mode::kStackShift);
}

const Op* fork(Wave& wave, const Op* op, u64 condition, u64 target) {
  const u64 exec = wave.exec(), taken = condition & exec, untaken = ~condition & exec;
  if (taken == exec) return go_to(wave, op, wave.jump(target));
  if (untaken == exec) return go_on(wave, op);
  const bool target_waits = std::popcount(untaken) < std::popcount(taken);
  const u32 depth = stack_depth(wave), stack = stack_registers(wave, depth);
  wave.set_pair(stack, target_waits ? taken : untaken);
  wave.set_pair(stack + 2, target_waits ? target : wave.address(next(op)));
  set_stack_depth(wave, depth + 1);
  wave.set_exec(target_waits ? untaken : taken);
  return target_waits ? go_on(wave, op) : go_to(wave, op, wave.jump(target));
}

const Op* s_cbranch_g_fork(Wave& wave, const Op* op) {
  return fork(wave, op, read_scalar64(wave, op->scalar, 0), read_scalar64(wave, op->scalar, 1));
}
const Op* s_cbranch_i_fork(Wave& wave, const Op* op) {
  return fork(wave, op, read_scalar64(wave, op->scalar, 0), wave.address(op) + 4 + 4 * sign_extend(op->scalar.literal));
}
const Op* s_cbranch_join(Wave& wave, const Op* op) {
  const u32 depth = stack_depth(wave);
  if (depth == read_scalar32(wave, op->scalar, 0)) return go_on(wave, op);
  if (depth == 0) fault("a join without a fork");
  const u32 stack = stack_registers(wave, depth - 1);
  set_stack_depth(wave, depth - 1);
  wave.set_exec(wave.pair(stack));
  return go_to(wave, op, wave.jump(wave.pair(stack + 2)));
}

// What ends a wave otherwise than by its own will, or asks others for something.

/// Traps of the AMDGPU ABI: 2 is llvm.trap, which ends failed asserts and __builtin_trap; 3 is llvm.debugtrap, which
/// does nothing where no debugger is attached.
const Op* s_trap(Wave& wave, const Op* op) {
  constexpr u32 kAbort = 2, kDebug = 3;
  if (op->scalar.simm16 == kDebug) return go_on(wave, op);
  if (op->scalar.simm16 == kAbort)
    throw Abort{{"the kernel has aborted: a trap (__builtin_trap, or an assert that failed)"}};
  fault(text("trap ", op->scalar.simm16, ", for which there is no handler"));
}

/// Nobody listens to interrupts (hostcalls are served without); other messages are to the driver or to graphics.
const Op* s_sendmsg(Wave& wave, const Op* op) {
  constexpr u32 kMessage = 15, kInterrupt = 1;
  if ((op->scalar.simm16 & kMessage) != kInterrupt) fault(message_name(wave, op) + ", which nobody takes here");
  return go_on(wave, op);
}

const Op* s_sethalt(Wave& wave, const Op* op) {
  if (op->scalar.simm16 & 1) fault("the wave halts, and there is no debugger that would let it go on");
  return go_on(wave, op);
}
const Op* s_sendmsghalt(Wave&, const Op*) { fault("the wave halts, and there is no driver that would let it go on"); }

const Op* s_setkill(Wave& wave, const Op* op) {
  return op->scalar.simm16 & 1 ? stop(wave, op, Status::Ended) : go_on(wave, op);
}

constexpr Body kBodies[] = {
    {"s_nop", nothing},
    {"v_nop", nothing},
    {"v_clrexcp", nothing},
    {"s_waitcnt", nothing},
    {"s_setprio", nothing},
    {"s_wakeup", nothing},
    {"s_icache_inv", nothing},
    {"s_incperflevel", nothing},
    {"s_decperflevel", nothing},
    {"s_ttracedata", nothing},
    {"s_endpgm_saved", s_endpgm},
    {"s_endpgm_ordered_ps_done", s_endpgm},
    {"s_endpgm", s_endpgm},
    {"s_barrier", s_barrier},
    {"s_sleep", s_sleep},
    {"s_branch", branch},
    {"s_cbranch_scc0", branch_if<scc0>},
    {"s_cbranch_scc1", branch_if<scc1>},
    {"s_cbranch_vccz", branch_if<vccz>, Variant::Lanes64},
    {"s_cbranch_vccnz", branch_if<vccnz>, Variant::Lanes64},
    {"s_cbranch_vccz", branch_if<low_vccz>, Variant::Lanes32},
    {"s_cbranch_vccnz", branch_if<low_vccnz>, Variant::Lanes32},
    {"s_cbranch_execz", branch_if<execz>},
    {"s_cbranch_execnz", branch_if<execnz>},
    {"s_cbranch_cdbgsys", branch_if<never>},
    {"s_cbranch_cdbguser", branch_if<never>},
    {"s_cbranch_cdbgsys_or_user", branch_if<never>},
    {"s_cbranch_cdbgsys_and_user", branch_if<never>},
    {"s_call_b64", s_call_b64},
    {"s_cbranch_g_fork", s_cbranch_g_fork},
    {"s_cbranch_i_fork", s_cbranch_i_fork},
    {"s_cbranch_join", s_cbranch_join},
    {"s_trap", s_trap},
    {"s_sendmsg", s_sendmsg},
    {"s_sendmsghalt", s_sendmsghalt},
    {"s_sethalt", s_sethalt},
    {"s_setkill", s_setkill},
    {"s_getpc_b64", s_getpc_b64},
    {"s_setpc_b64", s_setpc_b64},
    {"s_swappc_b64", s_swappc_b64},
};

}  // namespace

std::string message_name(const Wave& wave, const Op* op) {
  std::string name;
  isa::append_message(name, wave.group->launch().module.generation(), op->scalar.simm16);
  return name;
}

std::span<const Body> control_bodies() { return kBodies; }

bool branches_without_vcc(Execute body) {
  return body == branch || body == branch_if<scc0> || body == branch_if<scc1> || body == branch_if<execz> ||
         body == branch_if<execnz>;
}

}  // namespace wave::emulator
