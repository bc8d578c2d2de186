// Functions that HIP has not; see hip_interrupt.h.
#include <chrono>

#include "driver/hip/hip_interrupt.h"
#include "hip_emulator/launch.h"
#include "hip_emulator/runtime.h"

using namespace wave::hip_emulator;

wave::hip::Error waveStreamWait(wave::hip::Stream stream, unsigned milliseconds) {
  // Not by call(), which would report that the time is over as an error.
  try {
    check_alive();
    const bool done = synchronize(find_queue(stream), std::chrono::milliseconds(milliseconds));
    return done ? hipSuccess : hipErrorNotReady;
  } catch (...) {
    return keep_result(current_code(__func__));
  }
}

wave::hip::Error waveDeviceInterrupt(wave::hip::Device device) {
  return call(__func__, [&] {
    runtime().device(device).interrupt();
    synchronize(device);
  });
}

void waveThreadRefuseLaunches(int refused) { refuse_launches(refused != 0); }
