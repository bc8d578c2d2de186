// Copies and fills of memory, in the order of streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/address_span.h"
#include "hip_emulator/hip_handles.h"
#include "hip_emulator/runtime.h"

namespace wave::hip_emulator {

/// Rows of bytes in memory: `pitch` bytes lie from one row to the next, `slice` from one plane of rows to the next.
struct Rows {
  void* begin;
  size_t pitch = 0;
  size_t slice = 0;
};

/// How many bytes a row has, how many rows a plane, and how many planes there are.
struct RowCounts {
  size_t width;
  size_t height = 1;
  size_t depth = 1;
};

/// What a copy of rows works on.
struct RowCopy {
  Rows to;
  Rows from;
  RowCounts counts;
};

/// Throws hipErrorInvalidMemcpyDirection.
void check_kind(hip::MemcpyKind kind);
/// Of a copy to a symbol or from it, which lies on the device: `other` says the same. Throws as check_kind() does.
void check_symbol_kind(hip::MemcpyKind kind, hip::MemcpyKind other);

/// What hipMemcpy3D asks for. Throws Failure where it makes no sense.
RowCopy rows_of(const hip::Copy3d* copy);

/// What a fill writes: `value` in each element of 1, 2 or 4 bytes.
struct Pattern {
  uint32_t value;
  uint32_t element_size;
};

enum class Wait { No, Yes };

/// The allocation that bytes lie in, or none. Throws hipErrorInvalidValue where it was freed or they end past its end,
/// and where the process has no such memory, as far as the first and the last of them tell.
std::optional<Allocation> check_span(AddressSpan bytes);

/// When an operation runs that was check_span()ed: of one in a graph, memory may have been freed since, and graphs' own
/// may have been at any time. Throws hipErrorIllegalAddress, which is an error of the device then.
void check_again(Via via, AddressSpan bytes);

/// The first to the last byte of rows; as many bytes as a number can say where they are more.
AddressSpan span_of(const Rows& rows, const RowCounts& counts);

/// check_span() of rows. They may lie over each other, but are no more bytes than the allocation has, as in AMD's
/// runtime: else a few numbers would make work for days.
std::optional<Allocation> check_rows(const Rows& rows, const RowCounts& counts);

/// Memory that the runtime did not allocate is pageable: the source is read before the call returns, and what such a
/// destination gets is there when it returns (HIP's "Memory copy" semantics). Under capture both wait for the replay.
/// Throws where the bytes do not lie in one allocation, or in none of which the runtime knows.
void copy(const Rows& to, const Rows& from, const RowCounts& counts, hip::Stream stream, Wait wait);
/// The same for one row.
void copy(void* to, const void* from, size_t size, hip::Stream stream, Wait wait);

/// As functions do it that wait for the end, in the null stream, and those that do not.
void copy_now(const RowCopy& work);
void copy_later(const RowCopy& work, hip::Stream stream);

void fill(const Rows& to, const RowCounts& counts, Pattern pattern, hip::Stream stream, Wait wait);

/// The same as operations of a graph. They throw hipErrorIllegalAddress where memory was freed since. A node tells what
/// it was `given`, or what it copies.
StreamOperation copy_operation(const RowCopy& copy, const hip::Copy3d& given);
StreamOperation copy_operation(const RowCopy& copy, hip::MemcpyKind kind = hip::kCopyDefault);
StreamOperation fill_operation(const Rows& to, const RowCounts& counts, Pattern pattern);

}  // namespace wave::hip_emulator
