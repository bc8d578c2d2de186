// What a fault has to do with how the kernel was launched: what to give a launch that it was not given.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/memory_range.h"
#include "emulator/op.h"

namespace wave::emulator {

class LaunchState;

/// Whether an address is a null pointer with something added or taken away: no process has memory there.
bool is_near_null(u64 address);
/// "at a null pointer plus 32 bytes: argument 1 'b' is null", from what a launch was given: what is null has no bytes.
std::string near_null_text(u64 address, std::span<const MemoryRange> given);

/// What a launch lacks whose grid waits for itself.
inline constexpr const char* kNotCooperative =
    "a barrier of the grid in a launch that is not cooperative: launch the kernel with cooperative=True (in HIP "
    "programs with hipLaunchCooperativeKernel)";

/// The fault of a launch, whose text names the kernel and the processor before the reason.
KernelFault fault_of(const LaunchState& launch, std::string_view reason);
/// The reason of a wave's fault, with what the launch has to do with it.
std::string reason_of(const Fault& fault, const Wave& wave);
/// What to say behind the size of LDS where an access lies past its end.
std::string lds_hint(const LaunchState& launch);

}  // namespace wave::emulator
