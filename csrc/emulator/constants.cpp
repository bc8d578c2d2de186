#include "emulator/constants.h"

#include "base/fork_safe.h"

namespace wave::emulator {

namespace {

using isa::OperandType;

struct FloatConstant {
  u16 half;
  u32 single;
  u64 twice;
};

// 0.5, -0.5, 1, -1, 2, -2, 4, -4 and 1/(2 pi), from code 240 on.
constexpr FloatConstant kFloats[] = {
    {0x3800, 0x3f000000, 0x3fe0000000000000}, {0xb800, 0xbf000000, 0xbfe0000000000000},
    {0x3c00, 0x3f800000, 0x3ff0000000000000}, {0xbc00, 0xbf800000, 0xbff0000000000000},
    {0x4000, 0x40000000, 0x4000000000000000}, {0xc000, 0xc0000000, 0xc000000000000000},
    {0x4400, 0x40800000, 0x4010000000000000}, {0xc400, 0xc0800000, 0xc010000000000000},
    {0x3118, 0x3e22f983, 0x3fc45f306dc9c882},
};

u64 integer_constant(u32 code) { return code <= 192 ? code - 128 : static_cast<u64>(i64{192} - code); }

}  // namespace

u64 inline_constant(u32 code, OperandType type) {
  if (code < 240) return integer_constant(code);
  const FloatConstant& value = kFloats[code - 240];
  switch (type) {
    case OperandType::F16:
    case OperandType::PackedF16:
      return value.half;
    case OperandType::Bf16:
    case OperandType::PackedBf16:
      return value.single >> 16;
    case OperandType::B64:
    case OperandType::F64:
      return value.twice;
    default:
      return value.single;
  }
}

namespace {
Lazy<std::array<u32, 128>>& constants = *new Lazy<std::array<u32, 128>>();
}

const std::array<u32, 128>& inline_constants32() {
  return constants.get([] {
    std::array<u32, 128> values{};
    for (u32 code = 128; code < 256; ++code) {
      if (is_inline_constant(code)) values[code - 128] = static_cast<u32>(inline_constant(code, OperandType::B32));
    }
    return values;
  });
}

}  // namespace wave::emulator
