// Accesses that a table lists, for each wave one row after the other: a kernel whose races a model can tell.
//
// A row has 68 dwords: the access, its value, the number of a flag, one that is not used, and for each lane the first
// byte, or -1.
#define KERNEL extern "C" __attribute__((global)) void
#define SHARED __attribute__((shared))

using u8 = unsigned char;
using u32 = unsigned;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

enum Access {
  kNothing = 0,
  kLoad = 1,   // of 1, 2, 4, 8 and 16 bytes
  kStore = 6,  // likewise
  kAdd = 11,   // an atomic
  kLds = 11,   // more than the same of the launch's memory: 12 to 22
  kBarrier = 30,
  kRelease = 31,  // sets a flag
  kAcquire = 32,  // reads it
};

#define LOAD(name, bytes) asm volatile(name : "=v"(bytes) : "v"(at), "s"(memory) : "memory")
#define STORE(name, bytes) asm volatile(name : : "v"(at), "v"(bytes), "s"(memory) : "memory")

KERNEL accesses(const int* table, int rows, u8* memory, int* flags) {
  SHARED u32 lds[256];
  const int item = __builtin_amdgcn_workitem_id_x(), lane = item % 64;
  const int wave = __builtin_amdgcn_workgroup_id_x() * (__builtin_amdgcn_workgroup_size_x() / 64) + item / 64;
  const int first = __builtin_amdgcn_readfirstlane(wave * rows * 68);
  if (rows < 0) *(volatile u32*)&lds[item] = 0;  // so that LDS is allocated, at 0
  u32 one;
  u32x2 two;
  u32x4 four;
  for (int row = 0; row < rows; ++row) {
    const int* const entry = table + first + row * 68;
    const int access = entry[0], at = entry[4 + lane];
    const u32 value = entry[1] * 0x01010101u;
    const u32x2 values = {value, value};
    const u32x4 more = {value, value, value, value};
    // By hand: the compiler leaves out waits for accesses that it does not see.
    const int flag = entry[2] * 4;
    if (access == kBarrier) asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)\n s_barrier" ::: "memory");
    if (access == kRelease && lane == 0) {
      asm volatile("buffer_wbl2 sc1\n s_waitcnt vmcnt(0) lgkmcnt(0)\n global_store_dword %0, %1, %2 sc1"
                   :
                   : "v"(flag), "v"(1), "s"(flags)
                   : "memory");
    }
    if (access == kAcquire && lane == 0) {
      asm volatile("global_load_dword %0, %1, %2 sc1\n s_waitcnt vmcnt(0)\n buffer_inv sc1"
                   : "=&v"(one)
                   : "v"(flag), "s"(flags)
                   : "memory");
    }
    if (at < 0) continue;
    switch (access) {
      case kLoad + 0:
        LOAD("global_load_ubyte %0, %1, %2", one);
        break;
      case kLoad + 1:
        LOAD("global_load_ushort %0, %1, %2", one);
        break;
      case kLoad + 2:
        LOAD("global_load_dword %0, %1, %2", one);
        break;
      case kLoad + 3:
        LOAD("global_load_dwordx2 %0, %1, %2", two);
        break;
      case kLoad + 4:
        LOAD("global_load_dwordx4 %0, %1, %2", four);
        break;
      case kStore + 0:
        STORE("global_store_byte %0, %1, %2", value);
        break;
      case kStore + 1:
        STORE("global_store_short %0, %1, %2", value);
        break;
      case kStore + 2:
        STORE("global_store_dword %0, %1, %2", value);
        break;
      case kStore + 3:
        STORE("global_store_dwordx2 %0, %1, %2", values);
        break;
      case kStore + 4:
        STORE("global_store_dwordx4 %0, %1, %2", more);
        break;
      case kAdd:
        STORE("global_atomic_add %0, %1, %2", 0);
        break;
      case kLds + kLoad + 0:
        asm volatile("ds_read_u8 %0, %1" : "=v"(one) : "v"(at) : "memory");
        break;
      case kLds + kLoad + 1:
        asm volatile("ds_read_u16 %0, %1" : "=v"(one) : "v"(at) : "memory");
        break;
      case kLds + kLoad + 2:
        asm volatile("ds_read_b32 %0, %1" : "=v"(one) : "v"(at) : "memory");
        break;
      case kLds + kLoad + 3:
        asm volatile("ds_read_b64 %0, %1" : "=v"(two) : "v"(at) : "memory");
        break;
      case kLds + kLoad + 4:
        asm volatile("ds_read_b128 %0, %1" : "=v"(four) : "v"(at) : "memory");
        break;
      case kLds + kStore + 0:
        asm volatile("ds_write_b8 %0, %1" : : "v"(at), "v"(value) : "memory");
        break;
      case kLds + kStore + 1:
        asm volatile("ds_write_b16 %0, %1" : : "v"(at), "v"(value) : "memory");
        break;
      case kLds + kStore + 2:
        asm volatile("ds_write_b32 %0, %1" : : "v"(at), "v"(value) : "memory");
        break;
      case kLds + kStore + 3:
        asm volatile("ds_write_b64 %0, %1" : : "v"(at), "v"(values) : "memory");
        break;
      case kLds + kStore + 4:
        asm volatile("ds_write_b128 %0, %1" : : "v"(at), "v"(more) : "memory");
        break;
      case kLds + kAdd:
        asm volatile("ds_add_u32 %0, %1" : : "v"(at), "v"(0) : "memory");
        break;
      default:
        break;
    }
    asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory");
  }
}
