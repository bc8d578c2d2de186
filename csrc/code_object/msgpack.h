// Reading MessagePack (the format's specification, github.com/msgpack/msgpack/blob/master/spec.md).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace wave {

/// Reads one value after another without building anything, so that it allocates nothing. A read of another type than
/// the one that follows, a length that exceeds the bytes left, and nesting deeper than 64 throw FormatError. Borrows
/// the bytes.
class MsgpackReader {
 public:
  enum class Type : uint8_t { Nil, Boolean, Integer, Float, String, Binary, Array, Map, Extension };

  explicit MsgpackReader(const Bytes& bytes) : bytes_(bytes) {}

  bool at_end() const { return at_ == bytes_.size(); }
  /// Of the value that follows.
  Type type() const;

  /// An integer of any width that is not negative.
  uint64_t read_uint();
  bool read_bool();
  std::string_view read_string();
  /// The number of elements, which follow as values of their own.
  uint32_t read_array();
  /// The number of pairs, which follow as key, value, key, value.
  uint32_t read_map();
  /// Passes over one value with all it contains.
  void skip();

  /// Throws FormatError at the value that was read last.
  [[noreturn]] void fail(const std::string& reason) const { bytes_.fail(start_, reason); }

 private:
  struct Head {
    Type type;
    uint64_t value = 0;  ///< of an integer (two's complement), a Boolean, or the count of an array or a map
    bool negative = false;
    uint64_t payload = 0;  ///< bytes that follow the head and belong to the value itself
    uint64_t head = 1;     ///< bytes of the head
  };

  Head peek() const;
  Head sized(Type type, unsigned length_bytes, uint64_t extra) const;
  Head number(Type type, unsigned width, bool is_signed) const;
  Head container(Type type, uint64_t count, uint64_t head) const;
  Head counted(Type type, unsigned count_bytes) const;
  Head expect(Type type, const char* name);

  Bytes bytes_;
  uint64_t at_ = 0;
  uint64_t start_ = 0;
};

}  // namespace wave
