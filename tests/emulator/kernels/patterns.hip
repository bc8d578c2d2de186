// Patterns of parallel programs that are known for their races, each with the race and without: sums, worklists, locks,
// trees of sets, scans and sorts in LDS, the last workgroup's sum. A line with a race names its kernel in a comment, and
// so does the other one; it is made where `wrong` is set. Compiled by test_racy_patterns.py.
#include <hip/hip_cooperative_groups.h>

#define KERNEL extern "C" __global__ void
#define LOAD(p, order, scope) __hip_atomic_load(p, __ATOMIC_##order, __HIP_MEMORY_SCOPE_##scope)
#define STORE(p, value, order, scope) __hip_atomic_store(p, value, __ATOMIC_##order, __HIP_MEMORY_SCOPE_##scope)

static __device__ int item() { return blockIdx.x * blockDim.x + threadIdx.x; }

// The degree of each vertex, of a list of edges.
KERNEL degrees(const int* ends, int* degree, int n, int wrong) {
  for (int i = item(); i < n; i += gridDim.x * blockDim.x) {
    if (wrong) {
      degree[ends[i]] += 1;  // race in degrees
    } else {
      atomicAdd(&degree[ends[i]], 1);
    }
  }
}

// The vertices that are wanted, one behind the other.
KERNEL worklist(const int* wanted, int* list, int* length, int n, int wrong) {
  const int i = item();
  if (i >= n || !wanted[i]) return;
  int at;
  if (wrong) {
    at = *length;       // race in worklist
    *length = at + 1;   // race in worklist
  } else {
    at = atomicAdd(length, 1);
  }
  if (at < n) list[at] = i;  // race in worklist
}

// Trees of sets: a vertex is hung below its grandparent while others climb.
KERNEL shortened_paths(int* parents, int n, int wrong) {
  int at = item() % n;
  for (int step = 0; step < 8; ++step) {
    const int parent = wrong ? parents[at] : LOAD(&parents[at], RELAXED, AGENT);  // race in shortened_paths
    const int above = wrong ? parents[parent] : LOAD(&parents[parent], RELAXED, AGENT);  // race in shortened_paths
    if (wrong) {
      parents[at] = above;  // race in shortened_paths
    } else {
      STORE(&parents[at], above, RELAXED, AGENT);
    }
    at = above;
  }
}

// A lock of one work-item of each workgroup.
KERNEL locked_sum(int* lock, int* sum, int wrong) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) __builtin_amdgcn_s_sleep(1);
  if (!wrong) __threadfence();
  *sum += blockIdx.x + 1;  // race in locked_sum
  if (!wrong) __threadfence();
  atomicExch(lock, 0);
}

// A lock that a store lets go of, which looks like another store to some processors.
KERNEL stored_lock(int* lock, int* sum, int wrong) {
  if (threadIdx.x != 0) return;
  while (__hip_atomic_exchange(lock, 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != 0) __builtin_amdgcn_s_sleep(1);
  *sum += blockIdx.x + 1;  // race in stored_lock
  if (wrong) {
    STORE(lock, 0, RELAXED, AGENT);
  } else {
    STORE(lock, 0, RELEASE, AGENT);
  }
}

// A lock that a volatile store lets go of or, if wrong, a plain one without a fence.
KERNEL volatile_lock(int* lock, int* sum, int wrong) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) __builtin_amdgcn_s_sleep(1);  // race in volatile_lock
  __threadfence();
  *sum += blockIdx.x + 1;  // race in volatile_lock
  if (wrong) {
    *lock = 0;  // race in volatile_lock
  } else {
    __threadfence();
    *(volatile int*)lock = 0;
  }
}

// The same with a plain store behind the fence.
KERNEL plain_lock(int* lock, int* sum) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) __builtin_amdgcn_s_sleep(1);  // takes it
  __threadfence();
  *sum += blockIdx.x + 1;
  __threadfence();
  *lock = 0;  // lets it go
}

// A counter that the last workgroup sets to zero for the next launch or, if wrong, the first one for the others.
KERNEL reset_counter(int* done, int* out, int wrong) {
  if (threadIdx.x != 0) return;
  const int before = atomicAdd(done, 1);  // race in reset_counter
  if (before != (wrong ? 0 : gridDim.x - 1)) return;
  *done = 0;  // race in reset_counter
  *out = before;
}

// Workgroups take turns.
KERNEL turns(int* turn, int* sum, int wrong) {
  if (threadIdx.x != 0) return;
  while (LOAD(turn, ACQUIRE, AGENT) != blockIdx.x) __builtin_amdgcn_s_sleep(1);
  *sum = *sum * 3 + blockIdx.x + 1;  // race in turns
  if (wrong) {
    STORE(turn, blockIdx.x + 1, RELAXED, AGENT);
  } else {
    STORE(turn, blockIdx.x + 1, RELEASE, AGENT);
  }
}

// A number for another workgroup, behind a flag of the scope that is too small for it.
KERNEL scoped_flag(int* data, int* flag, int* out, int wrong) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 7;  // race in scoped_flag
    if (wrong) {
      STORE(flag, 1, RELEASE, WORKGROUP);  // race in scoped_flag
    } else {
      STORE(flag, 1, RELEASE, AGENT);
    }
  } else {
    while (LOAD(flag, RELAXED, AGENT) == 0) __builtin_amdgcn_s_sleep(1);  // race in scoped_flag
    if (wrong) {
      __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    } else {
      __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    }
    out[blockIdx.x] = *data;  // race in scoped_flag
  }
}

// Sums of workgroups, which the last of them adds up.
KERNEL last_workgroup(const int* in, int* parts, int* done, int* sum, int wrong) {
  if (threadIdx.x != 0) return;
  parts[blockIdx.x] = in[item()] + 1;  // race in last_workgroup
  if (!wrong) __threadfence();
  if (atomicAdd(done, 1) + 1 != gridDim.x) return;
  if (!wrong) __threadfence();
  int all = 0;
  for (int i = 0; i < gridDim.x; ++i) all += parts[i];  // race in last_workgroup
  *sum = all;
}

// The same with all waves of a workgroup: each makes its own stores known, and takes a new look, and one of them tells.
KERNEL last_of_waves(const int* in, int* parts, int* done, int* sum, int wrong) {
  __shared__ bool is_last;
  parts[item()] = in[item()] + 1;  // race in last_of_waves
  if (!wrong) __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(done, 1) + 1 == gridDim.x;
  __syncthreads();
  if (!is_last) return;
  if (!wrong) __threadfence();
  int all = 0;
  for (int i = threadIdx.x; i < gridDim.x * blockDim.x; i += blockDim.x) all += parts[i];  // race in last_of_waves
  atomicAdd(sum, all);
}

// What the whole grid has stored, which a barrier of the grid makes known.
KERNEL grid_sums(const int* in, int* parts, int* sums, int wrong) {
  parts[item()] = in[item()] + 1;  // race in grid_sums
  if (!wrong) cooperative_groups::this_grid().sync();
  int all = 0;
  for (int i = 0; i < gridDim.x * blockDim.x; ++i) all += parts[i];  // race in grid_sums
  sums[item()] = all;
}

// The barrier of the grid that ROCm's device libraries have for some processors, whose record the launch has: what
// caches hold is thrown away before it, and not behind it. If wrong, there is no fence before it either.
KERNEL library_grid_sums(const int* in, int* parts, int* sums, int wrong) {
  unsigned* const arrived = *(unsigned**)((char*)__builtin_amdgcn_implicitarg_ptr() + 88) + 8;
  parts[item()] = in[item()] + 1;  // race in library_grid_sums
  if (!wrong) __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  __builtin_amdgcn_s_barrier();
  if (threadIdx.x == 0) {
    const unsigned before = __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    if ((before & 0xffff) == gridDim.x - 1) {
      __hip_atomic_fetch_add(arrived, 0x10000 - gridDim.x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    } else {
      while (((LOAD(arrived, RELAXED, AGENT) ^ before) & ~0xffffu) == 0) __builtin_amdgcn_s_sleep(1);
    }
  }
  __builtin_amdgcn_s_barrier();
  int all = 0;
  for (int i = 0; i < gridDim.x * blockDim.x; ++i) all += parts[i];  // race in library_grid_sums
  sums[item()] = all;
}

// A barrier of the grid behind stores of another wave than its own: if wrong, nobody writes them back before it.
KERNEL stores_of_mates(int* parts, int* count, int* sum, int wrong) {
  if (threadIdx.x >= 128) parts[blockIdx.x * 128 + threadIdx.x - 128] = 1;  // race in stores_of_mates
  __syncthreads();
  if (threadIdx.x == 0) {
    if (!wrong) __threadfence();
    atomicAdd(count, 1);
    while (LOAD(count, RELAXED, AGENT) != gridDim.x) __builtin_amdgcn_s_sleep(1);
  }
  __syncthreads();
  __threadfence();
  int all = 0;
  for (int i = 0; i < gridDim.x * 128; ++i) all += parts[i];  // race in stores_of_mates
  sum[item()] = all;
}

// A step of heat's spreading, in LDS, in place.
KERNEL stencil(const float* in, float* out, int wrong) {
  __shared__ float line[258];
  const int i = threadIdx.x + 1;
  line[i] = in[threadIdx.x];
  if (i == 1) line[0] = line[257] = 0;
  __syncthreads();
  for (int step = 0; step < 3; ++step) {
    const float next = (line[i - 1] + line[i + 1]) * 0.5f;  // race in stencil
    if (!wrong) __syncthreads();
    line[i] = next;  // race in stencil
    __syncthreads();
  }
  out[threadIdx.x] = line[i];
}

// Running sums, each step of which reads what the step before has stored.
KERNEL scan(const int* in, int* out, int wrong) {
  __shared__ int sums[256];
  const int i = threadIdx.x;
  sums[i] = in[i] + 1;
  __syncthreads();
  for (int far = 1; far < 256; far *= 2) {
    const int before = i >= far ? sums[i - far] : 0;  // race in scan
    if (!wrong) __syncthreads();
    sums[i] += before;  // race in scan
    __syncthreads();
  }
  out[i] = sums[i];
}

// Neighbours change places, in turns.
KERNEL odd_even_sort(int* values, int wrong) {
  __shared__ int line[512];
  const int i = threadIdx.x;
  line[i] = values[i];
  line[i + 256] = values[i + 256];
  __syncthreads();
  for (int turn = 0; turn < 8; ++turn) {
    const int at = 2 * i + turn % 2;
    if (at < 511) {
      const int one = line[at], other = line[at + 1];  // race in odd_even_sort
      if (one > other) line[at] = other, line[at + 1] = one;  // race in odd_even_sort
    }
    if (!wrong) __syncthreads();
  }
  __syncthreads();
  values[i] = line[i];
  values[i + 256] = line[i + 256];
}

// A sum whose last steps are those of one wave, which need no barrier; of two waves they do.
KERNEL wave_sum(const int* in, int* out, int wrong) {
  __shared__ int part[256];
  const int i = threadIdx.x, last = wrong ? 4 * warpSize : warpSize;
  part[i] = in[i] + 1;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    int sum = 0;
    if (i < half) sum = *(volatile int*)&part[i] + *(volatile int*)&part[i + half];  // race in wave_sum
    if (i < half) *(volatile int*)&part[i] = sum;  // race in wave_sum
    if (half >= last) __syncthreads();
  }
  if (i == 0) *out = part[0];
}

// How often each value occurs, in LDS.
KERNEL lds_counts(const int* values, int* counts, int wrong) {
  __shared__ int here[32];
  const int i = threadIdx.x;
  if (i < 32) here[i] = 0;
  __syncthreads();
  if (wrong) {
    here[values[i] & 31] += 1;  // race in lds_counts
  } else {
    atomicAdd(&here[values[i] & 31], 1);
  }
  __syncthreads();
  if (i < 32) atomicAdd(&counts[i], here[i]);
}

// Flags of one bit each, in dwords that waves share; and of one byte each, which they do not.
KERNEL flags_of_bits(int* bits, unsigned char* bytes, int wrong) {
  const int i = item();
  if (wrong) {
    bits[i / 32 % 2] |= 1 << i % 32;  // race in flags_of_bits
  } else {
    atomicOr(&bits[i / 32 % 2], 1 << i % 32);
  }
  bytes[i] = 1;
}

// Many counters, each of which the last one to count sets to zero. The first atomic has work-items of a wave count on both
// sides of where what is known of a wave's atomics is forgotten.
KERNEL reset_counters(int* counts, int* out, int wrong) {
  if (threadIdx.x == 0 && atomicAdd(counts, 1) == 1) out[0] = 15;
  for (int i = 1 + threadIdx.x; i < 9000; i += blockDim.x) {
    const int before = atomicAdd(&counts[i], 1);  // race in reset_counters
    if (before == (wrong ? 0 : 1)) counts[i] = 0;  // race in reset_counters
  }
}

// What another workgroup has read is written anew. Loads that were waited for have their values, fence or not.
KERNEL read_before(int* data, int* sum, int wrong) {
  if (blockIdx.x == 0) {
    atomicAdd(sum, data[threadIdx.x]);  // race in read_before
  } else {
    while (!wrong && LOAD(sum, RELAXED, AGENT) != 64) __builtin_amdgcn_s_sleep(1);
    data[threadIdx.x] = 5;  // race in read_before
  }
}

// What has long been visited is looked at while others try to.
KERNEL visited(int* flags, int* out, int wrong) {
  if (blockIdx.x == 0) {
    out[threadIdx.x] = atomicCAS(&flags[threadIdx.x], wrong, 2);  // race in visited
  } else {
    out[item()] = flags[threadIdx.x];  // race in visited
  }
}
KERNEL visited_in_lds(int* out, int wrong) {
  __shared__ int flags[128];
  if (threadIdx.x < 128) flags[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x < 128) {
    atomicCAS(&flags[threadIdx.x], wrong, 2);  // race in visited_in_lds
  } else {
    out[threadIdx.x] = flags[threadIdx.x % 128];  // race in visited_in_lds
  }
}

// A counter of many workgroups, the last one of which sets it.
KERNEL counter(int* count, int wrong) {
  if (wrong && blockIdx.x == gridDim.x - 1) {
    *count = threadIdx.x / warpSize;  // race in counter
  } else {
    atomicAdd(count, 1);  // race in counter
  }
}

// A lock in LDS, and the sum of the waves that take it.
KERNEL lds_lock(int* out, int wrong) {
  __shared__ int lock, sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  if (threadIdx.x % warpSize == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) __builtin_amdgcn_s_sleep(1);
    if (!wrong) __threadfence_block();
    sum += threadIdx.x / warpSize + 1;  // race in lds_lock
    if (!wrong) __threadfence_block();
    atomicExch(&lock, 0);
  }
  __syncthreads();
  out[threadIdx.x] = sum > 0;
}

// A flag in LDS that waves poll by an atomic which changes nothing: compilers make a plain load of it.
KERNEL lds_flag(int* out, int wrong) {
  __shared__ int flag, data;
  if (threadIdx.x == 0) flag = data = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = 7;  // race in lds_flag
    if (!wrong) __threadfence_block();
    atomicExch(&flag, 1);
  }
  if (threadIdx.x >= warpSize) {
    while (atomicAdd(&flag, 0) == 0) __builtin_amdgcn_s_sleep(1);
    if (!wrong) __threadfence_block();
    out[threadIdx.x] = data;  // race in lds_flag
  }
}

// A slot in LDS that the first wave fills and another one empties, with a flag that both wait for and store. If wrong,
// the first wave does not wait until the slot is empty.
KERNEL lds_slot(int* out, int wrong) {
  __shared__ int flag, slot[64];
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  const int wave = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
  int sum = 0;
  for (int i = 0; i < 5; ++i) {
    if (wave == 0) {
      while (!wrong && LOAD(&flag, ACQUIRE, WORKGROUP) != 2 * i) __builtin_amdgcn_s_sleep(1);
      slot[lane] = i + lane;  // race in lds_slot
      STORE(&flag, 2 * i + 1, RELEASE, WORKGROUP);  // race in lds_slot
    } else if (wave == 1) {
      while (LOAD(&flag, ACQUIRE, WORKGROUP) < 2 * i + 1) __builtin_amdgcn_s_sleep(1);
      sum += slot[lane];  // race in lds_slot
      if (!wrong) STORE(&flag, 2 * i + 2, RELEASE, WORKGROUP);
    }
  }
  out[threadIdx.x] = sum;
}

// A lock in memory that guards a sum in LDS.
KERNEL lock_of_lds(int* lock, int* out, int wrong) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  if (threadIdx.x % warpSize == 0) {
    while (atomicCAS(lock, 0, 1) != 0) __builtin_amdgcn_s_sleep(1);
    if (!wrong) __threadfence();
    sum += threadIdx.x / warpSize + 1;  // race in lock_of_lds
    if (!wrong) __threadfence();
    atomicExch(lock, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = sum;
}

// The lanes that have counted last set the counter in LDS to zero or, if wrong, those that have counted first.
KERNEL reset_in_lds(int* out, int wrong) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (threadIdx.x % warpSize == 0) {
    const int before = atomicAdd(&count, 1);  // race in reset_in_lds
    if (before == (wrong ? 0 : blockDim.x / warpSize - 1)) {
      count = 0;  // race in reset_in_lds
      *out = 1;
    }
  }
}

// Waves wait for what the first one has stored, in the second workgroup only if right: what the first workgroup's waves
// knew of each other tells nothing of the second's.
KERNEL second_workgroup(int* out, int wrong) {
  __shared__ int flag, parts[64];
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < warpSize) {
    for (int i = 0; i < 20; ++i) {
      parts[threadIdx.x] = i;  // race in second_workgroup
      asm volatile("" ::: "memory");
    }
    __threadfence_block();
    if (threadIdx.x == 0) atomicExch(&flag, 1);
  } else if (!wrong || blockIdx.x == 0) {
    while (atomicMax(&flag, 0) == 0) __builtin_amdgcn_s_sleep(1);
    __threadfence_block();
  }
  out[item()] = parts[threadIdx.x % warpSize];  // race in second_workgroup
}

// The wave that comes last to a counter in LDS adds up what the others have stored.
KERNEL last_wave(const int* in, int* out, int wrong) {
  __shared__ int parts[16], done;
  if (threadIdx.x == 0) done = 0;
  __syncthreads();
  const int wave = threadIdx.x / warpSize, waves = blockDim.x / warpSize;
  if (threadIdx.x % warpSize != 0) return;
  parts[wave] = in[threadIdx.x] + 1;  // race in last_wave
  if (!wrong) __threadfence_block();
  if (atomicAdd(&done, 1) + 1 != waves) return;
  if (!wrong) __threadfence_block();
  int all = 0;
  for (int i = 0; i < waves; ++i) all += parts[i];  // race in last_wave
  *out = all;
}
