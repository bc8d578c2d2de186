// Tests of arrays: their making, what they are, and copies of parts of them.
#include <algorithm>
#include <array>
#include <utility>

#include "hip_program.h"

namespace {

constexpr int kInvalid = 1, kPitchError = 12, kDirection = 21, kHandle = 400, kDestroyed = 709;
constexpr hip::ChannelFormat kBytes{8, 0, 0, 0, 1}, kFloats{32, 0, 0, 0, 2}, kPairs{16, 16, 0, 0, 0};

hip::Array new_array(const hip::ChannelFormat& format, const hip::Extent& extent) {
  hip::Array array = nullptr;
  OK(api.hipMalloc3DArray(&array, &format, extent, 0));
  return array;
}

std::vector<uint8_t> numbers(size_t count) {
  std::vector<uint8_t> result(count);
  std::iota(result.begin(), result.end(), uint8_t{0});
  return result;
}

/// All bytes of an array of one plane.
std::vector<uint8_t> content(hip::Array array, size_t width, size_t height) {
  std::vector<uint8_t> result(width * height);
  OK(api.hipMemcpy2DFromArray(result.data(), width, array, 0, 0, width, height, hip::kDeviceToHost));
  return result;
}

TEST(arrays_say_what_they_are) {
  const hip::Array array = new_array(kPairs, {5, 4, 3});
  hip::ChannelFormat format{};
  hip::Extent extent{};
  unsigned flags = 9;
  OK(api.hipArrayGetInfo(&format, &extent, &flags, array));
  EXPECT_EQ(format.x == 16 && format.y == 16 && format.z == 0 && format.w == 0 && format.kind == 0, true);
  EXPECT_EQ(extent.width == 5 && extent.height == 4 && extent.depth == 3 && flags == 0, true);
  OK(api.hipArrayGetInfo(nullptr, nullptr, nullptr, array));
  format = {};
  OK(api.hipGetChannelDesc(&format, array));
  EXPECT_EQ(format.y, 16);
  hip::ArrayDescriptor3d box{};
  OK(api.hipArray3DGetDescriptor(&box, array));
  EXPECT_EQ(box.width == 5 && box.height == 4 && box.depth == 3 && box.format == 9 && box.channels == 2, true);
  hip::ArrayDescriptor rectangle{};
  OK(api.hipArrayGetDescriptor(&rectangle, array));
  EXPECT_EQ(rectangle.width == 5 && rectangle.height == 4 && rectangle.format == 9 && rectangle.channels == 2, true);
  EXPECT_EQ(api.hipArrayGetDescriptor(nullptr, array), kInvalid);
  EXPECT_EQ(api.hipGetChannelDesc(&format, nullptr), kInvalid);
  OK(api.hipFreeArray(array));
  EXPECT_EQ(api.hipArrayGetInfo(&format, &extent, &flags, array), kHandle);
  EXPECT_EQ(api.hipFreeArray(array), kDestroyed);
  EXPECT_EQ(api.hipArrayDestroy(array), kDestroyed);
  EXPECT_EQ(api.hipFreeArray(nullptr), kInvalid);
}

TEST(arrays_that_there_are_not) {
  hip::Array array = nullptr;
  const std::array<hip::ChannelFormat, 8> formats{{{8, 8, 8, 0, 1},
                                                   {8, 0, 8, 0, 1},
                                                   {0, 8, 0, 0, 1},
                                                   {8, 16, 0, 0, 1},
                                                   {8, 0, 0, 0, 2},
                                                   {10, 0, 0, 0, 1},
                                                   {0, 0, 0, 0, 1},
                                                   {-1, -1, -1, -1, 0}}};
  for (const hip::ChannelFormat& format : formats) {
    EXPECT_EQ(api.hipMallocArray(&array, &format, 4, 4, 0), kInvalid);
  }
  const std::array<hip::Extent, 6> extents{
      {{0, 4, 4}, {4, 0, 4}, {16385, 0, 0}, {4, 16385, 0}, {4, 4, 8193}, {~size_t{0}, ~size_t{0}, ~size_t{0}}}};
  for (const hip::Extent& extent : extents) {
    EXPECT_EQ(api.hipMalloc3DArray(&array, &kFloats, extent, 0), kInvalid);
  }
  for (const unsigned flags : {1, 4, 8, 16}) {  // layers without a depth, cubes, gathering, and what there is not
    EXPECT_EQ(api.hipMallocArray(&array, &kFloats, 4, 4, flags), kInvalid);
  }
  EXPECT_EQ(api.hipMallocArray(nullptr, &kFloats, 4, 4, 0), kInvalid);
  EXPECT_EQ(api.hipMallocArray(&array, nullptr, 4, 4, 0), kInvalid);
  const hip::ArrayDescriptor none{4, 4, hip::ArrayFormat{4}, 1}, three{4, 4, hip::ArrayFormat{1}, 3};
  EXPECT_EQ(api.hipArrayCreate(&array, &none), kInvalid);
  EXPECT_EQ(api.hipArrayCreate(&array, &three), kInvalid);
  const hip::ArrayDescriptor3d layers{4, 0, 2, hip::ArrayFormat{0x20}, 4, 1};
  OK(api.hipArray3DCreate(&array, &layers));
  OK(api.hipArrayDestroy(array));
}

/// What makes or frees one is no work of a stream, and refused while one is captured.
TEST(arrays_while_a_stream_is_captured) {
  hip::Array array = nullptr, other = nullptr;
  OK(api.hipMallocArray(&array, &kFloats, 4, 4, 0));
  hip::Stream stream = nullptr;
  OK(api.hipStreamCreate(&stream));
  for (const bool makes : {true, false}) {
    hip::Graph graph = nullptr;
    OK(api.hipStreamBeginCapture(stream, hip::kCaptureModeGlobal));
    EXPECT_EQ(makes ? api.hipMallocArray(&other, &kFloats, 4, 4, 0) : api.hipFreeArray(array), 900);
    EXPECT_EQ(api.hipStreamEndCapture(stream, &graph), 901);
  }
  OK(api.hipStreamDestroy(stream));
  OK(api.hipFreeArray(array));
}

/// Offsets and widths of the runtime's functions are bytes, rows come one after the other.
TEST(rectangles_of_arrays) {
  const hip::Array array = new_array(kPairs, {4, 3, 0}), other = new_array(kPairs, {4, 3, 0});  // of 16 bytes a row
  const std::vector<uint8_t> all = numbers(48);
  OK(api.hipMemcpy2DToArray(array, 0, 0, all.data(), 16, 16, 3, hip::kHostToDevice));
  EXPECT_EQ(content(array, 16, 3) == all, true);
  const std::array<uint8_t, 8> marks{101, 102, 103, 104, 105, 106, 107, 108};
  OK(api.hipMemcpy2DToArrayAsync(array, 4, 1, marks.data(), 4, 4, 2, hip::kHostToDevice, nullptr));
  std::vector<uint8_t> wanted = all;
  std::copy_n(marks.begin(), 4, wanted.begin() + 16 + 4);
  std::copy_n(marks.begin() + 4, 4, wanted.begin() + 32 + 4);
  EXPECT_EQ(content(array, 16, 3) == wanted, true);

  OK(api.hipMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, 16, 3, hip::kDeviceToDevice));
  OK(api.hipMemcpy2DArrayToArray(other, 8, 0, array, 4, 1, 4, 2, hip::kDeviceToDevice));
  EXPECT_EQ(api.hipMemcpy2DArrayToArray(other, 8, 0, array, 4, 1, 4, 2, static_cast<hip::MemcpyKind>(5)), 21);
  std::copy_n(marks.begin(), 4, wanted.begin() + 8);
  std::copy_n(marks.begin() + 4, 4, wanted.begin() + 16 + 8);
  EXPECT_EQ(content(other, 16, 3) == wanted, true);

  OK(api.hipMemcpyToArray(array, 12, 0, all.data(), 10, hip::kHostToDevice));  // into the second row
  std::array<uint8_t, 10> back{};
  OK(api.hipMemcpyFromArray(back.data(), array, 12, 0, 10, hip::kDeviceToHost));
  EXPECT_EQ(std::equal(back.begin(), back.end(), all.begin()), true);
  OK(api.hipMemcpy2DFromArrayAsync(back.data(), 4, array, 0, 1, 4, 1, hip::kDeviceToHost, nullptr));
  EXPECT_EQ(int{back[0]}, 4);

  const auto error = [&](size_t x, size_t y, size_t pitch, size_t width, size_t height, int kind = 1) {
    return api.hipMemcpy2DToArray(array, x, y, all.data(), pitch, width, height, static_cast<hip::MemcpyKind>(kind));
  };
  EXPECT_EQ(error(4, 0, 16, 16, 1), kInvalid);
  EXPECT_EQ(error(0, 1, 16, 16, 3), kInvalid);
  EXPECT_EQ(error(0, 0, 17, 17, 2), kInvalid);
  EXPECT_EQ(error(~size_t{0}, 0, 16, 16, 1), kInvalid);
  EXPECT_EQ(error(0, 0, 8, 16, 2), kPitchError);
  EXPECT_EQ(error(0, 0, 16, 16, 2, 9), kDirection);
  EXPECT_EQ(api.hipMemcpyToArray(array, 0, 1, all.data(), 33, hip::kHostToDevice), kInvalid);
  EXPECT_EQ(api.hipMemcpy2DToArray(nullptr, 0, 0, all.data(), 16, 16, 1, hip::kHostToDevice), kHandle);
  EXPECT_EQ(api.hipMemcpy2DFromArray(nullptr, 16, array, 0, 0, 16, 1, hip::kDeviceToHost), kInvalid);
  OK(api.hipFreeArray(array));
  OK(api.hipFreeArray(other));
}

/// The driver's functions copy bytes of the first row.
TEST(rows_of_arrays) {
  const hip::Array array = new_array(kBytes, {8, 0, 0}), other = new_array(kBytes, {8, 2, 0});
  const std::vector<uint8_t> all = numbers(16);
  const Buffer<uint8_t> memory(std::vector<uint8_t>(8, 7));
  std::array<uint8_t, 8> back{};
  OK(api.hipMemcpyHtoA(array, 2, all.data(), 6));
  OK(api.hipMemcpyAtoH(back.data(), array, 4, 4));
  EXPECT_EQ(back[0] == 2 && back[3] == 5, true);
  OK(api.hipMemcpyDtoA(array, 0, memory.data, 2));
  OK(api.hipMemcpyAtoA(other, 1, array, 0, 3));
  OK(api.hipMemcpyAtoD(memory.data, other, 1, 3));
  EXPECT_EQ(memory.values() == (std::vector<uint8_t>{7, 7, 0, 7, 7, 7, 7, 7}), true);
  OK(api.hipMemcpyHtoAAsync(array, 0, all.data(), 8, nullptr));
  OK(api.hipMemcpyAtoHAsync(back.data(), array, 0, 8, nullptr));
  EXPECT_EQ(std::equal(back.begin(), back.end(), all.begin()), true);
  EXPECT_EQ(api.hipMemcpyHtoA(array, 0, all.data(), 9), kInvalid);
  EXPECT_EQ(api.hipMemcpyAtoH(back.data(), other, 4, 5), kInvalid);  // ends in the second row
  EXPECT_EQ(api.hipMemcpyAtoH(back.data(), nullptr, 0, 1), kInvalid);
  EXPECT_EQ(api.hipMemcpyAtoH(nullptr, array, 0, 1), kInvalid);
  OK(api.hipFreeArray(array));
  OK(api.hipFreeArray(other));
}

/// Extents and positions of an array are elements, positions in other memory bytes; a node of a graph tells them again.
TEST(boxes_of_arrays) {
  const hip::Array array = new_array(kFloats, {4, 3, 2}), other = new_array(kFloats, {4, 3, 2});
  std::vector<float> host = ramp(0), back(24);
  host.resize(24);
  hip::Copy3d copy{};
  copy.from = {host.data(), 16, 16, 3};
  copy.to_array = array;
  copy.extent = {4, 3, 2};
  copy.kind = hip::kHostToDevice;
  OK(api.hipMemcpy3D(&copy));

  hip::Copy3d between{};
  between.from_array = array;
  between.from_position = {1, 1, 0};
  between.to_array = other;
  between.to_position = {0, 0, 1};
  between.extent = {2, 2, 1};
  between.kind = hip::kDeviceToDevice;
  hip::Graph graph = nullptr;
  hip::GraphNode node = nullptr;
  hip::GraphExec exec = nullptr;
  OK(api.hipGraphCreate(&graph, 0));
  OK(api.hipGraphAddMemcpyNode(&node, graph, nullptr, 0, &between));
  hip::Copy3d told{};
  OK(api.hipGraphMemcpyNodeGetParams(node, &told));
  EXPECT_EQ(told.from_array == array && told.to_array == other && told.extent.width == 2, true);
  EXPECT_EQ(told.from_position.x == 1 && told.to_position.z == 1 && told.kind == hip::kDeviceToDevice, true);
  hip::DriverCopyLayout<size_t> driver{};
  auto* const as_driver = reinterpret_cast<hip::DriverCopy3d*>(&driver);
  OK(api.hipDrvGraphMemcpyNodeGetParams(node, as_driver));
  EXPECT_EQ(driver.from.array == array && driver.from.x == 4 && driver.width == 8 && driver.to.type == 10, true);
  OK(api.hipDrvGraphMemcpyNodeSetParams(node, as_driver));
  told = {};
  OK(api.hipGraphMemcpyNodeGetParams(node, &told));  // the driver's says no direction
  EXPECT_EQ(told.from_array == array && told.extent.width == 2 && told.kind == hip::kCopyDefault, true);
  OK(api.hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  OK(api.hipGraphLaunch(exec, nullptr));

  hip::Copy3d out{};
  out.from_array = other;
  out.from_position = {0, 0, 1};
  out.to = {back.data(), 8, 8, 2};
  out.extent = {2, 2, 1};
  out.kind = hip::kDeviceToHost;
  OK(api.hipMemcpy3DAsync(&out, nullptr));
  EXPECT_EQ(back[0] == 5 && back[1] == 6 && back[2] == 9 && back[3] == 10, true);
  out.to.pointer = nullptr;
  out.to_array = array;
  out.to_position.x = 3;
  EXPECT_EQ(api.hipMemcpy3D(&out), kInvalid);  // ends past the row
  out.to.pointer = back.data();
  out.to_position.x = 0;
  EXPECT_EQ(api.hipMemcpy3D(&out), kInvalid);  // two places at once

  OK(api.hipFreeArray(array));
  OK(api.hipGraphLaunch(exec, nullptr));
  EXPECT_EQ(api.hipDeviceSynchronize(), 700);  // the graph's array is gone
  OK(api.hipDeviceReset());
  OK(api.hipGraphExecDestroy(exec));
  OK(api.hipGraphDestroy(graph));
  OK(api.hipFreeArray(other));
}

/// As the driver's structures have them, in bytes.
TEST(arrays_by_the_drivers_structures) {
  constexpr auto kArray = hip::MemoryType{10}, kHost = hip::MemoryType{1};
  const hip::Array array = new_array(kFloats, {4, 3, 2});
  std::vector<float> host = ramp(0), back(24);
  hip::DriverCopyLayout<size_t> copy{};
  copy.from.type = kHost;
  copy.from.host = host.data();
  copy.from.pitch = 16;
  copy.from.height = 3;
  copy.to.type = kArray;
  copy.to.array = array;
  copy.width = 16;
  copy.height = 3;
  copy.depth = 2;
  OK(api.hipDrvMemcpy3D(reinterpret_cast<hip::DriverCopy3d*>(&copy)));
  hip::DriverCopyLayout<size_t> out = copy;
  std::swap(out.from, out.to);
  out.to.host = back.data();
  out.to.height = 0;  // planes without rows between them
  OK(api.hipDrvMemcpy3D(reinterpret_cast<hip::DriverCopy3d*>(&out)));
  EXPECT_EQ(back[23], 23.0f);
  copy.to.x = 2;
  copy.width = 4;
  EXPECT_EQ(api.hipDrvMemcpy3D(reinterpret_cast<hip::DriverCopy3d*>(&copy)), kInvalid);  // within an element

  hip::Copy2d rectangle{};
  rectangle.from.type = kArray;
  rectangle.from.array = array;
  rectangle.from.x = 4;
  rectangle.from.y = 1;
  rectangle.to.type = kHost;
  rectangle.to.host = back.data();
  rectangle.to.pitch = 8;
  rectangle.width = 8;
  rectangle.height = 2;
  OK(api.hipMemcpyParam2D(&rectangle));
  EXPECT_EQ(back[0] == 5 && back[1] == 6 && back[2] == 9 && back[3] == 10, true);
  rectangle.from.array = nullptr;
  EXPECT_EQ(api.hipMemcpyParam2D(&rectangle), kInvalid);

  const Buffer<float> memory(24);
  hip::PeerCopy3d peers{};
  peers.from.array = array;
  peers.to.memory = {memory.data, 16, 16, 3};
  peers.to.device = 1;
  peers.extent = {4, 3, 2};
  OK(api.hipMemcpy3DPeer(&peers));
  OK(api.hipMemcpy3DPeerAsync(&peers, nullptr));
  EXPECT_EQ(memory.values()[23], 23.0f);
  peers.to.device = 7;
  EXPECT_EQ(api.hipMemcpy3DPeer(&peers), 101);
  OK(api.hipFreeArray(array));
}

}  // namespace
