#include "emulator/processor.h"

namespace wave::emulator {

namespace {

// MI300X, RX 7900 XTX, RX 9070 XT. Scratch is what COMPUTE_TMPRING_SIZE.WAVESIZE can say for a wave (LLVM's
// GCNSubtarget, getMaxWaveScratchSize).
constexpr ProcessorTraits kProcessors[] = {
    {.name = "gfx942",
     .lanes = 64,
     .compute_units = 304,
     .max_scratch = 1024 * ((1 << 13) - 1) / 64,
     .flat_scratch_in_sgprs = true,
     .ids_in_ttmp = false,
     .has_ieee_mode = true,
     .keeps_other_half = false},
    {.name = "gfx1100",
     .lanes = 32,
     .compute_units = 96,
     .max_scratch = 256 * ((1 << 15) - 1) / 32,
     .flat_scratch_in_sgprs = false,
     .ids_in_ttmp = false,
     .has_ieee_mode = true,
     .keeps_other_half = true},
    {.name = "gfx1201",
     .lanes = 32,
     .compute_units = 64,
     .max_scratch = 256 * ((1 << 18) - 1) / 32,
     .flat_scratch_in_sgprs = false,
     .ids_in_ttmp = true,
     .has_ieee_mode = false,
     .keeps_other_half = true},
};

}  // namespace

const ProcessorTraits* find_processor_for(const Target& code) {
  for (const ProcessorTraits& processor : kProcessors) {
    if (code.runs_on(Target::parse(processor.name))) return &processor;
  }
  return nullptr;
}

std::span<const ProcessorTraits> all_processors() { return kProcessors; }

}  // namespace wave::emulator
