#include "base/process_memory.h"

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

}  // namespace

bool has_ends_of(AddressSpan bytes) {
  return bytes.is_addressable() && is_readable(bytes.begin()) && is_readable(bytes.end() - 1);
}

std::optional<MemoryRange> find_mapping(uint64_t address) {
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"), std::fclose);
  if (maps == nullptr) return std::nullopt;
  char line[512];
  for (bool whole = true; std::fgets(line, sizeof(line), maps.get()) != nullptr;) {
    const bool continued = !whole;  // of a line with a long path
    whole = std::string_view(line).ends_with('\n');
    uint64_t begin = 0, end = 0;
    char read = 0, write = 0;
    if (continued || std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c", &begin, &end, &read, &write) != 4) continue;
    if (address < begin || address >= end) continue;
    if (read != 'r') return std::nullopt;
    end = readable_end(begin, end);
    if (address >= end) return std::nullopt;
    return MemoryRange{AddressSpan::up_to(begin, end), write == 'w',
                       text("the process's memory at ", hex(begin), " to ", hex(end))};
  }
  return std::nullopt;
}

}  // namespace wave
