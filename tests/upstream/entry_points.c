// Adds two vectors through the C entry points. Arguments: a code object with the kernel vector_add.
#include "op/c_entry_points.h"

#include <stdio.h>

static char binary[1 << 20];

int main(int argc, char** argv) {
  enum { kCount = 1000 };
  static float a[kCount], b[kCount], c[kCount];
  for (int i = 0; i < kCount; ++i) a[i] = (float)i, b[i] = 2.0f * (float)i;
  FILE* file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL) return 2;
  const size_t size = fread(binary, 1, sizeof(binary), file);
  fclose(file);

  load_functions();
  void* cached = NULL;
  void* const function = wave_load_kernel(NULL, &cached, binary, size, "vector_add");
  if (function != cached || wave_load_kernel(NULL, &cached, NULL, 0, "vector_add") != function) return 3;
  void *x = a, *y = b, *z = c;
  int count = kCount;
  void* arguments[] = {&x, &y, &z, &count};
  wave_launch_kernel(NULL, function, 0, 4, 1, 1, 256, 1, 1, 1, 1, 1, arguments, 4);
  for (int i = 0; i < kCount; ++i) {
    if (c[i] != a[i] + b[i]) return 4;
  }
  printf("added\n");
  fflush(stdout);
  wave_launch_kernel(NULL, &cached, 0, 4, 1, 1, 256, 1, 1, 1, 1, 1, arguments, 4);  // no kernel: it throws
  return 5;
}
