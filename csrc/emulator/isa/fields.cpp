#include "emulator/isa/fields.h"

namespace wave::isa {
namespace {

constexpr size_t kFormatCount = size_t(Format::MTBUF) + 1;
constexpr size_t kFieldCount = size_t(Field::LITERAL) + 1;
constexpr unsigned kPrefixBits = 9;  // the longest prefix of an encoding
constexpr uint32_t kSdwa = 249, kDpp = 250;

using Positions = std::array<std::array<Position, kFieldCount>, kFormatCount>;

constexpr Positions make_positions() {
  Positions positions{};
#define WAVE_ISA_FIELD(format, field, low, width) \
  positions[size_t(Format::format)][size_t(Field::field)] = Position{low, width};
#include "emulator/isa/fields.inc"
  return positions;
}

struct Prefix {
  Format format = Format::SOP1;
  Position opcode;  // of no width: not an encoding
};

constexpr std::array<Prefix, 1 << kPrefixBits> make_prefixes() {
  std::array<Prefix, 1 << kPrefixBits> prefixes{};
  for (unsigned top = 0; top < prefixes.size(); ++top) {
#define WAVE_ISA_ENCODING(format, prefix, prefix_width, opcode_low, opcode_width)             \
  if (prefixes[top].opcode.width == 0 && top >> (kPrefixBits - (prefix_width)) == (prefix)) { \
    prefixes[top] = Prefix{Format::format, Position{opcode_low, opcode_width}};               \
  }
#include "emulator/isa/fields.inc"
  }
  return prefixes;
}

constexpr Positions kPositions = make_positions();
constexpr auto kPrefixes = make_prefixes();

/// The format of the two-dword forms that SRC0 announces, of a VOP1, VOP2 or VOPC word.
Format with_second_dword(Format format, uint32_t word) {
  const uint32_t src0 = word & 0x1ff;
  if (src0 != kSdwa && src0 != kDpp) return format;
  const bool sdwa = src0 == kSdwa;
  if (format == Format::VOP1) return sdwa ? Format::VOP1_SDWA : Format::VOP1_DPP;
  if (format == Format::VOP2) return sdwa ? Format::VOP2_SDWA : Format::VOP2_DPP;
  return sdwa ? Format::VOPC_SDWA : Format::VOPC;  // VOPC takes no DPP: 250 is no operand either
}

}  // namespace

Position position(Format format, Field field) { return kPositions[size_t(format)][size_t(field)]; }

Encoding classify(uint32_t word) {
  const Prefix& prefix = kPrefixes[word >> (32 - kPrefixBits)];
  if (prefix.opcode.width == 0) return {};
  Encoding encoding{prefix.format, 0, true};
  encoding.opcode = static_cast<uint16_t>(word >> prefix.opcode.low & ((1u << prefix.opcode.width) - 1));
  switch (prefix.format) {
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC:
      encoding.format = with_second_dword(prefix.format, word);
      break;
    case Format::FLAT: {  // by SEG; the fourth segment is reserved
      constexpr Format kSegments[] = {Format::FLAT, Format::SCRATCH, Format::GLOBAL, Format::FLAT};
      const uint32_t segment = word >> 14 & 3;
      encoding.format = kSegments[segment];
      encoding.known = segment != 3;
      break;
    }
    default:
      break;
  }
  return encoding;
}

uint8_t dwords(Format format) {
  switch (format) {
    case Format::SOP1:
    case Format::SOP2:
    case Format::SOPK:
    case Format::SOPC:
    case Format::SOPP:
    case Format::VOP1:
    case Format::VOP2:
    case Format::VOPC:
      return 1;
    default:
      return 2;
  }
}

uint32_t Instruction::operator[](Field field) const {
  if (row == nullptr) return 0;
  if (field == Field::LITERAL) return literal;
  const Position where = position(row->format, field);
  return static_cast<uint32_t>(bits >> where.low) & ((1u << where.width) - 1);
}

}  // namespace wave::isa
