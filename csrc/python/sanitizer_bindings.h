// What Python is told of findings.
#pragma once

#include "base/sanitizer.h"

namespace wave {

/// Has Python take what the sanitizer keeps, on the thread that made the launch: its frames say where that was. With
/// the interpreter's lock. Throws what Python raises.
void tell_findings(Sanitizer& sanitizer);

}  // namespace wave
