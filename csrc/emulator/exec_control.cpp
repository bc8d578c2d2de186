// Program flow: SOPP and the scalar instructions that read or write the program counter (ISA document, "SOPP
// Instructions").
#include "emulator/bodies.h"
#include "emulator/scalar.h"
#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

/// Stops the wave behind `op` with a status that says why.
const Op* stop(Wave& wave, const Op* op, Status status) {
  wave.status = status;
  wave.op = next(op);
  return nullptr;
}

/// The target of a relative branch: resolved when decoded, or looked up where it lies in another function.
const Op* branch(Wave& wave, const Op* op) {
  if (op->target != nullptr) [[likely]]
    return op->target;
  const i64 offset = i64{static_cast<i16>(op->imm)} * 4 + 4;
  return wave.jump(wave.address(op) + static_cast<u64>(offset));
}

template <bool (*kTaken)(const Wave&)>
const Op* branch_if(Wave& wave, const Op* op) {
  return kTaken(wave) ? branch(wave, op) : next(op);
}

bool scc0(const Wave& wave) { return !wave.scc; }
bool scc1(const Wave& wave) { return wave.scc; }
bool vccz(const Wave& wave) { return wave.vcc() == 0; }
bool vccnz(const Wave& wave) { return wave.vcc() != 0; }
bool execz(const Wave& wave) { return wave.exec() == 0; }
bool execnz(const Wave& wave) { return wave.exec() != 0; }
bool never(const Wave&) { return false; }  // conditions that only a debugger sets

const Op* s_endpgm(Wave& wave, const Op* op) { return stop(wave, op, Status::Ended); }
const Op* s_barrier(Wave& wave, const Op* op) { return stop(wave, op, Status::Barrier); }
const Op* s_sleep(Wave& wave, const Op* op) { return stop(wave, op, Status::Yielded); }

const Op* s_getpc_b64(Wave& wave, const Op* op) {
  wave.set_mask(op->dst, wave.address(next(op)));
  return next(op);
}
const Op* s_setpc_b64(Wave& wave, const Op* op) { return wave.jump(read_scalar64(wave, op, 0)); }
const Op* s_swappc_b64(Wave& wave, const Op* op) {
  const u64 target = read_scalar64(wave, op, 0);
  wave.set_mask(op->dst, wave.address(next(op)));
  return wave.jump(target);
}

const Op* s_call_b64(Wave& wave, const Op* op) {
  wave.set_mask(op->dst, wave.address(next(op)));
  return branch(wave, op);
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
    {"s_cbranch_vccz", branch_if<vccz>},
    {"s_cbranch_vccnz", branch_if<vccnz>},
    {"s_cbranch_execz", branch_if<execz>},
    {"s_cbranch_execnz", branch_if<execnz>},
    {"s_cbranch_cdbgsys", branch_if<never>},
    {"s_cbranch_cdbguser", branch_if<never>},
    {"s_cbranch_cdbgsys_or_user", branch_if<never>},
    {"s_cbranch_cdbgsys_and_user", branch_if<never>},
    {"s_call_b64", s_call_b64},
    {"s_getpc_b64", s_getpc_b64},
    {"s_setpc_b64", s_setpc_b64},
    {"s_swappc_b64", s_swappc_b64},
};

}  // namespace

std::span<const Body> control_bodies() { return kBodies; }

}  // namespace wave::emulator
