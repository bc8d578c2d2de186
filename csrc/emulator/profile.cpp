#include "emulator/profile.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Format;
using isa::Kind;
using isa::MemoryAccess;

/// Where a lane of a DS instruction accesses LDS, before its offset. ADDTID has no vector address. Operands that were
/// refused are zeros, and a fault follows.
u32 lds_address(const Wave& wave, const Op* op, u32 lane) {
  if (op->lds.address == kNoOperand) return lds_address_in_m0(wave) + sizeof(u32) * lane;
  return wave.v[op->lds.address].lane[lane];
}

const char* kind_of(const isa::Row& row) {
  switch (row.kind) {
    case Kind::ScalarAlu:
      return "scalar ALU";
    case Kind::ScalarMemory:
      return "scalar memory";
    case Kind::Control:
    case Kind::Nop:
    case Kind::Wait:
    case Kind::WaitPair:
    case Kind::WaitPacked:
      return "program flow";
    case Kind::VectorAlu:
    case Kind::DotProduct:
      return "vector ALU";
    case Kind::Matrix:
    case Kind::SparseMatrix:
      return "matrix";
    case Kind::Lds:
      return "LDS";
    case Kind::VectorMemory:
      break;
  }
  return row.format == Format::SCRATCH ? "scratch" : "vector memory";
}

std::string bytes_name(const isa::Row& row) {
  constexpr const char* kDirections[] = {"", " loaded", " stored", " atomic"};
  const char* space = row.kind == Kind::Lds ? "LDS" : row.format == Format::SCRATCH ? "scratch" : "global";
  return std::string(space) + kDirections[static_cast<int>(row.memory.direction)];
}

/// Two for each product. Half of those of sparse matrices are with zeros, which take no time.
u64 matrix_operations(const isa::Row& row) {
  const isa::MatrixProduct& matrix = row.matrix;
  const u64 each = row.kind == Kind::SparseMatrix ? 1 : 2;
  return each * matrix.m * matrix.n * matrix.k * matrix.blocks;
}

}  // namespace

Profiler::Tally& Profiler::look_up(const Wave& wave, const Op* op) {
  Tally& instruction = instructions_[op];
  if (instruction.count == 0) {
    instruction.row = wave.group->launch().module.decode(wave.address(op)).row;
  }
  return instruction;
}

void Profiler::before(const Wave& wave, const Op* op) {
  Tally& instruction = look_up(wave, op);
  wave_lanes_ = wave.group->launch().lanes;
  ++instruction.count;
  instruction.lanes += static_cast<u64>(std::popcount(wave.exec()));
  const isa::Row* row = instruction.row;
  if (row != nullptr && row->kind == Kind::Lds && row->memory.bytes != 0) count_lds_cycles(wave, op, row->memory);
}

/// LDS has banks of a dword. In a cycle it serves as many neighbouring lanes as would fill them, where no two want
/// different dwords of a bank.
void Profiler::count_lds_cycles(const Wave& wave, const Op* op, const MemoryAccess& access) {
  const u32 banks = wave.group->launch().module.processor().lds_banks;
  const u32 dwords = std::max(access.bytes / 4u, 1u),
            lanes_at_once = std::min(banks / std::bit_ceil(dwords), u32{kLanes});
  for (u32 k = 0; k < access.addresses; ++k) {
    const u32 offset = op->lds.offset[k] * (access.addresses == 1 ? 1 : access.stride * access.bytes);
    for (u32 first = 0; first < kLanes; first += lanes_at_once) {
      std::vector<std::vector<u32>> wanted(banks);
      for (u32 lane = first; lane < first + lanes_at_once; ++lane) {
        if (wave.exec_lanes.lane[lane] == 0) continue;
        const u32 dword = (lds_address(wave, op, lane) + offset) / 4;
        for (u32 i = 0; i < dwords; ++i) wanted[(dword + i) % banks].push_back(dword + i);
      }
      size_t most = 0;
      for (std::vector<u32>& bank : wanted) {
        std::sort(bank.begin(), bank.end());
        most = std::max<size_t>(most, static_cast<size_t>(std::unique(bank.begin(), bank.end()) - bank.begin()));
      }
      lds_cycles_ += most;
      lds_least_cycles_ += most != 0;
    }
  }
}

LaunchProfile Profiler::result() const {
  LaunchProfile profile;
  for (const auto& [op, instruction] : instructions_) {
    if (instruction.row == nullptr) continue;
    const isa::Row& row = *instruction.row;
    profile.kinds[kind_of(row)] += instruction.count;
    profile.instructions[std::string(isa::base_name(row))] += instruction.count;
    if (op->flags & kSkippable) {
      profile.vector_instructions += instruction.count;
      profile.lanes += instruction.lanes;
    }
    if (row.memory.bytes != 0) {
      const u64 each = u64{row.memory.bytes} * row.memory.addresses;
      const u64 times = row.kind == Kind::ScalarMemory ? instruction.count : instruction.lanes;
      profile.bytes[bytes_name(row)] += each * times;
    }
    profile.matrix_operations += matrix_operations(row) * instruction.count;
  }
  profile.wave_lanes = wave_lanes_;
  profile.lds_cycles = lds_cycles_;
  profile.lds_conflict_cycles = lds_cycles_ - lds_least_cycles_;
  return profile;
}

}  // namespace wave::emulator
