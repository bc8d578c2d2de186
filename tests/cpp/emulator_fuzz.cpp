// Fuzz target: whatever a kernel does, a launch on the emulator returns or throws wave::Error, and touches no memory
// but that of its regions, which AddressSanitizer watches.
//
// An input that starts as an ELF file does is a code object, each of whose kernels is launched. Any other is a stream
// of instructions, which runs within the kernel `machine` (tests/emulator/kernels/machine.s) on registers that point
// into its memory: a byte that seeds the registers, then ten bytes for each instruction, the number of its row in the
// instruction table and the bits that the row leaves open. One in four is looked at by all statistics, traces and
// checks.
//
// `make fuzz` builds and runs it, from the root of the repository.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "code_object/occupancy.h"
#include "emulator/checks.h"
#include "emulator/dispatch.h"
#include "emulator/isa/fields.h"
#include "emulator/tracer.h"

namespace {

using wave::CodeObject;
using wave::KernelInfo;
using namespace wave::emulator;
namespace isa = wave::isa;

constexpr u64 kMaxInstructions = 4000;
constexpr u32 kScratchLimit = 1 << 16;  // bytes of a lane: more is legal, and slow
const wave::Target kTarget = wave::Target::parse("gfx942");

u64 next_random(u64& state) {  // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1d;
}

/// What a kernel may write, and what it may only read. Of the heap, so that accesses beyond are seen. The end of the
/// first is within a dword.
struct Buffers {
  std::vector<u32> in = std::vector<u32>(8192);
  std::vector<u16> out = std::vector<u16>(2 * 8192 - 1);

  std::vector<Region> regions() const {
    const wave::AddressSpan readable(reinterpret_cast<u64>(in.data()), 4 * in.size());
    const wave::AddressSpan writable(reinterpret_cast<u64>(out.data()), 2 * out.size());
    return {{readable, false, "in"}, {writable, true, "out"}};
  }
};

/// All that can look at a launch, besides a trace.
wave::EmulatorOptions everything() {
  static const auto sanitizer = std::make_shared<wave::Sanitizer>(wave::SanitizerOptions{
      .tools = wave::parse_tools("all"), .over_reads = true, .denormals = true, .dead_registers = true, .log = {}});
  sanitizer->take();
  wave::EmulatorOptions options;
  options.statistics = true;
  options.sanitizer = sanitizer;
  return options;
}

/// For the input under way.
bool is_observed = false;

void launch(const Module& module, const KernelInfo& kernel, const Buffers& buffers, const std::vector<u8>& arguments,
            u32 workgroups, u32 block) {
  Dispatch dispatch;
  dispatch.module = &module;
  dispatch.kernel = &kernel;
  dispatch.grid = {workgroups, 1, 1};
  dispatch.block = {block, 1, 1};
  dispatch.arguments = arguments;
  dispatch.memory = buffers.regions();
  dispatch.deterministic = true;
  dispatch.max_instructions = kMaxInstructions;
  if (!is_observed) {
    run(dispatch);
    return;
  }
  Tracer tracer([](std::string_view) {}, {});
  dispatch.observer = &tracer;
  const auto checks = Checks::make(everything(), {});
  run(dispatch, checks.get());
  checks->finish();
  checks->profile();
}

/// The output for every pointer, and small numbers.
std::vector<u8> plausible_arguments(const KernelInfo& kernel, const Buffers& buffers) {
  std::vector<u8> bytes(std::min<u64>(kernel.metadata.kernarg_segment_size, 4096));
  const u64 out = reinterpret_cast<u64>(buffers.out.data()), number = 64;
  if (!kernel.metadata.arguments) return bytes;
  for (const wave::ArgumentMetadata& argument : *kernel.metadata.arguments) {
    const u64& value = argument.kind == wave::ValueKind::GlobalBuffer ? out : number;
    if (u64{argument.offset} + argument.size <= bytes.size()) {
      std::memcpy(&bytes[argument.offset], &value, std::min<size_t>(argument.size, sizeof value));
    }
  }
  return bytes;
}

void run_code_object(std::span<const u8> file) {
  const auto code = CodeObject::parse(file, kTarget);
  const Module module(code);
  for (const KernelInfo& kernel : code->kernels()) {
    const auto& required = kernel.metadata.reqd_workgroup_size;
    const u32 block = required && (*required)[0] - 1 < 256 ? (*required)[0] : 64;
    try {
      wave::occupancy(code->target(), kernel, block, kernel.metadata.group_segment_fixed_size);  // as launches ask
      if (kernel.metadata.private_segment_fixed_size > kScratchLimit) continue;
      const Buffers buffers;
      launch(module, kernel, buffers, plausible_arguments(kernel, buffers), 2, block);
    } catch (const wave::Error&) {
    }
  }
}

/// Where machine.hsaco has room for instructions.
struct Machine {
  static constexpr size_t kSlotWords = 64;
  std::vector<u8> image;
  size_t slot = 0;

  Machine() {
    std::ifstream stream("tests/emulator/kernels/machine.hsaco", std::ios::binary);
    image.assign(std::istreambuf_iterator<char>(stream), {});
    const std::vector<u32> nops(kSlotWords, 0xbf80000d);
    const auto* bytes = reinterpret_cast<const u8*>(nops.data());
    const auto found = std::search(image.begin(), image.end(), bytes, bytes + 4 * kSlotWords);
    if (found == image.end()) std::abort();  // not started in the root of the repository
    slot = static_cast<size_t>(found - image.begin());
  }
};

/// An operand's field within the registers that `machine` leaves to its instructions; constants as they are.
u64 plausible_operand(const isa::Operand& operand, u64 value, u32 width) {
  const bool vector = operand.kind == isa::OperandKind::Vgpr || operand.kind == isa::OperandKind::VgprOrAgpr ||
                      operand.kind == isa::OperandKind::Address || (width == 9 && value >= 256);
  if (vector) return (value & 63) | (width == 9 ? 256 : 0);
  if (operand.kind == isa::OperandKind::Agpr) return (value & 31) | (width == 9 ? 256 : 0);
  if (width < 7 || value >= 128 || operand.kind == isa::OperandKind::Immediate) return value;
  return value < 80 || value >= 102 ? value : value - 64;
}

u64 plausible_bits(const isa::Row& row, u64 open) {
  u64 bits = row.match | (open & ~row.mask);
  for (u32 i = 0; i < row.operand_count; ++i) {
    const isa::Position at = isa::position(isa::Generation::GFX9, row.format, row.operands[i].field);
    if (at.width == 0 || at.width > 9) continue;
    const u64 mask = ((u64{1} << at.width) - 1) << at.low;
    const u64 value = plausible_operand(row.operands[i], (bits & mask) >> at.low, at.width);
    bits = (bits & ~mask) | (value << at.low & mask);
  }
  return row.match | (bits & ~row.mask);
}

/// Within a buffer or somewhat beyond it, or now and then a little before or after its begin, its end, 0 and 2^63.
u64 plausible_address(const std::vector<Region>& regions, u64& random) {
  const wave::AddressSpan span = regions[next_random(random) % 4 == 0 ? 0 : 1].bytes;
  if (next_random(random) % 16 == 0) {
    const u64 ends[] = {span.begin(), span.end(), 0, u64{1} << 63};
    return ends[next_random(random) % 4] + next_random(random) % 64 - 32;
  }
  return span.begin() + (next_random(random) % 4 == 0 ? next_random(random) % 9000 * 4 : next_random(random) % 64 * 16);
}

/// The state that `machine` starts with: of registers in fours the first three quarters are a buffer's address and
/// size, as scalars and vectors of pointers and descriptors have them; others are anything, of either sign.
void fill_state(Buffers& buffers, u64 random) {
  const std::vector<Region> regions = buffers.regions();
  const auto address = [&] { return plausible_address(regions, random); };
  for (u32& word : buffers.in) {
    word = static_cast<u32>(next_random(random) >> (next_random(random) % 33));
    if (next_random(random) % 8 == 0) word = 0 - word;
  }
  constexpr size_t kVectors = 128 + 256;
  for (size_t i = 0; i < 80; i += 4) {
    const u64 base = address();
    buffers.in[i] = static_cast<u32>(base);
    buffers.in[i + 1] = static_cast<u32>(base >> 32) | (next_random(random) % 3 == 0 ? 4u << 16 : 0);
    if (next_random(random) % 2 == 0) buffers.in[i + 2] = 4096;
  }
  for (size_t row = 0; row < 64; row += 4) {
    for (size_t lane = 0; lane < 64; ++lane) {
      const u64 base = address();
      buffers.in[kVectors + row * 64 + lane] = static_cast<u32>(base);
      buffers.in[kVectors + (row + 1) * 64 + lane] = static_cast<u32>(base >> 32);
    }
  }
  buffers.in[86] = (buffers.in[86] & 0x0f8003ff) | 0x300;  // MODE: no instruction skipped, GPR indexing now and then
}

void run_stream(std::span<const u8> input) {
  static const Machine machine;
  const std::span<const isa::Row> rows = isa::InstructionSet::find("gfx942")->rows();
  std::vector<u32> words;
  for (size_t at = 1; at + 10 <= input.size() && words.size() + 3 <= Machine::kSlotWords; at += 10) {
    u16 number;
    u64 open;
    std::memcpy(&number, &input[at], 2);
    std::memcpy(&open, &input[at + 2], 8);
    const isa::Row& row = rows[number % rows.size()];
    const u64 bits = plausible_bits(row, open);
    const u32 encoded[] = {static_cast<u32>(bits), static_cast<u32>(bits >> 32), static_cast<u32>(open >> 32)};
    const isa::Instruction decoded = isa::InstructionSet::find("gfx942")->decode(encoded);
    words.insert(words.end(), encoded, encoded + (decoded.row != nullptr ? decoded.dwords : 1));
  }
  if (words.empty()) return;
  std::vector<u8> image = machine.image;
  std::memcpy(&image[machine.slot], words.data(), 4 * words.size());
  const auto code = CodeObject::parse(image, kTarget);
  const Module module(code);
  Buffers buffers;
  fill_state(buffers, 0x9e3779b97f4a7c15 * (u64{input[0]} + 1));
  std::vector<u8> arguments(24);
  const u64 pointers[] = {reinterpret_cast<u64>(buffers.in.data()), reinterpret_cast<u64>(buffers.out.data()),
                          reinterpret_cast<u64>(buffers.out.data())};
  std::memcpy(arguments.data(), pointers, sizeof pointers);
  launch(module, code->kernels()[0], buffers, arguments, 1, 64);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  is_observed = data[size - 1] % 4 == 0;
  try {
    if (size >= 4 && std::memcmp(data,
                                 "\x7f"
                                 "ELF",
                                 4) == 0) {
      run_code_object({data, size});
    } else {
      run_stream({data, size});
    }
  } catch (const wave::Error&) {
  }
  return 0;
}
