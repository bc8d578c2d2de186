#include "base/process_memory.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <string_view>

#include "base/error.h"

namespace wave {

namespace {

constexpr uint64_t kPage = 4096;

/// Whether an access would raise no signal. A sandbox that forbids to ask does not make memory unreadable.
bool is_readable(uint64_t address) {
  char byte = 0;
  const iovec to{&byte, 1}, from{reinterpret_cast<void*>(address), 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 || errno != EFAULT;
}

/// Whether a store would raise no signal. The system adds 0 to the dword there, in one piece, and wakes nobody. A
/// sandbox that forbids it does not make memory constant.
bool is_writable(uint64_t address) {
  constexpr int kAddNothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0);
  uint32_t nobody_waits = 0;
  const uint64_t dword = address / sizeof(uint32_t) * sizeof(uint32_t);
  return syscall(SYS_futex, &nobody_waits, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, nullptr, dword, kAddNothing) >= 0 ||
         errno != EFAULT;
}

/// The end of what can be read of [begin, end): a file has its bytes at the mapping's beginning.
uint64_t readable_end(uint64_t begin, uint64_t end) {
  uint64_t good = begin, bad = end;
  if (is_readable(end - 1)) return end;
  while (bad - good > kPage) {
    const uint64_t middle = good + (bad - good) / 2 / kPage * kPage;
    (is_readable(middle) ? good : bad) = middle;
  }
  return is_readable(good) ? good + kPage : begin;
}

/// A line of /proc/self/maps.
struct Mapping {
  uint64_t begin = 0, end = 0;
  bool is_readable = false, is_writable = false;
  bool is_anonymous = false;  ///< of no file

  bool parse(const char* line) {
    char read = 0, write = 0;
    uint64_t inode = 0;
    const int fields =
        std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c%*s %*s %*s %" SCNu64, &begin, &end, &read, &write, &inode);
    is_readable = read == 'r';
    is_writable = write == 'w';
    is_anonymous = inode == 0;
    return fields == 5;
  }
  /// What a process asks for as one piece may have several lines: where a heap grows behind a fork, say.
  bool goes_on_in(const Mapping& next) const {
    return next.begin == end && is_anonymous && next.is_anonymous && is_readable == next.is_readable &&
           is_writable == next.is_writable;
  }
};

}  // namespace

bool has_ends_of(AddressSpan bytes) {
  return bytes.is_addressable() && is_readable(bytes.begin()) && is_readable(bytes.end() - 1);
}

bool may_write_ends_of(AddressSpan bytes) {
  return bytes.is_addressable() && is_writable(bytes.begin()) && is_writable(bytes.end() - 1);
}

std::optional<MemoryRange> find_mapping(uint64_t address) {
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (maps == nullptr) return std::nullopt;
  char line[512];
  std::optional<Mapping> found;  // or, until the one is found, what lies before it
  for (bool whole = true; std::fgets(line, sizeof(line), maps.get()) != nullptr;) {
    const bool continued = !whole;  // of a line with a long path
    whole = std::string_view(line).ends_with('\n');
    Mapping next;
    if (continued || !next.parse(line)) continue;
    if (found && found->goes_on_in(next)) {
      found->end = next.end;
      continue;
    }
    if (found && address < found->end) break;
    found = next;
  }
  if (!found || address < found->begin || address >= found->end || !found->is_readable) return std::nullopt;
  const uint64_t end = readable_end(found->begin, found->end);
  if (address >= end) return std::nullopt;
  return MemoryRange{AddressSpan::up_to(found->begin, end), found->is_writable,
                     text("the process's memory at ", hex(found->begin), " to ", hex(end))};
}

}  // namespace wave
