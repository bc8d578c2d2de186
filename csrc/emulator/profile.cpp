#include "emulator/profile.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <vector>

#include "emulator/workgroup.h"

namespace wave::emulator {

namespace {

using isa::Format;
using Direction = MemoryAccess::Direction;

/// The number behind the last `mark` of a name: 4 of "global_load_dwordx4" with the mark "dwordx".
u32 number_after(std::string_view name, std::string_view mark, u32 otherwise) {
  const size_t at = name.rfind(mark);
  if (at == std::string_view::npos) return otherwise;
  u32 number = otherwise;
  std::from_chars(name.data() + at + mark.size(), name.data() + name.size(), number);
  return number;
}

/// The bits in the type at the end of a DS instruction: 96 of "ds_read_b96", 8 of "ds_read_u8_d16_hi".
u32 type_bits(std::string_view name) {
  name = name.substr(0, name.find("_d16"));
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  u32 bits = 32;
  std::from_chars(name.data() + digits, name.data() + name.size(), bits);
  return name.find("_pk_") != std::string_view::npos ? 32 : bits;
}

MemoryAccess lds_access(std::string_view name) {
  constexpr std::string_view kBetweenLanes[] = {"permute", "swizzle", "ds_nop", "gws", "append", "consume"};
  for (std::string_view part : kBetweenLanes) {
    if (name.find(part) != std::string_view::npos) return {};
  }
  MemoryAccess access{Direction::Atomic, type_bits(name) / 8};
  if (name.starts_with("ds_read")) access.direction = Direction::Load;
  if (name.starts_with("ds_write")) access.direction = Direction::Store;
  if (name.find("2_") != std::string_view::npos) access.addresses = 2, access.unit = access.bytes;
  if (name.find("2st64_") != std::string_view::npos) access.addresses = 2, access.unit = 64 * access.bytes;
  return access;
}

/// Where a lane of a DS instruction accesses LDS, before its offset. ADDTID has no vector address, nor has an
/// instruction whose operands are refused, which a fault follows.
u32 lds_address(const Wave& wave, const Op* op, u32 lane) {
  if (op->src[0] == kNoOperand) return (wave.s[sreg::kM0] & 0xffff) + sizeof(u32) * lane;
  return wave.v[op->src[0]].lane[lane];
}

u32 format_bytes(std::string_view name) {
  const u32 components = static_cast<u32>(name.size() - name.rfind('_') - 1);
  return components * (name.find("_d16") != std::string_view::npos ? 2 : 4);
}

u32 atomic_bytes(std::string_view name) { return name.ends_with("_x2") || name.ends_with("64") ? 8 : 4; }

const char* kind_of(const isa::Row& row) {
  const std::string_view name = row.mnemonic;
  switch (row.format) {
    case Format::SOPP:
      return "program flow";
    case Format::SMEM:
      return "scalar memory";
    case Format::DS:
      return "LDS";
    case Format::SCRATCH:
      return "scratch";
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::MUBUF:
    case Format::MTBUF:
      return "vector memory";
    default:
      if (name.starts_with("v_mfma") || name.starts_with("v_smfmac")) return "matrix";
      return row.format < Format::SMEM ? "scalar ALU" : "vector ALU";
  }
}

std::string bytes_name(const isa::Row& row, Direction direction) {
  constexpr const char* kDirections[] = {"", " loaded", " stored", " atomic"};
  const char* space = row.format == Format::DS ? "LDS" : row.format == Format::SCRATCH ? "scratch" : "global";
  return std::string(space) + kDirections[static_cast<int>(direction)];
}

/// Two for each product: v_mfma_f32_4x4x4_16b_f16 has 4 * 4 * 4 * 16 of them. Half of those of sparse matrices are with
/// zeros, which take no time.
u64 matrix_operations(std::string_view name) {
  u64 operations = name.starts_with("v_smfmac") ? 1 : 2, number = 0;
  size_t shape = 0;
  for (int i = 0; i < 3; ++i) shape = name.find('_', shape) + 1;
  for (const char c : name.substr(shape)) {
    if (c >= '0' && c <= '9') {
      number = 10 * number + static_cast<u64>(c - '0');
      continue;
    }
    if (number != 0) operations *= number;
    number = 0;
    if (c != 'x' && c != '_') break;  // the b of blocks, or the types
  }
  return operations;
}

}  // namespace

MemoryAccess memory_access(std::string_view name) {
  if (name.starts_with("ds_")) return lds_access(name);
  const bool loads = name.find("_load") != std::string_view::npos;
  if (name.find("_atomic_") != std::string_view::npos) return {Direction::Atomic, atomic_bytes(name)};
  if (!loads && name.find("_store") == std::string_view::npos) return {};
  const Direction direction = loads ? Direction::Load : Direction::Store;
  if (name.find("_format_") != std::string_view::npos) return {direction, format_bytes(name)};
  if (name.find("byte") != std::string_view::npos) return {direction, 1};
  if (name.find("short") != std::string_view::npos) return {direction, 2};
  return {direction, 4 * number_after(name, "dwordx", 1)};
}

Profiler::Instruction& Profiler::look_up(const Wave& wave, const Op* op) {
  Instruction& instruction = instructions_[op];
  if (instruction.count == 0) {
    instruction.row = wave.group->launch().module.decode(wave.address(op)).row;
    if (instruction.row != nullptr) instruction.access = memory_access(isa::base_name(*instruction.row));
  }
  return instruction;
}

void Profiler::before(const Wave& wave, const Op* op) {
  Instruction& instruction = look_up(wave, op);
  ++instruction.count;
  instruction.lanes += static_cast<u64>(std::popcount(wave.exec()));
  if (instruction.row != nullptr && instruction.row->format == Format::DS && instruction.access.bytes != 0) {
    count_lds_cycles(wave, op, instruction.access);
  }
}

/// LDS has 32 banks of a dword. In a cycle it serves as many neighbouring lanes as would fill them, where no two want
/// different dwords of a bank.
void Profiler::count_lds_cycles(const Wave& wave, const Op* op, const MemoryAccess& access) {
  constexpr u32 kBanks = 32;
  const u32 dwords = std::max(access.bytes / 4, 1u), lanes_at_once = kBanks / std::bit_ceil(dwords);
  for (u32 k = 0; k < access.addresses; ++k) {
    const u32 offset = access.addresses == 1 ? op->imm : (op->imm >> 16 * k & 0xffff) * access.unit;
    for (u32 first = 0; first < kLanes; first += lanes_at_once) {
      std::vector<u32> wanted[kBanks];
      for (u32 lane = first; lane < first + lanes_at_once; ++lane) {
        if (wave.exec_lanes.lane[lane] == 0) continue;
        const u32 dword = (lds_address(wave, op, lane) + offset) / 4;
        for (u32 i = 0; i < dwords; ++i) wanted[(dword + i) % kBanks].push_back(dword + i);
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
    const std::string name(isa::base_name(row));
    profile.kinds[kind_of(row)] += instruction.count;
    profile.instructions[name] += instruction.count;
    if (op->flags & kSkippable) {
      profile.vector_instructions += instruction.count;
      profile.lanes += instruction.lanes;
    }
    if (instruction.access.bytes != 0) {
      const u64 each = u64{instruction.access.bytes} * instruction.access.addresses;
      const u64 times = row.format == Format::SMEM ? instruction.count : instruction.lanes;
      profile.bytes[bytes_name(row, instruction.access.direction)] += each * times;
    }
    if (std::string_view(kind_of(row)) == "matrix") {
      profile.matrix_operations += matrix_operations(name) * instruction.count;
    }
  }
  profile.lds_cycles = lds_cycles_;
  profile.lds_conflict_cycles = lds_cycles_ - lds_least_cycles_;
  return profile;
}

}  // namespace wave::emulator
