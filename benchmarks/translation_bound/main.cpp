// How much faster two of the emulator's loops would run, if they were translated to host code
// (docs/decisions/translation.md).
//
// Each loop is written several times, by hand: as an interpreter of small operations, as the same bodies called without
// dispatch, as one block of code whose operands are constants, and with a wave's registers in the host's. All of them
// check their results against the loop as the host runs it. On a host with AVX-512:
//
//   g++ -std=c++20 -O3 -march=x86-64-v4 -mprefer-vector-width=512 -ffp-contract=off *.cpp -o bound && ./bound
//
// prints the least time of several interleaved runs of each.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "loop.h"

namespace {

double milliseconds(const std::function<void()>& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// False where a result is wrong.
bool measure(const bound::Loop& loop) {
  std::vector<double> best(loop.ways.size(), 1e300);
  for (int run = 0; run < loop.runs; ++run) {
    for (size_t way = 0; way < loop.ways.size(); ++way) {
      best[way] = std::min(best[way], milliseconds(loop.ways[way].run));
      if (!loop.is_right()) return std::fprintf(stderr, "%s: a wrong result\n", loop.ways[way].name), false;
    }
  }
  std::printf("%s\n", loop.name);
  for (size_t way = 0; way < best.size(); ++way) std::printf("  %-36s %8.2f ms\n", loop.ways[way].name, best[way]);
  return true;
}

}  // namespace

int main() { return measure(bound::matmul_loop()) && measure(bound::collatz_loop()) ? 0 : 1; }
