// Programs that reach memory by raw buffer loads and stores, for processors whose waves have 32 lanes or 64.
typedef unsigned u32;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x3 __attribute__((ext_vector_type(3)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE static __attribute__((device))
#define THREAD (__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x())

// A raw buffer, of any format.
DEVICE __amdgpu_buffer_rsrc_t raw(const void* data, int bytes) {
  return __builtin_amdgcn_make_buffer_rsrc(const_cast<void*>(data), 0, bytes, 3 << 28 | 7 << 12);
}

// Each work-item adds two values; `shift` is the scalar offset. What is out of range is not stored.
KERNEL add(const float* a, const float* b, float* c, int bytes, int shift) {
  const int at = THREAD * 4;
  const float x = __builtin_bit_cast(float, __builtin_amdgcn_raw_buffer_load_b32(raw(a, bytes), at, shift, 0));
  const float y = __builtin_bit_cast(float, __builtin_amdgcn_raw_buffer_load_b32(raw(b, bytes), at, shift, 0));
  __builtin_amdgcn_raw_buffer_store_b32(__builtin_bit_cast(u32, x + y), raw(c, bytes), at, shift, 0);
}

// Each work-item copies 30 bytes of its 32, in pieces of all sizes.
KERNEL copy(const void* from, void* to, int bytes) {
  const int at = THREAD * 32;
  const __amdgpu_buffer_rsrc_t in = raw(from, bytes), out = raw(to, bytes);
  const u32x4 four = __builtin_amdgcn_raw_buffer_load_b128(in, at, 0, 0);
  const u32x2 two = __builtin_amdgcn_raw_buffer_load_b64(in, at + 16, 0, 0);
  const u32 one = __builtin_amdgcn_raw_buffer_load_b32(in, at + 24, 0, 0);
  const unsigned char byte = __builtin_amdgcn_raw_buffer_load_b8(in, at + 28, 0, 0);
  const unsigned char next = __builtin_amdgcn_raw_buffer_load_b8(in, at + 29, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b16(next << 8 | byte, out, at + 28, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(one, out, at + 24, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b64(two, out, at + 16, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b96(u32x3{four.x, four.y, four.z}, out, at, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(four.w, out, at + 12, 0, 0);
}
