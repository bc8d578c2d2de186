// The profile of a whole process, for a program that started it and reads it: `python -m wave_runtime profile`.
#pragma once

#include <memory>

#include "base/profile_session.h"

namespace wave {

/// The session of the folder that WAVE_RUNTIME_PROFILE_LOG named when the library was loaded; nullptr where it named
/// none. At the end of the process each kernel is a line of JSON in PID.jsonl there, its code object a file beside it.
std::shared_ptr<ProfileSession> logged_session();

}  // namespace wave
