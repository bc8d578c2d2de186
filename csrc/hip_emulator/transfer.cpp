#include "hip_emulator/transfer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/process_memory.h"
#include "emulator/lost_memory.h"
#include "emulator/op.h"
#include "hip_emulator/array.h"
#include "hip_emulator/stream_order.h"

namespace wave::hip_emulator {

std::optional<Allocation> check_span(AddressSpan bytes) {
  auto allocation = runtime().memory.reserved_at(bytes.begin());
  const bool was_freed = !allocation && runtime().memory.was_freed(bytes.begin());
  require(!was_freed, hipErrorInvalidValue, "a copy or fill of memory that was freed");
  if (!allocation) allocation = runtime().memory.find(bytes.begin());
  require(!allocation || !allocation->is_leaving, hipErrorInvalidValue,
          "a copy or fill of memory that hipFreeAsync was given");
  require(!allocation || allocation->bytes().contains(bytes), hipErrorInvalidValue,
          "the copy or fill ends past the allocation's end");
  const bool is_outside = !allocation && !bytes.is_empty() && runtime().memory.is_beside(bytes.begin());
  require(!is_outside, hipErrorInvalidValue, "a copy or fill that begins outside of an allocation, beside it");
  const bool is_ours = allocation && !allocation->is_registered;
  require(is_ours || bytes.is_empty() || has_ends_of(bytes), hipErrorInvalidValue,
          "a copy or fill of memory that the process does not have");
  return allocation;
}

void check_again(Via via, AddressSpan bytes) {
  const auto reserved = runtime().memory.reserved_at(bytes.begin());
  if (via != Via::Graph && !reserved) return;
  try {
    check_span(bytes);
    require(!reserved || !reserved->is_freed, hipErrorInvalidValue, "a copy or fill of memory that was freed");
  } catch (const Failure& failure) {
    throw Failure(hipErrorIllegalAddress,
                  text(via == Via::Graph ? "a graph makes " : "a stream makes ", failure.what()));
  }
}

namespace {

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// Of a call outside a capture: memory of a graph that runs it never had, or has freed.
void check_promised(const std::optional<Allocation>& allocation, const Queue& queue) {
  const bool is_there = !allocation || !allocation->is_reserved || allocation->is_promised || !allocation->is_freed;
  require(is_there || queue.capture != nullptr, hipErrorInvalidValue,
          "a copy or fill of memory that a graph has freed");
}

bool is_empty(const RowCounts& counts) { return counts.width == 0 || counts.height == 0 || counts.depth == 0; }

char* row_of(const Rows& rows, size_t plane, size_t row) {
  return static_cast<char*>(rows.begin) + plane * rows.slice + row * rows.pitch;
}

/// Calls `body` with the plane and the number of each row.
template <class Body>
void for_rows(const RowCounts& counts, const Body& body) {
  for (size_t plane = 0; plane < counts.depth; ++plane) {
    for (size_t row = 0; row < counts.height; ++row) body(plane, row);
  }
}

/// Rows that the process may take away meanwhile, where they are its own.
template <class Body>
void for_rows_that_are_there(const Rows& to, const Rows& from, const RowCounts& counts, const Body& body) {
  if (is_empty(counts)) return;
  try {
    const emulator::LostMemoryGuard guard(span_of(to, counts), span_of(from, counts));
    for_rows(counts, body);
  } catch (const emulator::Fault&) {
    throw Failure(hipErrorIllegalAddress, "a copy or fill of memory that the process has unmapped or protected");
  }
}

void copy_rows(const Rows& to, const Rows& from, const RowCounts& counts) {
  for_rows_that_are_there(to, from, counts, [&](size_t plane, size_t row) {
    emulator::copy_guarded(row_of(to, plane, row), row_of(from, plane, row), counts.width);
  });
}

/// A row may begin anywhere, whatever its elements are.
template <class T>
void fill_row(char* row, size_t width, uint32_t value) {
  std::array<T, 4096 / sizeof(T)> elements;
  elements.fill(static_cast<T>(value));
  for (size_t at = 0; at < width / sizeof(T) * sizeof(T);) {
    const size_t size = std::min(width / sizeof(T) * sizeof(T) - at, sizeof(elements));
    emulator::copy_guarded(row + at, elements.data(), size);
    at += size;
  }
}

void fill_rows(const Rows& to, const RowCounts& counts, Pattern pattern) {
  for_rows_that_are_there(to, to, counts, [&](size_t plane, size_t row) {
    char* const begin = row_of(to, plane, row);
    switch (pattern.element_size) {
      case 1:
        return fill_row<uint8_t>(begin, counts.width, pattern.value);
      case 2:
        return fill_row<uint16_t>(begin, counts.width, pattern.value);
      default:
        return fill_row<uint32_t>(begin, counts.width, pattern.value);
    }
  });
}

Rows box_of(const hip::PitchedPointer& memory, const hip::BoxPosition& position, const hip::Extent& extent) {
  require(extent.width <= memory.pitch || (extent.height <= 1 && extent.depth <= 1), hipErrorInvalidPitchValue,
          "a row is longer than the pitch");
  const size_t rows = memory.height != 0 ? memory.height : extent.height;  // as in AMD's runtime
  size_t slice = 0;
  const bool overflows = __builtin_mul_overflow(memory.pitch, rows, &slice);
  require(!overflows || (extent.depth <= 1 && position.z == 0), hipErrorInvalidValue, "a plane of 2^64 bytes or more");
  char* const begin = static_cast<char*>(memory.pointer);
  return {begin + position.z * slice + position.y * memory.pitch + position.x, memory.pitch, slice};
}

/// The array that one side of a copy is, or nullptr where it is other memory.
std::shared_ptr<ArrayState> array_of(hip::Array handle, const hip::PitchedPointer& memory) {
  if (handle == nullptr) return nullptr;
  require(memory.pointer == nullptr, hipErrorInvalidValue, "a copy has an array and a pointer on one side");
  return find_array(handle);
}

/// Of elements, in which extents and positions are counted where there is an array.
size_t bytes_of(size_t elements, const ArrayState& array) {
  size_t bytes = 0;
  require(!__builtin_mul_overflow(elements, array.element.size(), &bytes));
  return bytes;
}

Rows side_of(const ArrayState* array, const hip::PitchedPointer& memory, const hip::BoxPosition& position,
             const hip::Extent& extent) {
  if (array == nullptr) return box_of(memory, position, extent);
  return array->box({bytes_of(position.x, *array), position.y, position.z},
                    {extent.width, extent.height, extent.depth});
}

/// A copy of another device's memory waits for that device's null stream, in which AMD's runtime makes it.
void add_work_of_owner(const std::optional<Allocation>& allocation, const Queue& queue, Markers& after) {
  if (!allocation || allocation->kind != AllocationKind::Device || allocation->device == queue.device) return;
  const Markers last = last_work(*runtime().device(allocation->device).null_queue);
  after.insert(after.end(), last.begin(), last.end());
}

/// The source as it is now.
StreamOperation staged_copy(const Rows& to, const Rows& from, const RowCounts& counts) {
  const Rows staged{nullptr, counts.width, counts.width * counts.height};
  auto bytes = std::make_shared<std::vector<char>>(staged.slice * counts.depth);
  const auto staging = [staged](std::vector<char>& bytes) { return Rows{bytes.data(), staged.pitch, staged.slice}; };
  copy_rows(staging(*bytes), from, counts);
  return StreamOperation([=](Via via) {
    check_again(via, span_of(to, counts));
    copy_rows(to, staging(*bytes), counts);
  });
}

}  // namespace

void check_kind(hip::MemcpyKind kind) {
  constexpr int kBetweenDevicesByTheirEngines = 1024;  // hipMemcpyDeviceToDeviceNoCU
  require((kind >= hip::kHostToHost && kind <= hip::kCopyDefault) || kind == kBetweenDevicesByTheirEngines,
          hipErrorInvalidMemcpyDirection);
}

void check_symbol_kind(hip::MemcpyKind kind, hip::MemcpyKind other) {
  const bool known = kind == other || kind == hip::kDeviceToDevice || kind == hip::kCopyDefault;
  require(known, hipErrorInvalidMemcpyDirection);
}

RowCopy rows_of(const hip::Copy3d* copy) {
  require(copy != nullptr);
  check_kind(copy->kind);
  const auto to_array = array_of(copy->to_array, copy->to), from_array = array_of(copy->from_array, copy->from);
  hip::Extent extent = copy->extent;
  if (const auto& any = to_array != nullptr ? to_array : from_array; any != nullptr) {
    require(from_array == nullptr || from_array->element.size() == any->element.size(), hipErrorInvalidValue,
            "elements of the two arrays have different sizes");
    extent.width = bytes_of(extent.width, *any);
  }
  return {side_of(to_array.get(), copy->to, copy->to_position, extent),
          side_of(from_array.get(), copy->from, copy->from_position, extent),
          {extent.width, extent.height, extent.depth}};
}

AddressSpan span_of(const Rows& rows, const RowCounts& counts) {
  const uint64_t begin = address(rows.begin);
  if (is_empty(counts)) return {begin, 0};
  uint64_t size = 0, planes = 0, copied = 0;
  const bool overflows = __builtin_mul_overflow(rows.pitch, counts.height - 1, &size) ||
                         __builtin_mul_overflow(rows.slice, counts.depth - 1, &planes) ||
                         __builtin_add_overflow(size, planes, &size) ||
                         __builtin_add_overflow(size, counts.width, &size) ||
                         __builtin_mul_overflow(counts.width, counts.height, &copied) ||  // rows may lie in one place
                         __builtin_mul_overflow(copied, counts.depth, &copied);
  return {begin, overflows ? ~uint64_t{0} : size};
}

std::optional<Allocation> check_rows(const Rows& rows, const RowCounts& counts) {
  auto allocation = check_span(span_of(rows, counts));
  const bool fits = !allocation || is_empty(counts) ||
                    counts.width * counts.height <= allocation->size / counts.depth;  // span_of has looked for overflow
  require(fits, hipErrorInvalidValue, "a copy or fill of more bytes than the allocation has");
  return allocation;
}

StreamOperation copy_operation(const RowCopy& copy, const hip::Copy3d& given) {
  const auto run = [copy](Via via) {
    check_again(via, span_of(copy.to, copy.counts));
    check_again(via, span_of(copy.from, copy.counts));
    copy_rows(copy.to, copy.from, copy.counts);
  };
  return {run, CopyWork{std::make_shared<const hip::Copy3d>(given)}};
}

StreamOperation copy_operation(const RowCopy& copy, hip::MemcpyKind kind) {
  const RowCounts& counts = copy.counts;
  const auto memory = [&](const Rows& rows) {
    const size_t pitch = rows.pitch == 0 ? counts.width : rows.pitch;
    return hip::PitchedPointer{rows.begin, pitch, counts.width, rows.slice == 0 ? counts.height : rows.slice / pitch};
  };
  hip::Copy3d work{};
  work.from = memory(copy.from);
  work.to = memory(copy.to);
  work.extent = {counts.width, counts.height, counts.depth};
  work.kind = kind;
  return copy_operation(copy, work);
}

StreamOperation fill_operation(const Rows& to, const RowCounts& counts, Pattern pattern) {
  require(is_empty(counts) || to.begin != nullptr);
  require(address(to.begin) % pattern.element_size == 0);
  check_rows(to, counts);
  const auto run = [=](Via via) {
    check_again(via, span_of(to, counts));
    fill_rows(to, counts, pattern);
  };
  const hip::FillParameters work{to.begin, pattern.element_size, counts.height,
                                 to.pitch, pattern.value,        counts.width / pattern.element_size};
  return {run, FillWork{std::make_shared<const hip::FillParameters>(work)}};
}

void copy(const Rows& to, const Rows& from, const RowCounts& counts, hip::Stream stream, Wait wait) {
  require(is_empty(counts) || (to.begin != nullptr && from.begin != nullptr));
  const std::shared_ptr<Queue> queue = find_queue(stream);
  runtime().device(queue->device).check();
  const auto to_allocated = check_rows(to, counts), from_allocated = check_rows(from, counts);
  const bool returns_at_once = wait == Wait::No && to_allocated;
  if (!returns_at_once) check_may_wait();
  std::unique_lock lock(runtime().order);
  check_promised(to_allocated, *queue);
  check_promised(from_allocated, *queue);
  Markers after;
  add_work_of_owner(to_allocated, *queue, after);
  add_work_of_owner(from_allocated, *queue, after);
  const bool must_stage = to_allocated && !from_allocated && queue->capture == nullptr;
  const auto marker =
      submit_locked(queue, must_stage ? staged_copy(to, from, counts) : copy_operation({to, from, counts}), after);
  lock.unlock();
  if (marker == nullptr || returns_at_once) return;
  marker->wait();
  stream_order().learn(marker.get());
  runtime().device(queue->device).check();
}

void copy(void* to, const void* from, size_t size, hip::Stream stream, Wait wait) {
  copy(Rows{to}, Rows{const_cast<void*>(from)}, {size}, stream, wait);
}

void copy_now(const RowCopy& work) {
  check_unsafe_copy();
  copy(work.to, work.from, work.counts, nullptr, Wait::Yes);
}

void copy_later(const RowCopy& work, hip::Stream stream) { copy(work.to, work.from, work.counts, stream, Wait::No); }

void fill(const Rows& to, const RowCounts& counts, Pattern pattern, hip::Stream stream, Wait wait) {
  StreamOperation operation = fill_operation(to, counts, pattern);
  const std::shared_ptr<Queue> queue = find_queue(stream);
  runtime().device(queue->device).check();
  const auto allocation = check_rows(to, counts);
  check_promised(allocation, *queue);
  // As in AMD's runtime.
  const bool returns_at_once = wait == Wait::No || (allocation && allocation->kind == AllocationKind::Device);
  if (!returns_at_once) check_may_wait();
  const auto marker = submit(queue, std::move(operation));
  if (marker == nullptr || returns_at_once) return;
  marker->wait();
  stream_order().learn(marker.get());
  runtime().device(queue->device).check();
}

}  // namespace wave::hip_emulator
