// GPU drivers do not survive fork().
#pragma once

namespace wave {

/// Called where a GPU driver was initialised: from then on children are watched for.
void watch_forks();

/// Whether this process was forked from one that had a GPU driver initialised: then no call into the driver works.
bool is_forked();

/// Throws RuntimeError where is_forked(), with what to do.
void check_not_forked();

}  // namespace wave
