// A program that uses libwave_hip_emulator.so: LIBRARY ROOT TEST. LIBRARY may be "-" where the emulator is linked in.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "hip_program.h"

namespace {

std::string root;

std::string basics() { return root + "/examples/kernels/binaries/basics.hsaco"; }
std::string language() { return root + "/tests/emulator/kernels/language.hsaco"; }
std::string probes() { return root + "/tests/emulator/kernels/probes.hsaco"; }

constexpr int kCount = 1000;
const hip::Stream kPerThread = reinterpret_cast<hip::Stream>(2);  // hipStreamPerThread

std::vector<float> ramp(float begin) {
  std::vector<float> values(kCount);
  std::iota(values.begin(), values.end(), begin);
  return values;
}

hip::Stream new_stream(unsigned flags = hip::kStreamNonBlocking) {
  hip::Stream stream = nullptr;
  OK(api.hipStreamCreateWithFlags(&stream, flags));
  return stream;
}

hip::Event new_event() {
  hip::Event event = nullptr;
  OK(api.hipEventCreate(&event));
  return event;
}

/// A kernel that takes a while: Collatz sequences of numbers with long ones.
struct Slow {
  Slow() : start(std::vector<unsigned>(kItems, 837799)), steps(kItems) {}
  void enqueue(hip::Stream stream) {
    OK(launch(module["collatz"], kItems / 256, 256, stream, start.data, steps.data, kItems));
  }
  bool is_done() { return steps.data[0] == 524 && steps.data[kItems - 1] == 524; }
  static constexpr int kItems = 1 << 16;
  Loaded module{basics()};
  Buffer<unsigned> start, steps;
};

void devices() {
  OK(api.hipInit(0));
  int count = 0, value = 0;
  OK(api.hipGetDeviceCount(&count));
  EXPECT_EQ(count, 2);  // the test sets WAVE_RUNTIME_EMULATOR_DEVICES
  std::vector<char> properties(1472 + 8, 'x');
  OK(api.hipGetDevicePropertiesR0600(properties.data(), 1));
  EXPECT_EQ(std::strcmp(&properties[0], "Wave Runtime emulator (gfx942)"), 0);
  EXPECT_EQ(std::strcmp(&properties[1160], "gfx942:sramecc+:xnack-"), 0);
  EXPECT_EQ(properties[1472], 'x');
  OK(api.hipGetDeviceProperties(properties.data(), 0));
  EXPECT_EQ(std::strcmp(&properties[396], "gfx942:sramecc+:xnack-"), 0);
  OK(api.hipDeviceGetAttribute(&value, hip::kMaxThreadsPerBlock, 0));
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(api.hipSetDevice(2), 101);
  EXPECT_EQ(api.hipGetLastError(), 101);
  EXPECT_EQ(api.hipGetLastError(), 0);
  EXPECT_EQ(api.hipGetDevicePropertiesR0600(properties.data(), -1), 101);
  OK(api.hipSetDevice(1));
  std::thread([] {  // each thread begins with device 0
    int device = -1;
    OK(api.hipGetDevice(&device));
    EXPECT_EQ(device, 0);
  })
      .join();
  EXPECT_EQ(std::strcmp(api.hipGetErrorName(700), "hipErrorIllegalAddress"), 0);
}

void launches() {
  const Loaded module(basics());
  const Buffer<float> a(ramp(0)), b(ramp(1)), c(kCount);
  OK(launch(module["vector_add"], 4, 256, nullptr, a.data, b.data, c.data, kCount));
  OK(api.hipDeviceSynchronize());
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(c.values()[i], 2.0f * i + 1);

  struct {
    const float *a, *b;
    float* c;
    int n;
  } packed{b.data, b.data, c.data, kCount};
  size_t size = sizeof(packed);
  void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &size, reinterpret_cast<void*>(3)};
  OK(api.hipModuleLaunchKernel(module["vector_add"], 4, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
  packed.c = nullptr;  // was copied
  EXPECT_EQ(c.values()[10], 22.0f);

  hip::LaunchAttribute attribute{};
  attribute.id = hip::kAttributeClusterDimension;
  std::fill_n(attribute.value.cluster, 3, 1u);
  hip::LaunchConfig config{{4, 1, 1}, {256, 1, 1}, 0, nullptr, &attribute, 1};
  OK(api.hipMemset(c.data, 0, kCount * sizeof(float)));
  packed.c = c.data;
  OK(api.hipDrvLaunchKernelEx(&config, module["vector_add"], nullptr, extra));
  EXPECT_EQ(c.values()[kCount - 1], 2.0f * kCount);
  attribute.value.cluster[0] = 2;
  EXPECT_EQ(api.hipDrvLaunchKernelEx(&config, module["vector_add"], nullptr, extra), 801);

  OK(api.hipMemset(c.data, 0, kCount * sizeof(float)));
  OK(api.hipExtModuleLaunchKernel(module["vector_add"], 1024, 1, 1, 256, 1, 1, 0, nullptr, nullptr, extra, nullptr,
                                  nullptr, 0));
  EXPECT_EQ(c.values()[kCount - 1], 2.0f * kCount);
  void* parameters[] = {&packed.a, &packed.b, &packed.c, &packed.n};
  OK(api.hipModuleLaunchCooperativeKernel(module["vector_add"], 4, 1, 1, 256, 1, 1, 0, nullptr, parameters));
  EXPECT_EQ(
      api.hipModuleLaunchCooperativeKernel(module["vector_add"], 1u << 20, 1, 1, 256, 1, 1, 0, nullptr, parameters),
      720);
  OK(api.hipDeviceSynchronize());
  int registers = 0, blocks = 0;
  OK(api.hipFuncGetAttribute(&registers, hip::kFunctionNumRegs, module["vector_add"]));
  OK(api.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, module["vector_add"], 256, 0));
  EXPECT_EQ(registers > 0 && blocks == 8, true);
}

/// Every hidden argument is the runtime's, and the block may have three dimensions.
void hidden() {
  const Loaded module(language());
  const Buffer<int> out(16);
  void* parameters[] = {const_cast<int**>(&out.data)};
  // One workgroup: several would write the same place, a race that ThreadSanitizer finds.
  OK(api.hipModuleLaunchKernel(module["hidden_arguments"], 1, 1, 1, 4, 3, 2, 0, nullptr, parameters, nullptr));
  const std::vector<int> expected{4, 3, 2, 4, 3, 2, 1, 1, 1, 0, 3};
  const std::vector<int> values = out.values();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(values[i], expected[i]);
}

void globals() {
  const Loaded first(language()), second(language());
  const Buffer<int> out(2);
  for (int launches = 1; launches <= 3; ++launches) {
    OK(launch(first["use_globals"], 1, 1, nullptr, out.data));
    EXPECT_EQ(out.values()[0], 40 + launches);
    EXPECT_EQ(out.values()[1], 7);
  }
  OK(launch(second["use_globals"], 1, 1, nullptr, out.data));  // each module has its own
  EXPECT_EQ(out.values()[0], 41);
  void* counter = nullptr;
  size_t size = 0;
  OK(api.hipModuleGetGlobal(&counter, &size, first.module, "counter"));
  EXPECT_EQ(size, sizeof(int));
  const int value = 100;
  OK(api.hipMemcpyHtoD(counter, &value, sizeof(value)));
  OK(launch(first["use_globals"], 1, 1, nullptr, out.data));
  EXPECT_EQ(out.values()[0], 101);
  EXPECT_EQ(api.hipModuleGetGlobal(&counter, &size, first.module, "nothing"), 500);
}

void modules() {
  hip::Module module = nullptr;
  hip::Function function = nullptr;
  EXPECT_EQ(api.hipModuleLoadData(&module, "no code object, whatever it is"), 200);
  EXPECT_EQ(api.hipModuleLoadData(&module, reinterpret_cast<void*>(64)), 1);
  EXPECT_EQ(api.hipModuleLoad(&module, "/nowhere"), 301);
  const std::string corpus = root + "/tests/code_object/corpus/";
  EXPECT_EQ(api.hipModuleLoad(&module, (corpus + "other_text").c_str()), 200);
  EXPECT_EQ(api.hipModuleLoad(&module, (corpus + "clang_v5_gfx1100.co").c_str()), 209);
  for (const char* name :
       {"clang_v5_gfx942.co", "bundle_plain.hipfb", "bundle_zstd_v1.hipfb", "bundle_zstd_v3.hipfb"}) {
    const std::vector<char> image = read_file(corpus + name);
    OK(api.hipModuleLoadData(&module, image.data()));
    OK(api.hipModuleUnload(module));
  }
  OK(api.hipModuleLoad(&module, basics().c_str()));
  EXPECT_EQ(api.hipModuleGetFunction(&function, module, "nothing"), 500);
  OK(api.hipModuleGetFunction(&function, module, "vector_add"));
  OK(api.hipModuleUnload(module));
  EXPECT_EQ(api.hipModuleUnload(module), 400);
  EXPECT_EQ(launch(function, 1, 64, nullptr, nullptr, nullptr, nullptr, 0), 400);

  Slow slow;  // modules stay usable while launches are queued
  const hip::Stream stream = new_stream();
  slow.enqueue(stream);
  slow.enqueue(stream);
  OK(api.hipModuleUnload(std::exchange(slow.module.module, nullptr)));
  OK(api.hipStreamSynchronize(stream));
  EXPECT_EQ(slow.is_done(), true);
  OK(api.hipStreamDestroy(stream));
}

void geometry() {
  const Loaded module(basics());
  const Buffer<float> a(ramp(0));
  const auto with = [&](unsigned grid, unsigned block) {
    return launch(module["vector_add"], grid, block, nullptr, a.data, a.data, a.data, 0);
  };
  EXPECT_EQ(with(0, 64), 9);
  EXPECT_EQ(with(1, 0), 9);
  EXPECT_EQ(with(1, 2048), 9);
  EXPECT_EQ(with(1u << 31, 64), 9);
  void* parameters[] = {nullptr};
  EXPECT_EQ(api.hipModuleLaunchKernel(module["vector_add"], 1, 1, 1, 64, 1, 1, 1 << 20, nullptr, parameters, nullptr),
            1);
  EXPECT_EQ(api.hipModuleLaunchKernel(module["vector_add"], 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr), 1);
  EXPECT_EQ(api.hipModuleLaunchKernel(module["vector_add"], 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, parameters), 1);
  EXPECT_EQ(api.hipModuleLaunchKernel(nullptr, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr), 400);
  OK(with(1, 64));
  OK(api.hipDeviceSynchronize());
}

void memory() {
  const std::vector<float> values = ramp(3);
  const Buffer<float> a(values), b(kCount);
  const size_t size = kCount * sizeof(float);
  OK(api.hipMemcpyDtoD(b.data, a.data, size));
  EXPECT_EQ(b.values() == values, true);
  EXPECT_EQ(api.hipMemcpy(b.data, a.data, size + 1, hip::kCopyDefault), 1);
  EXPECT_EQ(api.hipMemcpy(b.data, a.data, size, static_cast<hip::MemcpyKind>(9)), 21);
  OK(api.hipMemsetD32(b.data, 7, kCount));
  EXPECT_EQ(reinterpret_cast<int*>(b.data)[kCount - 1], 7);
  hip::PointerAttributes attributes{};
  OK(api.hipPointerGetAttributes(&attributes, a.data + 1));
  EXPECT_EQ(static_cast<int>(attributes.type), 2);
  EXPECT_EQ(api.hipPointerGetAttributes(&attributes, values.data()), 1);
  void* pinned = nullptr;
  OK(api.hipHostMalloc(&pinned, 64, 0));
  OK(api.hipPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(static_cast<int>(attributes.type), 1);
  OK(api.hipHostFree(pinned));
  EXPECT_EQ(api.hipFree(pinned), 1);
  void* nothing = nullptr;
  EXPECT_EQ(api.hipMalloc(&nothing, size_t{1} << 60), 2);
  OK(api.hipMalloc(&nothing, 0));
  OK(api.hipFree(nullptr));
  size_t free = 0, total = 0;
  OK(api.hipMemGetInfo(&free, &total));
  EXPECT_EQ(free < total, true);
}

/// Kernels reach memory that the program did not get from HIP.
void process_memory() {
  const Loaded module(basics());
  std::vector<float> a = ramp(0), c(kCount);
  OK(launch(module["vector_add"], 4, 256, nullptr, a.data(), a.data(), c.data(), kCount));
  OK(api.hipDeviceSynchronize());
  EXPECT_EQ(c[kCount - 1], 2.0f * (kCount - 1));
}

void fault(hip::Error expected, const char* binary, const char* kernel, float* to) {
  const Loaded module(binary);
  const hip::Stream stream = new_stream();
  const Buffer<float> a(ramp(0));
  OK(launch(module[kernel], 4, 256, stream, a.data, a.data, to, kCount));
  EXPECT_EQ(api.hipStreamSynchronize(stream), expected);
  EXPECT_EQ(api.hipStreamSynchronize(stream), expected);
  EXPECT_EQ(launch(module[kernel], 4, 256, stream, a.data, a.data, a.data, kCount), expected);
  EXPECT_EQ(api.hipDeviceSynchronize(), expected);
  float value = 0;
  EXPECT_EQ(api.hipMemcpy(&value, a.data, 4, hip::kDeviceToHost), expected);
  OK(api.hipDeviceReset());
  OK(launch(module["vector_add"], 4, 256, stream, a.data, a.data, a.data, kCount));
  OK(api.hipStreamSynchronize(stream));
}

void faults() {
  const Buffer<float> small(500);
  fault(700, basics().c_str(), "vector_add", small.data);
  fault(700, basics().c_str(), "vector_add", reinterpret_cast<float*>(0x1000));
  void* read_only = mmap(nullptr, 1 << 16, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  fault(700, basics().c_str(), "vector_add", static_cast<float*>(read_only));
  void* freed = nullptr;
  OK(api.hipMalloc(&freed, 1 << 16));
  OK(api.hipFree(freed));
  fault(700, basics().c_str(), "vector_add", static_cast<float*>(freed));
}

void illegal_instruction() {
  const Loaded module(probes());
  void* parameters[] = {nullptr, nullptr, nullptr, nullptr};
  uint64_t zero = 0;
  std::fill_n(parameters, 4, &zero);
  OK(api.hipModuleLaunchKernel(module["unknown_instruction"], 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr));
  EXPECT_EQ(api.hipDeviceSynchronize(), 719);
}

void streams() {
  Slow slow;
  const hip::Stream stream = new_stream(), other = new_stream();
  const hip::Event event = new_event(), begin = new_event();
  OK(api.hipEventQuery(event));  // was never recorded
  float milliseconds = -1;
  EXPECT_EQ(api.hipEventElapsedTime(&milliseconds, begin, event), 400);
  OK(api.hipEventRecord(begin, stream));
  for (int i = 0; i < 4; ++i) slow.enqueue(stream);
  EXPECT_EQ(api.hipStreamQuery(stream), 600);  // it runs asynchronously
  OK(api.hipEventRecord(event, stream));
  EXPECT_EQ(api.hipEventQuery(event), 600);
  OK(api.hipStreamQuery(other));  // which the other does not wait for
  const Buffer<unsigned> copy(1);
  OK(api.hipStreamWaitEvent(other, event, 0));
  OK(api.hipMemcpyDtoDAsync(copy.data, slow.steps.data + Slow::kItems - 1, sizeof(unsigned), other));
  OK(api.hipStreamSynchronize(other));
  EXPECT_EQ(copy.values()[0], 524u);
  OK(api.hipEventSynchronize(event));
  OK(api.hipEventElapsedTime(&milliseconds, begin, event));
  EXPECT_EQ(milliseconds > 0, true);
  OK(api.hipEventDestroy(event));
  EXPECT_EQ(api.hipEventQuery(event), 400);
  OK(api.hipStreamDestroy(stream));
  EXPECT_EQ(api.hipStreamSynchronize(stream), 400);
  EXPECT_EQ(launch(slow.module["collatz"], 1, 64, stream, nullptr, nullptr, 0), 400);
}

/// The null stream waits for blocking streams and they for it; streams that do not block, for neither.
void null_stream() {
  Slow slow;
  const hip::Stream blocking = new_stream(0), independent = new_stream();
  unsigned steps = 0;
  slow.enqueue(blocking);
  OK(api.hipMemcpy(&steps, slow.steps.data + Slow::kItems - 1, sizeof(steps), hip::kDeviceToHost));
  EXPECT_EQ(steps, 524u);
  OK(api.hipMemset(slow.steps.data, 0, Slow::kItems * sizeof(unsigned)));
  for (int i = 0; i < 4; ++i) slow.enqueue(nullptr);
  OK(api.hipMemsetAsync(slow.start.data, 0, sizeof(unsigned), blocking));  // after all reads of it
  OK(api.hipStreamQuery(independent));
  EXPECT_EQ(api.hipStreamQuery(nullptr), 600);
  OK(api.hipStreamSynchronize(blocking));
  EXPECT_EQ(slow.is_done(), true);
  const Loaded module(basics());
  const Buffer<float> a(ramp(0));
  OK(launch(module["vector_add"], 4, 256, kPerThread, a.data, a.data, a.data, kCount));
  OK(api.hipStreamSynchronize(kPerThread));
  EXPECT_EQ(a.values()[1], 2.0f);
}

/// The pageable source of an asynchronous copy may be changed when the call returns.
void pageable() {
  Slow slow;
  const hip::Stream stream = new_stream();
  const Buffer<int> to(1);
  slow.enqueue(stream);
  int value = 42;
  OK(api.hipMemcpyHtoDAsync(to.data, &value, sizeof(value), stream));
  EXPECT_EQ(api.hipStreamQuery(stream), 600);
  value = 0;
  OK(api.hipMemcpyDtoHAsync(&value, to.data, sizeof(value), stream));
  EXPECT_EQ(value, 42);  // and the destination has what it gets
}

void graphs() {
  const Loaded module(basics());
  const Buffer<float> a(ramp(0)), c(kCount);
  const hip::Stream stream = new_stream();
  hip::Graph graph = nullptr;
  hip::GraphExec exec = nullptr;
  hip::CaptureStatus status{};
  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  OK(api.hipStreamIsCapturing(stream, &status));
  EXPECT_EQ(static_cast<int>(status), 1);
  OK(launch(module["vector_add"], 4, 256, stream, a.data, a.data, c.data, kCount));
  OK(launch(module["vector_add"], 4, 256, stream, c.data, c.data, a.data, kCount));
  OK(api.hipMemsetAsync(c.data, 0, sizeof(float) * kCount, stream));
  OK(api.hipStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  OK(api.hipGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, size_t{3});
  EXPECT_EQ(a.values()[1], 1.0f);  // nothing has run
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  OK(api.hipGraphDestroy(graph));
  for (int i = 0; i < 3; ++i) OK(api.hipGraphLaunch(exec, stream));
  OK(api.hipStreamSynchronize(stream));
  EXPECT_EQ(a.values()[1], 64.0f);
  EXPECT_EQ(c.values()[1], 0.0f);
  OK(api.hipGraphExecDestroy(exec));
  EXPECT_EQ(api.hipGraphLaunch(exec, stream), 400);
}

/// What must not happen during a capture, and captures over several streams.
void captures() {
  const hip::Stream stream = new_stream(), side = new_stream();
  hip::Graph graph = nullptr;
  void* pointer = nullptr;
  EXPECT_EQ(api.hipStreamBeginCapture(nullptr, hip::kCaptureModeGlobal), 900);
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), 401);

  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  EXPECT_EQ(api.hipMalloc(&pointer, 64), 900);
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), 901);

  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
  hip::CaptureMode mode = hip::kCaptureModeRelaxed;
  OK(api.hipThreadExchangeStreamCaptureMode(&mode));
  OK(api.hipMalloc(&pointer, 64));
  OK(api.hipThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(static_cast<int>(mode), 2);
  OK(api.hipStreamEndCapture(stream, &graph));

  OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeRelaxed));
  EXPECT_EQ(api.hipStreamSynchronize(stream), 900);
  EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), 901);

  const hip::Event fork = new_event(), join = new_event();
  for (const bool joins : {true, false}) {
    OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeThreadLocal));
    OK(api.hipEventRecord(fork, stream));
    EXPECT_EQ(api.hipEventQuery(fork), 907);
    OK(api.hipStreamWaitEvent(side, fork, 0));
    OK(api.hipMemsetAsync(pointer, 1, 64, side));
    OK(api.hipEventRecord(join, side));
    if (joins) OK(api.hipStreamWaitEvent(stream, join, 0));
    EXPECT_EQ(api.hipStreamEndCapture(side, &graph), 903);
    EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), joins ? 0 : 904);
  }
  const hip::Stream blocking = new_stream(0);
  OK(api.hipStreamBeginCapture(blocking, hip::kCaptureModeRelaxed));
  EXPECT_EQ(api.hipMemsetAsync(pointer, 1, 64, nullptr), 906);
  EXPECT_EQ(api.hipStreamEndCapture(blocking, &graph), 901);
}

/// A graph does not keep the module of its kernels.
void graph_of_unloaded_module() {
  const hip::Stream stream = new_stream();
  const Buffer<float> a(ramp(0));
  hip::Graph graph = nullptr;
  hip::GraphExec exec = nullptr;
  {
    const Loaded module(basics());
    OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
    OK(launch(module["vector_add"], 4, 256, stream, a.data, a.data, a.data, kCount));
    OK(api.hipStreamEndCapture(stream, &graph));
  }
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  OK(api.hipGraphLaunch(exec, stream));
  EXPECT_EQ(api.hipStreamSynchronize(stream), 719);
}

void two_devices() {
  const Loaded first(basics());
  OK(api.hipSetDevice(1));
  const Loaded second(basics());
  const Buffer<float> a(ramp(0));
  const hip::Stream stream = new_stream();
  EXPECT_EQ(launch(first["vector_add"], 4, 256, stream, a.data, a.data, a.data, kCount), 400);
  OK(launch(second["vector_add"], 4, 256, stream, a.data, a.data, reinterpret_cast<float*>(16), kCount));
  EXPECT_EQ(api.hipDeviceSynchronize(), 700);
  OK(api.hipSetDevice(0));
  OK(api.hipDeviceSynchronize());  // the other device is as before
  OK(launch(first["vector_add"], 4, 256, nullptr, a.data, a.data, a.data, kCount));
  OK(api.hipDeviceSynchronize());
  hip::PointerAttributes attributes{};
  OK(api.hipPointerGetAttributes(&attributes, a.data));
  EXPECT_EQ(attributes.device, 1);
}

/// Threads that load, launch the same kernel on streams of their own and one that they share, and unload.
void threads() {
  constexpr int kThreads = 4, kRounds = 50;
  const Loaded shared(basics());
  const hip::Stream common = new_stream();
  const Buffer<float> one(std::vector<float>(kCount, 1)), sum(std::vector<float>(kCount, 0));
  const auto work = [&] {
    const hip::Stream own = new_stream();
    const Buffer<float> mine(std::vector<float>(kCount, 0));
    for (int round = 0; round < kRounds; ++round) {
      const Loaded loaded(basics());
      OK(launch(loaded["vector_add"], 4, 256, own, mine.data, one.data, mine.data, kCount));
      OK(launch(shared["vector_add"], 4, 256, own, mine.data, one.data, mine.data, kCount));
      OK(launch(shared["vector_add"], 4, 256, common, sum.data, one.data, sum.data, kCount));
    }
    OK(api.hipStreamSynchronize(own));
    EXPECT_EQ(mine.data[kCount - 1], 2.0f * kRounds);
    OK(api.hipStreamDestroy(own));
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < kThreads; ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  OK(api.hipStreamSynchronize(common));
  EXPECT_EQ(sum.values()[0], 1.0f * kThreads * kRounds);
}

void forks() {
  const Buffer<float> a(ramp(0));
  const pid_t child = fork();
  if (child == 0) std::exit(api.hipDeviceSynchronize());
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  OK(api.hipDeviceSynchronize());
}

/// The process ends while kernels run, one of them for ever.
void exits() {
  static std::vector<Slow*> slow;  // not freed: that would wait for the kernels
  static const Loaded& module = *new Loaded(probes());
  for (int i = 0; i < 4; ++i) {
    slow.push_back(new Slow);
    slow.back()->enqueue(new_stream());
  }
  uint64_t zero = 0;
  void* parameters[] = {&zero, &zero, &zero, &zero};
  OK(api.hipModuleLaunchKernel(module["spin"], 1, 1, 1, 64, 1, 1, 0, new_stream(), parameters, nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::exit(0);
}

struct Test {
  const char* name;
  void (*run)();
};

constexpr Test kTests[] = {
#define TEST(name) {#name, name}
    TEST(devices),
    TEST(launches),
    TEST(hidden),
    TEST(globals),
    TEST(modules),
    TEST(geometry),
    TEST(memory),
    TEST(process_memory),
    TEST(faults),
    TEST(streams),
    TEST(null_stream),
    TEST(pageable),
    TEST(graphs),
    TEST(captures),
    TEST(threads),
    TEST(forks),
    TEST(exits),
    TEST(two_devices),
    TEST(illegal_instruction),
    TEST(graph_of_unloaded_module),
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  api.open(std::strcmp(arguments[1], "-") == 0 ? nullptr : arguments[1]);
  root = arguments[2];
  for (const Test& test : kTests) {
    if (std::strcmp(arguments[3], test.name) != 0) continue;
    test.run();
    return 0;
  }
  std::fprintf(stderr, "no test '%s'\n", arguments[3]);
  return 2;
}
