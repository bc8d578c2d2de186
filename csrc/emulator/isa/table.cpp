// The rows of every processor that this build knows, and the look-up by processor.
#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <vector>

#include "base/fork_safe.h"
#include "emulator/isa/fields.h"
#include "emulator/isa/isa.h"
#include "emulator/isa/operand.h"

namespace wave::isa {
namespace {

using enum Field;
using enum Kind;
using enum OperandKind;
using enum OperandType;

constexpr Operand read(Field field, OperandKind kind, OperandType type, uint8_t dwords) {
  return {field, kind, type, dwords, false, true};
}

constexpr Operand write(Field field, OperandKind kind, OperandType type, uint8_t dwords) {
  return {field, kind, type, dwords, true, false};
}

constexpr Operand update(Field field, OperandKind kind, OperandType type, uint8_t dwords) {
  return {field, kind, type, dwords, true, true};
}

/// The column that rows of memory and of matrices have.
struct Detail {
  MemoryAccess memory;
  MatrixProduct matrix;
};

constexpr Detail load(uint8_t bytes, uint8_t addresses = 1, uint8_t stride = 0) {
  return {{MemoryAccess::Direction::Load, bytes, addresses, stride}, {}};
}

constexpr Detail store(uint8_t bytes, uint8_t addresses = 1, uint8_t stride = 0) {
  return {{MemoryAccess::Direction::Store, bytes, addresses, stride}, {}};
}

constexpr Detail atomic(uint8_t bytes, uint8_t addresses = 1, uint8_t stride = 0) {
  return {{MemoryAccess::Direction::Atomic, bytes, addresses, stride}, {}};
}

/// An atomic that stores what it is given, whatever was there.
constexpr Detail exchange(uint8_t bytes, uint8_t addresses = 1, uint8_t stride = 0) {
  return {{MemoryAccess::Direction::Atomic, bytes, addresses, stride, true}, {}};
}

constexpr Detail matrix(uint8_t m, uint8_t n, uint8_t k, uint8_t blocks, Element d, Element a, Element b,
                        uint8_t passes) {
  return {{}, {m, n, k, blocks, d, a, b, passes}};
}

constexpr Row make_row(Generation generation, bool precedes_gfx940, Format format, uint16_t opcode,
                       const char* mnemonic, uint64_t mask, uint64_t match, uint64_t ignored, uint32_t modifiers,
                       Kind kind, uint64_t traits, Detail detail, std::initializer_list<Operand> operands) {
  Row row{generation,
          format,
          opcode,
          kind,
          mnemonic,
          mask,
          match,
          ignored,
          modifiers,
          traits,
          detail.memory,
          detail.matrix,
          static_cast<uint8_t>(operands.size()),
          precedes_gfx940,
          {}};
  std::copy(operands.begin(), operands.end(), row.operands);
  return row;
}

#define WAVE_ISA_ROW(format, opcode, mnemonic, mask, match, ignored, modifiers, kind, traits, detail, ...)        \
  make_row(kGeneration, kPrecedesGfx940, Format::format, opcode, mnemonic, mask, match, ignored, modifiers, kind, \
           traits, detail, __VA_ARGS__),
constexpr bool kPrecedesGfx940 = false;
namespace gfx9 {
constexpr Generation kGeneration = Generation::GFX9;
constexpr Row kGfx942[] = {
#include "emulator/isa/gfx942.inc"
};
constexpr Row kGfx950[] = {
#include "emulator/isa/gfx950.inc"
};
namespace before_gfx940 {
constexpr bool kPrecedesGfx940 = true;
constexpr Row kGfx90a[] = {
#include "emulator/isa/gfx90a.inc"
};
constexpr Row kGfx9Generic[] = {
#include "emulator/isa/gfx9-generic.inc"
};
}  // namespace before_gfx940
}  // namespace gfx9
namespace gfx10 {
constexpr Generation kGeneration = Generation::GFX10;
constexpr Row kGfx1030[] = {
#include "emulator/isa/gfx1030.inc"
};
}  // namespace gfx10
namespace gfx11 {
constexpr Generation kGeneration = Generation::GFX11;
constexpr Row kGfx1100[] = {
#include "emulator/isa/gfx1100.inc"
};
constexpr Row kGfx1150[] = {
#include "emulator/isa/gfx1150.inc"
};
}  // namespace gfx11
namespace gfx12 {
constexpr Generation kGeneration = Generation::GFX12;
constexpr Row kGfx1201[] = {
#include "emulator/isa/gfx1201.inc"
};
}  // namespace gfx12
#undef WAVE_ISA_ROW

/// The format that classify() gives for instructions of a row: it does not tell VOP3B from VOP3, and MAI from VOP3P.
Format classified_format(Format format) {
  switch (format) {
    case Format::VOP3B:
      return Format::VOP3;
    case Format::VOP3B_DPP:
      return Format::VOP3_DPP;
    case Format::VOP3B_DPP8:
      return Format::VOP3_DPP8;
    case Format::MAI:
      return Format::VOP3P;
    default:
      return format;
  }
}

/// Those of gfx9-generic: gfx90a's, and its own in their places.
std::vector<Row> make_generic_rows() {
  using namespace gfx9::before_gfx940;
  std::vector<Row> rows(std::begin(kGfx90a), std::end(kGfx90a));
  for (const Row& own : kGfx9Generic) {
    const auto place = std::ranges::find_if(
        rows, [&](const Row& row) { return row.format == own.format && row.opcode >= own.opcode; });
    if (place != rows.end() && place->opcode == own.opcode) {
      *place = own;
    } else {
      rows.insert(place, own);
    }
  }
  return rows;
}

}  // namespace

std::string_view base_name(const Row& row) {
  std::string_view name = row.mnemonic;
  for (const std::string_view suffix : {"_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

InstructionSet::InstructionSet(std::string_view name, Generation generation, std::span<const Row> rows,
                               bool has_aligned_tuples)
    : name_(name), generation_(generation), rows_(rows), has_aligned_tuples_(has_aligned_tuples) {
  static_assert(kFormats == std::size(isa::kFormats), "kFormats of InstructionSet names the last format");
  for (size_t index = 0; index < rows.size(); ++index) {
    index_[size_t(classified_format(rows[index].format))][rows[index].opcode] = static_cast<uint16_t>(index + 1);
  }
}

namespace {
using Sets = std::array<InstructionSet, 8>;
Lazy<std::vector<Row>>& generic_rows = *new Lazy<std::vector<Row>>();
Lazy<Sets>& all_sets = *new Lazy<Sets>();
}  // namespace

const InstructionSet* InstructionSet::find(std::string_view name) {
  const auto& sets = all_sets.get([] {
    return Sets{InstructionSet("gfx9-generic", gfx9::kGeneration, generic_rows.get(make_generic_rows)),
                InstructionSet("gfx90a", gfx9::kGeneration, gfx9::before_gfx940::kGfx90a, true),
                InstructionSet("gfx942", gfx9::kGeneration, gfx9::kGfx942, true),
                InstructionSet("gfx950", gfx9::kGeneration, gfx9::kGfx950, true),
                InstructionSet("gfx1030", gfx10::kGeneration, gfx10::kGfx1030),
                InstructionSet("gfx1100", gfx11::kGeneration, gfx11::kGfx1100),
                InstructionSet("gfx1150", gfx11::kGeneration, gfx11::kGfx1150),
                InstructionSet("gfx1201", gfx12::kGeneration, gfx12::kGfx1201)};
  });
  for (const InstructionSet& set : sets) {
    if (set.name() == name) return &set;
  }
  return nullptr;
}

const Row* InstructionSet::find_row(uint64_t bits, uint64_t upper) const {
  const Encoding encoding = classify(generation_, bits, upper);
  if (!encoding.known) return nullptr;
  const uint16_t index = index_[size_t(encoding.format)][encoding.opcode];
  return index == 0 ? nullptr : &rows_[index - 1u];
}

}  // namespace wave::isa
