// Bounds-checked reading of untrusted bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/error.h"

namespace wave {

static_assert(std::endian::native == std::endian::little, "code objects are little-endian, and so must be the host");

/// A borrowed view of bytes with the name of what they are, for error messages. Every read is checked: outside of the
/// view it throws FormatError with the offset in the outermost view. The bytes must outlive the view.
class Bytes {
 public:
  Bytes(std::span<const uint8_t> data, const char* what, uint64_t base = 0) : data_(data), what_(what), base_(base) {}

  uint64_t size() const { return data_.size(); }
  const uint8_t* data() const { return data_.data(); }
  std::span<const uint8_t> span() const { return data_; }

  /// The plain value of type T that starts at `offset`.
  template <class T>
  T read(uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    check(offset, sizeof(T));
    T value;
    std::memcpy(&value, data_.data() + offset, sizeof(T));
    return value;
  }

  /// The `size` bytes at `offset`, as a view of their own that keeps reporting offsets of the outermost one.
  Bytes slice(uint64_t offset, uint64_t size) const {
    check(offset, size);
    return Bytes(data_.subspan(offset, size), what_, base_ + offset);
  }

  /// Whether the bytes start with these characters.
  bool starts_with(std::string_view magic) const {
    return size() >= magic.size() && characters(0, magic.size()) == magic;
  }

  /// The same bytes under another name.
  Bytes as(const char* what) const { return Bytes(data_, what, base_); }

  /// The `size` characters at `offset`.
  std::string_view characters(uint64_t offset, uint64_t size) const {
    check(offset, size);
    return {reinterpret_cast<const char*>(data_.data()) + offset, size};
  }

  /// The characters from `offset` up to a terminating zero, which must be there.
  std::string_view c_string(uint64_t offset) const {
    check(offset, 1);
    const uint8_t* begin = data_.data() + offset;
    const void* end = std::memchr(begin, 0, data_.size() - offset);
    if (end == nullptr) fail(offset, "a string without an end");
    return {reinterpret_cast<const char*>(begin), static_cast<size_t>(static_cast<const uint8_t*>(end) - begin)};
  }

  [[noreturn]] void fail(uint64_t offset, const std::string& reason) const {
    throw FormatError(what_, base_ + offset, reason);
  }

 private:
  void check(uint64_t offset, uint64_t size) const {
    if (offset > data_.size() || size > data_.size() - offset) {
      fail(offset, text(size, " bytes wanted, ", offset > data_.size() ? 0 : data_.size() - offset, " left"));
    }
  }

  std::span<const uint8_t> data_;
  const char* what_;
  uint64_t base_;
};

}  // namespace wave
