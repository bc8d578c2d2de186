// What a code object was built for: a processor and its settings (LLVM AMDGPU usage guide, "Target ID").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace wave {

/// What one compute unit of a processor offers. On gfx10 and later, where a workgroup processor is two compute units
/// with two SIMDs each, a kernel in WGP mode finds twice the SIMDs, LDS and workgroup slots.
struct ProcessorLimits {
  uint32_t lds_bytes;        ///< of a workgroup, and of a compute unit
  uint32_t lds_granularity;  ///< bytes
  uint32_t simds;            ///< of a compute unit
  uint32_t waves_per_simd;
  uint32_t workgroups_per_unit;  ///< that have more than one wave: smaller ones take no barrier
  uint32_t vgprs;              ///< of a SIMD, for one lane; arch and accumulation VGPRs together where they are unified
  uint32_t vgpr_granularity;   ///< at the processor's default wavefront size
  uint32_t addressable_vgprs;  ///< of a wave, arch and accumulation VGPRs together
  bool unified_vgprs;          ///< accumulation VGPRs share the file (gfx90a, gfx940 and later CDNA)
  uint32_t sgprs;              ///< of a SIMD; 0 where they do not limit occupancy (gfx10 and later)
  uint32_t sgpr_granularity;
};

/// A processor, generic ones included (LLVM AMDGPU usage guide, "Processors" and "ELF Header e_flags").
struct Processor {
  std::string_view name;
  uint8_t elf_machine;  ///< EF_AMDGPU_MACH
  const char* family;   ///< of the processors that one generic processor covers, as triples write it: "9.4"
  uint8_t major;        ///< of the instruction set: gfx942 is 9.4
  uint8_t minor;
  bool sramecc;                   ///< whether a code object may fix this feature
  bool xnack;                     ///< likewise
  const ProcessorLimits* limits;  ///< nullptr where they are not known

  /// Of a wave, where a kernel asks for no others (usage guide, "Processors").
  uint32_t lanes() const { return major < 10 ? 64 : 32; }
  bool has_unified_vgprs() const { return limits != nullptr && limits->unified_vgprs; }
};

/// All of them, in LLVM's order; generic ones last.
std::span<const Processor> known_processors();

/// The processor of this name, or nullptr where this version does not know it. Lives for the process.
const Processor* find_processor(std::string_view name);

/// Whether it is a name of one: "gfx11-generic".
bool is_generic(std::string_view processor);

/// The generic processor whose code runs on `processor`, or nullptr where there is none (gfx908, say).
const Processor* find_generic_processor(const Processor& processor);

/// A target feature that a code object may fix (xnack, sramecc). `Any` runs under either setting; of a device it means
/// that the setting is not known.
enum class Feature : uint8_t { Unsupported, Any, Off, On };

/// An NVIDIA processor ("sm_90", "sm_103a"), or of PTX the virtual one that it needs, which PTX writes alike.
struct Sm {
  /// What the code relies on beyond the features that later processors share.
  enum class Features : uint8_t {
    Baseline,
    Family,        ///< "sm_100f": those of the processors of one family
    Architecture,  ///< "sm_90a": those of this processor alone
  };

  unsigned number;  ///< 10 times the major compute capability, plus the minor one
  Features features = Features::Baseline;

  unsigned major() const { return number / 10; }
  std::string name() const;
};

/// Reads "sm_90", "sm_90a", "sm_100f"; nothing for any other text.
std::optional<Sm> parse_sm(std::string_view processor);

struct Target {
  std::string processor;  ///< "gfx942", or a generic one such as "gfx9-4-generic"; "sm_90a" for NVIDIA
  Feature sramecc = Feature::Unsupported;
  Feature xnack = Feature::Unsupported;
  uint8_t generic_version = 0;  ///< of code for a generic processor (code object v6); else 0

  bool operator==(const Target&) const = default;

  /// Reads "sm_90a", or "gfx942:sramecc+:xnack-", with or without a triple in front: "amdgcn-amd-amdhsa--", or, since
  /// LLVM 24, "amdgpu9.42-amd-amdhsa-unknown-", which may stand for the processor. A feature that the text leaves out
  /// is `Any` where the processor has it, and a generic target is of version 1. Throws ValueError.
  static Target parse(std::string_view id);

  /// Reads e_flags of an AMDGPU ELF whose EI_ABIVERSION is `abi_version` (1 to 4: code object v3 to v6). An unknown
  /// machine number throws FormatError.
  static Target from_elf_flags(uint32_t flags, uint8_t abi_version);

  /// "gfx942:sramecc+:xnack-"; a feature that is unsupported or Any is left out.
  std::string id() const;

  /// Whether binary code built for this target runs on `device`. AMD: the same processor, or a generic one that covers
  /// it, and no feature fixed to the other setting. NVIDIA: the same major compute capability and no lower minor one,
  /// or the same processor for code with architecture-specific features. PTX runs on more: see select.h.
  bool runs_on(const Target& device) const;
};

/// Work-items of a workgroup, on every processor.
inline constexpr uint32_t kMostWorkItems = 1024;
/// Workgroups that HIP launches along x, y and z.
inline constexpr std::array<uint32_t, 3> kMostWorkgroups{INT32_MAX, 65536, 65536};

}  // namespace wave
