#include "launch/arguments.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace wave {

namespace {

/// The values that a type of integers takes: [low, high], high as unsigned.
struct Range {
  int64_t low;
  uint64_t high;
};

Range signed_range(uint32_t bits) {
  const int64_t high = std::numeric_limits<int64_t>::max() >> (64 - bits);
  return {-high - 1, static_cast<uint64_t>(high)};
}
uint64_t unsigned_limit(uint32_t bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

bool is_signed(Type type) { return type >= Type::I8 && type <= Type::I64; }
bool is_unsigned(Type type) { return type >= Type::U8 && type <= Type::U64; }
bool is_bits(Type type) { return type >= Type::B8 && type <= Type::B64; }
bool is_float(Type type) { return type >= Type::F16 && type <= Type::F64; }
bool takes_integers(Type type) { return is_signed(type) || is_unsigned(type) || is_bits(type) || type == Type::Bool; }

Range range_of(Type type) {
  const uint32_t bits = 8 * size_of(type);
  if (is_signed(type)) return signed_range(bits);
  if (is_unsigned(type)) return {0, unsigned_limit(bits)};
  if (is_bits(type)) return {signed_range(bits).low, unsigned_limit(bits)};
  return {0, 1};  // bool
}

/// Rounds to a float with `mantissa` stored bits and `exponent` bits of at most 16 bits in all.
uint64_t small_float_bits(double value, int exponent, int mantissa) {
  const uint64_t sign = std::signbit(value) ? uint64_t{1} << (exponent + mantissa) : 0;
  const uint64_t infinity = ((uint64_t{1} << exponent) - 1) << mantissa;
  if (std::isnan(value)) return sign | infinity | uint64_t{1} << (mantissa - 1);
  const double magnitude = std::fabs(value);
  const int bias = (1 << (exponent - 1)) - 1;
  int scale = 0;
  if (magnitude != 0 && !std::isinf(magnitude)) std::frexp(magnitude, &scale);
  // The unit in the last place, no smaller than that of denormals. nearbyint rounds half to even.
  const int ulp = std::max(scale - 1, 1 - bias) - mantissa;
  const double units = std::nearbyint(std::ldexp(magnitude, -ulp));
  if (units == 0) return sign;
  const double rounded = std::ldexp(units, ulp);
  if (!(rounded < std::ldexp(1.0, bias + 1))) return sign | infinity;
  int top = 0;
  std::frexp(rounded, &top);
  if (top - 1 < 1 - bias) return sign | static_cast<uint64_t>(units);
  const uint64_t fraction =
      static_cast<uint64_t>(std::ldexp(rounded, mantissa - (top - 1))) - (uint64_t{1} << mantissa);
  return sign | static_cast<uint64_t>(top - 1 + bias) << mantissa | fraction;
}

/// The value of the bits of a float type.
double float_of_bits(uint64_t bits, Type type) {
  if (type == Type::F64) return std::bit_cast<double>(bits);
  if (type == Type::F32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == Type::BF16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = static_cast<double>(bits & 1023) / 1024;
  const double magnitude = exponent == 0    ? std::ldexp(fraction, -14)
                           : exponent != 31 ? std::ldexp(1 + fraction, exponent - 15)
                           : fraction == 0  ? std::numeric_limits<double>::infinity()
                                            : std::numeric_limits<double>::quiet_NaN();
  return (bits >> 15 & 1) != 0 ? -magnitude : magnitude;
}

Type float_of_size(uint32_t size) { return size == 2 ? Type::F16 : size == 4 ? Type::F32 : Type::F64; }

}  // namespace

uint64_t float_bits(double value, Type type) {
  switch (type) {
    case Type::F16:
      return small_float_bits(value, 5, 10);
    case Type::BF16:
      return small_float_bits(value, 8, 7);
    case Type::F32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    default:
      return std::bit_cast<uint64_t>(value);
  }
}

Value unpack(const Parameter& parameter, std::span<const uint8_t> arguments) {
  uint64_t word = 0;
  if (parameter.type == Type::Bytes) return uint64_t{parameter.offset};
  std::memcpy(&word, arguments.data() + parameter.offset, std::min<size_t>(parameter.size, sizeof word));
  if (parameter.is_pointer) return word;
  if (is_float(parameter.type)) return float_of_bits(word, parameter.type);
  if (!is_signed(parameter.type)) return word;
  const uint32_t unused = 64 - 8 * parameter.size;
  return static_cast<int64_t>(word << unused) >> unused;
}

std::string value_text(const Parameter& parameter, std::span<const uint8_t> arguments) {
  if (parameter.type == Type::Bytes && !parameter.is_pointer) return text(parameter.size, " bytes");
  const Value value = unpack(parameter, arguments);
  if (parameter.is_pointer) return hex(std::get<uint64_t>(value));
  return std::visit([](auto number) { return text(number); }, value);
}

void ArgumentPacker::move_to_heap() {
  heap_ = std::make_unique<uint8_t[]>(kernel_.argument_bytes());
  data_ = heap_.get();
}

ArgumentPacker::ArgumentPacker(const ArgumentPacker& other) : kernel_(other.kernel_), data_(inline_) {
  const std::span<const uint8_t> bytes = other.packed();
  if (bytes.size() > kInline) {
    heap_ = std::make_unique<uint8_t[]>(bytes.size());
    data_ = heap_.get();
  }
  std::memcpy(data_, bytes.data(), bytes.size());
}

// Sizes that the compiler knows cost no call.
void ArgumentPacker::store(const Parameter& parameter, const void* value) {
  uint8_t* const to = data_ + parameter.offset;
  if (parameter.size == 4) {
    std::memcpy(to, value, 4);
  } else if (parameter.size == 8) {
    std::memcpy(to, value, 8);
  } else {
    std::memcpy(to, value, parameter.size);
  }
}

void ArgumentPacker::refuse_integer(size_t index, const std::string& given) const {
  const Parameter& parameter = kernel_.signature().parameters[index];
  if (!takes_integers(parameter.type) || parameter.is_pointer) {
    throw TypeError(
        text(kernel_.argument_text(index), ": expected ", parameter.type_text(), ", given the integer ", given));
  }
  const Range range = range_of(parameter.type);
  throw ValueError(text(kernel_.argument_text(index), ": expected ", parameter.type_text(), ", an integer from ",
                        range.low, " to ", range.high, ", given ", given));
}

void ArgumentPacker::integer(size_t index, int64_t value) {
  const Parameter& parameter = kernel_.signature().parameters[index];
  if (parameter.is_pointer || !takes_integers(parameter.type)) refuse_integer(index, std::to_string(value));
  const Range range = range_of(parameter.type);
  if (value < range.low || (value > 0 && static_cast<uint64_t>(value) > range.high))
    refuse_integer(index, std::to_string(value));
  store(parameter, &value);
}

void ArgumentPacker::large_integer(size_t index, uint64_t value) {
  const Parameter& parameter = kernel_.signature().parameters[index];
  if (parameter.is_pointer || !takes_integers(parameter.type) || value > range_of(parameter.type).high) {
    refuse_integer(index, std::to_string(value));
  }
  store(parameter, &value);
}

void ArgumentPacker::word(size_t index, int64_t value) {
  const Parameter& parameter = kernel_.signature().parameters[index];
  if (parameter.type == Type::U64 || parameter.type == Type::B64) {
    store(parameter, &value);
  } else {
    integer(index, value);
  }
}

void ArgumentPacker::floating(size_t index, double value) {
  const Parameter& parameter = kernel_.signature().parameters[index];
  const bool is_untyped = is_bits(parameter.type) && parameter.size > 1;
  if (parameter.is_pointer || !(is_float(parameter.type) || is_untyped)) {
    const std::string number = text(value);
    const bool looks_whole = number.find_first_not_of("-0123456789") == std::string::npos;
    throw TypeError(text(kernel_.argument_text(index), ": expected ", parameter.type_text(), ", given the float ",
                         number, looks_whole ? ".0" : ""));
  }
  const uint64_t bits = float_bits(value, is_untyped ? float_of_size(parameter.size) : parameter.type);
  store(parameter, &bits);
}

void ArgumentPacker::bytes(size_t index, std::span<const uint8_t> value) {
  const Parameter& parameter = kernel_.signature().parameters[index];
  if (parameter.is_pointer || parameter.type != Type::Bytes) {
    throw TypeError(
        text(kernel_.argument_text(index), ": expected ", parameter.type_text(), ", given ", value.size(), " bytes"));
  }
  if (value.size() != parameter.size) {
    throw ValueError(text(kernel_.argument_text(index), ": expected ", parameter.size, " bytes, given ", value.size()));
  }
  store(parameter, value.data());
}

void refuse_parameter_count(const Kernel& kernel, int64_t given, std::string_view advice) {
  throw TypeError(text(kernel_text(kernel.name()), " takes ", kernel.signature().parameters.size(), " arguments (",
                       kernel.signature().text(), "), given ", given, advice));
}

void check_argument_bytes(const Kernel& kernel, size_t given) {
  if (given <= kernel.argument_bytes()) return;
  throw ValueError(
      text(kernel_text(kernel.name()), " takes ", kernel.argument_bytes(), " bytes of arguments, given ", given));
}

}  // namespace wave
