// What a kernel asks of the host while it runs: printf, assert, malloc. ROCm's device libraries have the same protocol
// (ockl/src/hostcall_impl.cl, services.cl), AMD's runtime and the emulator the host's side.
#pragma once

namespace wave_device {

struct HostcallHeader {
  unsigned long next;
  unsigned long active_lanes;
  unsigned service;
  unsigned control;  ///< bit 0: the host has not answered yet
};

struct HostcallSignal {
  long kind;
  long value;
  unsigned long* mailbox;
  unsigned event;
};

struct HostcallBuffer {
  HostcallHeader* headers;
  unsigned long (*payloads)[64][8];
  HostcallSignal* doorbell;
  unsigned long free_stack;
  unsigned long ready_stack;
  unsigned long index_mask;
};

__device__ inline void hostcall_push(HostcallBuffer* buffer, unsigned long* stack, unsigned long packet) {
  unsigned long top = __atomic_load_n(stack, __ATOMIC_RELAXED);
  do {
    buffer->headers[packet & buffer->index_mask].next = top;
  } while (!__atomic_compare_exchange_n(stack, &top, packet, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

__device__ inline unsigned long hostcall_pop(HostcallBuffer* buffer) {
  unsigned long top = __atomic_load_n(&buffer->free_stack, __ATOMIC_ACQUIRE), next;
  do {
    next = __atomic_load_n(&buffer->headers[top & buffer->index_mask].next, __ATOMIC_RELAXED);
  } while (!__atomic_compare_exchange_n(&buffer->free_stack, &top, next, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
  return top;
}

__device__ inline void hostcall_ring(HostcallSignal* doorbell) {
  __atomic_fetch_add(&doorbell->value, 1, __ATOMIC_RELEASE);
  if (doorbell->mailbox == nullptr) return;
  __atomic_store_n(doorbell->mailbox, doorbell->event, __ATOMIC_RELEASE);
  constexpr int kInterrupt = 1;
  __builtin_amdgcn_s_sendmsg(kInterrupt, __builtin_amdgcn_readfirstlane(doorbell->event) & 0xff);
}

/// One request for all active lanes, each with words of its own. Returns the first word of the host's answer.
__device__ __attribute__((noinline)) inline unsigned long hostcall(unsigned service, unsigned long a, unsigned long b,
                                                                   unsigned long c, unsigned long d, unsigned long e,
                                                                   unsigned long f, unsigned long g, unsigned long h) {
  // Code object version 5 has the address at byte 80 of the hidden arguments.
  auto* hidden = (HostcallBuffer* const __attribute__((address_space(4)))*)__builtin_amdgcn_implicitarg_ptr();
  HostcallBuffer* const buffer = hidden[10];
  unsigned lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
  // Hides what `lane` is, so that the first lane is looked for among those that are active here.
  __asm__ volatile("" : "+v"(lane));
  const bool is_first = lane == __builtin_amdgcn_readfirstlane(lane);

  unsigned long packet = is_first ? hostcall_pop(buffer) : 0;
  const unsigned low = __builtin_amdgcn_readfirstlane(static_cast<unsigned>(packet));
  const unsigned high = __builtin_amdgcn_readfirstlane(static_cast<unsigned>(packet >> 32));
  packet = static_cast<unsigned long>(high) << 32 | low;
  HostcallHeader* const header = &buffer->headers[packet & buffer->index_mask];
  unsigned long* const slot = buffer->payloads[packet & buffer->index_mask][lane];

  const unsigned long active = __builtin_amdgcn_read_exec();
  if (is_first) {
    header->active_lanes = active;
    header->service = service;
    header->control = 1;
  }
  const unsigned long words[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) slot[i] = words[i];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  if (is_first) {
    hostcall_push(buffer, &buffer->ready_stack, packet);
    hostcall_ring(buffer->doorbell);
  }
  for (;;) {
    const unsigned control = is_first ? __atomic_load_n(&header->control, __ATOMIC_ACQUIRE) : 1;
    if ((__builtin_amdgcn_readfirstlane(control) & 1) == 0) break;
    __builtin_amdgcn_s_sleep(1);
  }
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
  const unsigned long answer = slot[0];
  if (is_first) {
    packet += buffer->index_mask + 1;  // another tag; 0 would be the end of the stack
    hostcall_push(buffer, &buffer->free_stack, packet != 0 ? packet : buffer->index_mask + 1);
  }
  return answer;
}

}  // namespace wave_device

/// Memory for all kernels, until one of them frees it.
extern "C" __device__ inline void* malloc(size_t size) noexcept(true) {
  return (void*)wave_device::hostcall(3, 0, size, 0, 0, 0, 0, 0, 0);
}
extern "C" __device__ inline void free(void* memory) noexcept(true) {
  if (memory != nullptr) wave_device::hostcall(3, (unsigned long)memory, 0, 0, 0, 0, 0, 0, 0);
}
