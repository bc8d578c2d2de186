// Prints parts of HIP's vectors that a program for the host takes as numbers: their addresses, types and places.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>

int main() {
  int4 places;
  int* place = &places.x;
  for (int i = 5; i < 9; ++i, ++place) *place = i;
  const float2 size = make_float2(2.f, 3.f);
  const double1 one = make_double1(8.);
  auto largest = std::max(size.x, size.y);
  std::printf("%d %d %d %d; ", places.x, places.y, places.z, places.w);
  std::printf("%zu %zu; %g; %g\n", sizeof(largest), sizeof(places), largest, one.x);
}
