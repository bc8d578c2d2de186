// RDNA3: gfx1100, of the AMD Radeon RX 7900 XTX, gfx1101 (RX 7800 XT), gfx1102 (RX 7600), gfx1103 (Radeon 780M of Ryzen
// 7 7840U); and RDNA3.5: gfx1150 (Radeon 890M of Ryzen AI 9 HX 370), gfx1151 (Radeon 8060S of Ryzen AI Max+ 395),
// gfx1152 (Radeon 860M of Ryzen AI 7 350), gfx1153 (Radeon 820M of Ryzen AI 5 330).
#include "emulator/processor.h"

namespace wave::emulator {

// Compute units and clock: AMD's product page.
// Scratch is what COMPUTE_TMPRING_SIZE.WAVESIZE can say for a wave (LLVM's GCNSubtarget, getMaxWaveScratchSize).
ProcessorTraits rdna3() {
  return {
      .name = "gfx1100",
      .code = "gfx1100",
      .instructions = "gfx1100",
      .settings = "",
      .limits = *find_processor("gfx1100")->limits,
      .lanes = find_processor("gfx1100")->lanes(),
      .compute_units = 96,
      .units_per_multiprocessor = 2,
      .dies = 1,
      .engines = 6,
      .units_per_engine = 16,
      .clock = 2'500'000,
      .lds_banks = 32,
      .lds_store_banks = 32,
      .max_scratch = 256 * ((1 << 15) - 1) / 32,
      .flat_scratch_in_sgprs = false,
      .kernels_set_up_scratch = false,
      .ids_in_ttmp = false,
      .packs_work_items = true,
      .has_ieee_mode = true,
      .keeps_other_half = true,
      .wait_rules = wait_rule::kMatrixToFactor | wait_rule::kTransToVectors | wait_rule::kExecToPermlanes,
  };
}

namespace {

/// Their memory is the host's (AMD's product pages: "integrated graphics").
ProcessorTraits rdna35(const char* name, u32 compute_units, u32 engines, u32 clock) {
  ProcessorTraits traits = of_family(rdna3(), name, compute_units, engines, clock, kIntegrated);
  traits.instructions = "gfx1150";
  traits.wait_rules &= ~wait_rule::kTransToVectors;
  return traits;
}

const ProcessorRegistration gfx1100(rdna3());
const ProcessorRegistration gfx1101(of_family(rdna3(), "gfx1101", 60, 3, 2'430'000));
const ProcessorRegistration gfx1102(of_family(rdna3(), "gfx1102", 32, 2, 2'655'000));
const ProcessorRegistration gfx1103(of_family(rdna3(), "gfx1103", 12, 1, 2'700'000, kIntegrated));
const ProcessorRegistration gfx1150(rdna35("gfx1150", 16, 1, 2'900'000));
const ProcessorRegistration gfx1151(rdna35("gfx1151", 40, 2, 2'900'000));
const ProcessorRegistration gfx1152(rdna35("gfx1152", 8, 1, 3'000'000));
const ProcessorRegistration gfx1153(rdna35("gfx1153", 2, 1, 2'800'000));

}  // namespace

}  // namespace wave::emulator
