// LZ4 blocks (the format's specification, github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md).
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.h"

namespace wave {

/// Decompresses the block at the start of `block`, which must fill `out` to its last byte; what follows the block is
/// ignored. Throws FormatError where the block ends before that, or says more than fits.
void decompress_lz4(const Bytes& block, std::span<uint8_t> out);

}  // namespace wave
