// What a thread does between two looks at what another one is about to change.
#pragma once

namespace wave {

/// Lets the core's other thread go on, and takes some tens of nanoseconds.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace wave
