// Runs scalar ALU bodies. A body is a plain function whose parameter and result types say how operands are read and
// written:
//
//   u32 s_add_u32(u32 a, u32 b, bool& scc);       sources in order; SCC in and out
//   u32 s_addk_i32(Destination d, i32 k, bool& scc);   the destination's old value; SIMM16
//   u64 s_and_saveexec_b64(u64 a, Wave& wave, bool& scc)
//   void s_cmp_eq_u32(u32 a, u32 b, bool& scc);
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "emulator/constants.h"
#include "emulator/op.h"

namespace wave::emulator {

/// The old value of a 32-bit or 64-bit destination, as a body's parameter.
struct Destination {
  u32 value;
};
struct Destination64 {
  u64 value;
};

/// The scalar source of a code, special values and literals included.
inline u32 read_code32(const Wave& wave, u32 encoding, u32 literal = 0) {
  if (encoding < sreg::kVccz) [[likely]]
    return wave.s[encoding];
  if (encoding == sreg::kLiteral) return literal;
  if (encoding == sreg::kScc) return wave.scc;
  return encoding == sreg::kVccz ? wave.vcc() == 0 : wave.exec() == 0;
}

/// Source `index` of ScalarOperands, or of VectorOperands where it is no vector register.
template <class Operands>
u32 read_scalar32(const Wave& wave, const Operands& operands, int index) {
  return read_code32(wave, operands.src[index], operands.literal);
}

/// Apertures of LDS and scratch: 64-bit values whose low half is 0.
inline u64 special_scalar64(u32 encoding) {
  switch (encoding) {
    case sreg::kSharedBase:
      return kSharedAperture;
    case sreg::kSharedLimit:
      return kSharedAperture + kApertureSize - 1;
    case sreg::kPrivateBase:
      return kPrivateAperture;
    case sreg::kPrivateLimit:
      return kPrivateAperture + kApertureSize - 1;
    default:
      return 0;
  }
}

/// A literal is 32 bits: signed operations extend its sign, others fill up with zeros, as compilers rely on.
template <class Operands>
u64 read_scalar64(const Wave& wave, const Operands& operands, int index, bool is_signed = false) {
  const u32 encoding = operands.src[index];
  if (encoding < 128) [[likely]]
    return wave.pair(encoding);
  if (encoding == sreg::kLiteral) return is_signed ? sign_extend(operands.literal) : operands.literal;
  if (is_inline_constant(encoding)) return inline_constant(encoding, isa::OperandType::B64);
  if (encoding >= sreg::kVccz) return read_scalar32(wave, operands, index);
  return special_scalar64(encoding);
}

inline void write_scalar32(Wave& wave, u32 reg, u32 value) {
  wave.s[reg] = value;
  if (reg >= sreg::kExec) wave.enable(wave.pair(sreg::kExec));
}
inline void write_scalar64(Wave& wave, u32 reg, u64 value) { wave.set_mask(reg, value); }

/// The message that S_SENDMSG and its like name, as assembly has it: "sendmsg(MSG_RTN_GET_DOORBELL)".
std::string message_name(const Wave& wave, const Op* op);

template <class T, int kIndex>
decltype(auto) scalar_argument(Wave& wave, const Op* op, bool& scc) {
  if constexpr (std::is_same_v<T, bool&>) {
    return (scc);
  } else if constexpr (std::is_same_v<T, Wave&>) {
    return (wave);
  } else if constexpr (std::is_same_v<T, Destination>) {
    return Destination{wave.s[op->scalar.dst]};
  } else if constexpr (std::is_same_v<T, Destination64>) {
    return Destination64{wave.pair(op->scalar.dst)};
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<T>(read_scalar64(wave, op->scalar, kIndex, std::is_signed_v<T>));
  } else {
    return static_cast<T>(read_scalar32(wave, op->scalar, kIndex));
  }
}

/// How many of the first `kBefore` parameters are sources.
template <class... Args>
constexpr int source_index(int before) {
  constexpr bool kIsSource[] = {std::is_arithmetic_v<Args>..., false};
  int count = 0;
  for (int i = 0; i < before; ++i) count += kIsSource[i];
  return count;
}

template <auto kBody, class Signature = decltype(kBody)>
struct Scalar;

template <auto kBody, class Result, class... Args>
struct Scalar<kBody, Result (*)(Args...)> {
  static const Op* execute(Wave& wave, const Op* op) {
    run(wave, op, std::make_index_sequence<sizeof...(Args)>());
    return go_on(wave, op);
  }

 private:
  template <size_t... kIndex>
  static void run(Wave& wave, const Op* op, std::index_sequence<kIndex...>) {
    bool& scc = wave.scc;
    if constexpr (std::is_void_v<Result>) {
      kBody(scalar_argument<Args, source_index<Args...>(kIndex)>(wave, op, scc)...);
    } else {
      const Result result = kBody(scalar_argument<Args, source_index<Args...>(kIndex)>(wave, op, scc)...);
      if constexpr (sizeof(Result) == 8) {
        write_scalar64(wave, op->scalar.dst, static_cast<u64>(result));
      } else {
        write_scalar32(wave, op->scalar.dst, static_cast<u32>(result));
      }
    }
  }
};

template <auto kBody>
constexpr Execute scalar = Scalar<kBody>::execute;

}  // namespace wave::emulator
