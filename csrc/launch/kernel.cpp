#include "launch/kernel.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/fork_safe.h"
#include "base/sha256.h"
#include "code_object/select.h"

namespace wave {

namespace {

constexpr size_t kHashDigits = 16;
constexpr std::string_view kAnyStrides = ";strides=any";
constexpr std::string_view kStrict = ";strict";

Signature make_signature(const KernelMetadata& metadata, const KernelOptions& options) {
  if (options.signature) return parse_signature(*options.signature, metadata);
  std::optional<Signature> signature = signature_from_metadata(metadata);
  if (!signature) {
    throw ValueError(text(kernel_text(metadata.name),
                          " has no argument metadata: pass signature=, for example "
                          "signature=\"*f32 const, *f32, i32\" (its kernarg segment has ",
                          metadata.kernarg_segment_size, " bytes)"));
  }
  return *std::move(signature);
}

uint32_t end_of_arguments(const Signature& signature) {
  uint32_t end = 0;
  for (const Parameter& parameter : signature.parameters) end = std::max(end, parameter.offset + parameter.size);
  return end;
}

struct Registry {
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view handle) const { return std::hash<std::string_view>()(handle); }
  };
  SharedMutex mutex;
  std::unordered_map<std::string, std::unique_ptr<const Kernel>, Hash, std::equal_to<>> kernels;
};

/// Never destroyed, so that launches from other static objects' destructors find it.
Registry& all = *new Registry();

}  // namespace

CodeObjects builds_of(const CodeObjects& codes, std::string_view kernel) {
  CodeObjects builds;
  std::string names;
  for (const auto& code : codes) {
    const auto same_build = [&](const auto& other) {
      return other->format() == code->format() && other->target() == code->target();
    };
    for (const KernelInfo& info : code->kernels()) {
      append(names, text(names.empty() ? "" : ", ", info.metadata.name));
      if (info.metadata.name == kernel && std::ranges::none_of(builds, same_build)) builds.push_back(code);
    }
  }
  if (builds.empty()) throw ValueError(text("no ", kernel_text(kernel), " in the file; its kernels are ", names));
  return builds;
}

Kernel::Kernel(CodeObjects variants, std::string_view name, const KernelOptions& options)
    : variants_(std::move(variants)),
      info_(&variants_.front()->kernel(name)),
      block_(info_->metadata.reqd_workgroup_size),
      signature_(make_signature(info_->metadata, options)),
      overridden_(options.signature || options.writes),
      strict_(options.strict),
      argument_bytes_(std::max(end_of_arguments(signature_), info_->metadata.kernarg_segment_size)),
      arguments_end_(end_of_arguments(signature_)),
      strides_(options.strides),
      is_for_amd_(code().format() == Format::AmdGpu) {
  if (options.writes) apply_writes(*options.writes);
  for (const auto& variant : variants_) check_variant(*variant, options);
  handle_ = make_handle();
  for (const Parameter& parameter : signature_.parameters) {
    const auto size = static_cast<uint8_t>(parameter.size <= 8 ? parameter.size : 0);
    compact_parameters_.push_back(
        {parameter.offset, parameter.type, size, parameter.is_pointer, parameter.is_pointer && !parameter.is_const});
  }
}

void Kernel::check_variant(const CodeObject& variant, const KernelOptions& options) {
  const KernelMetadata& metadata = variant.kernel(name()).metadata;
  const auto same_place = [](const Parameter& a, const Parameter& b) {
    return a.offset == b.offset && a.size == b.size;
  };
  if (!std::ranges::equal(make_signature(metadata, options).parameters, signature_.parameters, same_place)) {
    throw ValueError(text(kernel_text(name()), ": its builds for ", code().target().id(), " and ",
                          variant.target().id(),
                          " lay out their arguments differently: pass target= to load one of them"));
  }
  if (metadata.reqd_workgroup_size != block_) block_.reset();
  argument_bytes_ = std::max(argument_bytes_, metadata.kernarg_segment_size);
}

std::shared_ptr<const CodeObject> Kernel::variant_for(const Target& device) const {
  return select_for(variants_, device);
}

void Kernel::apply_writes(const std::vector<std::variant<int64_t, std::string>>& writes) {
  refuse_unknown_pointers(writes);
  for (Parameter& parameter : signature_.parameters) parameter.is_const = parameter.is_pointer;
  for (const auto& reference : writes) {
    const size_t index = parameter_index(reference);
    Parameter& parameter = signature_.parameters[index];
    if (!parameter.is_pointer) {
      throw ValueError(
          text("writes= names ", argument_text(index), " (", parameter.type_text(), "), which is not a pointer"));
    }
    parameter.is_const = false;
  }
  signature_.mutability_known = true;
}

// Where the binary does not say which arguments are pointers, writes= cannot say which of them are only read.
void Kernel::refuse_unknown_pointers(const std::vector<std::variant<int64_t, std::string>>& writes) const {
  const auto may_be_pointer = [](const Parameter& parameter) { return parameter.may_be_pointer; };
  if (std::ranges::none_of(signature_.parameters, may_be_pointer)) return;
  Signature example = signature_;
  for (Parameter& parameter : example.parameters) {
    if (!parameter.may_be_pointer && !parameter.is_pointer) continue;
    parameter = {.name = parameter.name, .is_pointer = true, .is_const = true};
  }
  for (const auto& reference : writes) example.parameters[parameter_index(reference)].is_const = false;
  throw ValueError(text("writes= needs signature= for ", kernel_text(name()), ": its ", wave::name(code().format()),
                        " does not say which 8-byte arguments (b64) are pointers. Pass signature= instead of writes=, ",
                        "with const for pointers that are only read; if all of them are pointers: signature=\"",
                        example.text(), "\""));
}

size_t Kernel::parameter_index(const std::variant<int64_t, std::string>& reference) const {
  const auto& parameters = signature_.parameters;
  if (const int64_t* index = std::get_if<int64_t>(&reference)) {
    if (*index >= 0 && *index < static_cast<int64_t>(parameters.size())) return static_cast<size_t>(*index);
    throw ValueError(
        text("writes= names argument ", *index, ", but ", kernel_text(name()), " has ", parameters.size()));
  }
  const std::string& wanted = std::get<std::string>(reference);
  const auto has_name = [&](const Parameter& parameter) { return parameter.name == wanted; };
  const auto count = std::count_if(parameters.begin(), parameters.end(), has_name);
  if (count != 1) {
    throw ValueError(text("writes= names '", wanted, "', but ", kernel_text(name()), " has ", count,
                          " arguments of that name: use its index (signature: \"", signature_.text(), "\")"));
  }
  return static_cast<size_t>(std::find_if(parameters.begin(), parameters.end(), has_name) - parameters.begin());
}

std::string Kernel::content_hash() const {
  if (variants_.size() == 1) return code().sha256();
  std::string hashes;
  for (const auto& variant : variants_) hashes += variant->sha256();
  return sha256({reinterpret_cast<const uint8_t*>(hashes.data()), hashes.size()});
}

std::string Kernel::make_handle() const {
  std::string handle = text(name(), "@", content_hash().substr(0, kHashDigits));
  if (overridden_) handle += text(":", signature_.text());
  if (strides_ == StridePolicy::Any) append(handle, kAnyStrides);
  if (strict_) append(handle, kStrict);
  return handle;
}

std::string Kernel::parameter_text(size_t index) const {
  const std::string& parameter = signature_.parameters[index].name;
  return parameter.empty() ? text("argument ", index) : text("argument ", index, " '", parameter, "'");
}

std::string Kernel::argument_text(size_t index) const { return text(kernel_text(name()), ", ", parameter_text(index)); }

const Kernel& register_kernel(std::unique_ptr<const Kernel> kernel) {
  std::unique_lock lock(all.mutex);
  const std::string handle = kernel->handle();
  return *all.kernels.try_emplace(handle, std::move(kernel)).first->second;
}

const Kernel* find_kernel_if_known(std::string_view handle) {
  std::shared_lock lock(all.mutex);
  const auto found = all.kernels.find(handle);
  return found == all.kernels.end() ? nullptr : found->second.get();
}

const Kernel& find_kernel(std::string_view handle) {
  if (const Kernel* kernel = find_kernel_if_known(handle)) return *kernel;
  const size_t at = handle.rfind('@');
  throw ValueError(text(
      "no kernel with the handle '", handle,
      "' is loaded in this process: call wave_runtime.load() on the code "
      "object",
      at == handle.npos ? "" : text(" whose SHA-256 begins with ", handle.substr(at + 1, kHashDigits)),
      " before, with the signature=, writes=, strides= and strict= that the handle was made with. Exported programs "
      "find their kernels in themselves where they were launched with kernel(...)"));
}

/// A kernel's name may have the character, what follows the name has it once.
std::string_view name_in_handle(std::string_view handle) { return handle.substr(0, handle.rfind('@')); }

std::unique_ptr<const Kernel> remake_kernel(std::string_view handle, CodeObjects variants) {
  const std::string_view name = name_in_handle(handle);
  std::string_view rest = handle.substr(std::min(handle.size(), name.size() + 1 + kHashDigits));
  const auto take_suffix = [&](std::string_view suffix) {
    const bool is_there = rest.ends_with(suffix);
    if (is_there) rest.remove_suffix(suffix.size());
    return is_there;
  };
  KernelOptions options;
  options.strict = take_suffix(kStrict);
  if (take_suffix(kAnyStrides)) options.strides = StridePolicy::Any;
  if (rest.starts_with(':')) options.signature = rest.substr(1);
  auto kernel = std::make_unique<const Kernel>(std::move(variants), name, options);
  if (kernel->handle() == handle) return kernel;
  throw ValueError(text("the code given for the kernel with the handle '", handle,
                        "' is other code, of a kernel with '", kernel->handle(),
                        "': the program that holds them is damaged"));
}

}  // namespace wave
