// Arrays: memory whose elements have channels, in one to three dimensions. On a GPU they are laid out for its texture
// units. Here, where there are none, they are rows without gaps, which programs can copy.
#pragma once

#include <cstddef>
#include <memory>

#include "hip_emulator/hip_handles.h"
#include "hip_emulator/transfer.h"

namespace wave::hip_emulator {

/// One, two or four channels of a format. Made by the functions below, which throw hipErrorInvalidValue of others.
struct ArrayElement {
  hip::ArrayFormat format;
  unsigned channels;

  size_t size() const;
  hip::ChannelFormat description() const;
};
ArrayElement element_of(const hip::ChannelFormat* description);
ArrayElement element_of(hip::ArrayFormat format, unsigned channels);

/// hipArray_t. Its memory goes with it.
class ArrayState {
 public:
  /// Extents are elements; a height or a depth of 0 says that there are fewer dimensions. Throws hipErrorInvalidValue
  /// where AMD's devices have no such arrays.
  ArrayState(const hip::Extent& extent, const ArrayElement& element, unsigned flags);
  ArrayState(const ArrayState&) = delete;
  ~ArrayState();

  /// A box that begins at a position whose x is in bytes. Throws hipErrorInvalidValue where it ends outside.
  Rows box(const hip::BoxPosition& position, const RowCounts& counts) const;
  /// Bytes that run on from row to row, of the first plane.
  Rows run(const hip::BoxPosition& position, size_t size) const;
  /// Bytes of the first row.
  Rows part_of_row(size_t offset, size_t size) const;

  const hip::Extent extent;
  const ArrayElement element;
  const unsigned flags;

 private:
  size_t row_size() const { return extent.width * element.size(); }

  void* memory_;
};

/// The array of a handle. Throws hipErrorInvalidHandle.
std::shared_ptr<ArrayState> find_array(hip::ConstArray handle);

}  // namespace wave::hip_emulator
