#include "emulator/wait_states.h"

#include "emulator/isa/operand.h"

namespace wave::emulator {

namespace {

using isa::Field;
using isa::Kind;
using Share = WaitRule::Share;

/// In the order of wait_rule's bits.
constexpr WaitRule kRules[] = {
    {"a vector instruction writes what DPP reads", Share::Vector, 2},
    {"a vector instruction writes EXEC before DPP", Share::Nothing, 5},
    {"a vector instruction writes VCC before v_div_fmas", Share::Nothing, 4},
    {"a vector instruction writes the number of the lane", Share::Lane, 4},
    {"a vector instruction writes a scalar register that vector memory reads", Share::Scalar, 5},
    {"a scalar instruction writes M0", Share::Nothing, 1},
    {"s_setreg sets what s_getreg reads", Share::Hardware, 2},
    {"s_setreg sets the same register", Share::Hardware, 2},
    {"a vector instruction overwrites what a store of more than 8 bytes stores", Share::Data, 1},
    {"a vector instruction overwrites what a store of more than 8 bytes stores", Share::Data, 2},
    {"a vector instruction", Share::Vector, 2},
    {"a vector instruction writes EXEC before a matrix instruction", Share::Nothing, 4},
    {"a dot product makes what another instruction reads or overwrites", Share::Other, 3},
    {"a transcendental instruction makes what another kind reads", Share::Vector, 1},
    {"a part of a register is written", Share::Result, 1},
    {"a vector instruction writes a scalar register that another one reads", Share::Scalar, 2},
    {"a vector instruction writes what v_readlane reads", Share::Vector, 1},
    {"a vector instruction writes EXEC before v_readlane, v_readfirstlane or v_writelane", Share::Nothing, 4},
    {"a vector instruction writes what v_permlane reads", Share::Vector, 2},
    {"v_cmpx writes EXEC before v_permlane", Share::Nothing, 4},
    {"a matrix instruction takes the result of the one before as a factor", Share::Factor, 1, WaitRule::Count::Vectors},
    {"a transcendental instruction makes what a vector instruction reads", Share::Vector, 6, WaitRule::Count::Vectors},
    {"v_cmpx writes EXEC before v_permlane", Share::Nothing, 1, WaitRule::Count::Vectors},
};

bool is_vector_alu(const isa::Row& row) { return row.kind == Kind::VectorAlu || row.kind == Kind::DotProduct; }
bool is_matrix(const isa::Row& row) { return row.kind == Kind::Matrix || row.kind == Kind::SparseMatrix; }
bool is_dpp(const isa::Row& row) { return (row.modifiers & (isa::kDpp | isa::kDppRowNewbcast)) != 0; }

/// Whether the result goes to a part of its register that has to be shifted there: SDWA, OP_SEL.
bool writes_part(const isa::Instruction& instruction) {
  constexpr u32 kDword = 6, kHalfOfResult = 8, kByteOfResult = 12;
  const isa::Row& row = *instruction.row;
  if (row.modifiers & isa::kDstSel) return instruction[Field::DST_SEL] != kDword;
  const u32 op_sel = instruction[Field::OP_SEL];
  return ((row.modifiers & isa::kOpSelDst) && (op_sel & kHalfOfResult)) ||
         ((row.modifiers & isa::kOpSelByte) && (op_sel & kByteOfResult));
}

/// A store of more than two dwords. Buffers with an offset in a register are not concerned.
bool is_wide_store(const isa::Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  if (row.kind != Kind::VectorMemory || row.memory.direction != isa::MemoryAccess::Direction::Store) return false;
  for (const isa::Operand& operand : std::span(row.operands, row.operand_count)) {
    if (operand.field == Field::SOFFSET && instruction[Field::SOFFSET] < isa::kZero) return false;
  }
  return row.memory.bytes > 8;
}

/// The registers of some operands, accumulation registers apart.
template <class IsMeant>
RowSet rows_of(const isa::Instruction& instruction, const IsMeant& is_meant) {
  RowSet rows;
  for (const isa::Operand& operand : std::span(instruction.row->operands, instruction.row->operand_count)) {
    if (!is_meant(operand)) continue;
    const isa::Location location = isa::locate(instruction, operand);
    if (location.place == isa::Place::Vgpr) rows.add(location.value, location.dwords);
  }
  return rows;
}
RowSet data_of(const isa::Instruction& instruction) {
  return rows_of(instruction, [](const isa::Operand& operand) {
    return operand.field == Field::DATA || operand.field == Field::VDATA;
  });
}
/// A and B, and of a sparse product the indices.
RowSet factors_of(const isa::Instruction& instruction) {
  const bool is_sparse = instruction.row->kind == Kind::SparseMatrix;
  return rows_of(instruction, [&](const isa::Operand& operand) {
    return operand.read && !operand.written && (operand.field != Field::SRC2 || is_sparse);
  });
}

WaitRules first_roles(const isa::Instruction& instruction, const Touched& touched) {
  using namespace wait_rule;
  const isa::Row& row = *instruction.row;
  const bool writes_exec = touched.scalar_writes.contains(sreg::kExec) || (row.traits & isa::kWritesExec) != 0;
  WaitRules rules = 0;
  if (is_vector_alu(row)) {
    rules |= kVectorToDpp | kVectorToMatrix | kVectorToReadlane | kVectorToPermlane;
    if (!touched.scalar_writes.is_empty()) rules |= kScalarToLane | kScalarToMemory | kScalarToVector;
    if (writes_exec) rules |= kExecToDpp | kExecToMatrix | kExecToLane | kExecToPermlane | kExecToPermlanes;
    if (touched.scalar_writes.contains(sreg::kVcc)) rules |= kVccToDivFmas;
    if (writes_part(instruction)) rules |= kPartToVector;
  }
  if (row.traits & isa::kTranscendental) rules |= kTransToVector | kTransToVectors;
  if (row.kind == Kind::DotProduct) rules |= kDotToOther;
  if (row.kind == Kind::ScalarAlu && touched.scalar_writes.contains(sreg::kM0)) rules |= kM0;
  if (row.traits & isa::kSetsHardware) rules |= kSetToGet | kSetToSet;
  if (is_wide_store(instruction)) rules |= kStoreToVector1 | kStoreToVector2;
  if (is_matrix(row)) rules |= kMatrixToFactor;
  return rules;
}

WaitRules second_roles(const isa::Instruction& instruction, const Touched& touched) {
  using namespace wait_rule;
  const isa::Row& row = *instruction.row;
  const bool is_memory = row.kind == Kind::VectorMemory || row.kind == Kind::Lds;
  WaitRules rules = 0;
  if (is_dpp(row)) rules |= kVectorToDpp | kExecToDpp;
  if (is_vector_alu(row)) {
    rules |= kStoreToVector1 | kStoreToVector2 | kPartToVector | kTransToVectors | kScalarToVector;
    if ((row.traits & isa::kTranscendental) == 0) rules |= kTransToVector;
  }
  if (row.traits & isa::kReadsVccLate) rules |= kVccToDivFmas;
  if (row.traits & isa::kOneLane) rules |= kScalarToLane | kExecToLane;
  if ((row.traits & isa::kOneLane) && !touched.scalar_writes.is_empty()) rules |= kVectorToReadlane;
  if (is_vector_alu(row) && (row.traits & isa::kPermlane))
    rules |= kVectorToPermlane | kExecToPermlane | kExecToPermlanes;
  if (row.kind == Kind::VectorMemory) rules |= kScalarToMemory;
  const bool is_global_sharing = (row.modifiers & isa::kGds) != 0 && instruction[Field::GDS] != 0;
  if ((row.traits & isa::kReadsM0) || is_global_sharing ||
      (row.kind == Kind::VectorMemory && isa::goes_to_lds(instruction)))
    rules |= kM0;
  if (row.traits & isa::kGetsHardware) rules |= kSetToGet;
  if (row.traits & isa::kSetsHardware) rules |= kSetToSet;
  if (is_matrix(row)) rules |= kVectorToMatrix | kExecToMatrix | kMatrixToFactor;
  if (is_memory || is_vector_alu(row)) rules |= kDotToOther;
  return rules;
}

}  // namespace

std::span<const WaitRule> wait_rules() { return kRules; }

WaitRoles wait_roles(const isa::Instruction& instruction, const Touched& touched, WaitRules rules) {
  using namespace wait_rule;
  const isa::Row& row = *instruction.row;
  WaitRoles roles{.first = rules & first_roles(instruction, touched),
                  .second = rules & second_roles(instruction, touched)};
  if (roles.first & (kStoreToVector1 | kStoreToVector2)) roles.stored = data_of(instruction);
  constexpr u32 kRegister = 63;  // of SIMM16, which has an offset and a size besides
  if (row.traits & (isa::kSetsHardware | isa::kGetsHardware)) roles.hardware = instruction[Field::SIMM16] & kRegister;
  roles.row = &row;
  if (is_matrix(row)) roles.factors = factors_of(instruction);
  if (row.traits & isa::kOneLane) {
    for (const isa::Operand& operand : std::span(row.operands, row.operand_count)) {
      if (operand.field == Field::SRC1) roles.lane_select = isa::locate(instruction, operand).value;
    }
  }
  return roles;
}

bool is_shared(const WaitRule& rule, const Touched& first, const WaitRoles& first_roles, const Touched& second,
               const WaitRoles& second_roles) {
  switch (rule.share) {
    case Share::Nothing:
      return true;
    case Share::Vector:
      return first.writes.meets(second.reads);
    case Share::Factor:
      return first.writes.meets(second_roles.factors);
    case Share::Other:
      if (first_roles.row == second_roles.row) return false;
      [[fallthrough]];
    case Share::Result:
      return first.writes.meets(second.reads) || first.writes.meets(second.writes);
    case Share::Data:
      return first_roles.stored.meets(second.writes);
    case Share::Scalar:
      return first.scalar_writes.meets(second.scalar_reads);
    case Share::Lane:
      return first.scalar_writes.contains(second_roles.lane_select);
    case Share::Hardware:
      return first_roles.hardware == second_roles.hardware;
  }
  return false;
}

}  // namespace wave::emulator
