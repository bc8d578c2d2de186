// What the emulator has no part of: each says so, and why.
#include "hip_emulator/errors.h"
#include "hip_emulator/hip_handles.h"

namespace wave::hip {

using namespace hip_emulator;

// A caller's arguments are not looked at.
#define REFUSED(name, why)                                                \
  extern "C" __attribute__((visibility("default"))) Error name() {        \
    return call(#name, [] { throw Failure(hipErrorNotSupported, why); }); \
  }
#include "hip_emulator/refused.inc"
#undef REFUSED

// These two are C++ functions, with these names.
extern "C" __attribute__((visibility("default"), alias("hipCreateSurfaceObject"))) Error
_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc();
extern "C" __attribute__((visibility("default"), alias("hipDestroySurfaceObject"))) Error
_Z23hipDestroySurfaceObjectP13__hip_surface();
// ... and of 5.0, where a surface was a number.
extern "C" __attribute__((visibility("default"), alias("hipCreateSurfaceObject"))) Error
_Z22hipCreateSurfaceObjectPyPK15hipResourceDesc();
extern "C" __attribute__((visibility("default"), alias("hipDestroySurfaceObject"))) Error
_Z23hipDestroySurfaceObjecty();

/// The one function of textures that needs none: programs call it while they are loaded.
extern "C" __attribute__((visibility("default"))) ChannelFormat hipCreateChannelDesc(int x, int y, int z, int w,
                                                                                     int kind) {
  return {x, y, z, w, kind};
}

}  // namespace wave::hip
