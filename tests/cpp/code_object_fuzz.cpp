// Fuzz target: whatever the bytes are, CodeObject::parse and parse_all return what they promise or throw wave::Error.
//
// With libFuzzer: clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Icsrc tests/cpp/code_object_fuzz.cpp
// csrc/base/*.cpp csrc/code_object/*.cpp -ldl, then run it over tests/code_object/corpus. Without: fuzz_replay.cpp.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "code_object/code_object.h"
#include "code_object/occupancy.h"

namespace {

using wave::CodeObject;

void check(bool condition) {
  if (!condition) std::abort();
}

// What a launch and a loader rely on without checking again.
void check_promises(const CodeObject& object) {
  const uint64_t size = object.bytes().size();
  for (const wave::Segment& segment : object.segments()) {
    check(segment.file_offset <= size && segment.file_size <= size - segment.file_offset);
    check(segment.file_size <= segment.memory_size && segment.address + segment.memory_size >= segment.address);
  }
  for (const wave::KernelInfo& kernel : object.kernels()) {
    check(!kernel.metadata.name.empty() && kernel.entry_address % 256 == 0 && kernel.code_size > 0);
    if (!kernel.metadata.arguments) continue;
    for (const wave::ArgumentMetadata& argument : *kernel.metadata.arguments) {
      check(uint64_t{argument.offset} + argument.size <= kernel.metadata.kernarg_segment_size);
    }
  }
}

void check_occupancy(const CodeObject& object, const wave::KernelInfo& kernel) {
  try {
    const wave::Occupancy result = occupancy(object.target(), kernel, 256, kernel.metadata.group_segment_fixed_size);
    check(result.waves_per_simd >= 1 && result.waves_per_simd <= result.max_waves_per_simd);
  } catch (const wave::ValueError&) {  // it does not fit
  }
}

void parse(std::span<const uint8_t> file, const char* device) {
  try {
    std::optional<wave::Target> target;
    if (device != nullptr) target = wave::Target::parse(device);
    for (const auto& object : CodeObject::parse_all(file, target)) {
      check_promises(*object);
      for (const wave::KernelInfo& kernel : object->kernels()) check_occupancy(*object, kernel);
    }
    CodeObject::parse(file, target);
  } catch (const wave::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const char* device : {static_cast<const char*>(nullptr), "gfx942:sramecc+:xnack-", "gfx1100"}) {
    parse({data, size}, device);
  }
  return 0;
}
