// The processors that the emulator runs, and what it must know of each beyond its instructions. A processor is a
// registration in one of the files processor_*.cpp, or in another one, which nothing else has to name.
#pragma once

#include <string>
#include <vector>

#include "code_object/target.h"
#include "emulator/isa/isa.h"
#include "emulator/wait_rules.h"
#include "emulator/wave.h"

namespace wave::emulator {

/// A processor, and the device that has it. Register rows have kLanes lanes for all of them: a wave of 32 lanes leaves
/// the upper half disabled. Numbers of registers are in the kernel descriptor, operand codes in isa::ScalarCodes.
struct ProcessorTraits {
  const char* name;  ///< by which WAVE_RUNTIME_EMULATOR_PROCESSOR chooses it
  const char* code;  ///< the processor whose instructions it has and whose code it runs: its own name, or "gfx942" of
                     ///< one that is like gfx942 but for some figures
  const char* instructions;      ///< the processor whose table of instructions it has, as LLVM's processors show: its
                                 ///< own, or "gfx1100" of gfx1101
  const char* settings;          ///< of the device's target features: ":sramecc+:xnack-"
  ProcessorLimits limits;        ///< of a compute unit
  u32 lanes;                     ///< of a wave, as the device says; a kernel may have chosen otherwise
  u32 compute_units;             ///< of the device; bounds how many workgroups are under way at once
  u32 units_per_multiprocessor;  ///< compute units of what HIP counts as one: 2 of a workgroup processor (RDNA)
  u32 dies;                      ///< to which workgroups go in turn (XCC)
  u32 engines;                   ///< shader engines of a die
  u32 units_per_engine;          ///< compute units
  u32 clock;                     ///< kHz, at the most
  u32 lds_banks;                 ///< of a dword each
  u32 lds_store_banks;           ///< those that stores have at once, and loads of 12 bytes
  bool lds_mixes_lanes = false;  ///< those that load 12 or 16 bytes of LDS at once are no neighbours
  u32 max_scratch;               ///< bytes that a lane can have
  bool flat_scratch_in_sgprs;    ///< s[102:103] begin as FLAT_SCRATCH
  bool kernels_set_up_scratch;   ///< of a descriptor or an address that user SGPRs have, and the wave's offset behind
                                 ///< the workgroup ids
  bool ids_in_ttmp;              ///< workgroup ids come in TTMP9 (x) and TTMP7 (y and z), not behind the user SGPRs
  bool packs_work_items;         ///< ids within the workgroup come in v0, ten bits for each axis, not in v0 to v2
  bool has_ieee_mode;            ///< MODE has IEEE and DX10_CLAMP; else clamping makes 0 of NaN, and minima ignore NaN
  bool scales_always = false;    ///< OMOD counts where MODE keeps denormals, too
  bool keeps_other_half;         ///< results of 16 bits keep the other half of their register, others clear it
  bool is_integrated = false;    ///< the device shares the host's memory
  WaitRules wait_rules;          ///< of its instructions
  bool has_scalar_hazards = false;  ///< scalar registers that vector instructions have read must be waited for when
                                    ///< they are read again (scalar_hazards.h)
  bool has_fnuz = false;            ///< FP8 and BF8 are the kinds without infinities (FNUZ), not those of OCP

  const isa::InstructionSet& instruction_set() const { return *isa::InstructionSet::find(instructions); }
  /// What a device with it is: "gfx942:sramecc+:xnack-".
  Target target() const { return Target::parse(std::string(code) + settings); }
  /// As many as a device of HIP says it has.
  u32 multiprocessors() const { return compute_units / units_per_multiprocessor; }
};

/// Those of gfx90a, gfx942, gfx950, gfx1030, gfx1100 and gfx1201. A processor of the same family has them but for some
/// figures.
ProcessorTraits cdna2();
ProcessorTraits cdna3();
ProcessorTraits cdna4();
ProcessorTraits rdna2();
ProcessorTraits rdna3();
ProcessorTraits rdna4();

inline constexpr bool kIntegrated = true;

/// One of a family that runs code of its own, with its limits and the figures of a device that has it, whose engines
/// have equally many of the compute units.
ProcessorTraits of_family(ProcessorTraits family, const char* name, u32 compute_units, u32 engines, u32 clock,
                          bool is_integrated = false);

/// Makes a processor known, from the constructors of the library that has it: of static storage.
class ProcessorRegistration {
 public:
  explicit ProcessorRegistration(const ProcessorTraits& traits);
  /// All that were registered, by name.
  static std::vector<const ProcessorTraits*> all();

 private:
  const ProcessorTraits traits_;
  const ProcessorRegistration* next_;
};

/// The processor of the emulated device: that which WAVE_RUNTIME_EMULATOR_PROCESSOR names (read once), else gfx942.
/// Throws ValueError where there is none of the name.
const ProcessorTraits& device_processor();

/// The processors whose code the emulator runs: the device's, then those of other code, by name. Of the processors that
/// run another's code there is none but the device's.
std::vector<const ProcessorTraits*> all_processors();

/// The first of them that runs code for a target: the target's own, or one that a generic target covers; nullptr where
/// the emulator does not run such code.
const ProcessorTraits* find_processor_for(const Target& code);

/// The instructions of a processor that is named by its code ("gfx1101"), or nullptr where none is registered.
const isa::InstructionSet* find_instruction_set(std::string_view code);

/// "gfx942, gfx1100": whose code the emulator runs, for messages.
std::string emulated_code();

}  // namespace wave::emulator
