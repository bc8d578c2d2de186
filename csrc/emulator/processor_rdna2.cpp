// RDNA2: gfx1030, of the AMD Radeon RX 6900 XT, gfx1031 (RX 6700 XT), gfx1032 (RX 6600 XT), gfx1034 (RX 6500 XT), and
// with the host's memory gfx1033 (Steam Deck), gfx1035 (Radeon 680M of Ryzen 9 6900HX), gfx1036 (Ryzen 9 7950X).
#include "emulator/processor.h"

namespace wave::emulator {

// Compute units and clocks: AMD's product pages, and Valve's of the Steam Deck. Shader engines: "RDNA 2" white paper.
// Scratch is what COMPUTE_TMPRING_SIZE.WAVESIZE can say for a wave (LLVM's GCNSubtarget, getMaxWaveScratchSize).
ProcessorTraits rdna2() {
  return {
      .name = "gfx1030",
      .code = "gfx1030",
      .instructions = "gfx1030",
      .settings = "",
      .limits = *find_processor("gfx1030")->limits,
      .lanes = find_processor("gfx1030")->lanes(),
      .compute_units = 80,
      .units_per_multiprocessor = 2,
      .dies = 1,
      .engines = 4,
      .units_per_engine = 20,
      .clock = 2'250'000,
      .lds_banks = 32,
      .lds_store_banks = 32,
      .max_scratch = 1024 * ((1 << 13) - 1) / 32,
      .flat_scratch_in_sgprs = false,
      .kernels_set_up_scratch = true,
      .ids_in_ttmp = false,
      .packs_work_items = false,
      .has_ieee_mode = true,
      .keeps_other_half = true,
      .wait_rules = 0,
  };
}

namespace {

const ProcessorRegistration gfx1030(rdna2());
const ProcessorRegistration gfx1031(of_family(rdna2(), "gfx1031", 40, 2, 2'581'000));
const ProcessorRegistration gfx1032(of_family(rdna2(), "gfx1032", 32, 2, 2'589'000));
const ProcessorRegistration gfx1033(of_family(rdna2(), "gfx1033", 8, 1, 1'600'000, kIntegrated));
const ProcessorRegistration gfx1034(of_family(rdna2(), "gfx1034", 16, 1, 2'815'000));
const ProcessorRegistration gfx1035(of_family(rdna2(), "gfx1035", 12, 1, 2'400'000, kIntegrated));
const ProcessorRegistration gfx1036(of_family(rdna2(), "gfx1036", 2, 1, 2'200'000, kIntegrated));

}  // namespace

}  // namespace wave::emulator
