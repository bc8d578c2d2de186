// base/unwritten_memory: random launches, side by side and one after the other, against a model of what is written.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/unwritten_memory.h"

namespace {

using wave::kShadowPage;
using wave::PageBits;
using wave::UnwrittenMemory;

constexpr size_t kBytes = 256;  // of the page, which all launches touch

struct Launch {
  PageBits undefined{}, stored{};
};

bool bit(const PageBits& bits, size_t byte) { return bits[byte / 64] >> byte % 64 & 1; }
void set(PageBits& bits, size_t byte, bool value) {
  const uint64_t mask = uint64_t{1} << byte % 64;
  bits[byte / 64] = value ? bits[byte / 64] | mask : bits[byte / 64] & ~mask;
}

struct Page {
  uint8_t* const bytes = static_cast<uint8_t*>(std::aligned_alloc(kShadowPage, kShadowPage));
  const uint64_t number = reinterpret_cast<uint64_t>(bytes) / kShadowPage;
  UnwrittenMemory memory;
  std::array<bool, kBytes> is_written{};

  Page() { memory.add({reinterpret_cast<uint64_t>(bytes), kShadowPage}); }
  ~Page() { std::free(bytes); }
  Page(const Page&) = delete;

  PageBits undefined() const { return memory.undefined_in(number).value_or(PageBits{}); }
  Launch begin() const { return {undefined(), {}}; }
  void end(const Launch& launch) { memory.keep(number, launch.undefined, launch.stored); }
  /// Another value than the byte had, and none of the pattern's: the same one would be no sign of a store.
  void change(size_t byte) { bytes[byte] = static_cast<uint8_t>(bytes[byte] % 100 + 1); }
  void store(Launch& launch, size_t byte, bool is_defined) {
    change(byte);
    is_written[byte] = is_defined;
    set(launch.undefined, byte, !is_defined);
    set(launch.stored, byte, true);
  }
  void write_by_host(size_t byte) {
    change(byte);
    is_written[byte] = true;
  }
};

int failures = 0;

void expect(bool is_so, const char* what, int number) {
  if (is_so) return;
  if (failures++ < 10) std::printf("%s (%d)\n", what, number);
}

/// Two streams that fill a granule between them, of which one ends while the other is under way.
void halves() {
  Page page;
  Launch one = page.begin(), other = page.begin();
  for (size_t byte = 0; byte < 4; ++byte) page.store(one, byte, true);
  page.end(one);
  for (size_t byte = 4; byte < 8; ++byte) page.store(other, byte, true);
  page.end(other);
  expect((page.undefined()[0] & 0xff) == 0, "a granule that two launches have written is undefined", 0);
}

/// What one launch leaves undefined stays so where another stores to the other half of the granule.
void copies() {
  Page page;
  Launch copy = page.begin();
  for (size_t byte = 0; byte < 8; ++byte) page.store(copy, byte, false);
  page.end(copy);
  expect((page.undefined()[0] & 0xff) == 0xff, "what is copied is defined", 0);
  Launch next = page.begin();
  for (size_t byte = 0; byte < 4; ++byte) page.store(next, byte, true);
  page.end(next);
  expect((page.undefined()[0] & 0xff) == 0xf0, "the half that is left of a copy is defined", 0);
}

/// Two allocations side by side, of which kernels have left all undefined: what is freed is forgotten, and no more.
void freed(size_t split) {
  constexpr uint64_t kPages = 2, kEnd = kPages * kShadowPage;
  auto* const bytes = static_cast<uint8_t*>(std::aligned_alloc(kShadowPage, kEnd));
  const uint64_t begin = reinterpret_cast<uint64_t>(bytes), first = begin / kShadowPage;
  UnwrittenMemory memory;
  memory.add({begin, split});
  memory.add({begin + split, kEnd - split});
  std::memset(bytes, 7, kEnd);  // a copy of undefined bytes, whatever they were
  PageBits all;
  all.fill(~uint64_t{0});
  for (uint64_t page = 0; page < kPages; ++page) memory.keep(first + page, all, all);
  const auto are_undefined = [&](size_t from, const char* what) {
    for (uint64_t page = 0; page < kPages; ++page) {
      const PageBits found = memory.undefined_in(first + page).value_or(PageBits{});
      for (size_t byte = 0; byte < kShadowPage; ++byte)
        expect(bit(found, byte) == (page * kShadowPage + byte >= from), what, static_cast<int>(byte));
    }
  };
  are_undefined(0, "what kernels leave is undefined");
  memory.remove(begin);
  are_undefined(split, "what is freed is forgotten, and its neighbour is not");
  memory.remove(begin + split);
  are_undefined(kEnd, "what is freed last is forgotten");
  std::free(bytes);
}

/// Nothing that was written is undefined, whatever runs side by side; without the host, what nobody touches stays so.
void sequences(int number) {
  std::mt19937 random(static_cast<unsigned>(number));
  const auto draw = [&](size_t count) { return random() % count; };
  const bool has_host = number % 2 == 0;
  Page page;
  std::array<bool, kBytes / 8> is_touched{};
  for (int round = 0; round < 20; ++round) {
    std::array<Launch, 3> launches;
    for (Launch& launch : launches) launch = page.begin();
    std::array<bool, kBytes> is_taken{};  // launches side by side do not race
    for (Launch& launch : launches) {
      for (size_t stores = draw(12); stores > 0; --stores) {
        const size_t first = draw(kBytes), count = 1 + draw(8);
        const bool is_defined = draw(4) != 0;
        for (size_t byte = first; byte < std::min(first + count, kBytes); ++byte) {
          if (is_taken[byte]) continue;
          is_taken[byte] = true;
          is_touched[byte / 8] = true;
          page.store(launch, byte, is_defined);
        }
        if (has_host && draw(6) == 0) {
          const size_t byte = draw(kBytes);
          if (!is_taken[byte]) page.write_by_host(byte);
          is_taken[byte] = is_touched[byte / 8] = true;
        }
      }
      if (draw(2) == 0) page.end(launch), launch = page.begin();
    }
    for (const Launch& launch : launches) page.end(launch);
    const PageBits undefined = page.undefined();
    for (size_t byte = 0; byte < kBytes; ++byte) {
      if (bit(undefined, byte)) expect(!page.is_written[byte], "what was written is undefined", number);
      if (!is_touched[byte / 8]) expect(bit(undefined, byte), "what nobody has touched is defined", number);
    }
  }
}

}  // namespace

int main() {
  halves();
  copies();
  for (const size_t split : {8, 24, 520, 4088, 4096, 4184, 8184}) freed(split);
  for (int number = 0; number < 300; ++number) sequences(number);
  return failures != 0;
}
