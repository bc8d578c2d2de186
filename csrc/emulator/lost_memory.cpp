#include "emulator/lost_memory.h"

#include <link.h>
#include <signal.h>
#include <ucontext.h>

#include <array>
#include <cstring>

#include "base/error.h"
#include "base/fork_safe.h"
#include "emulator/op.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wave::emulator {

namespace {

// ThreadSanitizer calls handlers from a function of its own, through which nothing can be thrown.
#if defined(__SANITIZE_THREAD__)
constexpr bool kHandles = false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool kHandles = false;
#else
constexpr bool kHandles = true;
#endif
#else
constexpr bool kHandles = true;
#endif

constexpr std::array kFaultSignals{SIGSEGV, SIGBUS};

/// The thread's, or nullptr. Found without an allocation, which a handler must not make.
[[gnu::tls_model("initial-exec")]] thread_local const LostMemoryGuard* innermost = nullptr;

/// Who handles the signals, and where this library's code lies.
struct Handlers {
  std::array<struct sigaction, kFaultSignals.size()> before;
  AddressSpan code;
};
Lazy<Handlers>& handlers = *new Lazy<Handlers>();

void handle(int signal, siginfo_t* info, void* context);

/// Where the linker has put the library, or the program, that this function is in.
AddressSpan own_code() {
  AddressSpan found;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* to) {
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& segment = object->dlpi_phdr[i];
          const AddressSpan bytes(object->dlpi_addr + segment.p_vaddr, segment.p_memsz);
          if (segment.p_type != PT_LOAD || !bytes.contains(reinterpret_cast<u64>(&handle))) continue;
          *static_cast<AddressSpan*>(to) = bytes;
          return 1;
        }
        return 0;
      },
      &found);
  return found;
}

Handlers install() {
  Handlers result{.before = {}, .code = own_code()};
  struct sigaction ours{};
  ours.sa_sigaction = handle;
  // Nothing is blocked where a handler ends by an exception. Other handlers may want their thread's other stack.
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  for (size_t i = 0; i < kFaultSignals.size(); ++i) sigaction(kFaultSignals[i], &ours, &result.before[i]);
  return result;
}

/// The instruction that has raised a signal, and where the function that it is in returns to, if it has no frame.
struct Raised {
  u64 at, leaf_returns_to;
  const char* access;  ///< for messages, of memory

  explicit Raised(const ucontext_t& context) {
#if defined(__x86_64__)
    constexpr u64 kWrite = 2;  // of the page fault's error code
    const auto& registers = context.uc_mcontext.gregs;
    at = static_cast<u64>(registers[REG_RIP]);
    leaf_returns_to = *reinterpret_cast<const u64*>(registers[REG_RSP]);
    access = (static_cast<u64>(registers[REG_ERR]) & kWrite) != 0 ? "a store to" : "a load from";
#else
    at = context.uc_mcontext.pc;
    leaf_returns_to = context.uc_mcontext.regs[30];
    access = "an access of";  // which of the two is not told
#endif
  }
};

/// Handlers begin with the modes of floats that a process begins with.
void restore_float_modes([[maybe_unused]] const ucontext_t& context) {
#if defined(__x86_64__)
  if (context.uc_mcontext.fpregs != nullptr) _mm_setcsr(context.uc_mcontext.fpregs->mxcsr);
#else
  // They are in a record that follows the registers; a launch that has failed sets them anew.
#endif
}

void pass_on(int signal, siginfo_t* info, void* context, const struct sigaction& before) {
  const bool has_handler =
      (before.sa_flags & SA_SIGINFO) != 0 || (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN);
  if (!has_handler) {
    // The instruction raises it again, unless another process has sent it.
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    sigaction(signal, &usual, nullptr);
    if (info->si_code <= 0) raise(signal);
    return;
  }
  sigset_t blocked = before.sa_mask, old;
  if ((before.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, &old);
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else {
    before.sa_handler(signal);
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

[[noreturn]] void throw_lost(u64 address, const char* access) {
  fault_at(text(access, " memory that was unmapped, protected or truncated while the kernel ran"), -1, address,
           "unmapped");
}

void handle(int signal, siginfo_t* info, void* context) {
  const Handlers* const known = handlers.find();
  if (known == nullptr) return;  // before install() is over: the instruction raises it again
  const ucontext_t& state = *static_cast<const ucontext_t*>(context);
  const u64 address = reinterpret_cast<u64>(info->si_addr);
  if (innermost != nullptr && info->si_code > 0 && innermost->knows(address)) {
    const Raised raised(state);
    if (known->code.contains(raised.at) || known->code.contains(raised.leaf_returns_to)) {
      restore_float_modes(state);
      throw_lost(address, raised.access);
    }
  }
  pass_on(signal, info, context, known->before[signal == SIGSEGV ? 0 : 1]);
}

}  // namespace

LostMemoryGuard::LostMemoryGuard(const Memory& memory) : memory_(&memory), outer_(innermost) {
  if constexpr (kHandles) handlers.get(install);
  innermost = this;
}

LostMemoryGuard::LostMemoryGuard(AddressSpan to, AddressSpan from) : to_(to), from_(from), outer_(innermost) {
  if constexpr (kHandles) handlers.get(install);
  innermost = this;
}

LostMemoryGuard::~LostMemoryGuard() { innermost = outer_; }

void copy_guarded(void* to, const void* from, u64 size) {
  std::memmove(to, from, size);
  asm volatile(
      "" ::
          : "memory");  // it returns here, by which the handler knows it, and not to a caller in another library
}
bool is_equal_guarded(const void* one, const void* other, u64 size) { return std::memcmp(one, other, size) == 0; }

}  // namespace wave::emulator
