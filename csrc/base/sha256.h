// SHA-256 (FIPS 180-4).
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace wave {

/// The digest of `data` as 64 hexadecimal digits.
std::string sha256(std::span<const uint8_t> data);

}  // namespace wave
