// What instructions wait for: counters, and results of earlier instructions.
#include <string_view>

#include "emulator/isa/disassemble.h"

namespace wave::isa {
namespace {

struct Counter {
  const char* name;
  uint32_t count, maximum;
};

/// Counters at their maximum wait for nothing and are left out, unless all are.
template <size_t kCount>
void append_counters(std::string& out, const Counter (&counters)[kCount]) {
  bool all = true;
  for (const Counter& counter : counters) all &= counter.count == counter.maximum;
  const char* separator = "";
  for (const Counter& counter : counters) {
    if (counter.count == counter.maximum && !all) continue;
    append_decimal(((out += separator) += counter.name) += '(', counter.count);
    out += ')';
    separator = " ";
  }
}

constexpr std::string_view kResults[] = {"",
                                         "VALU_DEP_1",
                                         "VALU_DEP_2",
                                         "VALU_DEP_3",
                                         "VALU_DEP_4",
                                         "TRANS32_DEP_1",
                                         "TRANS32_DEP_2",
                                         "TRANS32_DEP_3",
                                         "FMA_ACCUM_CYCLE_1",
                                         "SALU_CYCLE_1",
                                         "SALU_CYCLE_2",
                                         "SALU_CYCLE_3"};
constexpr std::string_view kSkips[] = {"", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};

}  // namespace

/// VMCNT is SIMM16[15:14] and [3:0], EXPCNT [6:4], LGKMCNT [11:8], of GFX10 [13:8]; since GFX11 VMCNT [15:10], LGKMCNT
/// [9:4], EXPCNT [2:0].
void append_waitcnt(std::string& out, Generation generation, uint32_t value) {
  if (generation == Generation::GFX9 || generation == Generation::GFX10) {
    const unsigned width = generation == Generation::GFX9 ? 4 : 6;
    return append_counters(out, {{"vmcnt", bits(value, 0, 4) | bits(value, 14, 2) << 4, 63},
                                 {"expcnt", bits(value, 4, 3), 7},
                                 {"lgkmcnt", bits(value, 8, width), (1u << width) - 1}});
  }
  append_counters(
      out, {{"vmcnt", bits(value, 10, 6), 63}, {"expcnt", bits(value, 0, 3), 7}, {"lgkmcnt", bits(value, 4, 6), 63}});
}

/// S_WAITCNT_DEPCTR, S_WAIT_ALU: bits 5 and 6 are reserved.
void append_dependency_counters(std::string& out, uint32_t value) {
  if (bits(value, 5, 2) != 0) return append_hex(out, value);
  append_counters(out, {{"depctr_hold_cnt", bits(value, 7, 1), 1},
                        {"depctr_sa_sdst", bits(value, 0, 1), 1},
                        {"depctr_va_vdst", bits(value, 12, 4), 15},
                        {"depctr_va_sdst", bits(value, 9, 3), 7},
                        {"depctr_va_ssrc", bits(value, 8, 1), 1},
                        {"depctr_va_vcc", bits(value, 1, 1), 1},
                        {"depctr_vm_vsrc", bits(value, 2, 3), 7}});
}

bool is_legal_delay(uint32_t value) {
  return bits(value, 0, 4) < std::size(kResults) && bits(value, 4, 3) < std::size(kSkips) &&
         bits(value, 7, 4) < std::size(kResults);
}

/// S_DELAY_ALU: what to wait for, how many instructions on, and what to wait for there.
void append_delay(std::string& out, uint32_t value) {
  const char* separator = "";
  const auto append = [&](const char* name, std::string_view text) {
    if (text.empty()) return;
    ((out += separator) += name) += text;
    out += ')';
    separator = " | ";
  };
  append("instid0(", kResults[bits(value, 0, 4)]);
  append("instskip(", kSkips[bits(value, 4, 3)]);
  append("instid1(", kResults[bits(value, 7, 4)]);
  if (*separator == '\0') out += '0';
}

}  // namespace wave::isa
