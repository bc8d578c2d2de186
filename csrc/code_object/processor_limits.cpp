#include <algorithm>
#include <iterator>

#include "code_object/target.h"

namespace wave {
namespace {

// SIMDs, waves, registers and their granules: LLVM's AMDGPUBaseInfo.cpp (getEUsPerCU, getMaxWavesPerEU,
// getTotalNumVGPRs, getVGPRAllocGranule, getTotalNumSGPRs, getSGPRAllocGranule), which agree with the register chapters
// of AMD's ISA documents. Workgroups: its getMaxWorkGroupsPerCU (16 barriers a compute unit). Granule of LDS
// allocations: 512 bytes by the AMDGPU usage guide's GRANULATED_LDS_SIZE, 1280 on gfx950; 1024 since gfx10.3 by Mesa's
// ACO. gfx908 counts its separate accumulation VGPRs as addressable. gfx9-4-generic has the smaller LDS of those it
// covers, gfx11-generic the smaller register file. Processors that are not listed (before gfx9, gfx117x, gfx1250 and
// later) have no figures we could check.
constexpr ProcessorLimits kLimits[] = {
    // processor, LDS bytes, granule, SIMDs, waves, workgroups, VGPRs, granule, addressable, unified, SGPRs, granule,
    // wave
    {"gfx900", 65536, 512, 4, 10, 16, 256, 4, 256, false, 800, 16, 64},
    {"gfx902", 65536, 512, 4, 10, 16, 256, 4, 256, false, 800, 16, 64},
    {"gfx904", 65536, 512, 4, 10, 16, 256, 4, 256, false, 800, 16, 64},
    {"gfx906", 65536, 512, 4, 10, 16, 256, 4, 256, false, 800, 16, 64},
    {"gfx908", 65536, 512, 4, 10, 16, 256, 4, 512, false, 800, 16, 64},
    {"gfx909", 65536, 512, 4, 10, 16, 256, 4, 256, false, 800, 16, 64},
    {"gfx90a", 65536, 512, 4, 8, 16, 512, 8, 512, true, 800, 16, 64},
    {"gfx90c", 65536, 512, 4, 10, 16, 256, 4, 256, false, 800, 16, 64},
    {"gfx940", 65536, 512, 4, 8, 16, 512, 8, 512, true, 800, 16, 64},
    {"gfx941", 65536, 512, 4, 8, 16, 512, 8, 512, true, 800, 16, 64},
    {"gfx942", 65536, 512, 4, 8, 16, 512, 8, 512, true, 800, 16, 64},
    {"gfx950", 163840, 1280, 4, 8, 16, 512, 8, 512, true, 800, 16, 64},
    {"gfx1010", 65536, 512, 2, 20, 16, 1024, 8, 256, false, 0, 0, 32},
    {"gfx1011", 65536, 512, 2, 20, 16, 1024, 8, 256, false, 0, 0, 32},
    {"gfx1012", 65536, 512, 2, 20, 16, 1024, 8, 256, false, 0, 0, 32},
    {"gfx1013", 65536, 512, 2, 20, 16, 1024, 8, 256, false, 0, 0, 32},
    {"gfx1030", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx1031", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx1032", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx1033", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx1034", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx1035", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx1036", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx1100", 65536, 1024, 2, 16, 16, 1536, 24, 256, false, 0, 0, 32},
    {"gfx1101", 65536, 1024, 2, 16, 16, 1536, 24, 256, false, 0, 0, 32},
    {"gfx1102", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx1103", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx1150", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx1151", 65536, 1024, 2, 16, 16, 1536, 24, 256, false, 0, 0, 32},
    {"gfx1152", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx1153", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx1200", 65536, 1024, 2, 16, 16, 1536, 24, 256, false, 0, 0, 32},
    {"gfx1201", 65536, 1024, 2, 16, 16, 1536, 24, 256, false, 0, 0, 32},
    {"gfx9-generic", 65536, 512, 4, 10, 16, 256, 4, 256, false, 800, 16, 64},
    {"gfx9-4-generic", 65536, 512, 4, 8, 16, 512, 8, 512, true, 800, 16, 64},
    {"gfx10-1-generic", 65536, 512, 2, 20, 16, 1024, 8, 256, false, 0, 0, 32},
    {"gfx10-3-generic", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx11-generic", 65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0, 32},
    {"gfx12-generic", 65536, 1024, 2, 16, 16, 1536, 24, 256, false, 0, 0, 32},
};

}  // namespace

const ProcessorLimits* find_processor_limits(std::string_view processor) {
  const auto* found =
      std::ranges::find(kLimits, processor, [](const ProcessorLimits& row) { return std::string_view(row.processor); });
  return found == std::end(kLimits) ? nullptr : found;
}

}  // namespace wave
