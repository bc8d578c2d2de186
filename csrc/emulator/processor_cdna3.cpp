// CDNA3: gfx942, of the AMD Instinct MI300X.
#include "emulator/processor.h"

namespace wave::emulator {

// AMD CDNA 3 architecture white paper, "XCD": of the 40 compute units of a die 38 are enabled.
// Scratch is what COMPUTE_TMPRING_SIZE.WAVESIZE can say for a wave (LLVM's GCNSubtarget, getMaxWaveScratchSize).
ProcessorTraits cdna3() {
  using namespace wait_rule;
  return {
      .name = "gfx942",
      .code = "gfx942",
      .instructions = "gfx942",
      .settings = ":sramecc+:xnack-",
      .limits = *find_processor("gfx942")->limits,
      .lanes = find_processor("gfx942")->lanes(),
      .compute_units = 304,
      .units_per_multiprocessor = 1,
      .dies = 8,
      .engines = 4,
      .units_per_engine = 10,
      .clock = 2'100'000,
      .lds_banks = 32,
      .lds_store_banks = 32,
      .lds_mixes_lanes = true,
      .max_scratch = 1024 * ((1 << 13) - 1) / 64,
      .flat_scratch_in_sgprs = true,
      .kernels_set_up_scratch = false,
      .ids_in_ttmp = false,
      .packs_work_items = true,
      .has_ieee_mode = true,
      .keeps_other_half = false,
      .wait_rules =
          kCdna | kStoreToVector2 | kTransToVector | kPartToVector | kScalarToVector | kVectorToReadlane | kExecToLane,
      .has_fnuz = true,
  };
}

namespace {
const ProcessorRegistration gfx942(cdna3());
}

}  // namespace wave::emulator
