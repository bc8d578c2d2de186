#include "emulator/scalar_hazards.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "emulator/isa/operand.h"

namespace wave::emulator {

namespace {

using isa::Kind;
using What = ScalarHazards::Role::What;

/// M0 and EXEC are at no code below.
constexpr u32 kEnd = 124;

/// FLAT, whose results do not tell that scalar ones are there.
bool is_flat(isa::Format format) {
  return format == isa::Format::FLAT || format == isa::Format::GLOBAL || format == isa::Format::SCRATCH;
}

What what_of(const isa::Row& row) {
  switch (row.kind) {
    case Kind::VectorAlu:
    case Kind::DotProduct:
    case Kind::Matrix:
    case Kind::SparseMatrix:
      return What::Vector;
    case Kind::ScalarAlu:
    case Kind::Control:
      return What::Scalar;
    case Kind::ScalarMemory:
      return What::Memory;
    case Kind::VectorMemory:
      return is_flat(row.format) ? What::Other : What::Memory;
    case Kind::Lds:
      return row.operand_count == 0 ? What::LdsNop : What::Other;
    case Kind::Wait:
      return row.traits == 0 ? What::Wait : What::Other;
    default:
      return What::Other;
  }
}

bool goes_elsewhere(const isa::Row& row, const Touched& touched) {
  if (row.kind != Kind::Control) return false;
  const auto is_target = [](const isa::Operand& operand) { return operand.kind == isa::OperandKind::BranchTarget; };
  const bool has_address = !touched.scalar_reads.is_empty();
  return has_address || std::ranges::any_of(std::span(row.operands, row.operand_count), is_target);
}

/// Of S_WAIT_ALU: its fields that are zero.
u8 waits_of(u32 immediate) {
  constexpr u32 kVectorResults = 7u << 9, kVcc = 1u << 1, kScalarResults = 1u << 0;
  return static_cast<u8>(((immediate & kScalarResults) == 0 ? ScalarHazards::kScalarResults : 0) |
                         ((immediate & kVectorResults) == 0 ? ScalarHazards::kVectorResults : 0) |
                         ((immediate & kVcc) == 0 ? ScalarHazards::kVcc : 0));
}

/// Those that are followed by themselves.
ScalarSet registers_of(const ScalarSet& all) {
  ScalarSet some;
  for (u32 code = 0; code < kEnd; ++code) {
    const bool is_vcc = code / 2 == sreg::kVcc / 2;
    if (!is_vcc && all.contains(code)) some.add(code, 1);
  }
  return some;
}

}  // namespace

ScalarHazards::Role ScalarHazards::role_of(const isa::Instruction& instruction, const Touched& touched) {
  const isa::Row& row = *instruction.row;
  Role role;
  role.what = what_of(row);
  if (role.what == What::Wait) role.waits = waits_of(instruction[isa::Field::SIMM16]);
  if (role.what != What::Vector && role.what != What::Scalar) return role;
  const bool reads_late = (row.traits & isa::kReadsVccLate) != 0;
  role.is_branch = goes_elsewhere(row, touched);
  role.reads = registers_of(touched.scalar_reads);
  role.writes = registers_of(touched.scalar_writes);
  role.reads_vcc = touched.scalar_reads.contains(sreg::kVcc) || touched.scalar_reads.contains(sreg::kVcc + 1) ||
                   reads_late || (row.traits & isa::kBranchesOnVcc) != 0;
  role.writes_vcc = touched.scalar_writes.contains(sreg::kVcc) || touched.scalar_writes.contains(sreg::kVcc + 1);
  if (role.what != What::Vector) return role;
  for (u32 code = 0; code < kEnd; ++code) {
    if (role.reads.contains(code)) role.pairs.add(code / 2 * 2, 2);
  }
  if (role.reads_vcc) role.pairs.add(sreg::kVcc, 2);
  return role;
}

ScalarHazards::TooEarly ScalarHazards::follow(const Role& role, u64 pc, u32 lanes) {
  constexpr u32 kNops = 4, kNopsOf64 = 8;
  TooEarly found;
  nops_ = role.what == What::LdsNop ? nops_ + 1 : 0;
  switch (role.what) {
    case What::LdsNop:
      if (nops_ >= (lanes == 32 ? kNops : kNopsOf64)) tracked_ = {};
      break;
    case What::Memory:
      end(kScalarResults | kVectorResults | kVcc);
      break;
    case What::Wait:
      end(role.waits);
      break;
    case What::Vector:
    case What::Scalar:
      found.pending = pending_of(role, found);
      end(found.pending);
      tracked_.add(role.pairs);
      note_writes(role, pc);
      has_branched_ = has_branched_ || role.is_branch;
      break;
    case What::Other:
      break;
  }
  return found;
}

/// For what an instruction has to wait. A scalar one waits for vector instructions by itself, if it reads what is
/// tracked. LLVM tracks registers where any path to an instruction does, and behind a call all of them.
u8 ScalarHazards::pending_of(const Role& role, TooEarly& found) {
  const ScalarSet reads = role.reads.common(tracked_);
  const bool is_scalar = role.what == What::Scalar, reads_vcc = role.reads_vcc && tracked_.contains(sreg::kVcc);
  if (is_scalar && !(has_branched_ ? role.reads : reads).is_empty()) by_vector_ = {};
  if (is_scalar && reads_vcc && vcc_ == kVcc) vcc_ = 0;
  u8 pending = reads_vcc ? vcc_ : 0;
  if (pending != 0) found.scalar = sreg::kVcc;
  const auto note = [&](const ScalarSet& written, u8 by) {
    const ScalarSet some = reads.common(written);
    if (some.is_empty()) return;
    pending |= by;
    found.scalar = some.first();
  };
  note(by_vector_, kVectorResults);
  note(by_scalar_, kScalarResults);
  if (pending != 0) found.pc = writers_[found.scalar];
  return pending;
}

/// They are there.
void ScalarHazards::end(u8 pending) {
  if (pending & kScalarResults) by_scalar_ = {};
  if (pending & kVectorResults) by_vector_ = {};
  if (pending & vcc_) vcc_ = 0;
}

void ScalarHazards::note_writes(const Role& role, u64 pc) {
  const bool is_scalar = role.what == What::Scalar;
  if (role.writes_vcc && tracked_.contains(sreg::kVcc)) {
    vcc_ = is_scalar ? kScalarResults : kVcc;
    writers_[sreg::kVcc] = pc;
  }
  ScalarSet writes = role.writes.common(tracked_);
  if (writes.is_empty()) return;
  (is_scalar ? by_scalar_ : by_vector_).add(writes);
  for (; !writes.is_empty(); writes.remove(writes.first())) writers_[writes.first()] = pc;
}

std::string ScalarHazards::wait_text(u8 pending) {
  std::string wait = "s_wait_alu";
  if (pending & kScalarResults) wait += " depctr_sa_sdst(0)";
  if (pending & kVectorResults) wait += " depctr_va_sdst(0)";
  if (pending & kVcc) wait += " depctr_va_vcc(0)";
  return wait;
}

}  // namespace wave::emulator
