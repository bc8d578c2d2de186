// Tests of devices beside each other, of contexts, of what devices and streams are asked, and of what streams do
// besides launches.
#include <atomic>
#include <cstring>

#include "hip_program.h"

namespace {

TEST(peers) {
  int can = -1, value = -1;
  OK(api.hipDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  OK(api.hipDeviceCanAccessPeer(&can, 1, 1));
  EXPECT_EQ(can, 0);
  EXPECT_EQ(api.hipDeviceDisablePeerAccess(1), 705);
  OK(api.hipDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(api.hipDeviceEnablePeerAccess(1, 0), 704);
  EXPECT_EQ(api.hipDeviceEnablePeerAccess(0, 0), 101);
  OK(api.hipDeviceDisablePeerAccess(1));
  OK(api.hipDeviceGetP2PAttribute(&value, hip::PeerAttribute{1}, 0, 1));
  EXPECT_EQ(value, 1);
  EXPECT_EQ(api.hipDeviceGetP2PAttribute(&value, hip::PeerAttribute{1}, 0, 0), 101);
  EXPECT_EQ(api.hipDeviceGetP2PAttribute(&value, hip::PeerAttribute{7}, 0, 1), 1);
  const Buffer<int> here(std::vector<int>(16, 3));
  OK(api.hipSetDevice(1));
  const Buffer<int> there(16);
  OK(api.hipMemcpyPeer(there.data, 1, here.data, 0, 32));
  OK(api.hipMemcpyPeerAsync(there.data + 8, 1, here.data, 0, 32, nullptr));
  EXPECT_EQ(there.values()[15], 3);
  EXPECT_EQ(api.hipMemcpyPeer(there.data, 2, here.data, 0, 32), 101);
  OK(api.hipSetDevice(0));
}

TEST(contexts) {
  hip::Context context = nullptr, current = nullptr;
  hip::Device device = -1;
  OK(api.hipCtxCreate(&context, 0, 1));
  OK(api.hipCtxGetDevice(&device));
  EXPECT_EQ(device, 1);
  OK(api.hipCtxPopCurrent(&current));
  EXPECT_EQ(current == context, true);
  OK(api.hipCtxGetDevice(&device));
  EXPECT_EQ(device, 0);
  EXPECT_EQ(api.hipCtxPopCurrent(&current), 201);
  OK(api.hipCtxPushCurrent(context));
  OK(api.hipCtxSynchronize());
  OK(api.hipCtxPopCurrent(nullptr));
  EXPECT_EQ(api.hipCtxPushCurrent(reinterpret_cast<hip::Context>(77)), 201);
  OK(api.hipCtxDestroy(context));
  unsigned flags = 9;
  int active = -1;
  OK(api.hipDevicePrimaryCtxSetFlags(1, 4));
  OK(api.hipDevicePrimaryCtxGetState(1, &flags, &active));
  EXPECT_EQ(flags == 4 && active == 1, true);
  OK(api.hipSetDeviceFlags(1));
  OK(api.hipGetDeviceFlags(&flags));
  EXPECT_EQ(flags, 1u);
  EXPECT_EQ(api.hipSetDeviceFlags(3), 1);  // two ways to wait
}

TEST(questions) {
  size_t value = 0;
  OK(api.hipDeviceGetLimit(&value, hip::DeviceLimit{2}));
  EXPECT_EQ(value, size_t{64} << 30);  // what malloc in kernels can have
  OK(api.hipDeviceSetLimit(hip::DeviceLimit{2}, 1 << 22));
  EXPECT_EQ(api.hipDeviceSetLimit(hip::DeviceLimit{99}, 0), 1);
  OK(api.hipDeviceGetLimit(&value, hip::DeviceLimit{2}));
  EXPECT_EQ(value, size_t{1} << 22);
  EXPECT_EQ(api.hipDeviceGetLimit(&value, hip::DeviceLimit{3}), 215);
  char bus[16] = {};
  hip::Device device = -1;
  OK(api.hipDeviceGetPCIBusId(bus, sizeof bus, 1));
  OK(api.hipDeviceGetByPCIBusId(&device, bus));
  EXPECT_EQ(device, 1);
  EXPECT_EQ(api.hipDeviceGetByPCIBusId(&device, "0000:07:00.0"), 1);
  hip::Uuid first{}, second{};
  OK(api.hipDeviceGetUuid(&first, 0));
  OK(api.hipDeviceGetUuid(&second, 1));
  EXPECT_EQ(std::memcmp(&first, &second, sizeof first) != 0, true);
  int attribute = -1;
  OK(api.hipDeviceGetAttribute(&attribute, hip::DeviceAttribute{24}, 0));  // managed memory
  EXPECT_EQ(attribute, 1);
  OK(api.hipDeviceGetAttribute(&attribute, hip::DeviceAttribute{hip::kPciBusId}, 1));
  EXPECT_EQ(attribute, 1);
  for (int number = 0; number <= hip::kLastAttribute; ++number) {
    OK(api.hipDeviceGetAttribute(&attribute, hip::DeviceAttribute{number}, 0));
  }
  EXPECT_EQ(api.hipDeviceGetAttribute(&attribute, hip::DeviceAttribute{9999}, 0), 1);
  const char* name = nullptr;
  OK(api.hipDrvGetErrorName(215, &name));
  EXPECT_EQ(std::string(name) == "hipErrorUnsupportedLimit", true);
  OK(api.hipDrvGetErrorString(2, &name));
  EXPECT_EQ(std::string(name) == "out of memory", true);
  constexpr hip::Error kUnknown = 999;
  OK(api.hipDrvGetErrorName(kUnknown, &name));
  OK(api.hipDrvGetErrorString(kUnknown, &name));
  for (const hip::Error none : {-1, 998}) {
    EXPECT_EQ(api.hipDrvGetErrorName(none, &name), 1);
    EXPECT_EQ(std::string(name) == "hipErrorUnknown", true);
    EXPECT_EQ(api.hipDrvGetErrorString(none, &name), 1);
    EXPECT_EQ(std::string(name) == "unknown error", true);
  }
  EXPECT_EQ(api.hipDrvGetErrorName(2, nullptr), 1);
}

TEST(stream_properties) {
  int least = 0, greatest = 0, priority = 9;
  OK(api.hipDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least > greatest, true);
  hip::Stream stream = nullptr;
  OK(api.hipStreamCreateWithPriority(&stream, hip::kStreamNonBlocking, -5));
  OK(api.hipStreamGetPriority(stream, &priority));
  EXPECT_EQ(priority, greatest);
  unsigned flags = 9;
  OK(api.hipStreamGetFlags(stream, &flags));
  EXPECT_EQ(flags, 1u);
  hip::Device device = -1;
  OK(api.hipStreamGetDevice(stream, &device));
  EXPECT_EQ(device, 0);
  unsigned long long id = 0, other = 0;
  OK(api.hipStreamGetId(stream, &id));
  OK(api.hipStreamGetId(nullptr, &other));
  EXPECT_EQ(id != other, true);
  OK(api.hipStreamDestroy(stream));
}

/// A function of the host runs in its place; a stream waits until another, or the host, writes a value.
TEST(host_work) {
  hip::Stream first = nullptr, second = nullptr;
  OK(api.hipStreamCreateWithFlags(&first, hip::kStreamNonBlocking));
  OK(api.hipStreamCreateWithFlags(&second, hip::kStreamNonBlocking));
  uint64_t* flag = nullptr;
  OK(api.hipHostMalloc(reinterpret_cast<void**>(&flag), 64, 0));
  std::atomic<int> calls{0};
  OK(api.hipStreamWaitValue64(first, flag, 5, hip::kWaitEqual, ~uint64_t{0}));
  OK(api.hipLaunchHostFunc(first, [](void* data) { *static_cast<std::atomic<int>*>(data) += 1; }, &calls));
  OK(api.hipStreamAddCallback(
      first,
      [](hip::Stream, hip::Error error, void* data) { *static_cast<std::atomic<int>*>(data) += error == 0 ? 10 : 100; },
      &calls, 0));
  EXPECT_EQ(api.hipStreamQuery(first), 600);
  EXPECT_EQ(calls.load(), 0);
  OK(api.hipStreamWriteValue64(second, flag, 5, 0));
  OK(api.hipStreamSynchronize(first));
  EXPECT_EQ(calls.load(), 11);
  auto* const half = reinterpret_cast<uint32_t*>(flag + 1);
  OK(api.hipStreamWriteValue32(second, half, 0x30, 0));
  OK(api.hipStreamWaitValue32(second, half, 0x10, hip::kWaitAnd, 0xff));
  OK(api.hipStreamWaitValue32(second, half, 0x20, hip::kWaitAtLeast, 0xff));
  OK(api.hipStreamWaitValue32(second, half, 0x10, hip::kWaitNor, 0xff));
  OK(api.hipStreamSynchronize(second));
  EXPECT_EQ(api.hipStreamWaitValue32(second, half, 1, 4, 0xff), 1);
  EXPECT_EQ(api.hipStreamWaitValue32(second, nullptr, 1, 0, 0xff), 1);
  EXPECT_EQ(api.hipLaunchHostFunc(first, nullptr, nullptr), 1);
  OK(api.hipHostFree(flag));
  OK(api.hipStreamDestroy(first));
  OK(api.hipStreamDestroy(second));
}

}  // namespace
