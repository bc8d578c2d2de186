// What the HIP library that runs on the emulator offers beyond HIP's interface: waits that can be broken off, and
// launches that are refused.
#pragma once

#include "driver/hip/hip_types.h"

#pragma GCC visibility push(default)
extern "C" {

/// hipStreamSynchronize for so long at most: hipErrorNotReady where the stream is not done then.
wave::hip::Error waveStreamWait(wave::hip::Stream stream, unsigned milliseconds);

/// Drops what was submitted to the device, and stops what runs; returns when that is done. Later work runs as ever.
wave::hip::Error waveDeviceInterrupt(wave::hip::Device device);

/// While `refused` is not 0, this thread's launches fail with hipErrorStreamCaptureUnsupported: somebody else captures
/// a graph, who would not see them.
void waveThreadRefuseLaunches(int refused);
}
#pragma GCC visibility pop
