// Packs the arguments of one launch into the layout of the kernarg segment, with the checks that need no tensor type.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "launch/kernel.h"

namespace wave {

/// A buffer on the caller's stack for the usual size, and on the heap beyond. Bytes that no argument covers are zero.
class ArgumentPacker {
 public:
  explicit ArgumentPacker(const Kernel& kernel) : kernel_(kernel), data_(inline_) {
    std::memset(inline_, 0, kFewBytes);  // of a size that the compiler knows: no call
    const size_t size = kernel.argument_bytes();
    if (size > kInline) {
      move_to_heap();
    } else if (size > kFewBytes) {
      std::memset(inline_ + kFewBytes, 0, size - kFewBytes);
    }
  }
  ArgumentPacker(const ArgumentPacker& other);
  ArgumentPacker& operator=(const ArgumentPacker&) = delete;

  const Kernel& kernel() const { return kernel_; }

  /// The address that the pointer parameter at `offset` gets.
  void pointer(uint32_t offset, const void* address) { std::memcpy(data_ + offset, &address, sizeof address); }
  const void* pointer_at(uint32_t offset) const {
    const void* address;
    std::memcpy(&address, data_ + offset, sizeof address);
    return address;
  }
  /// Where the arguments begin: for who writes no more than argument_bytes() there.
  uint8_t* begin() { return data_; }

  /// Bytes as they are; those beyond the kernel's arguments are dropped.
  void raw(size_t offset, const void* bytes, size_t size) {
    const size_t end = kernel_.argument_bytes();
    if (offset + size <= end) [[likely]] {
      std::memcpy(data_ + offset, bytes, size);  // of a size that the compiler knows, as a rule
    } else if (offset < end) {
      std::memcpy(data_ + offset, bytes, end - offset);
    }
  }

  /// What integer() and floating() do with most values, at less cost. False, with nothing done, for any other.
  [[nodiscard]] bool try_integer(const CompactParameter& parameter, int64_t value) {
    if (parameter.is_pointer || parameter.type > Type::U64) return false;
    // What is cut off must be copies of the sign, or zeros where there is none. (u64 beyond 2^63 does not come here.)
    const bool is_signed = parameter.type <= Type::I64;
    const int bits = 8 * parameter.size;
    const int64_t rest = bits == 64 ? value >> 63 : value >> (is_signed ? bits - 1 : bits);
    if (rest != 0 && !(is_signed && rest == -1)) return false;
    std::memcpy(data_ + parameter.offset, &value, parameter.size);
    return true;
  }
  [[nodiscard]] bool try_floating(const CompactParameter& parameter, double value) {
    if (parameter.is_pointer || (parameter.type != Type::F32 && parameter.type != Type::F64)) return false;
    const uint64_t bits = parameter.type == Type::F64 ? std::bit_cast<uint64_t>(value)
                                                      : std::bit_cast<uint32_t>(static_cast<float>(value));
    std::memcpy(data_ + parameter.offset, &bits, parameter.size);
    return true;
  }

  /// An integer, bool or bits parameter. Throws ValueError where `value` is out of the type's range, TypeError where
  /// the parameter takes no integer.
  void integer(size_t index, int64_t value);
  /// The same for a value of 2^63 or more.
  void large_integer(size_t index, uint64_t value);
  /// A 64-bit word of any sign, cut to the parameter's size: how operators carry u64 and bits.
  void word(size_t index, int64_t value);
  /// A float parameter, rounded to nearest even; or bits of 2, 4 or 8 bytes, which get the float of their size (2
  /// bytes: f16). Throws TypeError where the parameter takes no float.
  void floating(size_t index, double value);
  /// Raw bytes for a bytes[N] parameter. Throws ValueError where their number differs.
  void bytes(size_t index, std::span<const uint8_t> value);

  std::span<const uint8_t> packed() const { return {data_, kernel_.argument_bytes()}; }

 private:
  void move_to_heap();
  void store(const Parameter& parameter, const void* value);
  [[noreturn]] void refuse_integer(size_t index, const std::string& given) const;

  static constexpr size_t kInline = 1024, kFewBytes = 64;
  const Kernel& kernel_;
  uint8_t* data_;
  std::unique_ptr<uint8_t[]> heap_;
  alignas(16) uint8_t inline_[kInline];
};

/// Throws TypeError for a call that has not as many arguments as the kernel; the advice follows the numbers.
[[noreturn]] void refuse_parameter_count(const Kernel& kernel, int64_t given, std::string_view advice = {});

/// Throws ValueError for arguments that the caller has packed, and that are longer than the kernel's.
void check_argument_bytes(const Kernel& kernel, size_t given);

/// A packed argument: an int64_t, uint64_t or double as its type says; pointers and bits are unsigned, bytes[N] is
/// their offset among the arguments.
using Value = std::variant<int64_t, uint64_t, double>;
Value unpack(const Parameter& parameter, std::span<const uint8_t> arguments);

/// The same as text: "0x7f6e40000000" for a pointer, "1024", "0.5", "12 bytes".
std::string value_text(const Parameter& parameter, std::span<const uint8_t> arguments);

/// The bits of `value` in a float type (F16, BF16, F32 or F64), rounded to nearest even.
uint64_t float_bits(double value, Type type);

}  // namespace wave
