// Formats of elements of typed buffers: what the bits of an element are (DATA_FORMAT), and which numbers (NUM_FORMAT).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "emulator/isa/isa.h"

namespace wave::isa {

/// NUM_FORMAT.
enum class NumberFormat : uint8_t { Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Reserved, Float };

inline constexpr std::array<std::string_view, 8> kNumberFormatNames = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                                                       "UINT",  "SINT",  "RESERVED_6", "FLOAT"};

/// By DATA_FORMAT; the sizes of the components, the highest bits of the element first.
inline constexpr std::array<std::string_view, 16> kDataFormatNames = {
    "INVALID",    "8",          "16",      "8_8",   "32",          "16_16",    "10_11_11",    "11_11_10",
    "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};

struct BufferFormat {
  uint8_t data = 0;  ///< DATA_FORMAT; 0: there is no such format
  NumberFormat number = NumberFormat::Unorm;
};

/// The format that a number stands for since GFX10, where one number says both (RDNA2 to RDNA4 ISA documents, "Buffer
/// Resource Descriptor"; LLVM's names BUF_FMT_*): data formats in their order, each with the number formats it has.
constexpr BufferFormat unified_format(Generation generation, uint32_t format) {
  using enum NumberFormat;
  constexpr NumberFormat kSix[] = {Unorm, Snorm, Uscaled, Sscaled, Uint, Sint},
                         kSeven[] = {Unorm, Snorm, Uscaled, Sscaled, Uint, Sint, Float}, kThree[] = {Uint, Sint, Float},
                         kFour[] = {Unorm, Snorm, Uint, Sint}, kOnly[] = {Float};
  const bool is_gfx10 = generation == Generation::GFX10;  // later ones have less of three formats
  const std::span<const NumberFormat> small_floats = is_gfx10 ? std::span<const NumberFormat>(kSeven) : kOnly;
  const std::span<const NumberFormat> low_alpha = is_gfx10 ? std::span<const NumberFormat>(kSix) : kFour;
  const std::span<const NumberFormat> groups[] = {{},     kSix,         kSeven,       kSix,      kThree,
                                                  kSeven, small_floats, small_floats, low_alpha, kSix,
                                                  kSix,   kThree,       kSeven,       kThree,    kThree};
  size_t left = format;  // from 1 on
  for (uint8_t data = 0; const std::span<const NumberFormat> numbers : groups) {
    if (left != 0 && left <= numbers.size()) return {data, numbers[left - 1]};
    left -= std::min(left, numbers.size());
    ++data;
  }
  return {};
}

}  // namespace wave::isa
