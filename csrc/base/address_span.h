// Bytes of an address space, and whether others lie within them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace wave {

/// `size` bytes from `begin` on. Kernels and callers make up both, so that the bytes may reach past the last address
/// there is. The sum of the two is a small number then, and whoever compares it with an end finds all well. So nobody
/// adds them: every check of an access against memory asks one of these functions.
class AddressSpan {
 public:
  constexpr AddressSpan() = default;
  constexpr AddressSpan(uint64_t begin, uint64_t size) : begin_(begin), size_(size) {}

  /// The bytes before `end`; none where that is not behind `begin`.
  static constexpr AddressSpan up_to(uint64_t begin, uint64_t end) { return {begin, end > begin ? end - begin : 0}; }
  /// All that accesses of `size` bytes reach over whose first bytes are at `lowest` to `highest`.
  static constexpr AddressSpan over(uint64_t lowest, uint64_t highest, uint64_t size) {
    return {lowest, saturated_sum(highest - lowest, size)};
  }
  /// `count` values of `size` bytes; as many bytes as a number can say where they are more.
  static constexpr AddressSpan of_values(uint64_t begin, uint64_t count, uint64_t size) {
    uint64_t bytes = 0;
    return {begin, __builtin_mul_overflow(count, size, &bytes) ? ~uint64_t{0} : bytes};
  }

  constexpr uint64_t begin() const { return begin_; }
  constexpr uint64_t size() const { return size_; }
  constexpr bool is_empty() const { return size_ == 0; }
  /// The address behind the last byte. The last address there is where the bytes reach up to it or past it: an end that
  /// no memory has.
  constexpr uint64_t end() const { return saturated_sum(begin_, size_); }
  /// Whether the bytes have addresses, as those of memory do.
  constexpr bool is_addressable() const { return size_ <= ~begin_; }

  constexpr bool contains(uint64_t address) const { return address - begin_ < size_; }
  constexpr bool contains(const AddressSpan& inner) const {
    const uint64_t before = inner.begin_ - begin_;  // a large number where it begins before this
    return before <= size_ && inner.size_ <= size_ - before;
  }

  /// How many bytes there are from `address` on; 0 where it is not one of theirs.
  constexpr uint64_t left_from(uint64_t address) const { return contains(address) ? size_ - (address - begin_) : 0; }
  /// The bytes that both have.
  constexpr AddressSpan common(const AddressSpan& other) const {
    const uint64_t from = std::max(begin_, other.begin_);
    return {from, std::min(left_from(from), other.left_from(from))};
  }
  constexpr bool overlaps(const AddressSpan& other) const { return !common(other).is_empty(); }
  /// How far past the end of this an access ends; 0 within it, and a large number where it begins before it.
  constexpr uint64_t excess(const AddressSpan& access) const {
    if (access.begin_ < begin_) return ~uint64_t{0};
    const uint64_t reach = saturated_sum(access.begin_ - begin_, access.size_);
    return reach > size_ ? reach - size_ : 0;
  }

  constexpr bool operator==(const AddressSpan&) const = default;

 private:
  static constexpr uint64_t saturated_sum(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? ~uint64_t{0} : sum;
  }

  uint64_t begin_ = 0;
  uint64_t size_ = 0;
};

// A null pointer's p[-1] in one lane and memory in another, as one access and as two.
static_assert(!AddressSpan(4096, 64).contains(AddressSpan(~uint64_t{3}, 4)));
static_assert(!AddressSpan(4096, 64).contains(AddressSpan::over(4096, ~uint64_t{3}, 4)));
static_assert(!AddressSpan(0, 64).contains(AddressSpan(~uint64_t{3}, 8)));
static_assert(!AddressSpan(0, 64).overlaps(AddressSpan(~uint64_t{3}, 8)));
static_assert(AddressSpan(4096, 64).contains(AddressSpan::over(4096, 4156, 4)));
static_assert(!AddressSpan(4096, 64).contains(AddressSpan::over(4096, 4157, 4)));
static_assert(!AddressSpan(4096, 64).contains(AddressSpan::over(4095, 4156, 4)));

}  // namespace wave
