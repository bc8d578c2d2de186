// printf of kernels: the text of a format string and its arguments.
#pragma once

#include <span>
#include <string>

#include "emulator/wave.h"

namespace wave::emulator {

/// The text that C's printf writes. `message`: the format string, then the arguments, each in a word of its own (floats
/// as doubles); strings end with a zero and fill whole words. Where arguments are missing the text ends.
///
/// Arguments may be numbered as POSIX has it: "%2$s %1$d". As in AMD's runtime %n writes nothing, and %Lf is %f; %ls
/// and %lc are %s and %c, since of a wide string clang sends the bytes up to the first that is zero. Throws Fault where
/// the text is longer than 1 MiB.
std::string print_format(std::span<const u64> message);

}  // namespace wave::emulator
