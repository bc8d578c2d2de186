// Fuzz target: whatever the bytes are, CodeObject::parse and parse_all return what they promise or throw wave::Error.
//
// With libFuzzer: clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Icsrc tests/cpp/code_object_fuzz.cpp
// csrc/base/*.cpp csrc/code_object/*.cpp -ldl, then run it over tests/code_object/corpus and nvidia. Without:
// fuzz_replay.cpp.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "code_object/code_object.h"
#include "code_object/function_table.h"
#include "code_object/line_table.h"
#include "code_object/occupancy.h"
#include "code_object/select.h"
#include "code_object/signature.h"

namespace {

using wave::CodeObject;
using wave::Format;

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
    check(!kernel.metadata.name.empty() && kernel.descriptor.has_value() == (object.format() == Format::AmdGpu));
    if (kernel.descriptor) check(kernel.entry_address % 256 == 0 && kernel.code_size > 0);
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

// What a binary says is as well formed as what a caller gives.
void check_signatures(const CodeObject& object) {
  for (const wave::KernelInfo& kernel : object.kernels()) {
    const auto signature = signature_from_metadata(kernel.metadata);
    if (!signature) continue;
    for (const wave::Parameter& parameter : signature->parameters) {
      check(parameter.is_pointer || parameter.type != wave::Type::Void);
      check(!parameter.may_be_pointer || (parameter.type == wave::Type::B64 && parameter.size == 8));
      check(parameter.offset + parameter.size <= kernel.metadata.kernarg_segment_size);
    }
  }
}

void check_lines(std::span<const uint8_t> file) {
  try {
    const wave::LineTable table = wave::read_line_table(file);
    for (size_t i = 0; i < table.rows.size(); ++i) {
      const wave::LineRow& row = table.rows[i];
      check(row.line == 0 || row.file < table.files.size());
      check(i == 0 || table.rows[i - 1].address <= row.address);
    }
  } catch (const wave::Error&) {
  }
}

void check_functions(std::span<const uint8_t> file) {
  try {
    const std::vector<wave::SourceFunction> functions = wave::read_function_table(file);
    for (size_t i = 0; i < functions.size(); ++i) {
      check(!functions[i].code.empty());
      check(!functions[i].caller || *functions[i].caller < i);
    }
  } catch (const wave::Error&) {
  }
}

void parse(std::span<const uint8_t> file, const char* device) {
  try {
    std::optional<wave::Target> target;
    if (device != nullptr) target = wave::Target::parse(device);
    const auto objects = CodeObject::parse_all(file, target);
    for (const auto& object : objects) {
      check_promises(*object);
      check_signatures(*object);
      for (const wave::KernelInfo& kernel : object->kernels()) check_occupancy(*object, kernel);
      check(!target || runs_on(*object, *target));
    }
    check(!target || select_for(objects, *target) != nullptr);
    CodeObject::parse(file, target);
  } catch (const wave::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const char* device : {static_cast<const char*>(nullptr), "gfx942:sramecc+:xnack-", "gfx1100", "sm_90"}) {
    parse({data, size}, device);
  }
  check_lines({data, size});
  check_functions({data, size});
  return 0;
}
