// What programs of tests check: each ends with a line that says what is wrong.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                     \
  if (!(condition)) {                                                        \
    std::fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
    std::exit(1);                                                            \
  }
#define OK(call)                                                                                  \
  if (const hipError_t error = (call); error != hipSuccess) {                                     \
    std::fprintf(stderr, "%s:%d: %s is %s\n", __FILE__, __LINE__, #call, hipGetErrorName(error)); \
    std::exit(1);                                                                                 \
  }
