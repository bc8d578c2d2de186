// Addresses of MUBUF and MTBUF instructions (ISA document, "Buffer Addressing", "Buffer Resource Descriptor").
//
// Operands of an Op: src[0] is the first row of index and offset, flags say which of them there are; src[1] is the
// scalar offset, src[2] the first scalar register of the descriptor, imm the immediate offset, dst the row of the data,
// loaded or stored.
#pragma once

#include "base/address_span.h"
#include "emulator/scalar.h"

namespace wave::emulator {

/// A buffer resource descriptor (ISA document, "Buffer Resource Descriptor") as one instruction uses it.
///
/// Out of its range, loads give zero and stores and atomics have no effect; such lanes are not checked against the
/// launch's memory. Loads and stores of several dwords are checked, and swizzled, dword by dword. NUM_RECORDS counts
/// records where the instruction gives an index (IDXEN) and the stride is not zero: then the index alone is checked,
/// and with swizzling the offset against the stride. Otherwise it counts bytes, and a dword of which any is out of
/// range is wholly so. That IDXEN matters, to swizzling too, is in LLVM's notes on buffer intrinsics for gfx9; kernels
/// in use rely on it: they store four dwords at an index of a buffer whose stride is one.
struct Buffer {
  Buffer(const Wave& wave, const BufferOperands& operands)
      : indexed(operands.index_enabled), offset_enabled(operands.offset_enabled), offset(operands.offset) {
    const u32* word = &wave.s[operands.descriptor];
    base = u64{word[1] & 0xffffu} << 32 | word[0];
    stride = word[1] >> 16 & 0x3fffu;
    records = word[2];
    index_stride = 8u << (word[3] >> 21 & 3u);
    add_lane = word[3] >> 23 & 1u;
    if (add_lane) stride |= (word[3] >> 15 & 15u) << 14;  // DATA_FORMAT has the upper bits then
    structured = indexed && stride != 0;
    swizzled = (word[1] >> 31 & 1u) && (indexed || add_lane);
    scalar_offset = read_code32(wave, operands.scalar_offset);
  }

  /// Whether `size` bytes at `byte` of record `index` are in range.
  bool contains(u64 index, u64 byte, u32 size) const {
    if (structured) return index < records && (!swizzled || AddressSpan(0, stride).contains({byte, size}));
    return AddressSpan(0, records).contains({scalar_offset + stride * index + byte, size});
  }

  u64 address(u64 index, u64 byte) const {
    if (!swizzled) return base + scalar_offset + stride * index + byte;
    constexpr u32 kElement = 4;
    const u64 row = index / index_stride * stride + byte / kElement * kElement;
    return base + scalar_offset + row * index_stride + index % index_stride * kElement + byte % kElement;
  }

  /// The record and the byte of it that a lane accesses; `rows` are those of index and offset.
  u64 index(const LaneRow* rows, int lane) const {
    return (indexed ? rows[0].lane[lane] : 0) + u64{add_lane ? static_cast<u32>(lane) : 0};
  }
  u64 byte(const LaneRow* rows, int lane) const {
    return u64{offset} + (offset_enabled ? rows[indexed ? 1 : 0].lane[lane] : 0);
  }

  bool indexed, offset_enabled, add_lane, structured, swizzled;
  u32 offset;  ///< the instruction's
  u64 base, stride, records, index_stride, scalar_offset;
};

}  // namespace wave::emulator
