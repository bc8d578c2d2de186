// A kernel that can be launched: code, signature and launch limits, known to the process under its handle.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "code_object/code_object.h"
#include "code_object/signature.h"
#include "launch/device_function.h"

namespace wave {

/// What a kernel accepts as a tensor: the storage is passed as it is, never a copy.
enum class StridePolicy : uint8_t {
  Contiguous,  ///< a tensor that is not contiguous is refused
  Any,         ///< any strides: the kernel is told about them in other arguments, or does not care
};

/// How a caller overrides what the binary says.
struct KernelOptions {
  std::optional<std::string> signature;
  /// The pointer parameters that the kernel writes, by index or name.
  std::optional<std::vector<std::variant<int64_t, std::string>>> writes;
  StridePolicy strides = StridePolicy::Contiguous;
  bool strict = false;  ///< the emulator checks each launch against the signature, and reads past an end are faults
};

/// What the fast call needs of a parameter: many of them in one cache line.
struct CompactParameter {
  uint32_t offset;
  Type type;
  uint8_t size;  ///< 0 for those that are longer than a word
  bool is_pointer;
  bool is_written;
};

using CodeObjects = std::vector<std::shared_ptr<const CodeObject>>;

/// The builds of a kernel among the code objects of a file, one for each format and target: a cubin and PTX of one
/// target run on different devices. Templates may be in several translation units, all alike. Throws ValueError that
/// lists the kernels there are.
CodeObjects builds_of(const CodeObjects& codes, std::string_view kernel);

/// Immutable but for where it is loaded, and never destroyed once registered: graphs, caches and other languages hold
/// its handle.
class Kernel {
 public:
  /// `variants` are builds of the kernel for several targets, at least one. Throws ValueError where the signature or
  /// `writes` do not fit, the binary has no arguments' metadata and no signature is given, or the variants lay out
  /// their arguments differently.
  Kernel(CodeObjects variants, std::string_view name, const KernelOptions& options);

  const std::string& name() const { return info_->metadata.name; }
  const CodeObjects& variants() const { return variants_; }
  /// Of the first variant.
  const CodeObject& code() const { return *variants_.front(); }
  const KernelInfo& info() const { return *info_; }
  /// The variant that runs best on a device, or nullptr where none does.
  std::shared_ptr<const CodeObject> variant_for(const Target& device) const;
  /// Where the kernel is loaded.
  const FunctionSlots& slots() const { return slots_; }
  const Signature& signature() const { return signature_; }
  const std::vector<CompactParameter>& compact_parameters() const { return compact_parameters_; }
  /// Whether the caller gave the signature or what is written; else the binary said so.
  bool overridden() const { return overridden_; }
  StridePolicy strides() const { return strides_; }
  bool strict() const { return strict_; }
  /// "name@<16 digits of the code object's SHA-256>", followed by what the caller overrode. The same in every process.
  /// Of several variants: the SHA-256 of theirs.
  const std::string& handle() const { return handle_; }
  /// The SHA-256 of the code, of several variants of theirs.
  std::string content_hash() const;

  /// Bytes of the kernarg segment that arguments are packed into.
  uint32_t argument_bytes() const { return argument_bytes_; }
  /// Those up to the hidden arguments.
  uint32_t arguments_end() const { return arguments_end_; }
  /// Whether the code is for AMD's GPUs.
  bool is_for_amd() const { return is_for_amd_; }
  /// The workgroup size that all variants require, or {}.
  const std::optional<std::array<uint32_t, 3>>& block() const { return block_; }

  /// "kernel 'gemm', argument 2 'c'": the beginning of error messages.
  std::string argument_text(size_t index) const;
  /// "argument 2 'c'".
  std::string parameter_text(size_t index) const;

 private:
  void check_variant(const CodeObject& variant, const KernelOptions& options);
  void apply_writes(const std::vector<std::variant<int64_t, std::string>>& writes);
  void refuse_unknown_pointers(const std::vector<std::variant<int64_t, std::string>>& writes) const;
  size_t parameter_index(const std::variant<int64_t, std::string>& reference) const;
  std::string make_handle() const;

  CodeObjects variants_;
  const KernelInfo* info_;
  std::optional<std::array<uint32_t, 3>> block_;
  Signature signature_;
  bool overridden_;
  bool strict_;
  std::string handle_;
  // What launches read, in one cache line up to the slots of the first device.
  alignas(64) std::vector<CompactParameter> compact_parameters_;
  uint32_t argument_bytes_, arguments_end_;
  StridePolicy strides_;
  bool is_for_amd_;
  FunctionSlots slots_;
};

/// Makes the kernel known to the process, for good, and returns the one that is known under its handle. Thread-safe.
const Kernel& register_kernel(std::unique_ptr<const Kernel> kernel);

/// The kernel with this handle. Throws ValueError that says how to load it. Thread-safe.
const Kernel& find_kernel(std::string_view handle);

/// The same, or nullptr where the process does not know it.
const Kernel* find_kernel_if_known(std::string_view handle);

/// The kernel's name in a handle.
std::string_view name_in_handle(std::string_view handle);

/// Makes a kernel from what its handle says of it. Throws ValueError where the code is not what the handle was made
/// for.
std::unique_ptr<const Kernel> remake_kernel(std::string_view handle, CodeObjects variants);

}  // namespace wave
