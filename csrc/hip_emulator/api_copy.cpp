// Copies and fills of rectangles and boxes, and between devices.
#include "hip_emulator/api.h"
#include "hip_emulator/array.h"
#include "hip_emulator/release.h"
#include "hip_emulator/transfer.h"

namespace wave::hip {

namespace {

RowCopy rectangle(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                  MemcpyKind kind) {
  check_kind(kind);
  require(height <= 1 || (width <= to_pitch && width <= from_pitch), hipErrorInvalidPitchValue,
          "a row is longer than the pitch");
  return {{to, to_pitch}, {const_cast<void*>(from), from_pitch}, {width, height}};
}

/// Where a side of a hip_Memcpy2D lies: its type says which field does. Rows without a pitch are as long as the copy's.
Rows side_of(const Copy2d::Side& side, const RowCounts& counts) {
  const auto& types = release().memory_type;
  if (side.type == types.array) {
    require(side.array != nullptr);
    return find_array(side.array)->box({side.x, side.y, 0}, counts);
  }
  char* const begin = static_cast<char*>(side.type == types.host ? side.host : side.device);
  const size_t pitch = side.pitch != 0 ? side.pitch : counts.width;
  return {begin + side.y * pitch + side.x, pitch};
}

RowCopy rectangle(const Copy2d* copy) {
  require(copy != nullptr);
  const RowCounts counts{copy->width, copy->height};
  return {side_of(copy->to, counts), side_of(copy->from, counts), counts};
}

/// A fill of rows, each of `width` elements.
template <class T>
void fill_rows(void* to, size_t pitch, T value, size_t width, size_t height, size_t depth, size_t slice, Stream stream,
               Wait wait) {
  require(width <= ~size_t{0} / sizeof(T));
  const size_t bytes = width * sizeof(T);
  require(bytes <= pitch || (height <= 1 && depth <= 1), hipErrorInvalidPitchValue, "a row is longer than the pitch");
  if (wait == Wait::Yes) check_unsafe_copy();
  fill({to, pitch, slice}, {bytes, height, depth}, {static_cast<uint32_t>(value), sizeof(T)}, stream, wait);
}

void fill_box(const PitchedPointer& to, int value, const Extent& extent, Stream stream, Wait wait) {
  size_t slice = 0;
  const bool overflows = __builtin_mul_overflow(to.pitch, to.height, &slice);
  require(!overflows || extent.depth <= 1, hipErrorInvalidValue, "a plane of 2^64 bytes or more");
  fill_rows(to.pointer, to.pitch, static_cast<uint8_t>(value), extent.width, extent.height, extent.depth, slice, stream,
            wait);
}

void check_devices(int to, int from) {
  runtime().device(to);
  runtime().device(from);
}

RowCopy rows_between(const PeerCopy3d* copy) {
  require(copy != nullptr);
  const auto& [from, to, extent] = *copy;
  check_devices(to.device, from.device);
  const Copy3d same{from.array, from.position, from.memory, to.array, to.position, to.memory, extent, kCopyDefault};
  return rows_of(&same);
}

}  // namespace

Error hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                  MemcpyKind kind) {
  return call(__func__, [&] { copy_now(rectangle(to, to_pitch, from, from_pitch, width, height, kind)); });
}

Error hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                       MemcpyKind kind, Stream stream) {
  return call(__func__, [&] { copy_later(rectangle(to, to_pitch, from, from_pitch, width, height, kind), stream); });
}

Error hipMemcpyParam2D(const Copy2d* copy) {
  return call(__func__, [&] { copy_now(rectangle(copy)); });
}

Error hipMemcpyParam2DAsync(const Copy2d* copy, Stream stream) {
  return call(__func__, [&] { copy_later(rectangle(copy), stream); });
}

Error hipDrvMemcpy2DUnaligned(const Copy2d* copy) {
  return call(__func__, [&] { copy_now(rectangle(copy)); });
}

Error hipMemcpy3D(const Copy3d* copy) {
  return call(__func__, [&] { copy_now(rows_of(copy)); });
}

Error hipMemcpy3DAsync(const Copy3d* copy, Stream stream) {
  return call(__func__, [&] { copy_later(rows_of(copy), stream); });
}

Error hipMemcpyWithStream(void* to, const void* from, size_t size, MemcpyKind kind, Stream stream) {
  return call(__func__, [&] {
    check_kind(kind);
    copy(to, from, size, stream, Wait::Yes);
  });
}

Error hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t size) {
  return call(__func__, [&] {
    check_devices(to_device, from_device);
    check_unsafe_copy();
    copy(to, from, size, nullptr, Wait::Yes);
  });
}

Error hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t size, Stream stream) {
  return call(__func__, [&] {
    check_devices(to_device, from_device);
    copy(to, from, size, stream, Wait::No);
  });
}

Error hipMemcpy3DPeer(PeerCopy3d* copy) {
  return call(__func__, [&] { copy_now(rows_between(copy)); });
}

Error hipMemcpy3DPeerAsync(PeerCopy3d* copy, Stream stream) {
  return call(__func__, [&] { copy_later(rows_between(copy), stream); });
}

Error hipMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return call(__func__,
              [&] { fill_rows(to, pitch, static_cast<uint8_t>(value), width, height, 1, 0, nullptr, Wait::Yes); });
}

Error hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, Stream stream) {
  return call(__func__,
              [&] { fill_rows(to, pitch, static_cast<uint8_t>(value), width, height, 1, 0, stream, Wait::No); });
}

Error hipMemset3D(PitchedPointer to, int value, Extent extent) {
  return call(__func__, [&] { fill_box(to, value, extent, nullptr, Wait::Yes); });
}

Error hipMemset3DAsync(PitchedPointer to, int value, Extent extent, Stream stream) {
  return call(__func__, [&] { fill_box(to, value, extent, stream, Wait::No); });
}

Error hipMemsetD2D8(DevicePointer to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return call(__func__, [&] { fill_rows(to, pitch, value, width, height, 1, 0, nullptr, Wait::Yes); });
}
Error hipMemsetD2D8Async(DevicePointer to, size_t pitch, unsigned char value, size_t width, size_t height,
                         Stream stream) {
  return call(__func__, [&] { fill_rows(to, pitch, value, width, height, 1, 0, stream, Wait::No); });
}
Error hipMemsetD2D16(DevicePointer to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return call(__func__, [&] { fill_rows(to, pitch, value, width, height, 1, 0, nullptr, Wait::Yes); });
}
Error hipMemsetD2D16Async(DevicePointer to, size_t pitch, unsigned short value, size_t width, size_t height,
                          Stream stream) {
  return call(__func__, [&] { fill_rows(to, pitch, value, width, height, 1, 0, stream, Wait::No); });
}
Error hipMemsetD2D32(DevicePointer to, size_t pitch, unsigned value, size_t width, size_t height) {
  return call(__func__, [&] { fill_rows(to, pitch, value, width, height, 1, 0, nullptr, Wait::Yes); });
}
Error hipMemsetD2D32Async(DevicePointer to, size_t pitch, unsigned value, size_t width, size_t height, Stream stream) {
  return call(__func__, [&] { fill_rows(to, pitch, value, width, height, 1, 0, stream, Wait::No); });
}

}  // namespace wave::hip
