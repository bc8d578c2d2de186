// The entry points whose null stream is the calling thread's own.
#include "hip_emulator/api.h"

namespace wave::hip {

#define PER_THREAD(name, parameters, arguments) \
  Error name##_spt parameters {                 \
    const NullStreamIsPerThread scope;          \
    return name arguments;                      \
  }
#include "hip_emulator/per_thread.inc"
#undef PER_THREAD

}  // namespace wave::hip
