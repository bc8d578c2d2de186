// Stands before the HIP library, and tells programs of fewer compute units than the device has (LD_PRELOAD, with
// HIP_TESTS_UNITS): tests whose grids grow with their number end sooner.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { kOffset = 388 };  // of multiProcessorCount in hipDeviceProp_t since ROCm 6

int hipGetDevicePropertiesR0600(void* properties, int device) {
  int (*const own)(void*, int) = (int (*)(void*, int))dlsym(RTLD_NEXT, "hipGetDevicePropertiesR0600");
  const int error = own(properties, device);
  const int units = atoi(getenv("HIP_TESTS_UNITS"));
  if (error == 0) memcpy((char*)properties + kOffset, &units, sizeof(units));
  return error;
}
