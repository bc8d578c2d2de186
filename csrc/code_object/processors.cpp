// Every AMD processor that code may be for, and what its compute units offer.
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
// covers, gfx11-generic the smaller register file. Processors without limits (before gfx9, gfx117x, gfx1250 and later)
// have no figures we could check.
//
// LDS bytes, granule, SIMDs, waves, workgroups, VGPRs, granule, addressable, unified, SGPRs, granule
constexpr ProcessorLimits kGfx9 = {65536, 512, 4, 10, 16, 256, 4, 256, false, 800, 16};
constexpr ProcessorLimits kGfx908 = {65536, 512, 4, 10, 16, 256, 4, 512, false, 800, 16};
constexpr ProcessorLimits kCdna = {65536, 512, 4, 8, 16, 512, 8, 512, true, 800, 16};
constexpr ProcessorLimits kGfx950 = {163840, 1280, 4, 8, 16, 512, 8, 512, true, 800, 16};
constexpr ProcessorLimits kGfx101 = {65536, 512, 2, 20, 16, 1024, 8, 256, false, 0, 0};
constexpr ProcessorLimits kRdna = {65536, 1024, 2, 16, 16, 1024, 16, 256, false, 0, 0};
constexpr ProcessorLimits kRdnaLarge = {65536, 1024, 2, 16, 16, 1536, 24, 256, false, 0, 0};

// Every amdgcn machine number that LLVM has assigned (llvm/BinaryFormat/ELF.h, "AMDGPU specific e_flags"), and the
// features that its target parser accepts in a target id.
constexpr Processor kProcessors[] = {
    // name, machine, family, major, minor, sramecc, xnack, limits
    {"gfx600", 0x20, "6", 6, 0, false, false, nullptr},
    {"gfx601", 0x21, "6", 6, 0, false, false, nullptr},
    {"gfx602", 0x3a, "6", 6, 0, false, false, nullptr},
    {"gfx700", 0x22, "7", 7, 0, false, false, nullptr},
    {"gfx701", 0x23, "7", 7, 0, false, false, nullptr},
    {"gfx702", 0x24, "7", 7, 0, false, false, nullptr},
    {"gfx703", 0x25, "7", 7, 0, false, false, nullptr},
    {"gfx704", 0x26, "7", 7, 0, false, false, nullptr},
    {"gfx705", 0x3b, "7", 7, 0, false, false, nullptr},
    {"gfx801", 0x28, "8", 8, 0, false, true, nullptr},
    {"gfx802", 0x29, "8", 8, 0, false, false, nullptr},
    {"gfx803", 0x2a, "8", 8, 0, false, false, nullptr},
    {"gfx805", 0x3c, "8", 8, 0, false, false, nullptr},
    {"gfx810", 0x2b, "8.10", 8, 1, false, true, nullptr},
    {"gfx900", 0x2c, "9", 9, 0, false, true, &kGfx9},
    {"gfx902", 0x2d, "9", 9, 0, false, true, &kGfx9},
    {"gfx904", 0x2e, "9", 9, 0, false, true, &kGfx9},
    {"gfx906", 0x2f, "9", 9, 0, true, true, &kGfx9},
    {"gfx908", 0x30, "9.08", 9, 0, true, true, &kGfx908},
    {"gfx909", 0x31, "9", 9, 0, false, true, &kGfx9},
    {"gfx90a", 0x3f, "9.0a", 9, 0, true, true, &kCdna},
    {"gfx90c", 0x32, "9", 9, 0, false, true, &kGfx9},
    {"gfx940", 0x40, "9.4", 9, 4, true, true, &kCdna},
    {"gfx941", 0x4b, "9.4", 9, 4, true, true, &kCdna},
    {"gfx942", 0x4c, "9.4", 9, 4, true, true, &kCdna},
    {"gfx950", 0x4f, "9.4", 9, 5, true, true, &kGfx950},
    {"gfx1010", 0x33, "10.1", 10, 1, false, true, &kGfx101},
    {"gfx1011", 0x34, "10.1", 10, 1, false, true, &kGfx101},
    {"gfx1012", 0x35, "10.1", 10, 1, false, true, &kGfx101},
    {"gfx1013", 0x42, "10.1", 10, 1, false, true, &kGfx101},
    {"gfx1030", 0x36, "10.3", 10, 3, false, false, &kRdna},
    {"gfx1031", 0x37, "10.3", 10, 3, false, false, &kRdna},
    {"gfx1032", 0x38, "10.3", 10, 3, false, false, &kRdna},
    {"gfx1033", 0x39, "10.3", 10, 3, false, false, &kRdna},
    {"gfx1034", 0x3e, "10.3", 10, 3, false, false, &kRdna},
    {"gfx1035", 0x3d, "10.3", 10, 3, false, false, &kRdna},
    {"gfx1036", 0x45, "10.3", 10, 3, false, false, &kRdna},
    {"gfx1100", 0x41, "11", 11, 0, false, false, &kRdnaLarge},
    {"gfx1101", 0x46, "11", 11, 0, false, false, &kRdnaLarge},
    {"gfx1102", 0x47, "11", 11, 0, false, false, &kRdna},
    {"gfx1103", 0x44, "11", 11, 0, false, false, &kRdna},
    {"gfx1150", 0x43, "11", 11, 5, false, false, &kRdna},
    {"gfx1151", 0x4a, "11", 11, 5, false, false, &kRdnaLarge},
    {"gfx1152", 0x55, "11", 11, 5, false, false, &kRdna},
    {"gfx1153", 0x58, "11", 11, 5, false, false, &kRdna},
    {"gfx1154", 0x57, "11", 11, 5, false, false, nullptr},
    {"gfx1170", 0x5d, "11.7", 11, 7, false, false, nullptr},
    {"gfx1171", 0x5e, "11.7", 11, 7, false, false, nullptr},
    {"gfx1172", 0x5c, "11.7", 11, 7, false, false, nullptr},
    {"gfx1200", 0x48, "12", 12, 0, false, false, &kRdnaLarge},
    {"gfx1201", 0x4e, "12", 12, 0, false, false, &kRdnaLarge},
    {"gfx1250", 0x49, "12.5", 12, 5, true, true, nullptr},
    {"gfx1251", 0x5a, "12.5", 12, 5, true, true, nullptr},
    {"gfx1310", 0x50, "13", 13, 1, false, false, nullptr},
    {"gfx9-generic", 0x51, "9", 9, 0, false, true, &kGfx9},
    {"gfx9-4-generic", 0x5f, "9.4", 9, 4, true, true, &kCdna},
    {"gfx10-1-generic", 0x52, "10.1", 10, 1, false, true, &kGfx101},
    {"gfx10-3-generic", 0x53, "10.3", 10, 3, false, false, &kRdna},
    {"gfx11-generic", 0x54, "11", 11, 0, false, false, &kRdna},
    {"gfx11-7-generic", 0x62, "11.7", 11, 7, false, false, nullptr},
    {"gfx12-generic", 0x59, "12", 12, 0, false, false, &kRdnaLarge},
    {"gfx12-5-generic", 0x5b, "12.5", 12, 5, true, true, nullptr},
    {"gfx13-generic", 0x63, "13", 13, 0, false, false, nullptr},
};

}  // namespace

std::span<const Processor> known_processors() { return kProcessors; }

bool is_generic(std::string_view processor) { return processor.ends_with("-generic"); }

const Processor* find_processor(std::string_view name) {
  const auto* found = std::ranges::find(kProcessors, name, &Processor::name);
  return found == std::end(kProcessors) ? nullptr : found;
}

const Processor* find_generic_processor(const Processor& processor) {
  for (const Processor& generic : kProcessors) {
    if (is_generic(generic.name) && std::string_view(generic.family) == processor.family) return &generic;
  }
  return nullptr;
}

}  // namespace wave
