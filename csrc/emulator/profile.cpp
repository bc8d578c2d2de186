#include "emulator/profile.h"

#include <algorithm>
#include <bit>
#include <span>

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

/// The different dwords of each bank that lanes want at once, which are no more than there are banks. Atomics change
/// one dword one after the other: each lane wants it for itself.
class BankDwords {
 public:
  static constexpr u32 kMost = 64;
  explicit BankDwords(bool are_atomics) : are_atomics_(are_atomics) {}
  void add(u32 dword, u32 bank) {
    u32* const end = dwords_[bank] + counts_[bank];
    if (!are_atomics_ && std::find(dwords_[bank], end, dword) != end) return;
    *end = dword;
    most_ = std::max(most_, ++counts_[bank]);
  }
  /// Of any bank.
  u64 most() const { return most_; }

 private:
  const bool are_atomics_;
  u32 most_ = 0;
  u32 counts_[kMost] = {};
  u32 dwords_[kMost][kMost];  ///< as many as are counted are set
};

/// The lanes in the order in which LDS serves them. Where these are not neighbours, groups of four are in another order
/// within 32 lanes: eight lanes are 0 to 3 and 20 to 23, and so on (ROCm's documents of CK Tile); sixteen are these and
/// 12 to 15 and 24 to 27 (measured by HipKittens, analysis/paper_experiments/phases).
u32 served_lane(u32 place, bool are_mixed) {
  constexpr u32 kFours[] = {0, 5, 3, 6, 1, 4, 2, 7};
  return are_mixed ? (place & ~31u) + kFours[place / 4 % 8] * 4 + place % 4 : place;
}

/// How many dwords any one bank serves of those that lanes want: so many each, from these on.
u64 most_of_a_bank(std::span<const u32> wanted, u32 dwords, u32 banks, bool are_atomics) {
  if (wanted.empty()) return 0;
  const auto [lowest, highest] = std::ranges::minmax(wanted);
  if (!are_atomics && highest - lowest + dwords <= banks) return 1;  // no bank has two of them, as in most accesses
  BankDwords of_banks(are_atomics);
  for (const u32 dword : wanted) {
    for (u32 i = 0; i < dwords; ++i) of_banks.add(dword + i, (dword + i) % banks);
  }
  return of_banks.most();
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

/// What a cache moves at once (AMD's "CDNA 3" white paper, "Cache and Infinity Cache"; RDNA's ISA documents, "Caches").
constexpr u64 kLine = 128;
constexpr u64 kGroup = 64;  ///< lines that one number says of whether they were touched
constexpr u64 kMostWaves = 4096;

const char* element_name(isa::Element element) {
  constexpr const char* kNames[] = {"f64", "f32", "xf32", "f16", "bf16", "f8", "f8", "i32", "i8", "i4", "f8f6f4"};
  return kNames[static_cast<size_t>(element)];
}

/// Two for each product. Half of those of sparse matrices are with zeros, which take no time.
u64 matrix_operations(const isa::Row& row) {
  const isa::MatrixProduct& matrix = row.matrix;
  const u64 each = row.kind == Kind::SparseMatrix ? 1 : 2;
  return each * matrix.m * matrix.n * matrix.k * matrix.blocks;
}

}  // namespace

void ProfileSum::add(const LaunchProfile& profile, const std::unordered_map<u64, u64>& lines,
                     const std::unordered_map<u64, u64>& waves) {
  const std::lock_guard lock(mutex_);
  sum_ += profile;
  for (const auto& [group, bits] : lines) lines_[group] |= bits;
  for (const auto& [wave, count] : waves) {
    if (sum_.waves.size() <= wave) sum_.waves.resize(wave + 1);
    sum_.waves[wave] += count;
  }
}

LaunchProfile ProfileSum::result() const {
  LaunchProfile result = sum_;
  for (const auto& [group, bits] : lines_) result.touched += kLine * static_cast<u64>(std::popcount(bits));
  return result;
}

Profiler::~Profiler() {
  end_access();
  if (!instructions_.empty()) sum_.add(result(), lines_, waves_);
}

Profiler::Tally& Profiler::look_up(const Wave& wave, const Op* op) {
  auto& [known, tally] = known_[reinterpret_cast<uintptr_t>(op) / sizeof(Op) % kKnown];
  if (known == op) return *tally;
  Tally& instruction = instructions_[op];
  known = op;
  tally = &instruction;
  if (instruction.counted.count == 0) {
    instruction.row = decoded_instruction(wave, op).row;
    instruction.address = wave.group->launch().module.file_address(wave.address(op));
  }
  return instruction;
}

void Profiler::before(const Wave& wave, const Op* op) {
  end_access();
  Tally& instruction = look_up(wave, op);
  current_ = &instruction;
  wave_lanes_ = wave.lanes;
  const u64 number = wave.group->number() * wave.group->launch().waves + wave.index;
  if (number < kMostWaves) {
    if (last_wave_.first != number) last_wave_ = {number, &waves_[number]};
    ++*last_wave_.second;
  }
  InstructionProfile& counted = instruction.counted;
  const u64 lanes = static_cast<u64>(std::popcount(wave.exec()));
  ++counted.count;
  counted.lanes += lanes;
  const isa::Row* row = instruction.row;
  if (row == nullptr) return;
  if (row->memory.bytes != 0) {
    counted.bytes += u64{row->memory.bytes} * row->memory.addresses * (row->kind == Kind::ScalarMemory ? 1 : lanes);
  }
  if (row->kind == Kind::Lds && row->memory.bytes != 0) count_lds_cycles(wave, op, row->memory, counted);
}

void Profiler::touch(AddressSpan span) {
  if (span.size() == 0) return;
  for (u64 line = span.begin() / kLine; line <= (span.begin() + span.size() - 1) / kLine; ++line) {
    if (access_.empty() || access_.back() != line) access_.push_back(line);
  }
}

/// The same bytes as lanes one by one: at once those of lanes that access the same, or lie side by side.
void Profiler::touch_lanes(const LaneAccesses& all) {
  u64 left = all.lanes;
  while (left != 0) {
    const u32 first = static_cast<u32>(std::countr_zero(left)), count = all.side_by_side(left);
    const u64 together = all.same_as_first(left) | (~u64{0} >> (kLanes - count)) << first;
    if (std::has_single_bit(together)) break;  // the others are likely to be elsewhere, too
    touch({all.begins[first], u64{all.size} * count});
    left &= ~together;
  }
  for (; left != 0; left &= left - 1) touch(all.span(std::countr_zero(left)));
}

/// The lines of one instruction of a wave, each once.
void Profiler::end_access() {
  if (access_.empty()) return;
  if (access_.size() > 1) {
    std::ranges::sort(access_);
    const auto repeated = std::ranges::unique(access_);
    access_.erase(repeated.begin(), repeated.end());
  }
  const isa::Row* const row = current_->row;
  if (row != nullptr && row->kind == Kind::VectorMemory) current_->counted.moved += kLine * access_.size();
  for (const u64 line : access_) {
    if (last_lines_.first != line / kGroup) last_lines_ = {line / kGroup, &lines_[line / kGroup]};
    *last_lines_.second |= u64{1} << line % kGroup;
  }
  access_.clear();
}

/// LDS has banks of a dword. In a cycle it serves as many lanes as would fill them, where no two want different dwords
/// of a bank, nor to change one.
void Profiler::count_lds_cycles(const Wave& wave, const Op* op, const MemoryAccess& access,
                                InstructionProfile& counted) {
  const ProcessorTraits& processor = wave.group->launch().module.processor();
  using Direction = MemoryAccess::Direction;
  const bool is_atomic = access.direction == Direction::Atomic, is_load = access.direction == Direction::Load;
  const u32 dwords = std::max(access.bytes / 4u, 1u);
  const bool are_fewer = access.direction == Direction::Store || dwords == 3;
  const u32 banks = are_fewer ? processor.lds_store_banks : processor.lds_banks;
  const u32 lanes_at_once = std::min(banks / std::bit_ceil(dwords), u32{kLanes});
  const bool are_mixed = processor.lds_mixes_lanes && is_load && dwords > 2;
  for (u32 k = 0; k < access.addresses; ++k) {
    const u32 offset = op->lds.offset[k] * (access.addresses == 1 ? 1 : access.stride * access.bytes);
    for (u32 first = 0; first < kLanes; first += lanes_at_once) {
      u32 wanted[kLanes], count = 0;
      for (u32 place = first; place < first + lanes_at_once; ++place) {
        const u32 lane = served_lane(place, are_mixed);
        if (wave.exec_lanes.lane[lane] != 0) wanted[count++] = (lds_address(wave, op, lane) + offset) / 4;
      }
      const u64 most = most_of_a_bank({wanted, count}, dwords, banks, is_atomic);
      counted.lds_cycles += most;
      counted.lds_conflict_cycles += most - (most != 0);
    }
  }
}

LaunchProfile Profiler::result() const {
  LaunchProfile profile;
  profile.wave_lanes = wave_lanes_;
  for (const auto& [op, instruction] : instructions_) {
    if (instruction.row == nullptr) continue;
    const isa::Row& row = *instruction.row;
    InstructionProfile counted = instruction.counted;
    counted.kind = kind_of(row);
    counted.operations = matrix_operations(row) * counted.count;
    profile.kinds[kind_of(row)] += counted.count;
    profile.instructions[std::string(isa::base_name(row))] += counted.count;
    if (op->flags & kSkippable) {
      profile.vector_instructions += counted.count;
      profile.lanes += counted.lanes;
    }
    if (row.memory.bytes != 0) profile.bytes[bytes_name(row)] += counted.bytes;
    if (counted.operations != 0) profile.operations[element_name(row.matrix.a)] += counted.operations;
    profile.moved += counted.moved;
    profile.lds_cycles += counted.lds_cycles;
    profile.lds_conflict_cycles += counted.lds_conflict_cycles;
    profile.matrix_operations += counted.operations;
    profile.code[instruction.address] += counted;
  }
  return profile;
}

}  // namespace wave::emulator
