// The instruction bodies, file by file. Those that work on lanes are compiled for each SIMD level; the level's
// namespace declares them in bodies.cpp. Which instructions of which processors they carry out is in binding_lists.cpp.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>  // before each_simd_level.h
#endif

#include <span>
#include <string_view>

#include "emulator/op.h"

namespace wave::emulator {

/// What tells the bodies of one name apart: the size of waves, or fields of the instruction (bindings.cpp).
enum class Variant : u8 {
  Plain,
  Lanes32,  ///< for waves of 32 lanes alone
  Lanes64,  ///< ... of 64
  Clamp,    ///< CLAMP of integers: saturates
  // dot products whose factors have signs or not, as NEG says: which of the two have some
  SignsNone,
  SignsFirst,
  SignsSecond,
  SignsBoth,
  SignsNoneClamp,
  SignsFirstClamp,
  SignsSecondClamp,
  SignsBothClamp,
  // hardware registers since GFX10, as SIMM16 says
  ModeField,    ///< a field of MODE, all of which is known
  Clock,        ///< the shader's clock
  FlatScratch,  ///< where the wave's scratch lies, which kernels of GFX10 say
  Other,        ///< all but these, and what is not known of MODE
  ToLds,        ///< a load whose LDS bit is set (before GFX940)
};

/// The routines of a body, which all do the same: one for any operation, and of some bodies others that ask for less,
/// for operations on vectors without modifiers, or with the usual ones of floats. Their scalar sources are registers.
struct Forms {
  constexpr Forms(Execute any) : general(any) {}

  /// That for an operation on these operands.
  Execute of(const VectorOperands& operands) const;

  Execute general;
  Execute rows = nullptr;       ///< where all sources are vector registers
  Execute constants = nullptr;  ///< ... or constants
  Execute scalars = nullptr;    ///< ... or scalars
  Execute modified = nullptr;   ///< ... with modifiers, but only such as it does itself
  u8 modified_does = 0;         ///< of Modifiers::asks
  u8 sources = 0;               ///< bit i: there is a source i, of lanes
  u8 masks = 0;                 ///< bit i: there is a source i, a mask of lanes, which is always a scalar
};

/// What an instruction does. The name is that of gfx942's instruction, without the encoding's suffix, or of the
/// processor's that had it first.
struct Body {
  std::string_view name;
  Forms forms;
  Variant variant = Variant::Plain;
};

std::span<const Body> scalar_bodies();
std::span<const Body> scalar_bit_bodies();
std::span<const Body> control_bodies();
std::span<const Body> hardware_register_bodies();
std::span<const Body> scalar_memory_bodies();
std::span<const Body> lane_bodies();
std::span<const Body> gws_bodies();
std::span<const Body> buffer_format_bodies();
std::span<const Body> exchange_cdna4_bodies();
std::span<const Body> scaled_conversion_bodies();

/// All bodies of this host's SIMD level.
std::span<const Body> bodies();

/// Those of one name; none where there is no such name.
std::span<const Body> bodies_named(std::string_view name);

}  // namespace wave::emulator
