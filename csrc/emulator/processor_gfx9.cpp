// gfx9-generic: of no processor, but of what gfx900, gfx902, gfx904, gfx906, gfx909 and gfx90c have in common.
#include "emulator/processor.h"

namespace wave::emulator {

namespace {

// The figures of an AMD Radeon Instinct MI50 (gfx906): AMD's product page. Work-items' ids: LLVM AMDGPU usage guide,
// "Initial Kernel Execution State", VGPR register set up.
ProcessorTraits gfx9_traits() {
  ProcessorTraits traits = cdna2();
  traits.name = traits.code = traits.instructions = "gfx9-generic";
  traits.settings = ":xnack-";
  traits.wait_rules = wait_rule::kGfx9 | wait_rule::kStoreToVector1;
  traits.limits = *find_processor("gfx9-generic")->limits;
  traits.compute_units = 60;
  traits.engines = 4;
  traits.units_per_engine = 16;
  traits.clock = 1'725'000;
  traits.packs_work_items = false;
  return traits;
}

const ProcessorRegistration gfx9(gfx9_traits());

}  // namespace

}  // namespace wave::emulator
