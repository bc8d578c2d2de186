// Prints what the stand-in for HIP's header makes of floats on the host, in code that the system's compiler compiles.
#include <hip/hip_bf16.h>

#include <cstdio>

int main() {
  float a = 0, b = 0;
  while (std::scanf("%f %f", &a, &b) == 2) {
    const __hip_bfloat16 x = __float2bfloat16(a), y(b);
    const __hip_bfloat162 pair = __floats2bfloat162_rn(a, b) * __hip_bfloat162(y, x);
    const float results[] = {x, x + y, x * y, __bfloat1622float2(pair).x, __high2float(pair), __hmax(x, y), -x};
    for (float each : results) std::printf("%.9g ", each);
    std::printf("%d\n", x < y);
  }
}
