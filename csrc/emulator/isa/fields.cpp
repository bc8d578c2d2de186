#include "emulator/isa/fields.h"

#include "emulator/isa/features.h"

namespace wave::isa {
namespace {

constexpr unsigned kPrefixBits = 9;             // the longest prefix of an encoding
constexpr uint32_t kLoadScales = 0x2c;          // V_MFMA_LD_SCALE_B32, the first half of VOP3PX2
constexpr unsigned kAbid = 11, kAbidMask = 15;  // of the second half
constexpr uint32_t kSdwaCode = 249, kDppCode = 250, kDpp8Code = 233, kDpp8FetchInactiveCode = 234;

struct Prefix {
  Format format = Format::SOP1;
  Position opcode;      // of no width: not an encoding
  uint8_t further = 0;  // where the opcode's highest bit is, if not beside the others
};

struct Layout {
  std::array<std::array<Position, std::size(kFields)>, std::size(kFormats)> positions{};
  std::array<Prefix, 1 << kPrefixBits> prefixes{};
};

#define WAVE_ISA_FIELD(format, field, low, width) \
  layout.positions[size_t(Format::format)][size_t(Field::field)] = Position{low, width};
#define WAVE_ISA_SPLIT_ENCODING(format, prefix, prefix_width, opcode_low, opcode_width, opcode_high)                \
  for (unsigned top = 0; top < layout.prefixes.size(); ++top) {                                                     \
    const bool fits = top >> (kPrefixBits - (prefix_width)) == (prefix);                                            \
    Prefix& entry = layout.prefixes[top];                                                                           \
    if (fits && entry.opcode.width == 0) entry = {Format::format, Position{opcode_low, opcode_width}, opcode_high}; \
  }
#define WAVE_ISA_ENCODING(format, prefix, prefix_width, opcode_low, opcode_width) \
  WAVE_ISA_SPLIT_ENCODING(format, prefix, prefix_width, opcode_low, opcode_width, 0)

constexpr Layout gfx9_layout() {
  Layout layout;
#include "emulator/isa/layout_gfx9.inc"
  return layout;
}
constexpr Layout gfx10_layout() {
  Layout layout;
#include "emulator/isa/layout_gfx10.inc"
  return layout;
}
constexpr Layout gfx11_layout() {
  Layout layout;
#include "emulator/isa/layout_gfx11.inc"
  return layout;
}
constexpr Layout gfx12_layout() {
  Layout layout;
#include "emulator/isa/layout_gfx12.inc"
  return layout;
}
#undef WAVE_ISA_FIELD
#undef WAVE_ISA_ENCODING
#undef WAVE_ISA_SPLIT_ENCODING

constexpr Layout kLayouts[] = {gfx9_layout(), gfx10_layout(), gfx11_layout(), gfx12_layout()};

/// A format, and its forms with a further dword.
struct FormatForms {
  Format format, sdwa, dpp, dpp8;
};
constexpr FormatForms kForms[] = {
    {Format::VOP1, Format::VOP1_SDWA, Format::VOP1_DPP, Format::VOP1_DPP8},
    {Format::VOP2, Format::VOP2_SDWA, Format::VOP2_DPP, Format::VOP2_DPP8},
    {Format::VOPC, Format::VOPC_SDWA, Format::VOPC_DPP, Format::VOPC_DPP8},
    {Format::VOP3, Format::VOP3, Format::VOP3_DPP, Format::VOP3_DPP8},
    {Format::VOP3P, Format::VOP3P, Format::VOP3P_DPP, Format::VOP3P_DPP8},
};

/// The form with a further dword that SRC0 announces, of a format that has such forms, or the format itself. VOPC of
/// GFX9 and GFX10 takes no DPP: there 250 is no operand either.
Format with_further_dword(Generation generation, Format format, uint64_t bits) {
  const Position source = position(generation, format, Field::SRC0);
  const uint32_t code = static_cast<uint32_t>(bits >> source.low) & 0x1ff;
  for (const FormatForms& forms : kForms) {
    if (forms.format != format) continue;
    const Features& family = features(generation);
    Format form = format;
    if (code == kSdwaCode && family.has_sdwa) form = forms.sdwa;
    if (code == kDppCode) form = forms.dpp;
    if ((code == kDpp8Code || code == kDpp8FetchInactiveCode) && family.has_dpp8) form = forms.dpp8;
    return position(generation, form, Field::SRC0).width != 0 ? form : format;
  }
  return format;
}

}  // namespace

Position position(Generation generation, Format format, Field field) {
  return kLayouts[size_t(generation)].positions[size_t(format)][size_t(field)];
}

Format without_further_dword(Format format) {
  for (const FormatForms& forms : kForms) {
    if (format == forms.sdwa || format == forms.dpp || format == forms.dpp8) return forms.format;
  }
  return format;
}

Encoding classify(Generation generation, uint64_t bits, uint64_t upper) {
  const uint32_t word = static_cast<uint32_t>(bits);
  const Prefix& prefix = kLayouts[size_t(generation)].prefixes[word >> (32 - kPrefixBits)];
  if (prefix.opcode.width == 0) return {};
  Encoding encoding{with_further_dword(generation, prefix.format, bits), 0, true};
  encoding.opcode = static_cast<uint16_t>(word >> prefix.opcode.low & ((1u << prefix.opcode.width) - 1));
  if (prefix.further != 0)
    encoding.opcode |= static_cast<uint16_t>((bits >> prefix.further & 1) << prefix.opcode.width);
  if (prefix.format == Format::VOP3P && encoding.opcode == kLoadScales && features(generation).has_scaled_products) {
    const Encoding product = classify(generation, upper, 0);
    return {Format::VOP3PX2, product.opcode, product.format == Format::VOP3P && (upper >> kAbid & kAbidMask) == 1};
  }
  if (const uint8_t at = features(generation).segment;
      prefix.format == Format::FLAT && at != 0) {  // the fourth is reserved
    constexpr Format kSegments[] = {Format::FLAT, Format::SCRATCH, Format::GLOBAL, Format::FLAT};
    const uint32_t segment = word >> at & 3;
    encoding.format = kSegments[segment];
    encoding.known = segment != 3;
  }
  return encoding;
}

uint8_t dwords(Generation generation, Format format) {
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
    case Format::VOP3_DPP:
    case Format::VOP3B_DPP:
    case Format::VOP3P_DPP:
    case Format::VOP3_DPP8:
    case Format::VOP3B_DPP8:
    case Format::VOP3P_DPP8:
      return 3;
    case Format::FLAT:
    case Format::GLOBAL:
    case Format::SCRATCH:
    case Format::MUBUF:
      return features(generation).memory_dwords;
    case Format::VOP3PX2:
      return 4;
    default:
      return 2;
  }
}

bool takes_literals(Generation generation, Format format) {
  if (dwords(generation, format) == 1) return true;
  const bool is_long =
      format == Format::VOP3 || format == Format::VOP3B || format == Format::VOP3P || format == Format::VOPD;
  return features(generation).has_long_literals && is_long;
}

uint32_t Instruction::operator[](Field field) const {
  if (row == nullptr) return 0;
  if (field == Field::LITERAL) return literal;
  const Position where = position(row->generation, row->format, field);
  const uint64_t all = where.low < 64 ? bits >> where.low : upper >> (where.low - 64);
  return static_cast<uint32_t>(all) & ((1u << where.width) - 1);
}

}  // namespace wave::isa
