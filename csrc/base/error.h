// Exceptions that cross every layer. The binding maps each to the Python exception of the same name.
//
// Bad input throws ValueError or TypeError before anything runs. A driver failure, or a kernel that misbehaves on the
// emulator, throws a RuntimeError (KernelFault derives from it). Destructors never throw.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace wave {

inline void append(std::string& out, std::string_view part) { out += part; }
inline void append(std::string& out, char part) { out += part; }
void append(std::string& out, double part);  ///< as printf's %g
template <std::integral Integer>
void append(std::string& out, Integer part) {
  out += std::to_string(part);
}

/// Concatenates its arguments. Not through an ostream: its locale breaks where a compiler links its own libstdc++ in.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

/// A number as "0x1f".
std::string hex(uint64_t value);

/// A C++ symbol as its source calls it, as "axpy(float*, float, int)"; none where it is not mangled.
std::optional<std::string> demangle(const std::string& symbol);

/// How messages name a kernel: "kernel 'axpy<float>(float*, float, int)'".
std::string kernel_text(std::string_view symbol);

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ValueError : Error {
  using Error::Error;
};

struct TypeError : Error {
  using Error::Error;
};

struct RuntimeError : Error {
  using Error::Error;
};

/// A call into a driver's library that failed.
struct DriverError : RuntimeError {
  struct Code {
    std::string call;         ///< "hipModuleLaunchKernel"
    std::string name;         ///< "hipErrorInvalidValue"
    int number;               ///< 1
    std::string description;  ///< "invalid argument"
  };
  explicit DriverError(const Code& code)
      : DriverError(text(code.call, " failed: ", code.name, " (", code.number, "): ", code.description), code) {}
  /// With a message that says more.
  DriverError(const std::string& message, Code code) : RuntimeError(message), code(std::move(code)) {}
  Code code;
};

/// What a kernel did that it must not, found by the emulator, and where. A wave_runtime.KernelFault in Python.
struct KernelFault : RuntimeError {
  using RuntimeError::RuntimeError;
  std::string kernel;
  std::array<uint32_t, 3> workgroup{};
  uint32_t wave = 0;
  int lane = -1;   ///< -1: not about one lane
  int64_t pc = 0;  ///< bytes from the kernel's entry: less than 0 in functions that lie before it
  std::string instruction;
  std::optional<uint64_t> address;
  bool is_access = true;  ///< with an address: of one, not of what is waited for there

  /// The same with more in its message.
  KernelFault followed_by(const std::string& more) const {
    KernelFault longer(*this);
    static_cast<RuntimeError&>(longer) = RuntimeError(text(what(), "\n", more));
    return longer;
  }
};

/// Malformed bytes: what was read, at which offset, and what is wrong there. A ValueError in Python.
struct FormatError : ValueError {
  FormatError(const std::string& what, uint64_t offset, const std::string& reason)
      : ValueError(text("malformed ", what, " at offset ", hex(offset), ": ", reason)) {}
};

}  // namespace wave
