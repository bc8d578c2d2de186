// Errors of GPU drivers after which nothing works any more.
#pragma once

namespace wave {

/// Whether an error, of CUDA or HIP, which number them alike, tells that an earlier kernel broke the context or that
/// the driver has shut down. What is destroyed then need not report it.
constexpr bool is_lost_device(int error) { return error == 4 || (error >= 700 && error < 800); }

}  // namespace wave
