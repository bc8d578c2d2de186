// The bodies of hipRTC's functions.
#pragma once

#include <new>

#include "hip_emulator/errors.h"
#include "hip_emulator/rtc.h"

namespace wave::hip_emulator {

/// The body of an exported function, with its exceptions as results.
template <class Body>
RtcResult rtc_call(const char* function, const Body& body) {
  try {
    body();
    return kRtcSuccess;
  } catch (const RtcFailure& failure) {
    report(function, failure.what());
    return failure.code;
  } catch (const Failure&) {  // of a handle
    return kRtcInvalidProgram;
  } catch (const std::bad_alloc&) {
    return kRtcOutOfMemory;
  } catch (const std::exception& error) {
    report(function, error.what());
    return kRtcInternalError;
  }
}

inline void rtc_check(bool condition, RtcResult result = kRtcInvalidInput) {
  if (!condition) throw RtcFailure(result);
}

}  // namespace wave::hip_emulator
