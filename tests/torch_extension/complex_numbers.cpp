// Prints functions of complex numbers as the stand-in for rocThrust's header computes them on the host.
#define __host__
#define __device__
#include <thrust/complex.h>

#include <cstdio>

int main() {
  using Number = thrust::complex<double>;
  double re = 0, im = 0;
  while (std::scanf("%lf %lf", &re, &im) == 2) {
    const Number z(re, im), w(im + 2, re);
    const Number results[] = {z * w,   z / w,   exp(z),   log(z),   log10(z), sqrt(z),         pow(z, w),
                              sin(z),  cos(z),  tan(z),   asin(z),  acos(z),  atan(z),         sinh(z),
                              cosh(z), tanh(z), asinh(z), acosh(z), atanh(z), {abs(z), arg(z)}};
    for (const Number& each : results) std::printf("%.17g %.17g ", each.real(), each.imag());
    std::printf("\n");
  }
}
