// Kernels that read what a tensor's memory has, whether anybody has written it or not: copies of it, and uses. A line
// with a use has its name in a comment.
#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))

using u8 = unsigned char;

__attribute__((device)) inline int item() {
  return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
}

// Copies

KERNEL copy(const int* in, int* out) { out[item()] = in[item()]; }

KERNEL copy_bytes(const u8* in, u8* out) { out[item()] = in[item()]; }

KERNEL copy_by_lds(const int* in, int* out) {
  SHARED int tile[64];
  const int i = __builtin_amdgcn_workitem_id_x();
  tile[i] = in[item()];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[item() - i + 63 - i] = tile[63 - i];
}

KERNEL fill_every_other(int* out) { out[2 * item()] = 7; }

KERNEL fill_below(int* out, int n) {
  if (item() < n) out[item()] = 7;
}

/// What is loaded for all, and kept by some.
KERNEL add_below(const int* in, int* out, int n) {
  const int value = in[item()];
  out[item()] = item() < n ? value + 1 : 0;
}

// Uses

KERNEL add(const int* in, int* out) {
  out[item()] = in[item()] + 1;  // add
}

KERNEL add_bytes(const u8* in, u8* out) {
  out[item()] = in[item()] + 1;  // add_bytes
}

KERNEL add_four(const int* in, int* out) {
  using four = int __attribute__((ext_vector_type(4)));
  const four value = reinterpret_cast<const four*>(in)[item()];
  reinterpret_cast<four*>(out)[item()] = value + 1;  // add_four
}

KERNEL add_by_lds(const int* in, int* out) {
  SHARED int tile[64];
  const int i = __builtin_amdgcn_workitem_id_x();
  tile[i] = in[item()];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  out[item() - i + 63 - i] = tile[63 - i] + 1;  // add_by_lds
}

KERNEL branch(const int* in, int* out) {
  if (in[0] > 0) {  // branch
    out[item()] = 1;
    __builtin_amdgcn_s_sleep(1);
  } else {
    out[item()] = 2;
  }
}

KERNEL choose_lanes(const int* in, int* out) {
  if (in[item()] > 0) {  // choose_lanes
    out[item()] = 1;
    __builtin_amdgcn_s_sleep(1);
  }
}

KERNEL look_up(const int* in, const int* table, int* out) {
  out[item()] = table[in[item()] & 63];  // look_up
}

KERNEL count(int* counts) {
  __hip_atomic_fetch_add(&counts[item() & 15], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);  // count
}

KERNEL add_at(const int* const* tables, int* out) {
  out[item()] = tables[item() & 1][item()] + 1;  // add_at
}
