// A whole HIP translation unit, host side included: clang embeds the device code into .hip_fatbin by itself.

struct dim3 {
  unsigned x, y, z;
};
extern "C" int hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, void*);
extern "C" int __hipPopCallConfiguration(dim3*, dim3*, unsigned long*, void*);

extern "C" __attribute__((global)) void store_one(int* x) { *x = 1; }
