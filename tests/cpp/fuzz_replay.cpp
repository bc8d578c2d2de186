// Runs a fuzz target without libFuzzer, so that any compiler's sanitizers can check it in `make test`:
//
//   fuzz_replay [--prefixes N] [--flips N] [--seconds N] FILE-OR-FOLDER...
//
// Every file is tried whole, as truncated prefixes (each one of the first N bytes, by default 8 KiB, then in steps;
// none where N is 0) and with N bit flips, the same ones in each run. An input that takes longer than the seconds (5),
// or that has more memory allocated at a time than its size justifies, ends the program with an error that says which
// input it was.

#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kLaterPrefixes = 256;

struct Options {
  size_t prefixes = 8192;  // bytes, in steps of one
  unsigned flips = 0;
  unsigned seconds = 5;
};

size_t live_bytes = 0;
size_t allowed_bytes = SIZE_MAX;
char current_input[512] = "";

// Only functions that a signal handler may call.
[[noreturn]] void give_up(const char* reason) {
  for (const char* part : {"fuzz_replay: ", reason, ": ", static_cast<const char*>(current_input), "\n"}) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  _exit(1);
}

void on_alarm(int) { give_up("too slow"); }

// What is compressed may grow 1024 times, once as the bundle and once as the image in it.
size_t allowance(const std::vector<uint8_t>& input) {
  const auto contains = [&](std::string_view magic) {
    return std::search(input.begin(), input.end(), magic.begin(), magic.end()) != input.end();
  };
  const bool may_be_compressed = contains("CCOB") || contains("\x50\xed\x55\xba");
  return (1u << 20) + input.size() * (may_be_compressed ? 2200 : 64);
}

size_t runs = 0;

void run(const std::string& name, const std::vector<uint8_t>& input, unsigned seconds) {
  std::snprintf(current_input, sizeof current_input, "%s", name.c_str());
  allowed_bytes = live_bytes + allowance(input);
  alarm(seconds);
  LLVMFuzzerTestOneInput(input.data(), input.size());
  alarm(0);
  allowed_bytes = SIZE_MAX;
  ++runs;
}

uint64_t next_random(uint64_t& state) {  // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1d;
}

void replay(const std::filesystem::path& path, const Options& options) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<uint8_t> whole{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  run(path.string(), whole, options.seconds);
  const size_t step = std::max<size_t>(1, whole.size() / kLaterPrefixes);
  for (size_t size = options.prefixes ? 0 : whole.size(); size < whole.size();
       size += size < options.prefixes ? 1 : step) {
    // A vector of its own, so that a read past the end is seen by the sanitizer.
    const std::vector<uint8_t> prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    run(path.string() + ", first " + std::to_string(size) + " bytes", prefix, options.seconds);
  }
  uint64_t random = 0x9e3779b97f4a7c15 + whole.size();
  for (unsigned i = 0; i < options.flips && !whole.empty(); ++i) {
    std::vector<uint8_t> flipped = whole;
    const uint64_t bit = next_random(random) % (whole.size() * 8);
    flipped[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    run(path.string() + ", bit " + std::to_string(bit) + " flipped", flipped, options.seconds);
  }
}

}  // namespace

void* operator new(size_t size) {
  if (size > allowed_bytes || live_bytes > allowed_bytes - size) give_up("too much memory");
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += malloc_usable_size(memory);
  return memory;
}

// std::stable_sort asks so for its buffer.
void* operator new(size_t size, const std::nothrow_t&) noexcept { return operator new(size); }

void operator delete(void* memory) noexcept {
  if (memory != nullptr) live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

int main(int argc, char** argv) {
  Options options;
  signal(SIGALRM, on_alarm);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--prefixes" && i + 1 < argc) {
      options.prefixes = static_cast<size_t>(std::atol(argv[++i]));
    } else if (argument == "--flips" && i + 1 < argc) {
      options.flips = static_cast<unsigned>(std::atoi(argv[++i]));
    } else if (argument == "--seconds" && i + 1 < argc) {
      options.seconds = static_cast<unsigned>(std::atoi(argv[++i]));
    } else if (std::filesystem::is_directory(argument)) {
      std::vector<std::filesystem::path> files;
      for (const auto& entry : std::filesystem::directory_iterator(argument)) files.push_back(entry.path());
      std::sort(files.begin(), files.end());
      for (const auto& file : files) replay(file, options);
    } else {
      replay(argument, options);
    }
  }
  std::printf("fuzz_replay: %zu inputs\n", runs);
  return runs == 0 ? 1 : 0;
}
