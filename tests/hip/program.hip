// A program as people write them, compiled by clang with its host code: tests/test_hip_programs.py runs it on the emulator.
// Each test ends the program with a line that says what is wrong; `program TEST` runs one, without a name all.
// clang-format off: HIP's header of 5.2 comes first
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>
// clang-format on

#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

__constant__ float scale = 2;
__constant__ int table[4];
__device__ int counter = 40;

__global__ void saxpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * scale * x[i];
}

void launches() {
  constexpr int n = 1000;
  std::vector<float> host(n, 1), ramp(n);
  for (int i = 0; i < n; ++i) ramp[i] = i;
  float *x = nullptr, *y = nullptr;
  OK(hipMalloc(&x, n * sizeof(float)));
  OK(hipMalloc(&y, n * sizeof(float)));
  OK(hipMemcpy(x, ramp.data(), n * sizeof(float), hipMemcpyHostToDevice));
  OK(hipMemcpy(y, host.data(), n * sizeof(float), hipMemcpyHostToDevice));
  saxpy<<<(n + 255) / 256, 256>>>(3, x, y, n);
  OK(hipGetLastError());
  OK(hipMemcpy(host.data(), y, n * sizeof(float), hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) CHECK(host[i] == 1 + 6.0f * i);
  saxpy<<<1, 2048>>>(3, x, y, n);  // too many work-items
  CHECK(hipGetLastError() != hipSuccess);
  CHECK(hipGetLastError() == hipSuccess);
  OK(hipFree(x));
  OK(hipFree(y));
}

__global__ void number_rows(unsigned* y, unsigned* z) {
  if (threadIdx.x == 0) y[blockIdx.y] = blockIdx.y, z[blockIdx.z] = blockIdx.z;
}

/// As of batches: kernels of the program have no limit but that of 2^32 work-items along each axis, except on RDNA4,
/// whose workgroups have numbers of 16 bits along y and z.
void tall_grids() {
  (void)hipGetLastError();
  constexpr unsigned most = 65536, rows = most + 3;
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 0));
  const bool is_limited = std::strncmp(properties.gcnArchName, "gfx12", 5) == 0;
  std::vector<unsigned> y(rows), z(rows);
  unsigned *from_y = nullptr, *from_z = nullptr;
  OK(hipMalloc(&from_y, rows * sizeof(unsigned)));
  OK(hipMalloc(&from_z, rows * sizeof(unsigned)));
  const unsigned count = is_limited ? most : rows;
  number_rows<<<dim3(1, count, 1), 1>>>(from_y, from_z);
  number_rows<<<dim3(1, 1, count), 1>>>(from_y, from_z);
  OK(hipGetLastError());
  OK(hipMemcpy(y.data(), from_y, rows * sizeof(unsigned), hipMemcpyDeviceToHost));
  OK(hipMemcpy(z.data(), from_z, rows * sizeof(unsigned), hipMemcpyDeviceToHost));
  for (unsigned i = 0; i < count; ++i) CHECK(y[i] == i && z[i] == i);
  const hipError_t refused = is_limited ? hipErrorInvalidConfiguration : hipSuccess;
  number_rows<<<dim3(1, 1, rows), 1>>>(from_y, from_z);
  CHECK(hipGetLastError() == refused);
  number_rows<<<dim3(1, 1u << 31, 1), dim3(1, 2, 1)>>>(from_y, from_z);
  CHECK(hipGetLastError() == hipErrorInvalidConfiguration);
  OK(hipDeviceSynchronize());
  OK(hipFree(from_y));
  OK(hipFree(from_z));
}

__global__ void use_symbols(int* out) {
  out[threadIdx.x] = table[threadIdx.x];
  if (threadIdx.x == 0) counter += 2;
}

void symbols() {
  const int values[4] = {1, 2, 3, 4};
  OK(hipMemcpyToSymbol(HIP_SYMBOL(table), values, sizeof values));
  const int last = 9;
  OK(hipMemcpyToSymbol(HIP_SYMBOL(table), &last, sizeof last, 3 * sizeof(int)));
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), values, sizeof values, sizeof(int)) == hipErrorInvalidValue);
  int *out = nullptr, got[4] = {}, count = 0;
  OK(hipMalloc(&out, sizeof got));
  use_symbols<<<1, 4>>>(out);
  OK(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
  CHECK(got[0] == 1 && got[1] == 2 && got[2] == 3 && got[3] == 9);
  OK(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), sizeof count));
  CHECK(count == 42);
  void* address = nullptr;
  size_t size = 0;
  OK(hipGetSymbolAddress(&address, HIP_SYMBOL(table)));
  OK(hipGetSymbolSize(&size, HIP_SYMBOL(table)));
  CHECK(size == sizeof table);
  OK(hipMemcpy(got, address, sizeof got, hipMemcpyDeviceToHost));
  CHECK(got[3] == 9);
  int unknown = 0;
  CHECK(hipGetSymbolSize(&size, &unknown) == hipErrorInvalidSymbol);
  OK(hipFree(out));
}

__global__ __launch_bounds__(256) void reverse(int* data) {
  extern __shared__ int dynamic[];
  dynamic[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x];
}

void dynamic_lds() {
  int* data = nullptr;
  OK(hipHostMalloc(&data, 256 * sizeof(int)));
  for (int i = 0; i < 256; ++i) data[i] = i;
  reverse<<<1, 256, 256 * sizeof(int)>>>(data);
  OK(hipDeviceSynchronize());
  for (int i = 0; i < 256; ++i) CHECK(data[i] == 255 - i);
  OK(hipHostFree(data));
}

void attributes() {
  hipFuncAttributes attributes{};
  OK(hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(reverse)));
  CHECK(attributes.maxThreadsPerBlock == 256 && attributes.numRegs > 0);
  int blocks = 0, grid = 0, block = 0;
  OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, 0));
  CHECK(blocks >= 4);
  OK(hipOccupancyMaxPotentialBlockSize(&grid, &block, reverse, 0, 0));
  CHECK(block == 256 && grid > 0);
  OK(hipFuncSetAttribute(reinterpret_cast<const void*>(reverse), hipFuncAttributeMaxDynamicSharedMemorySize, 32768));
  CHECK(hipFuncGetAttributes(&attributes, &attributes) == hipErrorInvalidDeviceFunction);
}

__global__ void increment(int* values, int count) {
  for (int i = 0; i < count; ++i) ++values[i];
}

void memory_of_the_process() {
  static int values[2] = {1, 2};
  OK(hipHostRegister(values, sizeof values, hipHostRegisterDefault));
  increment<<<1, 1>>>(values, 2);
  OK(hipDeviceSynchronize());
  OK(hipHostUnregister(values));
  increment<<<1, 1>>>(values, 2);  // as devices do that see all of the host's memory
  OK(hipDeviceSynchronize());
  CHECK(values[0] == 3 && values[1] == 4);
}

// As the headers number them, and the library under the name of their release.
void numbers() {
  int* data = nullptr;
  hipPointerAttribute_t attributes;
  OK(hipHostMalloc(&data, sizeof(int)));
  OK(hipPointerGetAttributes(&attributes, data));
  CHECK(attributes.memoryType == hipMemoryTypeHost);
  OK(hipHostFree(data));
  OK(hipMalloc(&data, sizeof(int)));
  OK(hipPointerGetAttributes(&attributes, data));
  CHECK(attributes.memoryType == hipMemoryTypeDevice);
  OK(hipFree(data));
  hipGraph_t graph;
  hipGraphNode_t node;
  hipGraphNodeType type;
  OK(hipGraphCreate(&graph, 0));
  OK(hipGraphAddEmptyNode(&node, graph, nullptr, 0));
  OK(hipGraphNodeGetType(node, &type));
  CHECK(type == hipGraphNodeTypeEmpty);
  OK(hipGraphDestroy(graph));
}

__global__ void grid_rank(unsigned long long* ranks) {
  const auto grid = cooperative_groups::this_grid();
  ranks[blockIdx.x * blockDim.x + threadIdx.x] = grid.thread_rank();
}

__device__ void synchronize(const cooperative_groups::grid_group& grid) {
#ifndef WITHOUT_GRID_SYNC  // which clang cannot make for gfx12 of the device libraries of 5.2
  grid.sync();
#endif
}

// Each work-item of round n + 1 reads what one of another workgroup wrote in round n.
__global__ void pass_on(unsigned long long* values, int rounds) {
  const auto grid = cooperative_groups::this_grid();
  const auto rank = grid.thread_rank(), size = grid.size();
  for (int round = 0; round < rounds; ++round) {
    const unsigned long long before = values[(rank + blockDim.x) % size];
    synchronize(grid);
    values[rank] = before + 1;
    synchronize(grid);
  }
}

void cooperative() {
  constexpr int blocks = 8, items = 64;
  unsigned long long* ranks = nullptr;
  OK(hipHostMalloc(&ranks, blocks * items * sizeof(*ranks)));
  void* parameters[] = {&ranks};
  OK(hipLaunchCooperativeKernel(reinterpret_cast<const void*>(grid_rank), dim3(blocks), dim3(items), parameters, 0, nullptr));
  OK(hipDeviceSynchronize());
  for (int i = 0; i < blocks * items; ++i) CHECK(ranks[i] == static_cast<unsigned>(i));
  int rounds = 3;
  void* two[] = {&ranks, &rounds};
  OK(hipLaunchCooperativeKernel(reinterpret_cast<const void*>(pass_on), dim3(blocks), dim3(items), two, 0, nullptr));
  OK(hipDeviceSynchronize());
  for (int i = 0; i < blocks * items; ++i) {
    CHECK(ranks[i] == static_cast<unsigned>((i + rounds * items) % (blocks * items) + rounds));
  }
  OK(hipHostFree(ranks));
}

void graphs() {
  int* data = nullptr;
  OK(hipHostMalloc(&data, 256 * sizeof(int)));
  for (int i = 0; i < 256; ++i) data[i] = i;
  hipGraph_t graph;
  hipGraphNode_t kernel, symbol;
  hipGraphExec_t ready;
  const int values[4] = {5, 6, 7, 8};
  int* out = data + 128;
  void *parameters[] = {&out}, *none[] = {&data};
  hipKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(use_symbols);
  params.gridDim = dim3(1);
  params.blockDim = dim3(4);
  params.kernelParams = parameters;
  OK(hipGraphCreate(&graph, 0));
  OK(hipGraphAddMemcpyNodeToSymbol(&symbol, graph, nullptr, 0, HIP_SYMBOL(table), values, sizeof values, 0,
                                   hipMemcpyHostToDevice));
  OK(hipGraphAddKernelNode(&kernel, graph, &symbol, 1, &params));
  OK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  OK(hipGraphLaunch(ready, nullptr));
  OK(hipDeviceSynchronize());
  for (int i = 0; i < 4; ++i) CHECK(out[i] == values[i]);
  hipKernelNodeParams told{};
  OK(hipGraphKernelNodeGetParams(kernel, &told));
  CHECK(told.func == params.func && *static_cast<int**>(told.kernelParams[0]) == out);
  params.func = reinterpret_cast<void*>(reverse);
  params.blockDim = dim3(128);
  params.sharedMemBytes = 128 * sizeof(int);
  params.kernelParams = none;
  OK(hipGraphExecKernelNodeSetParams(ready, kernel, &params));
  OK(hipGraphLaunch(ready, nullptr));
  OK(hipDeviceSynchronize());
  for (int i = 0; i < 128; ++i) CHECK(data[i] == 127 - i);
  params.func = &params;
  CHECK(hipGraphAddKernelNode(&kernel, graph, nullptr, 0, &params) == hipErrorInvalidDeviceFunction);
  OK(hipGraphExecDestroy(ready));
  OK(hipGraphDestroy(graph));
  OK(hipHostFree(data));
}

__global__ void print() { printf("work-item %u of %s\n", static_cast<unsigned>(threadIdx.x), "a kernel"); }

/// The program ends without waiting: what the kernel prints is seen.
void printing() { print<<<1, 3>>>(); }

__global__ void on_the_heap(int* out) {
  int* const own = static_cast<int*>(malloc(2 * sizeof(int)));
  own[1] = threadIdx.x;
  out[threadIdx.x] = own[1];
  free(own);
}

void device_malloc() {
  int* out = nullptr;
  OK(hipHostMalloc(&out, 64 * sizeof(int)));
  on_the_heap<<<1, 64>>>(out);
  OK(hipDeviceSynchronize());
  for (int i = 0; i < 64; ++i) CHECK(out[i] == i);
  OK(hipHostFree(out));
}

__managed__ int managed[2] = {3, 4};

/// As hcc compiled <<<>>>, and clang at first.
void launches_in_steps() {
  constexpr int n = 4;
  float *x = nullptr, *y = nullptr;
  OK(hipHostMalloc(&x, n * sizeof(float)));
  OK(hipHostMalloc(&y, n * sizeof(float)));
  for (int i = 0; i < n; ++i) x[i] = y[i] = i;
  const float a = 3;
  const void* kernel = reinterpret_cast<const void*>(saxpy);
  CHECK(hipSetupArgument(&a, sizeof a, 0) == hipErrorMissingConfiguration);
  CHECK(hipLaunchByPtr(kernel) == hipErrorMissingConfiguration);
  OK(hipConfigureCall(dim3(1), dim3(n), 0, nullptr));
  OK(hipSetupArgument(&n, sizeof n, 24));
  OK(hipSetupArgument(&a, sizeof a, 0));
  OK(hipSetupArgument(&x, sizeof x, 8));
  OK(hipSetupArgument(&y, sizeof y, 16));
  CHECK(hipSetupArgument(nullptr, 4, 0) == hipErrorInvalidValue);
  OK(hipLaunchByPtr(kernel));
  OK(hipDeviceSynchronize());
  for (int i = 0; i < n; ++i) CHECK(y[i] == 7.0f * i);
  CHECK(hipLaunchByPtr(kernel) == hipErrorMissingConfiguration);
  OK(hipHostFree(x));
  OK(hipHostFree(y));
}

/// What the host's program calls a symbol is no memory.
void symbols_in_graphs() {
  hipGraph_t graph = nullptr;
  hipGraphNode_t node = nullptr;
  hipGraphExec_t ready = nullptr;
  int* values = nullptr;
  OK(hipMalloc(&values, sizeof table));
  OK(hipGraphCreate(&graph, 0));
  const auto kind = hipMemcpyDeviceToDevice;
  OK(hipGraphAddMemcpyNodeToSymbol(&node, graph, nullptr, 0, HIP_SYMBOL(table), values, sizeof table, 0, kind));
  OK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  const auto change = [&](const void* from) {
    return hipGraphExecMemcpyNodeSetParamsToSymbol(ready, node, HIP_SYMBOL(table), from, sizeof counter, 0, kind);
  };
  OK(change(values));
  CHECK(change(HIP_SYMBOL(table)) == hipErrorInvalidValue);
  CHECK(change(&counter) == hipErrorInvalidValue);
  OK(change(managed));
  const auto from_device = hipMemcpyDeviceToHost;
  CHECK(hipGraphExecMemcpyNodeSetParamsToSymbol(ready, node, HIP_SYMBOL(table), values, sizeof counter, 0,
                                                from_device) == hipErrorInvalidMemcpyDirection);
  OK(hipGraphExecDestroy(ready));
  OK(hipGraphDestroy(graph));
  OK(hipFree(values));
}

__global__ void use_managed() { managed[threadIdx.x] *= 2; }

void managed_variables() {
  CHECK(managed[1] == 4);
  managed[0] = 5;
  use_managed<<<1, 2>>>();
  OK(hipDeviceSynchronize());
  CHECK(managed[0] == 10 && managed[1] == 8);
  int copy[2] = {};
  OK(hipMemcpyFromSymbol(copy, HIP_SYMBOL(managed), sizeof copy));
  CHECK(copy[0] == 10);
}

// What is asked of memory that hipFreeAsync was given is an error of that call alone.
void freed_in_a_stream() {
  hipStream_t stream = nullptr;
  int *given = nullptr, *other = nullptr, value = 0;
  OK(hipStreamCreate(&stream));
  OK(hipMalloc(&other, sizeof(int)));
  OK(hipMallocAsync(reinterpret_cast<void**>(&given), 1 << 20, stream));
  CHECK(hipFreeAsync(given + 1, stream) == hipErrorInvalidValue);
  OK(hipFreeAsync(given, stream));
  CHECK(hipFreeAsync(given, stream) == hipErrorInvalidValue);
  CHECK(hipMemsetAsync(given, 0, 4, stream) == hipErrorInvalidValue);
  CHECK(hipMemcpyAsync(other, given, 4, hipMemcpyDeviceToDevice, stream) == hipErrorInvalidValue);
  CHECK(hipMemcpy(&value, given, 4, hipMemcpyDeviceToHost) == hipErrorInvalidValue);
  CHECK(hipStreamWriteValue32(stream, given, 1, 0) == hipErrorInvalidValue);
  (void)hipGetLastError();
  OK(hipStreamSynchronize(stream));
  OK(hipMemcpy(&value, other, 4, hipMemcpyDeviceToHost));
}

const struct {
  const char* name;
  void (*run)();
} tests[] = {{"freed_in_a_stream", freed_in_a_stream},
             {"memory_of_the_process", memory_of_the_process},
             {"launches", launches},     {"symbols", symbols},         {"dynamic_lds", dynamic_lds},
             {"attributes", attributes}, {"cooperative", cooperative}, {"printing", printing},       {"graphs", graphs},
             {"device_malloc", device_malloc}, {"managed_variables", managed_variables},
             {"launches_in_steps", launches_in_steps}, {"symbols_in_graphs", symbols_in_graphs},
             {"numbers", numbers},       {"tall_grids", tall_grids}};

int main(int count, char** arguments) {
  bool found = false;
  for (const auto& test : tests) {
    if (count != 1 && std::strcmp(arguments[1], test.name) != 0) continue;
    test.run();
    found = true;
  }
  return found ? 0 : 2;
}
