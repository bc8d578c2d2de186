// Instructions one at a time, for waves whose MODE changes what vector instructions do. Of others an instruction
// goes on to the next, and nothing is looked at between them (op.h).
#pragma once

#include "emulator/op.h"

namespace wave::emulator {

/// Carries out one instruction as Op::execute does, but for VSKIP and GPR indexing. Throws Fault.
const Op* step(Wave& wave, const Op* op);

/// Whether a body moves registers that M0 names, besides those of its operands: vector registers, scalar ones.
bool moves_relative_rows(Execute body);
bool moves_relative_scalars(Execute body);
/// Whether a body is that of a branch which asks for nothing, or for SCC or EXEC alone.
bool branches_without_vcc(Execute body);

}  // namespace wave::emulator
