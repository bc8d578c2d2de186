// base/sha256: the processor's instructions give what the document's formulas give, and both a digest that it prints.

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "base/sha256.cpp"

namespace {

void expect(bool is_so, const char* what) {
  if (is_so) return;
  std::printf("%s\n", what);
  std::exit(1);
}

}  // namespace

int main() {
  // FIPS 180-4's example, as NIST publishes it beside the document.
  const std::vector<uint8_t> abc = {'a', 'b', 'c'};
  expect(wave::sha256(abc) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "the digest of abc");
#if defined(__x86_64__)
  if (!wave::has_instructions()) return std::puts("this processor has no instructions for it"), 0;
  std::mt19937 random(1);
  std::vector<uint8_t> blocks(9 * wave::kBlock + 1);
  for (int trial = 0; trial < 1000; ++trial) {
    wave::HashState portably, by_instructions;
    for (uint32_t& word : portably) word = static_cast<uint32_t>(random());
    by_instructions = portably;
    for (uint8_t& byte : blocks) byte = static_cast<uint8_t>(random());
    const uint64_t count = random() % 10, begin = random() % 2;
    wave::add_blocks_portably(portably, blocks.data() + begin, count);
    wave::add_blocks_by_instructions(by_instructions, blocks.data() + begin, count);
    expect(portably == by_instructions, "some blocks");
  }
#endif
}
