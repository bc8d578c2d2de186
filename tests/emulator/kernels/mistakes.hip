// Kernels with a mistake each, and the same without: what the sanitizer must find, in which line, and what it must not.
// A line with a mistake has its kind in a comment, and is carried out where `is_wrong` is set.
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))

using u8 = unsigned char;

DEVICE inline int item() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE inline int group() { return __builtin_amdgcn_workgroup_id_x(); }

DEVICE inline void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// memory

KERNEL store_past_end(int* out, int n, int is_wrong) {
  const int i = group() * 64 + item();
  if (i < n || is_wrong) out[i] = i;  // memory:out-of-bounds in store_past_end
}

KERNEL load_far_past_end(const int* in, int* out, int is_wrong) {
  const int i = item();
  out[i] = in[is_wrong ? i + 1000 : i];  // memory:out-of-bounds in load_far_past_end
}

KERNEL load_past_end(const int* in, int* out, int is_wrong) {
  const int i = item();
  out[i] = in[is_wrong ? i + 1 : i];  // memory:over-read in load_past_end
}

KERNEL store_to_const(int* in, int* out, int is_wrong) {
  const int i = item();
  (is_wrong ? in : out)[i] = i;  // memory:read-only in store_to_const
}

KERNEL atomic_not_aligned(u8* out, int is_wrong) {
  int* at = reinterpret_cast<int*>(out + (is_wrong ? 2 : 4));
  __hip_atomic_fetch_add(at, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  // memory:misaligned in atomic_not_aligned
}

KERNEL lds_past_end(int* out, int at, int is_wrong) {
  SHARED int tile[64];
  const int i = item();
  tile[i] = i;
  barrier();
  if (is_wrong) tile[at + i] = 1;  // memory:out-of-bounds in lds_past_end
  barrier();
  out[i] = tile[i];
}

KERNEL scratch_past_end(int* out, int at, int is_wrong) {
  volatile int frame[8];
  for (int k = 0; k < 8; ++k) frame[k] = k;
  frame[is_wrong ? at : at % 8] = 9;  // memory:scratch-overflow in scratch_past_end
  out[item()] = frame[at % 8];
}

DEVICE inline void store_doubled(int* out, int i, int value) {
  out[i] = 2 * value;  // memory:out-of-bounds in store_inlined
}
DEVICE inline void store_both(int* out, int n, int i, int value) {
  if (i < n) store_doubled(out, i, value);
}
KERNEL store_inlined(int* out, int n, int is_wrong) {
  store_both(out, is_wrong ? 64 : n, item(), 5);
}

// races

KERNEL lds_without_barrier(int* out, int is_wrong) {
  SHARED int tile[128];
  const int i = item();
  tile[i] = i;
  if (!is_wrong) barrier();
  out[i] = tile[127 - i];  // races:lds-race in lds_without_barrier
}

// The first wave's store comes before its own count only.
KERNEL lds_count_without_barrier(int* out, int is_wrong) {
  SHARED int count;
  const int i = item();
  if (i == 0) count = 5;
  if (!is_wrong) barrier();
  __hip_atomic_fetch_add(&count, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);  // races:lds-race in lds_count_without_barrier
  barrier();
  out[i] = count;
}

// waits

#if defined(__gfx1201__)
#define WAIT "s_wait_loadcnt 0\n"
#else
#define WAIT "s_waitcnt vmcnt(0)\n"
#endif
#if defined(__GFX9__) || defined(__GFX10__)
#define LOAD "global_load_dword %0, %1, off\n"
#else
#define LOAD "global_load_b32 %0, %1, off\n"
#endif
// An instruction that all have.
#define ADD "v_lshlrev_b32 %0, 1, %0"

KERNEL load_without_wait(const int* in, int* out, int is_wrong) {
  const int* from = in + item();
  int value = 0;
  if (is_wrong) {
    asm volatile(LOAD ADD : "=&v"(value) : "v"(from));  // waits:missing-wait in load_without_wait
  } else {
    asm volatile(LOAD WAIT ADD : "=&v"(value) : "v"(from));
  }
  out[item()] = value;
}

KERNEL global_between_groups(int* out, int is_wrong) {
  const int at = is_wrong ? item() : 64 * group() + item();
  out[at] = group();  // races:global-race in global_between_groups
}

// Bytes of one dword are no race.
KERNEL bytes_between_groups(u8* out, int is_wrong) {
  const int at = is_wrong ? item() : 2 * item() + group();
  out[at] = 1 + group();  // races:global-race in bytes_between_groups
}

KERNEL global_between_waves(int* out, int is_wrong) {
  const int i = item();
  if (i < 64) out[i] = i + 1;
  if (!is_wrong) barrier();
  if (i >= 64) out[i] = out[i - 64] + 1;  // races:global-race in global_between_waves
}

// Waves of a workgroup of RDNA may be on two compute units, each with a cache of its own.
KERNEL barrier_without_release(int* data, int* out, int is_wrong) {
  const int i = item();
  data[i] = i + 1;
  if (!is_wrong) __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[i] = data[127 - i];  // races:global-race in barrier_without_release
}

KERNEL barrier_without_acquire(int* data, int* out, int is_wrong) {
  const int i = item();
  data[i] = i + 1;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  if (!is_wrong) __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[i] = data[127 - i];  // races:global-race in barrier_without_acquire
}

// The first workgroup has something for the second.
KERNEL flag_without_fence(int* data, int* flag, int* out, int is_wrong) {
  if (group() == 0) {
    data[item()] = 7;
    barrier();
    if (is_wrong) {
      __hip_atomic_store(flag, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    } else {
      __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
    return;
  }
  if (is_wrong) {
    while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
  } else {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
  }
  out[item()] = data[item()];  // races:global-race in flag_without_fence
}

KERNEL atomic_beside_store(int* count, int is_wrong) {
  if (is_wrong && group() == 1) {
    count[0] = 5 + item() / 64;  // races:global-race in atomic_beside_store
  } else {
    __hip_atomic_fetch_add(count, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}

// A float's maximum, for which processors have loops of compare-and-swap.
KERNEL loop_of_swaps(float* most, int* out, int is_wrong) {
  __hip_atomic_fetch_max(most, static_cast<float>(item()), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  if (is_wrong) out[item()] = group();  // races:global-race in loop_of_swaps
}

// barriers

DEVICE inline int wave() { return __builtin_amdgcn_readfirstlane(item()) / 64; }

KERNEL different_barriers(int* out, int is_wrong) {
  if (is_wrong && wave() == 0) {
    out[item()] = 1;
    __builtin_amdgcn_s_barrier();
  } else {
    out[item()] = 2;
    __builtin_amdgcn_s_barrier();  // barriers:different-barriers in different_barriers
  }
}

KERNEL early_return(int* out, int is_wrong) {
  if (is_wrong && wave() == 1) return;
  __builtin_amdgcn_s_barrier();  // barriers:ended-wave in early_return
  out[item()] = 1;
}

// A flag that nobody sets, or late. Waves that poll it wait for ever, and so do those that wait for them at a barrier.
KERNEL flag_never_set(int* flag, int* out, int is_wrong) {
  if (group() == 0) {
    for (int i = 0; i < 300000; ++i) asm volatile("");
    if (!is_wrong) __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    return;
  }
  if (wave() == 0) {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {  // barriers:deadlock in flag_never_set
    }
  }
  __builtin_amdgcn_s_barrier();
  out[item()] = 1;
}

#define atomic_max(at, value) __hip_atomic_fetch_max(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP)

// The same with s_sleep, between waves of a workgroup and in LDS.
KERNEL lds_flag_never_set(int* out, int is_wrong) {
  SHARED int flag;
  if (item() == 0) flag = 0;
  barrier();
  if (wave() == 0) {
    if (!is_wrong) atomic_max(&flag, 1);
  } else {
    while (atomic_max(&flag, 0) == 0) __builtin_amdgcn_s_sleep(1);  // barriers:deadlock in lds_flag_never_set
  }
  out[item()] = 1;
}

// A lock that its owner takes again.
KERNEL lock_taken_twice(int* lock, int* out, int is_wrong) {
  if (item() == 0) {
    for (int turn = 0; turn < 2; ++turn) {
      int free = 0;
      while (!__hip_atomic_compare_exchange_strong(lock, &free, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED,  // barriers:deadlock in lock_taken_twice
                                                   __HIP_MEMORY_SCOPE_AGENT)) {
        free = 0;
      }
      out[group()] += 1;
      if (!is_wrong) __hip_atomic_fetch_and(lock, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
  }
}

KERNEL endless_loop(int* out, int is_wrong) {
  int left = is_wrong ? -1 : 5;
  do { asm volatile("" : "+v"(left)); left = is_wrong ? -1 : left - 1; } while (left != 0);  // barriers:endless-loop in endless_loop
  out[item()] = left;
}

// Split barriers, which gfx12 has and no other.
#if defined(__GFX12__)
#define SIGNAL asm volatile("s_barrier_signal -1")
#define WAIT_AT_BARRIER asm volatile("s_barrier_wait -1")
#else
#define SIGNAL
#define WAIT_AT_BARRIER __builtin_amdgcn_s_barrier()
#endif

KERNEL signal_twice(int* out, int is_wrong) {
  SIGNAL;
  if (is_wrong) SIGNAL;  // barriers:signal-twice in signal_twice
  WAIT_AT_BARRIER;
  out[item()] = 1;
}

KERNEL signal_without_wait(int* out, int is_wrong) {
  SIGNAL;  // barriers:signal-without-wait in signal_without_wait
  if (!is_wrong) WAIT_AT_BARRIER;
  out[item()] = 1;
}

KERNEL wait_without_signal(int* out, int is_wrong) {
  if (!is_wrong) SIGNAL;
  WAIT_AT_BARRIER;  // barriers:wait-without-signal in wait_without_signal
  out[item()] = 1;
}

// numbers

KERNEL root_of_negative(const float* in, float* out, int is_wrong) {
  const float value = is_wrong ? in[item()] - 10.0f : in[item()];
  out[item()] = __builtin_amdgcn_sqrtf(value);  // numbers:nan in root_of_negative
}

KERNEL product_too_large(const float* in, float* out, int is_wrong) {
  const float value = is_wrong ? in[item()] * 1e30f : in[item()];
  out[item()] = value * value;  // numbers:infinity in product_too_large
}

KERNEL half_too_large(const float* in, _Float16* out, int is_wrong) {
  const float value = is_wrong ? in[item()] * 1e4f : in[item()];
  out[item()] = static_cast<_Float16>(value);  // numbers:f16-overflow in half_too_large
}

// Conversions to FP8 and BF8, which gfx942 and later have, and RDNA4: FNUZ on gfx942, else OCP.
#if defined(__gfx942__) || defined(__gfx950__) || defined(__GFX12__)
#define TO_FP8(x) __builtin_amdgcn_cvt_pk_fp8_f32(x, 1.0f, 0, false)
#define TO_BF8(x) __builtin_amdgcn_cvt_pk_bf8_f32(1.0f, x, 0, true)
#define TO_FP8_STOCHASTIC(x) __builtin_amdgcn_cvt_sr_fp8_f32(x, 12345, 0, 2)
#else
#define TO_FP8(x) static_cast<int>(x)
#define TO_BF8(x) static_cast<int>(x)
#define TO_FP8_STOCHASTIC(x) static_cast<int>(x)
#endif

KERNEL fp8_too_large(const float* in, int* out, int is_wrong) {
  const float value = is_wrong ? in[item()] * 8.0f : in[item()] * 3.5f;
  out[item()] = TO_FP8(value);  // numbers:f8-overflow in fp8_too_large
}

KERNEL bf8_too_large(const float* in, int* out, int is_wrong) {
  const float value = is_wrong ? in[item()] * -1000.0f : in[item()] * 900.0f;
  out[item()] = TO_BF8(value);  // numbers:f8-overflow in bf8_too_large
}

KERNEL fp8_too_large_by_chance(const float* in, int* out, int is_wrong) {
  const float value = is_wrong ? in[item()] * 8.0f : in[item()] * 3.5f;
  out[item()] = TO_FP8_STOCHASTIC(value);  // numbers:f8-overflow in fp8_too_large_by_chance
}

KERNEL doubles_too_large(const double* in, double* out, int is_wrong) {
  double sum = in[item()];
  for (int i = 0; i < 9; ++i) sum = is_wrong ? sum * 1e40 : sum * 0.5;  // numbers:infinity in doubles_too_large
  out[item()] = sum;
}

// uninitialized

#define atomic_add(at, value) __hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP)

KERNEL register_not_set(int* out, int is_wrong) {
  int value;
  if (is_wrong) {
    asm volatile("; takes what a register has" : "=v"(value));
  } else {
    value = 5;
  }
  out[item()] = value * 3 + item();  // uninitialized:register in register_not_set
}

// A copy is no use, but a sum of it is.
KERNEL lds_not_written(int* out, int is_wrong) {
  SHARED int tile[65];
  const int i = item();
  if (!is_wrong) tile[64] = 1;
  tile[i] = i;
  barrier();
  const int copied = tile[i + 1];
  barrier();
  tile[i] = copied;
  barrier();
  out[i] = tile[i] + 1;  // uninitialized:lds in lds_not_written
}

KERNEL branch_on_lds(int* out, int is_wrong) {
  SHARED volatile int flag;
  if (!is_wrong) flag = 1;
  if (__builtin_amdgcn_readfirstlane(flag) > 0) {  // uninitialized:lds in branch_on_lds
    out[item()] = 7;
    __builtin_amdgcn_s_sleep(1);
  }
}

KERNEL lanes_by_lds(int* out, int is_wrong) {
  SHARED volatile int flags[64];
  if (!is_wrong) flags[item()] = 1;
  if (flags[item()] > 0) {  // uninitialized:lds in lanes_by_lds
    out[item()] = 7;
    __builtin_amdgcn_s_sleep(1);
  }
}

KERNEL index_from_lds(const int* in, int* out, int is_wrong) {
  SHARED volatile u8 places[64];
  if (!is_wrong || item() < 32) places[item()] = item();
  out[item()] = in[places[item()] & 63];  // uninitialized:lds in index_from_lds
}

KERNEL array_not_filled(int* out, int n, int is_wrong) {
  volatile float frame[8];
  for (int k = 0; k < (is_wrong ? n - 1 : n); ++k) frame[k] = k;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += frame[k];
  out[item()] = sum;  // uninitialized:scratch in array_not_filled
}

KERNEL atomic_of_lds(int* out, int is_wrong) {
  SHARED int count;
  if (!is_wrong && item() == 0) count = 0;
  barrier();
  atomic_add(&count, 1);  // uninitialized:lds in atomic_of_lds
  barrier();
  out[item()] = count;
}

// lanes: as if waves had 64, and right where they do

KERNEL shuffle_of_64_lanes(int* out, int is_wrong) {
  const int other = is_wrong ? item() ^ 32 : item() ^ 16;
  out[item()] = __builtin_amdgcn_ds_bpermute(4 * other, item());  // lanes:beyond-wave in shuffle_of_64_lanes
}

KERNEL last_of_64_lanes(int* out, int is_wrong) {
  int last = is_wrong ? 63 : 31;
  asm volatile("" : "+s"(last));
  out[item()] = __builtin_amdgcn_readlane(item(), last);  // lanes:beyond-wave in last_of_64_lanes
}
