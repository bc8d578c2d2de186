// Decompression: zlib and zstd with the system's libraries, which are opened when they are first needed (the product
// links neither), and LZ4.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace wave {

enum class Compression : uint8_t { Zlib, Zstd, Lz4 };

/// Decompresses the stream at the start of `payload`, which must give exactly `size` bytes; what follows the stream is
/// ignored. `size` comes from the same untrusted file: FormatError where it exceeds 4 GiB or 1024 times the payload
/// (deflate cannot do more, and code does not come near it), or where the stream is damaged. RuntimeError where the
/// system has no such library.
std::vector<uint8_t> decompress(Compression method, const Bytes& payload, uint64_t size);

}  // namespace wave
