// Arrays: their making, what they are, and copies of parts of them.
#include "hip_emulator/api.h"
#include "hip_emulator/array.h"

namespace wave::hip {

namespace {

void create(Array* array, const Extent& extent, const ArrayElement& element, unsigned flags) {
  require(array != nullptr);
  check_unsafe_call();
  *array = runtime().arrays.add(std::make_shared<ArrayState>(extent, element, flags));
}

void destroy(Array array) {
  require(array != nullptr);
  check_unsafe_call();
  runtime().arrays.find(array, hipErrorContextIsDestroyed);
  wait_for_devices();
  runtime().arrays.remove(array, hipErrorContextIsDestroyed);
}

Rows rows_at(const void* memory, size_t pitch, const RowCounts& counts) {
  require(counts.height <= 1 || counts.width <= pitch, hipErrorInvalidPitchValue, "a row is longer than the pitch");
  return {const_cast<void*>(memory), pitch};
}

RowCopy rectangle_to(Array to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height,
                     MemcpyKind kind) {
  check_kind(kind);
  const RowCounts counts{width, height};
  return {find_array(to)->box({x, y, 0}, counts), rows_at(from, pitch, counts), counts};
}

RowCopy rectangle_from(void* to, size_t pitch, ConstArray from, size_t x, size_t y, size_t width, size_t height,
                       MemcpyKind kind) {
  check_kind(kind);
  const RowCounts counts{width, height};
  return {rows_at(to, pitch, counts), find_array(from)->box({x, y, 0}, counts), counts};
}

/// A part of an array's first row, of which the driver's functions copy bytes.
Rows array_part(Array array, size_t offset, size_t size) {
  require(array != nullptr);
  return find_array(array)->part_of_row(offset, size);
}

}  // namespace

Error hipMallocArray(Array* array, const ChannelFormat* format, size_t width, size_t height, unsigned flags) {
  return call(__func__, [&] { create(array, {width, height, 0}, element_of(format), flags); });
}

Error hipMalloc3DArray(Array* array, const ChannelFormat* format, Extent extent, unsigned flags) {
  return call(__func__, [&] { create(array, extent, element_of(format), flags); });
}

Error hipArrayCreate(Array* array, const ArrayDescriptor* descriptor) {
  return call(__func__, [&] {
    require(descriptor != nullptr);
    const auto& [width, height, format, channels] = *descriptor;
    create(array, {width, height, 0}, element_of(format, channels), 0);
  });
}

Error hipArray3DCreate(Array* array, const ArrayDescriptor3d* descriptor) {
  return call(__func__, [&] {
    require(descriptor != nullptr);
    const auto& [width, height, depth, format, channels, flags] = *descriptor;
    create(array, {width, height, depth}, element_of(format, channels), flags);
  });
}

Error hipFreeArray(Array array) {
  return call(__func__, [&] { destroy(array); });
}

Error hipArrayDestroy(Array array) {
  return call(__func__, [&] { destroy(array); });
}

Error hipArrayGetInfo(ChannelFormat* format, Extent* extent, unsigned* flags, Array array) {
  return call(__func__, [&] {
    const auto found = find_array(array);
    if (format != nullptr) *format = found->element.description();
    if (extent != nullptr) *extent = found->extent;
    if (flags != nullptr) *flags = found->flags;
  });
}

Error hipArrayGetDescriptor(ArrayDescriptor* descriptor, Array array) {
  return call(__func__, [&] {
    require(descriptor != nullptr);
    const auto found = find_array(array);
    *descriptor = {found->extent.width, found->extent.height, found->element.format, found->element.channels};
  });
}

Error hipArray3DGetDescriptor(ArrayDescriptor3d* descriptor, Array array) {
  return call(__func__, [&] {
    require(descriptor != nullptr);
    const auto found = find_array(array);
    const auto& [width, height, depth] = found->extent;
    *descriptor = {width, height, depth, found->element.format, found->element.channels, found->flags};
  });
}

Error hipGetChannelDesc(ChannelFormat* format, ConstArray array) {
  return call(__func__, [&] {
    require(format != nullptr && array != nullptr);
    *format = find_array(array)->element.description();
  });
}

Error hipMemcpy2DToArray(Array to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height,
                         MemcpyKind kind) {
  return call(__func__, [&] { copy_now(rectangle_to(to, x, y, from, pitch, width, height, kind)); });
}

Error hipMemcpy2DToArrayAsync(Array to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height,
                              MemcpyKind kind, Stream stream) {
  return call(__func__, [&] { copy_later(rectangle_to(to, x, y, from, pitch, width, height, kind), stream); });
}

Error hipMemcpy2DFromArray(void* to, size_t pitch, ConstArray from, size_t x, size_t y, size_t width, size_t height,
                           MemcpyKind kind) {
  return call(__func__, [&] { copy_now(rectangle_from(to, pitch, from, x, y, width, height, kind)); });
}

Error hipMemcpy2DFromArrayAsync(void* to, size_t pitch, ConstArray from, size_t x, size_t y, size_t width,
                                size_t height, MemcpyKind kind, Stream stream) {
  return call(__func__, [&] { copy_later(rectangle_from(to, pitch, from, x, y, width, height, kind), stream); });
}

Error hipMemcpy2DArrayToArray(Array to, size_t to_x, size_t to_y, ConstArray from, size_t from_x, size_t from_y,
                              size_t width, size_t height, MemcpyKind kind) {
  return call(__func__, [&] {
    check_kind(kind);
    const RowCounts counts{width, height};
    copy_now(
        {find_array(to)->box({to_x, to_y, 0}, counts), find_array(from)->box({from_x, from_y, 0}, counts), counts});
  });
}

/// Bytes that run on from row to row, as in CUDA.
Error hipMemcpyToArray(Array to, size_t x, size_t y, const void* from, size_t size, MemcpyKind kind) {
  return call(__func__, [&] {
    check_kind(kind);
    copy_now({find_array(to)->run({x, y, 0}, size), {const_cast<void*>(from)}, {size}});
  });
}

Error hipMemcpyFromArray(void* to, ConstArray from, size_t x, size_t y, size_t size, MemcpyKind kind) {
  return call(__func__, [&] {
    check_kind(kind);
    copy_now({{to}, find_array(from)->run({x, y, 0}, size), {size}});
  });
}

Error hipMemcpyAtoH(void* to, Array from, size_t offset, size_t size) {
  return call(__func__, [&] { copy_now({{to}, array_part(from, offset, size), {size}}); });
}
Error hipMemcpyAtoHAsync(void* to, Array from, size_t offset, size_t size, Stream stream) {
  return call(__func__, [&] { copy_later({{to}, array_part(from, offset, size), {size}}, stream); });
}
Error hipMemcpyHtoA(Array to, size_t offset, const void* from, size_t size) {
  return call(__func__, [&] { copy_now({array_part(to, offset, size), {const_cast<void*>(from)}, {size}}); });
}
Error hipMemcpyHtoAAsync(Array to, size_t offset, const void* from, size_t size, Stream stream) {
  return call(__func__, [&] { copy_later({array_part(to, offset, size), {const_cast<void*>(from)}, {size}}, stream); });
}
Error hipMemcpyAtoD(DevicePointer to, Array from, size_t offset, size_t size) {
  return call(__func__, [&] { copy_now({{to}, array_part(from, offset, size), {size}}); });
}
Error hipMemcpyDtoA(Array to, size_t offset, DevicePointer from, size_t size) {
  return call(__func__, [&] { copy_now({array_part(to, offset, size), {from}, {size}}); });
}
Error hipMemcpyAtoA(Array to, size_t to_offset, Array from, size_t from_offset, size_t size) {
  return call(__func__,
              [&] { copy_now({array_part(to, to_offset, size), array_part(from, from_offset, size), {size}}); });
}

}  // namespace wave::hip
