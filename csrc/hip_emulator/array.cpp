#include "hip_emulator/array.h"

#include <algorithm>
#include <array>

#include "hip_emulator/runtime.h"

namespace wave::hip_emulator {

namespace {

enum ChannelKind : int { kSigned = 0, kUnsigned = 1, kFloat = 2 };  // hipChannelFormatKind

struct FormatRow {
  int format;  ///< hipArray_Format
  int bits;
  ChannelKind kind;
};
constexpr std::array<FormatRow, 8> kFormats = {{{0x01, 8, kUnsigned},
                                                {0x02, 16, kUnsigned},
                                                {0x03, 32, kUnsigned},
                                                {0x08, 8, kSigned},
                                                {0x09, 16, kSigned},
                                                {0x0a, 32, kSigned},
                                                {0x10, 16, kFloat},
                                                {0x20, 32, kFloat}}};

const FormatRow& row_of(hip::ArrayFormat format) {
  const auto* const found = std::ranges::find(kFormats, static_cast<int>(format), &FormatRow::format);
  require(found != kFormats.end(), hipErrorInvalidValue, "there is no such format of an array");
  return *found;
}

hip::Extent checked(const hip::Extent& extent, unsigned flags) {
  constexpr unsigned kLayered = 1, kSurface = 2;       // of cubes, and for gathering, AMD's runtime has none
  constexpr hip::Extent kLargest{16384, 16384, 8192};  // of AMD's devices that have images
  require(extent.width != 0 && (flags & ~(kLayered | kSurface)) == 0);
  const bool is_layered = (flags & kLayered) != 0;
  require(is_layered ? extent.depth != 0 : extent.depth == 0 || extent.height != 0);
  require(extent.width <= kLargest.width && extent.height <= kLargest.height && extent.depth <= kLargest.depth);
  return extent;
}

size_t at_least_one(size_t count) { return std::max<size_t>(count, 1); }

/// Whether `size` from `begin` on lie in `all`.
bool fits(size_t begin, size_t size, size_t all) { return begin <= all && size <= all - begin; }

}  // namespace

ArrayElement element_of(const hip::ChannelFormat* description) {
  require(description != nullptr);
  const std::array<int, 4> bits{description->x, description->y, description->z, description->w};
  const auto channels = static_cast<unsigned>(std::ranges::find(bits, 0) - bits.begin());
  const auto is_same = [&](int channel) { return channel == bits[0] || channel == 0; };
  require(std::ranges::all_of(bits, is_same) && std::ranges::count(bits, 0) == 4 - static_cast<int>(channels));
  const auto* const found = std::ranges::find_if(
      kFormats, [&](const FormatRow& row) { return row.bits == bits[0] && row.kind == description->kind; });
  require(found != kFormats.end(), hipErrorInvalidValue, "there is no such format of an array");
  return element_of(static_cast<hip::ArrayFormat>(found->format), channels);
}

ArrayElement element_of(hip::ArrayFormat format, unsigned channels) {
  row_of(format);
  require(channels == 1 || channels == 2 || channels == 4, hipErrorInvalidValue,
          "an element has one, two or four channels");
  return {format, channels};
}

size_t ArrayElement::size() const { return static_cast<size_t>(row_of(format).bits / 8) * channels; }

hip::ChannelFormat ArrayElement::description() const {
  const auto& [number, bits, kind] = row_of(format);
  const auto of_channel = [&](unsigned channel) { return channel < channels ? bits : 0; };
  return {of_channel(0), of_channel(1), of_channel(2), of_channel(3), kind};
}

ArrayState::ArrayState(const hip::Extent& extent, const ArrayElement& element, unsigned flags)
    : extent(checked(extent, flags)), element(element), flags(flags) {
  const size_t rows = at_least_one(extent.height) * at_least_one(extent.depth);  // whose product the limits bound
  memory_ = runtime().memory.allocate(row_size() * rows, current_device(), AllocationKind::Device);
}

ArrayState::~ArrayState() { runtime().memory.free(memory_); }

Rows ArrayState::box(const hip::BoxPosition& position, const RowCounts& counts) const {
  const size_t rows = at_least_one(extent.height), planes = at_least_one(extent.depth);
  require(fits(position.x, counts.width, row_size()) && fits(position.y, counts.height, rows) &&
              fits(position.z, counts.depth, planes),
          hipErrorInvalidValue, "a copy ends outside of an array");
  const size_t pitch = row_size(), slice = pitch * rows;
  return {static_cast<char*>(memory_) + position.z * slice + position.y * pitch + position.x, pitch, slice};
}

Rows ArrayState::run(const hip::BoxPosition& position, size_t size) const {
  require(fits(position.x, 0, row_size()) && fits(position.y, 0, at_least_one(extent.height)));
  const size_t begin = position.y * row_size() + position.x;
  require(fits(begin, size, row_size() * at_least_one(extent.height)), hipErrorInvalidValue,
          "a copy ends outside of an array");
  return {static_cast<char*>(memory_) + begin};
}

Rows ArrayState::part_of_row(size_t offset, size_t size) const { return box({offset, 0, 0}, {size}); }

std::shared_ptr<ArrayState> find_array(hip::ConstArray handle) {
  return runtime().arrays.find(const_cast<hip::Array>(handle));
}

}  // namespace wave::hip_emulator
