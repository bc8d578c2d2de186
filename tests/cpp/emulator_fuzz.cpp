// Fuzz target: whatever a kernel does, a launch on the emulator returns or throws wave::Error, and touches no memory
// but that of its regions, which AddressSanitizer watches.
//
// An input that starts as an ELF file does is a code object, each of whose kernels is launched on the processor that it
// is for. Any other is a stream of instructions, which runs within the kernel `machine` (machine.s and machine_rdna.s
// in tests/emulator/kernels) on registers that point into its memory: a byte that says for which processor, one that
// seeds the registers, then ten bytes for each instruction, the number of its row in the instruction table and the bits
// that the row leaves open. The last byte says how it is looked at: one in four by all statistics, traces and checks,
// of which some for so long that loops without an end are found; of the others some run on several threads.
//
// `make fuzz` builds and runs it, from the root of the repository.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/unwritten_memory.h"
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
constexpr u64 kEnoughToSpin = 60000;    // the emulator looks for loops without an end behind 49,152
constexpr u32 kScratchLimit = 1 << 16;  // bytes of a lane: more is legal, and slow
constexpr u32 kLds = 1024;              // bytes that a launch asks for besides the kernel's own

u64 next_random(u64& state) {  // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1d;
}

/// What a kernel may write, and what it may only read. Of the heap, so that accesses beyond are seen. The end of the
/// first is within a dword.
struct Buffers {
  std::vector<u32> in = std::vector<u32>(16384);
  std::vector<u16> out = std::vector<u16>(2 * 16384 - 1);

  std::vector<Region> regions() const {
    const wave::AddressSpan readable(reinterpret_cast<u64>(in.data()), 4 * in.size());
    const wave::AddressSpan writable(reinterpret_cast<u64>(out.data()), 2 * out.size());
    return {{readable, false, "in"}, {writable, true, "out"}};
  }
};

/// How the input under way is looked at.
struct Look {
  bool observes = false;  ///< all that can
  bool spins = false;     ///< as long as it takes to find that it is stuck
  bool threads = false;   ///< on several

  explicit Look(u8 choice)
      : observes(choice % 4 == 0), spins(observes && choice / 4 % 8 == 0), threads(choice % 4 == 1) {}
};
Look look(0);

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

/// The output is what nobody has written yet. Behind the launch, what it did is compared with itself, as that of a
/// launch on another stream.
void launch_observed(Dispatch& dispatch, const Buffers& buffers) {
  const wave::AddressSpan written = buffers.regions()[1].bytes;
  struct Unwritten {  // but for a rest that is no whole granule, behind which there is no memory
    explicit Unwritten(wave::AddressSpan bytes) {
      constexpr u64 kGranule = wave::UnwrittenMemory::kGranule;
      wave::UnwrittenMemory::of_process().add({bytes.begin(), bytes.size() / kGranule * kGranule});
    }
    ~Unwritten() { wave::UnwrittenMemory::of_process().clear(); }
  } const unwritten(written);
  Tracer tracer([](std::string_view) {}, {});
  dispatch.observer = &tracer;
  const auto checks = Checks::make(everything(), {});
  run(dispatch, checks.get());
  checks->finish();
  checks->profile();
  const auto accesses = checks->accesses(dispatch);
  accesses->races_with(*accesses, "stream 1", "stream 2");
  accesses->forget(written);
}

void launch(const Module& module, const KernelInfo& kernel, const Buffers& buffers, const std::vector<u8>& arguments,
            u32 workgroups, u32 block) {
  Dispatch dispatch;
  dispatch.module = &module;
  dispatch.kernel = &kernel;
  dispatch.grid = {workgroups, 1, 1};
  dispatch.block = {block, 1, 1};
  dispatch.dynamic_lds = kLds;
  dispatch.arguments = arguments;
  dispatch.memory = buffers.regions();
  dispatch.deterministic = !look.threads;
  dispatch.patience = 0;
  dispatch.max_instructions = look.spins ? kEnoughToSpin : kMaxInstructions;
  if (look.observes) return launch_observed(dispatch, buffers);
  if (look.threads) {
    const auto on_two = [](const wave::Parallel::Worker& worker) {
      std::thread other(worker, 1);
      worker(0);
      other.join();
    };
    dispatch.parallel = {2, on_two};
  }
  run(dispatch);
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

/// The processors whose code is emulated, each in its own table.
constexpr const char* kProcessors[] = {"gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1150", "gfx1201"};

/// For the processor that it is for, and where it is for none of these, for one of them all the same.
std::shared_ptr<const CodeObject> parse(std::span<const u8> file) {
  const auto code = CodeObject::parse(file, std::nullopt);
  const std::string& named = code->target().processor;
  const bool is_known = std::ranges::find(kProcessors, named) != std::end(kProcessors);
  return CodeObject::parse(file, wave::Target::parse(is_known ? named : "gfx942"));
}

void run_code_object(std::span<const u8> file) {
  look.spins = false;  // there may be many kernels
  const auto code = parse(file);
  const Module module(code);
  for (const KernelInfo& kernel : code->kernels()) {
    const auto& required = kernel.metadata.reqd_workgroup_size;
    const u32 block = required && (*required)[0] - 1 < 256 ? (*required)[0] : 128;
    try {
      wave::occupancy(code->target(), kernel, block,
                      u64{kernel.metadata.group_segment_fixed_size} + kLds);  // as launches ask
      if (kernel.metadata.private_segment_fixed_size > kScratchLimit) continue;
      const Buffers buffers;
      launch(module, kernel, buffers, plausible_arguments(kernel, buffers), 2, block);
    } catch (const wave::Error&) {
    }
  }
}

/// Where the blocks of `machine` have what its waves begin with, in dwords, and how many scalar registers it gives
/// them.
struct Layout {
  u32 scalars, mode, vectors, slot;
};
constexpr Layout kOfGfx9{.scalars = 80, .mode = 86, .vectors = 128 + 256, .slot = 64};
constexpr Layout kOfRdna{.scalars = 64, .mode = 70, .vectors = 128, .slot = 32};

/// A build of `machine`, which has room for instructions.
struct Machine {
  wave::Target target;
  const isa::InstructionSet* instructions;
  Layout layout;
  u32 lanes;
  std::vector<u8> image{};
  size_t slot = 0;

  Machine(const char* processor, const Layout& layout, u32 lanes, const std::string& file)
      : target(wave::Target::parse(processor)),
        instructions(isa::InstructionSet::find(processor)),
        layout(layout),
        lanes(lanes) {
    std::ifstream stream("tests/emulator/kernels/" + file + ".hsaco", std::ios::binary);
    image.assign(std::istreambuf_iterator<char>(stream), {});
    const std::vector<u32> nops(layout.slot, 0xbf80000d);
    const auto* bytes = reinterpret_cast<const u8*>(nops.data());
    const auto found = std::search(image.begin(), image.end(), bytes, bytes + 4 * layout.slot);
    if (found == image.end()) std::abort();  // not started in the root of the repository
    slot = static_cast<size_t>(found - image.begin());
  }
};

const std::vector<Machine>& machines() {
  static const std::vector<Machine> all = [] {
    std::vector<Machine> made;
    for (const std::string processor : kProcessors) {
      if (processor.starts_with("gfx9")) {
        made.emplace_back(processor.c_str(), kOfGfx9, 64, processor == "gfx942" ? "machine" : "machine_" + processor);
        continue;
      }
      for (const u32 lanes : {32u, 64u}) {
        made.emplace_back(processor.c_str(), kOfRdna, lanes, "machine" + std::to_string(lanes) + "_" + processor);
      }
    }
    return made;
  }();
  return all;
}

/// An operand's field within the registers that `machine` leaves to its instructions; constants as they are.
u64 plausible_operand(const isa::Operand& operand, u64 value, u32 width, u32 scalars) {
  const bool vector = operand.kind == isa::OperandKind::Vgpr || operand.kind == isa::OperandKind::VgprOrAgpr ||
                      operand.kind == isa::OperandKind::Address || (width == 9 && value >= 256);
  if (vector) return (value & 63) | (width == 9 ? 256 : 0);
  if (operand.kind == isa::OperandKind::Agpr) return (value & 31) | (width == 9 ? 256 : 0);
  if (width < 7 || value >= 128 || operand.kind == isa::OperandKind::Immediate) return value;
  return value < scalars || value >= 102 ? value : value - 64;
}

/// The longest instructions' dwords, in pairs.
using Encoding = std::array<u64, 2>;

Encoding plausible_encoding(const Machine& machine, const isa::Row& row, u64 open) {
  Encoding bits{row.match | (open & ~row.mask), (open >> 32) * 0x1'0000'0001};
  for (u32 i = 0; i < row.operand_count; ++i) {
    const isa::Position at = isa::position(row.generation, row.format, row.operands[i].field);
    if (at.width == 0 || at.width > 9) continue;
    u64& half = bits[at.low / 64];
    const u64 mask = (u64{1} << at.width) - 1;
    const u64 value = plausible_operand(row.operands[i], half >> at.low % 64 & mask, at.width, machine.layout.scalars);
    half = (half & ~(mask << at.low % 64)) | (value & mask) << at.low % 64;
  }
  bits[0] = row.match | (bits[0] & ~row.mask);
  if (row.format != isa::Format::VOP3PX2) return bits;
  // What follows its scales is the product without any, but for ABID.
  const std::span<const isa::Row> rows = machine.instructions->rows();
  const auto product = std::ranges::find_if(
      rows, [&](const isa::Row& one) { return one.format == isa::Format::MAI && one.opcode == row.opcode; });
  const isa::Position abid = isa::position(row.generation, isa::Format::MAI, isa::Field::ABID);
  bits[1] = plausible_encoding(machine, *product, open ^ open << 32)[0] | u64{1} << abid.low;
  return bits;
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
void fill_state(Buffers& buffers, const Layout& layout, u64 random) {
  const std::vector<Region> regions = buffers.regions();
  const auto address = [&] { return plausible_address(regions, random); };
  for (u32& word : buffers.in) {
    word = static_cast<u32>(next_random(random) >> (next_random(random) % 33));
    if (next_random(random) % 8 == 0) word = 0 - word;
  }
  for (size_t i = 0; i < layout.scalars; i += 4) {
    const u64 base = address();
    buffers.in[i] = static_cast<u32>(base);
    buffers.in[i + 1] = static_cast<u32>(base >> 32) | (next_random(random) % 3 == 0 ? 4u << 16 : 0);
    if (next_random(random) % 2 == 0) buffers.in[i + 2] = 4096;
  }
  for (size_t row = 0; row < 64; row += 4) {
    for (size_t lane = 0; lane < 64; ++lane) {
      const u64 base = address();
      buffers.in[layout.vectors + row * 64 + lane] = static_cast<u32>(base);
      buffers.in[layout.vectors + (row + 1) * 64 + lane] = static_cast<u32>(base >> 32);
    }
  }
  u32& mode = buffers.in[layout.mode];
  mode = (mode & 0x0f8003ff) | 0x300;  // no instruction skipped, GPR indexing now and then
}

std::vector<u32> words_of(const Machine& machine, std::span<const u8> input) {
  constexpr size_t kLongest = 4;
  const std::span<const isa::Row> rows = machine.instructions->rows();
  std::vector<u32> words;
  for (size_t at = 0; at + 10 <= input.size() && words.size() + kLongest <= machine.layout.slot; at += 10) {
    u16 number;
    u64 open;
    std::memcpy(&number, &input[at], 2);
    std::memcpy(&open, &input[at + 2], 8);
    const Encoding bits = plausible_encoding(machine, rows[number % rows.size()], open);
    u32 encoded[kLongest];
    std::memcpy(encoded, bits.data(), sizeof encoded);
    const isa::Instruction decoded = machine.instructions->decode(encoded, machine.lanes);
    words.insert(words.end(), encoded, encoded + (decoded.row != nullptr ? decoded.dwords : 1));
  }
  return words;
}

void run_stream(std::span<const u8> input) {
  if (input.size() < 2) return;
  const Machine& machine = machines()[input[0] % machines().size()];
  const std::vector<u32> words = words_of(machine, input.subspan(2));
  if (words.empty()) return;
  std::vector<u8> image = machine.image;
  std::memcpy(&image[machine.slot], words.data(), 4 * words.size());
  const auto code = CodeObject::parse(image, machine.target);
  const Module module(code);
  Buffers buffers;
  fill_state(buffers, machine.layout, 0x9e3779b97f4a7c15 * (u64{input[1]} + 1));
  std::vector<u8> arguments(24);
  const u64 pointers[] = {reinterpret_cast<u64>(buffers.in.data()), reinterpret_cast<u64>(buffers.out.data()),
                          reinterpret_cast<u64>(buffers.out.data())};
  std::memcpy(arguments.data(), pointers, sizeof pointers);
  launch(module, code->kernels()[0], buffers, arguments, 2, 64);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  look = Look(data[size - 1]);
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
