// A copy by a structure of the headers that this is compiled with: tests/test_hip_programs.py. Ends with 0 where it is right.
#include <hip/hip_runtime.h>

#include <cstring>

int main() {
  int *data = nullptr, host[6] = {1, 2, 3, 4, 5, 6}, back[6] = {};
  HIP_MEMCPY3D copy{};
  copy.srcMemoryType = hipMemoryTypeHost;
  copy.srcHost = host;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = 8;
  copy.srcHeight = copy.dstHeight = copy.Height = 3;
  copy.Depth = 1;
  copy.dstMemoryType = hipMemoryTypeDevice;
  if (hipMalloc(&data, sizeof host) != hipSuccess) return 1;
  copy.dstDevice = data;
  if (hipDrvMemcpy3D(&copy) != hipSuccess) return 2;
  if (hipMemcpy(back, data, sizeof back, hipMemcpyDeviceToHost) != hipSuccess) return 3;
  return std::memcmp(host, back, sizeof host) == 0 ? 0 : 4;
}
