// base/process_memory: what the process may read and write, whatever a call of before has left in errno.

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/process_memory.h"

namespace {

using wave::AddressSpan;

constexpr uint64_t kPage = 4096;
int failures = 0;

void expect(bool is_so, const char* what) {
  if (is_so) return;
  std::printf("%s\n", what);
  ++failures;
}

template <class Function>
bool with_errors(const Function& function) {  // an answer that errno has no part in
  errno = 0;
  const bool first = function();
  errno = EFAULT;
  const bool second = function();
  expect(first == second, "the answer depends on errno");
  return second;
}

uint64_t pages(uint64_t count, int protection, int file = -1) {
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const at = mmap(nullptr, count * kPage, protection, flags, file, 0);
  if (at == MAP_FAILED) std::abort();
  return reinterpret_cast<uint64_t>(at);
}

void protect(uint64_t at, uint64_t count, int protection) {
  if (mprotect(reinterpret_cast<void*>(at), count * kPage, protection) != 0) std::abort();
}

/// Whether bytes of a page, and those from there into the next one, can be read and written.
void ends() {
  const uint64_t at = pages(4, PROT_READ | PROT_WRITE);
  protect(at + 2 * kPage, 1, PROT_READ);
  protect(at + 3 * kPage, 1, PROT_NONE);
  const struct {
    AddressSpan bytes;
    bool is_readable, is_writable;
  } kRows[] = {
      {{at, 1}, true, true},
      {{at + 1, 2 * kPage - 1}, true, true},
      {{at + kPage, kPage + 1}, true, false},
      {{at + 2 * kPage, 8}, true, false},
      {{at + 3 * kPage - 1, 2}, false, false},
      {{at + 3 * kPage, 8}, false, false},
      {{at + 3 * kPage - 1, 1}, true, false},
      {{at, 4 * kPage}, false, false},
      {{~uint64_t{0}, 8}, false, false},
  };
  for (const auto& row : kRows) {
    expect(with_errors([&] { return wave::has_ends_of(row.bytes); }) == row.is_readable, "what can be read");
    expect(with_errors([&] { return wave::may_write_ends_of(row.bytes); }) == row.is_writable, "what can be written");
  }
}

/// A file has bytes for some pages of its mapping, which may be any of their number.
void ends_of_files() {
  for (const uint64_t count : {1, 2, 3, 4, 7, 8}) {
    for (uint64_t bytes = 0; bytes <= count * kPage; bytes += kPage / 2) {
      std::FILE* const file = std::tmpfile();
      if (file == nullptr || ftruncate(fileno(file), static_cast<off_t>(bytes)) != 0) std::abort();
      const uint64_t at = pages(count, PROT_READ, fileno(file));
      const uint64_t readable = (bytes + kPage - 1) / kPage * kPage;
      const auto found = wave::find_mapping(at);
      expect(found.has_value() == (bytes != 0), "the first page of a file");
      expect(!found || (found->bytes == AddressSpan(at, readable) && !found->writable), "the pages of a file");
      expect(wave::find_mapping(at + readable).has_value() == false || readable == count * kPage,
             "behind a file's end");
      munmap(reinterpret_cast<void*>(at), count * kPage);
      std::fclose(file);
    }
  }
}

}  // namespace

int main() {
  ends();
  ends_of_files();
  return failures != 0;
}
