#include "c_api/module.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "base/fork_safe.h"
#include "c_api/status.h"

namespace wave::c_api {

namespace {

std::vector<uint8_t> read_file(const char* path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "rb"), std::fclose);
  std::vector<uint8_t> bytes;
  size_t size = 0;
  do {
    bytes.resize(size + (1 << 20));
    size += file == nullptr ? 0 : std::fread(bytes.data() + size, 1, bytes.size() - size, file.get());
  } while (size == bytes.size());
  if (file == nullptr || std::ferror(file.get()) != 0) throw FileError(text(path, ": ", std::strerror(errno)));
  bytes.resize(size);
  return bytes;
}

std::unique_ptr<wave_module> make_module(std::span<const uint8_t> file, const char* target) {
  auto module = std::make_unique<wave_module>();
  const std::optional<Target> wanted = target == nullptr ? std::nullopt : std::optional(Target::parse(target));
  module->codes = CodeObject::parse_all(file, wanted);
  std::set<std::string> names;
  for (const auto& code : module->codes) {
    for (const KernelInfo& kernel : code->kernels()) {
      if (names.insert(kernel.metadata.name).second) module->kernels.push_back(kernel.metadata.name);
    }
    module->held.push_back(hold_loaded(code));
  }
  return module;
}

namespace {

struct Known {
  Mutex mutex;
  std::map<const Kernel*, const wave_kernel*> all;
};
Known& known_kernels = *new Known();

}  // namespace

const wave_kernel* kernel_of(const wave_module& module, const std::string& name, const char* signature) {
  KernelOptions options;
  if (signature != nullptr) options.signature = signature;
  CodeObjects builds = builds_of(module.codes, name);
  const Kernel* const kernel = &register_kernel(std::make_unique<const Kernel>(std::move(builds), name, options));

  const std::lock_guard lock(known_kernels.mutex);
  const wave_kernel*& handed_out = known_kernels.all[kernel];
  if (handed_out == nullptr) {
    auto* made = new wave_kernel{*kernel, kernel->signature().text(), {}};
    for (const Parameter& parameter : kernel->signature().parameters) made->types.push_back(parameter.type_text());
    handed_out = made;
  }
  return handed_out;
}

wave_kernel_info info_of(const wave_kernel& kernel) {
  wave_kernel_info info{};
  info.name = kernel.kernel.name().c_str();
  info.signature = kernel.signature.c_str();
  info.handle = kernel.kernel.handle().c_str();
  info.parameter_count = kernel.types.size();
  info.argument_bytes = kernel.kernel.argument_bytes();
  if (kernel.kernel.block()) std::ranges::copy(*kernel.kernel.block(), info.block);
  info.writes_known = kernel.kernel.signature().mutability_known;
  return info;
}

wave_parameter parameter_of(const wave_kernel& kernel, size_t index) {
  const auto& parameters = kernel.kernel.signature().parameters;
  if (index >= parameters.size()) {
    throw ValueError(
        text(kernel_text(kernel.kernel.name()), " has ", parameters.size(), " parameters, none at ", index));
  }
  const Parameter& parameter = parameters[index];
  wave_parameter result{};
  result.name = parameter.name.c_str();
  result.type = kernel.types[index].c_str();
  result.offset = parameter.offset;
  result.bytes = parameter.size;
  result.is_pointer = parameter.is_pointer;
  result.is_written = parameter.is_pointer && !parameter.is_const;
  return result;
}

}  // namespace

}  // namespace wave::c_api

using namespace wave::c_api;

wave_status wave_module_load_file(const char* path, const char* target, wave_module** module) {
  return guarded([&] {
    wave_module*& result = required(module, "module");
    const std::vector<uint8_t> bytes = read_file(&required(path, "path"));
    try {
      result = make_module(bytes, target).release();
    } catch (const wave::ValueError& error) {
      throw wave::ValueError(wave::text(path, ": ", error.what()));
    }
  });
}

wave_status wave_module_load(const void* data, size_t size, const char* target, wave_module** module) {
  return guarded([&] {
    wave_module*& result = required(module, "module");
    const auto* bytes = static_cast<const uint8_t*>(data);
    result = make_module({&required(bytes, "data"), size}, target).release();
  });
}

void wave_module_free(wave_module* module) { delete module; }

wave_status wave_module_unload(wave_module* module, size_t* devices) {
  return guarded([&] {
    size_t count = 0;
    for (const auto& code : required(module, "module").codes) count += wave::unload(*code);
    if (devices != nullptr) *devices = count;
  });
}

size_t wave_module_kernel_count(const wave_module* module) { return module == nullptr ? 0 : module->kernels.size(); }

const char* wave_module_kernel_name(const wave_module* module, size_t index) {
  return index < wave_module_kernel_count(module) ? module->kernels[index].c_str() : nullptr;
}

wave_status wave_module_get_kernel(wave_module* module, const char* name, const char* signature,
                                   const wave_kernel** kernel) {
  return guarded([&] {
    const wave_kernel*& result = required(kernel, "kernel");
    result = kernel_of(required(module, "module"), &required(name, "name"), signature);
  });
}

wave_status wave_kernel_get_info(const wave_kernel* kernel, wave_kernel_info* info) {
  return guarded([&] { fill(info, info_of(required(kernel, "kernel")), "info"); });
}

wave_status wave_kernel_get_parameter(const wave_kernel* kernel, size_t index, wave_parameter* parameter) {
  return guarded([&] { fill(parameter, parameter_of(required(kernel, "kernel"), index), "parameter"); });
}
