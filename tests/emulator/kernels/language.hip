// What compilers make of the language beyond arithmetic: calls, globals, hidden arguments, LDS sizes.
#define KERNEL extern "C" __attribute__((global)) void
#define THREAD_X __builtin_amdgcn_workitem_id_x()
#define BLOCK_X __builtin_amdgcn_workgroup_id_x()

__attribute__((device)) __attribute__((noinline)) static int collatz_step(int x) { return x & 1 ? 3 * x + 1 : x / 2; }

// A call of a function that is not inlined.
KERNEL call_function(const int* in, int* out) { out[THREAD_X] = collatz_step(in[THREAD_X]); }

__attribute__((device)) int counter = 40;
__attribute__((device)) int table[4] = {2, 3, 5, 7};
__attribute__((device)) int* table_pointer = table;

// A global that keeps its value between launches, and one that is found through a relocated pointer.
KERNEL use_globals(int* out) {
  ++counter;
  out[0] = counter;
  out[1] = table_pointer[3];
}

// What the runtime passes behind the arguments.
KERNEL hidden_arguments(int* out) {
  out[0] = __builtin_amdgcn_workgroup_size_x();
  out[1] = __builtin_amdgcn_workgroup_size_y();
  out[2] = __builtin_amdgcn_workgroup_size_z();
  out[3] = __builtin_amdgcn_grid_size_x();
  out[4] = __builtin_amdgcn_grid_size_y();
  out[5] = __builtin_amdgcn_grid_size_z();
  const unsigned short* hidden = (const unsigned short*)__builtin_amdgcn_implicitarg_ptr();
  out[6] = ((const unsigned*)hidden)[0];  // block counts
  out[7] = ((const unsigned*)hidden)[1];
  out[8] = ((const unsigned*)hidden)[2];
  out[9] = hidden[9];   // remainders
  out[10] = hidden[32];  // dimensions of the grid
}

// Dynamic LDS: the block's items leave their numbers there in reverse.
extern __attribute__((shared)) int dynamic[];
KERNEL reverse_in_lds(int* out, int n) {
  dynamic[n - 1 - THREAD_X] = THREAD_X;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  out[THREAD_X] = dynamic[THREAD_X];
}

// An assert, as __builtin_trap ends it: that the sum of 64 items is what is expected.
KERNEL check_sum(const int* in, int expected) {
  int sum = 0;
  for (int i = 0; i < 64; ++i) sum += in[i];
  if (sum != expected) __builtin_trap();
}

// One argument of each type, each stored as it is at eight bytes of its own.
struct Pair {
  float x, y;
};
KERNEL argument_types(char* out, signed char i8, unsigned char u8, short i16, unsigned short u16, int i32, unsigned u32, long i64,
                      unsigned long u64, bool flag, _Float16 half, float single, double twice, Pair pair) {
  *(signed char*)(out + 0) = i8;
  *(unsigned char*)(out + 8) = u8;
  *(short*)(out + 16) = i16;
  *(unsigned short*)(out + 24) = u16;
  *(int*)(out + 32) = i32;
  *(unsigned*)(out + 40) = u32;
  *(long*)(out + 48) = i64;
  *(unsigned long*)(out + 56) = u64;
  *(bool*)(out + 64) = flag;
  *(_Float16*)(out + 72) = half;
  *(float*)(out + 80) = single;
  *(double*)(out + 88) = twice;
  *(Pair*)(out + 96) = pair;
}
