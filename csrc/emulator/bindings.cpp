#include "emulator/bindings.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/fork_safe.h"
#include "emulator/binding_lists.h"
#include "emulator/isa/features.h"
#include "emulator/isa/graphics.h"
#include "emulator/isa/operand.h"

namespace wave::emulator {

namespace {

using isa::Field;
using isa::Format;
using isa::Instruction;

// From an instruction to the variant of its bodies.

/// CLAMP of integers. That of floats is an output modifier.
Variant by_clamp(const Instruction& instruction) {
  return instruction[Field::CLAMP] != 0 ? Variant::Clamp : Variant::Plain;
}

/// A bit of NEG for each factor says whether it has signs.
Variant by_signs(const Instruction& instruction) {
  constexpr Variant kPlain[] = {Variant::SignsNone, Variant::SignsFirst, Variant::SignsSecond, Variant::SignsBoth};
  constexpr Variant kClamp[] = {Variant::SignsNoneClamp, Variant::SignsFirstClamp, Variant::SignsSecondClamp,
                                Variant::SignsBothClamp};
  return (instruction[Field::CLAMP] != 0 ? kClamp : kPlain)[instruction[Field::NEG] & 3];
}

/// Of the hardware registers: MODE; the clock, of which GFX10 and GFX11 have 20 bits and GFX12 64 in two registers; and
/// FLAT_SCRATCH.
Variant by_register(const Instruction& instruction) {
  constexpr u32 kMode = 1, kScratch = 20, kHighScratch = 21, kCycles = 29, kHighCycles = 30;
  const u32 number = instruction[Field::SIMM16] & 63;
  const bool has_high = isa::features(instruction.row->generation).has_wide_clock;
  if (number == kCycles || (number == kHighCycles && has_high)) return Variant::Clock;
  if (number == kScratch || number == kHighScratch) return Variant::FlatScratch;
  return number == kMode ? Variant::ModeField : Variant::Other;
}

/// Where GLOBAL and SCRATCH have a bit for it, and no instructions of their own.
Variant by_lds(const Instruction& instruction) {
  return isa::goes_to_lds(instruction) ? Variant::ToLds : Variant::Plain;
}

/// The first body of a variant, alone; none where there is no such body.
std::span<const Body> only(std::span<const Body> bodies, Variant variant) {
  const auto found = std::ranges::find(bodies, variant, &Body::variant);
  return found == bodies.end() ? std::span<const Body>() : std::span(found, 1);
}

struct HashOfText {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

/// From instructions of a processor, by name, to the bodies that its lists give them.
using BodiesByName = std::unordered_map<std::string, std::span<const Body>, HashOfText, std::equal_to<>>;

BodiesByName listed_bodies(std::string_view processor) {
  BodiesByName listed(2048);
  for_each_binding(processor, [&](std::string_view instruction, std::string_view body) {
    listed.emplace(instruction, bodies_named(body));
  });
  return listed;
}

std::span<const Body> find_listed(const BodiesByName& listed, std::string_view name) {
  const auto found = listed.find(name);
  return found == listed.end() ? std::span<const Body>() : found->second;
}

/// The two mnemonics of VOPD.
std::array<std::string_view, 2> halves(const isa::Row& row) {
  constexpr std::string_view kBetween = " :: ";
  const std::string_view both = row.mnemonic;
  const size_t at = both.find(kBetween);
  return {both.substr(0, at), both.substr(at + kBetween.size())};
}

/// The instruction that one half of VOPD is: "v_mul_f32" of "v_dual_mul_f32".
std::string single_name(std::string_view half) { return text("v_", half.substr(std::string_view("v_dual_").size())); }

/// Memory of the whole device, which a driver would have to reserve. GWS, which is beside it, has no addresses.
bool uses_gds(const Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  const bool has_memory = row.memory.direction != isa::MemoryAccess::Direction::None;
  return has_memory && (row.modifiers & isa::kGds) != 0 && instruction[Field::GDS] != 0;
}

/// Whether an operand is a value of LDS at the address in M0, which a vector instruction of GFX9 and GFX10 may have;
/// since GFX11 the code means nothing.
bool reads_lds_directly(const Instruction& instruction) {
  const isa::Row& row = *instruction.row;
  return std::ranges::any_of(std::span(row.operands, row.operand_count), [&](const isa::Operand& operand) {
    const bool is_source =
        operand.kind == isa::OperandKind::VectorSource || operand.kind == isa::OperandKind::SdwaSource;
    return is_source && instruction[operand.field] == isa::kLdsDirect &&
           isa::locate(instruction, operand).place == isa::Place::Scalar;
  });
}

/// By instruction set and lanes. Never destroyed, as launches may outlive main().
struct AllBindings {
  Mutex mutex;
  std::map<std::pair<const isa::InstructionSet*, u32>, std::unique_ptr<const Bindings>> made;
};
AllBindings& all_bindings = *new AllBindings();

}  // namespace

Bindings::Bindings(const isa::InstructionSet& instruction_set, u32 lanes) : instruction_set_(instruction_set) {
  const Variant of_lanes = lanes == 32 ? Variant::Lanes32 : Variant::Lanes64;
  const BodiesByName listed = listed_bodies(instruction_set.name());
  rows_.reserve(instruction_set.rows().size());
  for (const isa::Row& row : instruction_set.rows()) {
    if (row.format == Format::VOPD) {
      Binding& binding = rows_.emplace_back();
      for (size_t half = 0; half < 2; ++half)
        binding.bodies[half] = only(find_listed(listed, single_name(halves(row)[half])), Variant::Plain);
    } else {
      rows_.push_back(bind(row, find_listed(listed, isa::base_name(row)), of_lanes));
    }
  }
}

Bindings::Binding Bindings::bind(const isa::Row& row, std::span<const Body> bodies, Variant lanes) const {
  const auto has = [&](Variant variant) { return !only(bodies, variant).empty(); };
  Binding binding{.bodies = {bodies}};
  if (has(Variant::Lanes32) || has(Variant::Lanes64)) {
    binding.bodies[0] = only(bodies, lanes);
  } else if (has(Variant::SignsNone)) {
    binding.choose = by_signs;
  } else if (has(Variant::ModeField)) {
    binding.choose = by_register;
  } else if (has(Variant::ToLds) && (row.modifiers & isa::kLds) != 0) {
    binding.choose = by_lds;
  } else if (has(Variant::Clamp) && (row.modifiers & isa::kClamp) != 0) {
    binding.choose = by_clamp;
  } else {
    binding.bodies[0] = only(bodies, Variant::Plain);
  }
  return binding;
}

const Bindings& Bindings::of(const ProcessorTraits& processor, u32 lanes) {
  const isa::InstructionSet* set = &processor.instruction_set();
  const std::lock_guard lock(all_bindings.mutex);
  std::unique_ptr<const Bindings>& bindings = all_bindings.made[{set, lanes}];
  if (bindings == nullptr) bindings = std::make_unique<const Bindings>(*set, lanes);
  return *bindings;
}

const Body* Bindings::find(const Instruction& instruction) const {
  const Binding& binding = bound(*instruction.row);
  if (binding.bodies[0].empty() || uses_gds(instruction) || reads_lds_directly(instruction)) return nullptr;
  if (binding.choose == nullptr) return binding.bodies[0].data();
  const std::span<const Body> chosen = only(binding.bodies[0], binding.choose(instruction));
  return chosen.empty() ? nullptr : chosen.data();
}

std::array<const Body*, 2> Bindings::find_halves(const isa::Row& row) const {
  std::array<const Body*, 2> found{};
  for (size_t half = 0; half < 2; ++half) {
    const std::span<const Body> bodies = bodies_of(row, half);
    if (!bodies.empty()) found[half] = bodies.data();
  }
  return found;
}

namespace {

/// Why there are no instructions of graphics, and what to do instead.
std::string without_graphics(const isa::Graphics& graphics) {
  const char* const advice = graphics.is_image
                                 ? "images, of textures and surfaces, are not emulated: read and write memory by "
                                   "pointers, or run the kernel on a GPU"
                                 : "only kernels are emulated, not the shaders of graphics, which have exports and "
                                   "interpolation";
  return text(graphics.name, " is not implemented: ", advice);
}

}  // namespace

std::string unsupported(const Bindings& bindings, const Instruction& instruction) {
  if (instruction.graphics != nullptr) return without_graphics(*instruction.graphics);
  const isa::Row& row = *instruction.row;
  if (row.format == Format::VOPD) {
    for (size_t half = 0; half < 2; ++half) {
      if (bindings.bodies_of(row, half).empty()) return text(halves(row)[half], " is not implemented");
    }
    return reads_lds_directly(instruction) ? text(row.mnemonic, " is not implemented: src_lds_direct") : std::string();
  }
  if (bindings.find(instruction) != nullptr) return {};
  const char* const because = uses_gds(instruction)             ? ": gds"
                              : reads_lds_directly(instruction) ? ": src_lds_direct"
                                                                : "";
  return text(row.mnemonic, " is not implemented", because);
}

}  // namespace wave::emulator
