// printf and assert in kernels: messages to the host, which formats them.
#pragma once

#include "wave_device/hostcall.h"

namespace wave_device {

// The first word of each part of a message: two flags, how many words follow, and above them what the host answered to
// the part before.
constexpr unsigned long kMessageBegins = 1, kMessageEnds = 2, kMessageWords = 0xe0;
constexpr unsigned kPrintService = 2;

__device__ __attribute__((noinline)) inline unsigned long print_word(unsigned long message, unsigned long word,
                                                                     bool is_last) {
  message = (message & ~kMessageWords) | 1 << 5 | (is_last ? kMessageEnds : 0);
  return hostcall(kPrintService, message, word, 0, 0, 0, 0, 0, 0);
}

/// To stdout, or to stderr.
__device__ inline unsigned long print_begin(bool is_error) { return print_word(kMessageBegins, is_error, false); }

/// The next eight characters of a string, with zeros behind its end, at which `string` stays.
__device__ inline unsigned long next_characters(const char*& string) {
  unsigned long word = 0;
  for (int i = 0; i < 8 && *string != 0; ++i) word |= static_cast<unsigned long>(*string++ & 0xff) << (8 * i);
  return word;
}

/// A string with the zero behind it; nullptr is an empty one.
__device__ __attribute__((noinline)) inline unsigned long print_string(unsigned long message, const char* string,
                                                                       bool is_last) {
  if (string == nullptr) string = "";
  for (bool is_over = false; !is_over;) {
    unsigned long words[7] = {};
    int count = 0;
    while (count < 7 && !is_over) {
      words[count] = next_characters(string);
      is_over = words[count++] >> 56 == 0;
    }
    message = (message & ~kMessageWords) | static_cast<unsigned long>(count) << 5;
    if (is_over && is_last) message |= kMessageEnds;
    message = hostcall(kPrintService, message, words[0], words[1], words[2], words[3], words[4], words[5], words[6]);
  }
  return message;
}

/// Whether argument `index` of a format string is for %s. Asterisks take arguments, too.
__device__ inline bool takes_string(const char* format, int index) {
  const auto modifies = [](char c) {
    return (c >= ' ' && c <= '9') || c == 'h' || c == 'l' || c == 'j' || c == 'z' || c == 't' || c == 'q' || c == 'L';
  };
  for (; *format != 0; ++format) {
    if (*format != '%') continue;
    if (*++format == '%') continue;
    for (; modifies(*format); ++format) {
      if (*format == '*' && index-- == 0) return false;
    }
    if (*format == 0 || index-- == 0) return *format == 's';
  }
  return false;
}

template <class T>
inline constexpr bool kIsString = false;
template <>
inline constexpr bool kIsString<char*> = true;
template <>
inline constexpr bool kIsString<const char*> = true;

/// A number or a pointer as a word: integers with their sign, floats as doubles.
template <class T>
__device__ inline unsigned long as_word(T value) {
  if constexpr (__is_floating_point(T)) {
    return __builtin_bit_cast(unsigned long, static_cast<double>(value));
  } else if constexpr (__is_pointer(T)) {
    return reinterpret_cast<unsigned long>(value);
  } else {
    static_assert(__is_integral(T) || __is_enum(T) || __is_same(T, decltype(nullptr)),
                  "printf in a kernel takes numbers, pointers and strings");
    return (unsigned long)value;
  }
}

template <class T>
__device__ inline unsigned long print_argument(unsigned long message, const char* format, int index, T value,
                                               bool is_last) {
  if constexpr (kIsString<T>) {
    if (takes_string(format, index)) return print_string(message, value, is_last);
  }
  return print_word(message, as_word(value), is_last);
}

}  // namespace wave_device

/// As C's printf, by the host: each call's text comes as a whole. Returns the number of characters.
template <class... Values>
__device__ inline int printf(const char* format, Values... values) {
  constexpr int kCount = sizeof...(Values);
  unsigned long message = wave_device::print_begin(false);
  message = wave_device::print_string(message, format, kCount == 0);
  int index = 0;
  ((message = wave_device::print_argument(message, format, index, values, index == kCount - 1), ++index), ...);
  return static_cast<int>(message);
}

/// What assert() of the C library calls.
extern "C" __device__ __attribute__((noinline, noreturn)) inline void __assert_fail(
    const char* assertion, const char* file, unsigned line, const char* function) noexcept(true) {
  unsigned long message = wave_device::print_begin(true);
  message = wave_device::print_string(message, "%s:%u: %s: Device-side assertion `%s' failed.\n", false);
  message = wave_device::print_string(message, file, false);
  message = wave_device::print_word(message, line, false);
  message = wave_device::print_string(message, function, false);
  wave_device::print_string(message, assertion, true);
  __builtin_trap();
}
