// What correct kernels do that looks like a mistake: queues, look-back, the last workgroup's sum, waves that produce for
// others, structs of which a part is written, minus infinity as a mask. Compiled by test_false_alarms.py, where each
// kernel has its launch.
#include <math.h>

#define KERNEL extern "C" __global__ void
#define LOAD(p, order, scope) __hip_atomic_load(p, __ATOMIC_##order, __HIP_MEMORY_SCOPE_##scope)
#define STORE(p, value, order, scope) __hip_atomic_store(p, value, __ATOMIC_##order, __HIP_MEMORY_SCOPE_##scope)

static __device__ int item() { return blockIdx.x * blockDim.x + threadIdx.x; }

// A ring of four slots between workgroups: a slot's number says whose turn it is.
KERNEL ring(int* turns, int* slots, int* heads, int* out) {
  if (threadIdx.x != 0) return;
  const bool produces = blockIdx.x % 2 == 0;
  for (int k = 0; k < 4; ++k) {
    const int ticket = atomicAdd(&heads[produces], 1), slot = ticket % 4;
    while (LOAD(&turns[slot], ACQUIRE, AGENT) != ticket + !produces) __builtin_amdgcn_s_sleep(1);
    if (produces) {
      slots[slot] = ticket + 100;
      atomicAdd(&out[64], 1);
      STORE(&turns[slot], ticket + 1, RELEASE, AGENT);
    } else {
      out[ticket] = slots[slot];
      atomicAdd(&out[64], 1);
      STORE(&turns[slot], ticket + 4, RELEASE, AGENT);
    }
  }
}

// Whoever comes first makes the value, and others wait for it.
KERNEL made_once(int* state, int* value, int* out) {
  if (threadIdx.x != 0) return;
  if (LOAD(state, ACQUIRE, AGENT) != 2) {
    if (atomicCAS(state, 0, 1) == 0) {
      *value = 42;
      __threadfence();
      atomicExch(state, 2);
    } else {
      while (atomicAdd(state, 0) != 2) __builtin_amdgcn_s_sleep(1);
      __threadfence();
    }
  }
  out[blockIdx.x] = *value;
}

// Sums of what comes before, for which a workgroup looks back: a flag and a number in 64 bits.
KERNEL look_back(const int* in, unsigned long long* states, int* out) {
  __shared__ int before;
  if (threadIdx.x == 0) {
    int own = 0, sum = 0;
    for (int i = 0; i < blockDim.x; ++i) own += in[blockIdx.x * blockDim.x + i];
    atomicExch(&states[blockIdx.x], 1ull << 32 | (unsigned)own);
    for (int at = (int)blockIdx.x - 1; at >= 0; --at) {
      unsigned long long state;
      do {
        state = atomicAdd(&states[at], 0ull);
      } while (state >> 32 == 0);
      sum += (int)(unsigned)state;
      if (state >> 32 == 2) break;
    }
    atomicExch(&states[blockIdx.x], 2ull << 32 | (unsigned)(own + sum));
    before = sum;
  }
  __syncthreads();
  out[item()] = before + in[item()];
}

// The same with volatile flags beside the numbers.
KERNEL look_back_by_flags(const int* in, volatile int* flags, volatile int* own, volatile int* all, int* out) {
  __shared__ int before;
  if (threadIdx.x == 0) {
    int sum = 0, earlier = 0;
    for (int i = 0; i < blockDim.x; ++i) sum += in[blockIdx.x * blockDim.x + i];
    own[blockIdx.x] = sum;
    __threadfence();
    flags[blockIdx.x] = 1;
    for (int at = (int)blockIdx.x - 1; at >= 0; --at) {
      int flag;
      do {
        flag = flags[at];
      } while (flag == 0);
      __threadfence();
      earlier += flag == 2 ? all[at] : own[at];
      if (flag == 2) break;
    }
    all[blockIdx.x] = earlier + sum;
    __threadfence();
    flags[blockIdx.x] = 2;
    before = earlier;
  }
  __syncthreads();
  out[item()] = before + in[item()];
}

// The last workgroup adds up what all have stored, and leaves the counter as it was.
KERNEL split_sum(const int* in, int* parts, int* count, int* out) {
  __shared__ bool is_last;
  parts[item()] = in[item()] * 2;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(count, 1) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  int sum = 0;
  for (int i = 0; i < gridDim.x; ++i) sum += parts[i * blockDim.x + threadIdx.x];
  out[threadIdx.x] = sum;
  if (threadIdx.x == 0) *count = 0;
}

// Waves that load for others, by way of two buffers in LDS: each buffer has counts of who has filled and emptied it.
KERNEL producers(const int* in, int* out, int turns) {
  __shared__ int buffers[2][64], full[2], empty[2];
  if (threadIdx.x < 2) full[threadIdx.x] = empty[threadIdx.x] = 0;
  __syncthreads();
  const int waves = 64 / warpSize, lane = threadIdx.x % 64;
  int sum = 0;
  for (int i = 0; i < turns; ++i) {
    const int at = i % 2;
    if (threadIdx.x < 64) {
      while (LOAD(&empty[at], ACQUIRE, WORKGROUP) < i / 2 * waves) __builtin_amdgcn_s_sleep(1);
      buffers[at][lane] = in[i * 64 + lane];
      if (lane % warpSize == 0) __hip_atomic_fetch_add(&full[at], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    } else {
      while (LOAD(&full[at], ACQUIRE, WORKGROUP) < (i / 2 + 1) * waves) __builtin_amdgcn_s_sleep(1);
      sum += buffers[at][lane];
      if (lane % warpSize == 0) __hip_atomic_fetch_add(&empty[at], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    }
  }
  if (threadIdx.x >= 64) out[lane] = sum;
}

struct Padded {
  char first;
  int second;
  short third;
  double fourth;
};

// Structs are copied with their padding.
KERNEL padding(Padded* out, Padded* copy) {
  __shared__ Padded shared[64];
  shared[threadIdx.x] = {1, (int)threadIdx.x, 3, 4.0};
  __syncthreads();
  out[threadIdx.x] = shared[63 - threadIdx.x];
  copy[threadIdx.x] = out[threadIdx.x];
}

struct List {
  int used, values[7];
};

// A list is copied as a whole, of which a part is used.
KERNEL partly_filled(List* out, int* sums) {
  List list;
  list.used = threadIdx.x % 7;
  for (int i = 0; i < list.used; ++i) list.values[i] = i;
  memcpy(&out[threadIdx.x], &list, sizeof list);
  int sum = 0;
  for (int i = 0; i < list.used; ++i) sum += out[threadIdx.x].values[i] == 3;
  sums[threadIdx.x] = sum;
}

// What lies past the end is neither loaded nor used.
KERNEL masked(const int* in, int* out, int n) {
  int values[4];
  for (int i = 0; i < 4; ++i) {
    if (item() * 4 + i < n) values[i] = in[item() * 4 + i];
  }
  int found = 0;
  for (int i = 0; i < 4; ++i) {
    const bool is_seven = values[i] == 7;
    found += item() * 4 + i < n && is_seven;
  }
  out[item()] = found;
}

// A row's sum of exponentials, some of which are left out by minus infinity.
KERNEL masked_softmax(const float* in, float* out) {
  float most = -INFINITY, sum = 0;
  for (int i = 0; i < 16; ++i) {
    const float value = i <= threadIdx.x % 16 ? in[threadIdx.x * 16 + i] : -INFINITY, now = fmaxf(most, value);
    sum = sum * expf(most - now) + expf(value - now);
    most = now;
  }
  out[threadIdx.x] = most + logf(sum);
}

// Numbers within NaNs.
KERNEL boxed(const int* in, double* out, int* tags) {
  out[threadIdx.x] = __longlong_as_double(0x7ff8000000000000ull | (threadIdx.x & 3ull) << 48 | (unsigned)in[threadIdx.x]);
  tags[threadIdx.x] = (int)(__double_as_longlong(out[threadIdx.x]) >> 48 & 3);
}

// Each workgroup makes the same table for itself, where the others do.
KERNEL same_table(const int* in, int* table, int* out) {
  table[threadIdx.x] = in[threadIdx.x] + 1;
  __syncthreads();
  out[item()] = table[threadIdx.x ^ 64];
}
