// What headers and compilers after ROCm 5.2 find in device libraries.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>

extern "C" __device__ _Float16 __ocml_cvtrtz_f16_f32(float);
extern "C" __device__ _Float16 __ocml_cvtrtn_f16_f32(float);
extern "C" __device__ _Float16 __ocml_cvtrtp_f16_f32(float);

#define CONVERSION(TO, FROM, NAMES)                     \
  extern "C" __device__ TO __ocml_cvtrtz_##NAMES(FROM); \
  extern "C" __device__ TO __ocml_cvtrtn_##NAMES(FROM); \
  extern "C" __device__ TO __ocml_cvtrtp_##NAMES(FROM); \
  __device__ void convert(FROM x, TO* to) {             \
    to[0] = __ocml_cvtrtz_##NAMES(x);                   \
    to[1] = __ocml_cvtrtn_##NAMES(x);                   \
    to[2] = __ocml_cvtrtp_##NAMES(x);                   \
  }
CONVERSION(float, int32_t, f32_s32)
CONVERSION(float, uint32_t, f32_u32)
CONVERSION(float, int64_t, f32_s64)
CONVERSION(float, uint64_t, f32_u64)
CONVERSION(double, int64_t, f64_s64)
CONVERSION(double, uint64_t, f64_u64)
CONVERSION(float, double, f32_f64)

__global__ void print() {
  const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
  printf("work-item %u of %s: %.2f\n", item, "a kernel", item / 2.0);
}

struct Values {
  float of[12];
};

__global__ void round(Values values, float* to) {
  const float x = values.of[threadIdx.x];
  to[3 * threadIdx.x] = __ocml_cvtrtz_f16_f32(x);
  to[3 * threadIdx.x + 1] = __ocml_cvtrtn_f16_f32(x);
  to[3 * threadIdx.x + 2] = __ocml_cvtrtp_f16_f32(x);
}

template <typename To, typename From>
__global__ void convert_all(const From* from, To* to) {
  convert(from[threadIdx.x], to + 3 * threadIdx.x);
}

template <typename To, typename From>
bool print_conversions(const char* name, std::initializer_list<From> values) {
  From* from = nullptr;
  To* to = nullptr;
  if (hipHostMalloc(reinterpret_cast<void**>(&from), values.size() * sizeof(From), 0) != hipSuccess) return false;
  if (hipHostMalloc(reinterpret_cast<void**>(&to), 3 * values.size() * sizeof(To), 0) != hipSuccess) return false;
  std::copy(values.begin(), values.end(), from);
  convert_all<To, From><<<1, values.size()>>>(from, to);
  if (hipDeviceSynchronize() != hipSuccess) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string x = std::is_integral_v<From> ? std::to_string(from[i]) : "";
    std::printf("%s %s", name, x.c_str());
    if (x.empty()) std::printf("%a", double(from[i]));
    std::printf(" %a %a %a\n", double(to[3 * i]), double(to[3 * i + 1]), double(to[3 * i + 2]));
  }
  return true;
}

int main() {
  print<<<4, 25>>>();
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  const Values values{{0.1f, -0.1f, 1, 65519, 65520, 1e-9f, -1e-9f, 1e6f, -1e6f, 0, 6.1e-5f, -3.0001f}};
  float* to = nullptr;
  if (hipHostMalloc(reinterpret_cast<void**>(&to), 36 * sizeof(float), 0) != hipSuccess) return 2;
  round<<<1, 12>>>(values, to);
  if (hipDeviceSynchronize() != hipSuccess) return 3;
  for (int i = 0; i < 12; ++i) std::printf("%.17g %.17g %.17g\n", to[3 * i], to[3 * i + 1], to[3 * i + 2]);
  const auto least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  bool done = print_conversions<float, int32_t>("f32", {0, 1, -1, 16777217, -16777219, INT32_MAX, INT32_MIN});
  done &= print_conversions<float, uint32_t>("f32", {0, 16777217, 16777219, UINT32_MAX});
  done &= print_conversions<float, int64_t>("f32", {0, 16777217, -16777217, most, most - 1, least, least + 1});
  done &= print_conversions<float, uint64_t>("f32", {0, 16777219, UINT64_MAX, uint64_t(most) + 2});
  done &= print_conversions<double, int64_t>("f64", {0, 9007199254740993, -9007199254740993, most, least, least + 1});
  done &= print_conversions<double, uint64_t>("f64", {0, 9007199254740995, UINT64_MAX, uint64_t(most) + 2});
  done &= print_conversions<float, double>("f32", {0.1, -0.1, 1, 1e300, -1e300, 1e-300, -1e-300, 1e-40, -3.0000000001});
  return done ? 0 : 4;
}
