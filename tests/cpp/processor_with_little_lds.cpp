// A processor that nobody makes, gfx942 with 32 KiB of LDS, in one file as the product's own processors are.
#include "emulator/processor.h"

namespace {

wave::emulator::ProcessorTraits little_lds() {
  wave::emulator::ProcessorTraits traits = wave::emulator::cdna3();
  traits.name = "gfx942-32k";
  traits.limits.lds_bytes = 32 * 1024;
  return traits;
}

const wave::emulator::ProcessorRegistration registration(little_lds());

}  // namespace
