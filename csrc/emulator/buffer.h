// Addresses of MUBUF and MTBUF instructions (ISA document, "Buffer Addressing", "Buffer Resource Descriptor").
#pragma once

#include "base/address_span.h"
#include "base/error.h"
#include "emulator/scalar.h"

namespace wave::emulator {

/// In what families of processors differ.
struct BufferRules {
  bool has_range_modes;          ///< OOB_SELECT says what is checked
  bool has_element_sizes;        ///< SWIZZLE_ENABLE has two bits, which say how large an element is: else of four bytes
  bool has_stride_scale;         ///< STRIDE is multiplied
  bool index_replaces_lane;      ///< that of ADD_TID_ENABLE, and without either nothing is swizzled
  bool repeats_first_component;  ///< where a store has fewer than the format, else those are zero
  bool keeps_other_half;         ///< of a register of which a D16 load sets one, which else is zero
};
inline constexpr BufferRules kGfx9Buffers{false, false, false, false, false, false};
inline constexpr BufferRules kGfx10Buffers{true, false, false, false, false, true};
inline constexpr BufferRules kGfx11Buffers{true, true, false, true, false, true};
inline constexpr BufferRules kGfx12Buffers{true, true, true, true, true, true};

/// A buffer resource descriptor (ISA document, "Buffer Resource Descriptor") as one instruction uses it.
///
/// Out of its range, loads give zero and stores and atomics have no effect; such lanes are not checked against the
/// launch's memory. Loads and stores of several dwords are checked, and swizzled, dword by dword; but 16 bytes that
/// begin in an element of 16 bytes lie side by side. A dword of which any byte is out of range is wholly so.
///
/// On GFX9 NUM_RECORDS counts records where the instruction gives an index (IDXEN) and the stride is not zero: then the
/// index alone is checked, and with swizzling the offset against the stride. Otherwise it counts bytes. That IDXEN
/// matters, to swizzling too, is in LLVM's notes on buffer intrinsics for gfx9; kernels in use rely on it: they store
/// four dwords at an index of a buffer whose stride is one.
///
/// There ADD_TID_ENABLE without an index (IDXEN) is scratch, of which nothing is checked, and the lane is not added to
/// the index of a buffer that is not swizzled, as AMD says of a gfx950 (ROCm/rocm-systems, emulation/rocjitsu,
/// addr_calc_buffer.h).
///
/// Since GFX10 OOB_SELECT says what is checked (RDNA2 to RDNA4 ISA documents, "Range Checking"), and a descriptor
/// without a format, but for one that adds the lane, has nothing in range ("Unbound Resources").
///
/// Of a gfx1100 and a gfx1201 AMD measured what the documents do not say (rocjitsu, tests/buffer_format_test.cpp): an
/// index takes the lane's place, without either nothing is swizzled, and SOFFSET never is.
struct Buffer {
  /// Throws Fault where the descriptor is no buffer's, or has a value that is reserved.
  Buffer(const Wave& wave, const BufferOperands& operands, const BufferRules& rules = kGfx9Buffers)
      : indexed(operands.index_enabled), offset_enabled(operands.offset_enabled), offset(operands.offset) {
    const u32* word = &wave.s[operands.descriptor];
    base = u64{word[1] & 0xffffu} << 32 | word[0];
    stride = word[1] >> 16 & 0x3fffu;
    records = word[2];
    index_stride = 8u << (word[3] >> 21 & 3u);
    add_lane = word[3] >> 23 & 1u;
    scalar_offset = read_code32(wave, operands.scalar_offset);
    if (rules.has_range_modes) {
      read_range_mode(word, rules);
    } else {
      const bool is_scratch = add_lane && !indexed;
      swizzled = (word[1] >> 31 & 1u) && (indexed || add_lane);
      add_lane = add_lane && (swizzled || !indexed);
      if (add_lane) stride |= (word[3] >> 15 & 15u) << 14;  // DATA_FORMAT has the upper bits then
      checks_index = indexed && stride != 0;
      checks_offset = checks_index && swizzled;
      checks_bytes = !checks_index && !is_scratch;
      checked_stride = stride;
    }
  }

  /// Whether `size` bytes at `byte` of record `index` are in range.
  bool contains(u64 index, u64 byte, u32 size) const {
    if (is_empty || (checks_index && index >= records)) return false;
    if (checks_offset && !AddressSpan(0, stride).contains({byte, size})) return false;
    if (!checks_bytes) return true;
    return AddressSpan(0, records).contains({scalar_offset + checked_stride * index + byte, size});
  }

  u64 address(u64 index, u64 byte) const {
    if (!swizzled) return base + scalar_offset + stride * index + byte;
    const u64 row = index / index_stride * stride + byte / element * element;
    return base + scalar_offset + row * index_stride + index % index_stride * element + byte % element;
  }
  /// That of a dword, or less, `at` bytes behind the beginning of an access.
  u64 address(u64 index, u64 byte, u32 at) const {
    return has_long_elements() ? address(index, byte) + at : address(index, byte + at);
  }
  bool has_long_elements() const { return element > sizeof(u32); }

  /// The record and the byte of it that a lane accesses; `rows` are those of index and offset.
  u64 index(const LaneRow* rows, int lane) const {
    return (indexed ? rows[0].lane[lane] : 0) + u64{add_lane ? static_cast<u32>(lane) : 0};
  }
  /// The sum has 32 bits: compilers take apart what they add, and count from negative offsets on (LLVM's
  /// SITargetLowering, splitBufferOffsets, which keeps sums together for gfx1250 alone).
  u64 byte(const LaneRow* rows, int lane) const {
    return offset + (offset_enabled ? rows[indexed ? 1 : 0].lane[lane] : 0);
  }

  bool indexed, offset_enabled, add_lane, swizzled;
  bool is_empty = false;       ///< nothing is in range
  bool checks_index = false;   ///< against the number of records
  bool checks_offset = false;  ///< against the stride
  bool checks_bytes = false;   ///< all of the offset, and that of SOFFSET, against the number of records
  u32 offset;                  ///< the instruction's
  u32 element = 4;             ///< bytes, where it is swizzled
  u64 base, stride, records, index_stride, scalar_offset;
  u64 checked_stride = 0;  ///< with which the index is a part of the bytes that are checked

 private:
  void read_range_mode(const u32* word, const BufferRules& rules) {
    enum Mode : u32 { kStructured, kIndex, kUnchecked, kRaw };
    constexpr u32 kScales[] = {1, 4, 8, 32};
    const u32 swizzle = rules.has_element_sizes ? word[1] >> 30 : word[1] >> 31,
              format = word[3] >> 12 & (rules.has_element_sizes ? 63u : 127u), mode = word[3] >> 28 & 3u,
              type = word[3] >> 30;
    if (type != 0) fault(text("the descriptor is no buffer's: its TYPE is ", type, ", expected 0"));
    if (swizzle == 2) fault("the buffer's descriptor has SWIZZLE_ENABLE 2, which is reserved: expected 0, 1 or 3");
    if (rules.has_stride_scale) stride *= kScales[word[3] >> 18 & 3u];
    is_empty = (format == 0 && !add_lane) || (mode == kUnchecked && records == 0);
    swizzled = swizzle != 0;
    if (rules.index_replaces_lane) {
      swizzled = swizzled && (indexed || add_lane);
      add_lane = add_lane && !indexed;
    }
    if (swizzle == 3) element = 16;
    checks_offset = mode == kStructured || (mode == kRaw && swizzled && stride != 0);
    checks_index = checks_offset || mode == kIndex;
    checks_bytes = mode == kRaw && !checks_offset;
  }
};

}  // namespace wave::emulator
