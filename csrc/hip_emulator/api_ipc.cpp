// Memory for other processes: it can be named for them, as RCCL does with all of its buffers, even where its devices
// are of one process. None but this process has it, so no other one can open it.
#include <unistd.h>

#include <cstring>

#include "base/error.h"
#include "hip_emulator/api.h"

namespace wave::hip {

namespace {

/// What a handle holds.
struct NamedMemory {
  uint64_t mark;
  uint64_t process;
  uint64_t begin;
  uint64_t size;
  uint64_t allocation;
};
static_assert(sizeof(NamedMemory) <= sizeof(IpcMemHandle));

constexpr uint64_t kMark = 0x6d656d2065766177;  // "wave mem"

}  // namespace

Error hipIpcGetMemHandle(IpcMemHandle* handle, void* memory) {
  return call(__func__, [&] {
    require(handle != nullptr);
    const auto found = runtime().memory.find(reinterpret_cast<uint64_t>(memory));
    require(found && found->kind == AllocationKind::Device && found->variable.empty(), hipErrorInvalidValue,
            "there is no memory of hipMalloc");
    const NamedMemory named{kMark, static_cast<uint64_t>(getpid()), found->begin, found->size, found->id};
    *handle = {};
    std::memcpy(handle, &named, sizeof(named));
  });
}

Error hipIpcOpenMemHandle(void** memory, IpcMemHandle handle, unsigned flags) {
  return call(__func__, [&] {
    constexpr unsigned kLazyPeerAccess = 1;
    NamedMemory named;
    std::memcpy(&named, &handle, sizeof(named));
    require(memory != nullptr && flags == kLazyPeerAccess && named.mark == kMark);
    // As in AMD's runtime: who has made a handle knows the address.
    require(named.process != static_cast<uint64_t>(getpid()), hipErrorInvalidContext,
            "the handle is of this process's own memory");
    throw Failure(hipErrorNotSupported, text("the memory is process ", named.process, "'s, and no other one's"));
  });
}

Error hipIpcCloseMemHandle(void*) {
  return call(__func__, [] { throw Failure(hipErrorInvalidValue, "no memory of other processes was opened"); });
}

}  // namespace wave::hip
