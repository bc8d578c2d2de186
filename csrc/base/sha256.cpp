#include "base/sha256.h"

#include <array>
#include <bit>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace wave {
namespace {

// FIPS 180-4, section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using HashState = std::array<uint32_t, 8>;
constexpr uint64_t kBlock = 64;

uint32_t big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

// Section 6.2.2; the names are the document's.
void add_block(HashState& state, const uint8_t* block) {
  std::array<uint32_t, 64> w;
  for (size_t t = 0; t < 16; ++t) w[t] = big_endian(block + 4 * t);
  for (size_t t = 16; t < 64; ++t) {
    uint32_t sigma0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    uint32_t sigma1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = sigma1 + w[t - 7] + sigma0 + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t t = 0; t < 64; ++t) {
    uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
    uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1;
    d = c, c = b, b = a, a = t1 + t2;
  }
  const HashState round = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) state[i] += round[i];
}

void add_blocks_portably(HashState& state, const uint8_t* blocks, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) add_block(state, blocks + i * kBlock);
}

#if defined(__x86_64__)
/// The same by the processor's instructions (Intel's "SHA Extensions", 2013), which make two rounds at a time of a, b,
/// e and f, and of c, d, g and h.
__attribute__((target("sha,sse4.1"))) void add_blocks_by_instructions(HashState& state, const uint8_t* blocks,
                                                                      uint64_t count) {
  const auto load = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
  const __m128i big_endian_words = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i badc = _mm_shuffle_epi32(load(&state[0]), 0xb1), hgfe = _mm_shuffle_epi32(load(&state[4]), 0x1b);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
  for (uint64_t i = 0; i < count; ++i) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];  // the last sixteen of the schedule
    for (size_t t = 0; t < 16; ++t) {
      __m128i& next = w[t % 4];
      if (t < 4) {
        next = _mm_shuffle_epi8(load(blocks + i * kBlock + 16 * t), big_endian_words);
      } else {
        const __m128i last = w[(t + 3) % 4], seventh = _mm_alignr_epi8(last, w[(t + 2) % 4], 4);
        next = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(next, w[(t + 1) % 4]), seventh), last);
      }
      const __m128i added = _mm_add_epi32(next, load(&kRound[4 * t]));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&state[0]), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&state[4]), _mm_alignr_epi8(dchg, feba, 8));
}

/// Compilers' functions that tell do not know of these instructions everywhere.
bool has_instructions() {
  unsigned a, b, c, d;
  return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) != 0;
}
const bool kHasInstructions = has_instructions();
#endif

void add_blocks(HashState& state, const uint8_t* blocks, uint64_t count) {
#if defined(__x86_64__)
  if (kHasInstructions) return add_blocks_by_instructions(state, blocks, count);
#endif
  add_blocks_portably(state, blocks, count);
}

// Section 5.1.1: a one bit, zeros, and the length in bits as a big-endian 64-bit number.
void add_tail(HashState& state, std::span<const uint8_t> tail, uint64_t total_bytes) {
  std::array<uint8_t, 2 * kBlock> padded{};
  if (!tail.empty()) std::memcpy(padded.data(), tail.data(), tail.size());
  padded[tail.size()] = 0x80;
  const uint64_t size = tail.size() + 9 <= kBlock ? kBlock : 2 * kBlock;
  for (uint64_t i = 0; i < 8; ++i) padded[size - 1 - i] = static_cast<uint8_t>(total_bytes * 8 >> (8 * i));
  add_blocks(state, padded.data(), size / kBlock);
}

}  // namespace

std::string sha256(std::span<const uint8_t> data) {
  // Section 5.3.3.
  HashState state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const uint64_t whole = data.size() / kBlock;
  add_blocks(state, data.data(), whole);
  add_tail(state, data.subspan(whole * kBlock), data.size());

  std::string digits;
  for (uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[word >> shift & 15];
  }
  return digits;
}

}  // namespace wave
