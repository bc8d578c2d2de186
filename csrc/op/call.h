// One call of a kernel with torch tensors: from tensors to a checked launch. The operators and the binding
// share it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launch/arguments.h"
#include "launch/launch.h"
#include "op/device.h"

namespace wave {

/// "[64, 32]".
std::string list_text(c10::IntArrayRef values);

/// The pointer arguments of a call. Borrows the tensors.
class TensorArguments {
 public:
  explicit TensorArguments(const Kernel& kernel) : kernel_(kernel) {}

  /// Takes the tensor for the pointer parameter `index`. Throws TypeError or ValueError: undefined or sparse, a dtype
  /// other than the annotated one, a lazy conjugate or negative, strides that the policy refuses.
  void add(size_t index, const at::Tensor& tensor);

  /// Throws ValueError unless there is a tensor, all are on one device, and no written tensor overlaps another
  /// argument.
  void check_together() const;

  /// Throws RuntimeError where the kernel's mutability is unknown and a tensor was made in inference mode.
  void check_inference() const;

  /// Tells autograd of the launch that follows. Throws RuntimeError where it would cut the graph: a tensor that
  /// requires grad while grad mode is on, or that carries a forward-mode tangent. Then marks the written tensors as
  /// changed: one saved for backward must not give a wrong gradient. Throws for inference tensors outside of inference
  /// mode.
  void tell_autograd() const;

  /// Puts the tensors' addresses into `packer`.
  void pack(ArgumentPacker& packer) const;

  /// What the kernel may touch: the tensors' storages. Where a storage is shared by const and written arguments, only
  /// the bytes of the written ones are writable; all of it is readable.
  std::vector<MemoryRange> memory() const;

  /// For each item the bytes that its elements lie in.
  AccessTrace trace() const;

  c10::Device device() const { return items_.front().tensor->device(); }

  struct Item {
    size_t index;
    const at::Tensor* tensor;
    const c10::StorageImpl* storage;
    bool is_written;
  };
  const c10::SmallVector<Item, 16>& items() const { return items_; }

 private:
  [[noreturn]] void refuse(size_t index, const at::Tensor& tensor) const;
  [[noreturn]] void refuse_devices(const Item& item) const;
  /// Whether two items may have bytes in common: of one storage, or of two over the same memory, as storages over one
  /// numpy array are.
  static bool may_overlap(const Item& a, const Item& b);
  void check_overlap(const Item& written, const Item& other) const;

  const Kernel& kernel_;
  c10::SmallVector<Item, 16> items_;
};

/// Tells autograd that tensors are changed.
inline void mark_written(const at::Tensor& tensor) { tensor.unsafeGetTensorImpl()->bump_version(); }
void mark_written(at::TensorList tensors);

/// The memory of tensors given to a raw launch on `device` for the keyword `name`. Throws ValueError where one is on
/// another device.
std::vector<MemoryRange> memory_of(const char* name, at::TensorList tensors, c10::Device device, bool writable);

/// For each type of a signature the dtypes that a pointer to it takes, one bit for each.
extern const std::array<uint64_t, static_cast<size_t>(Type::Void) + 1> kDtypesOf;

/// Whether a pointer to `type` takes tensors of `dtype`: untyped pointers take all, b8 to b64 those of their size.
inline bool takes(Type type, c10::ScalarType dtype) {
  return (kDtypesOf[static_cast<size_t>(type)] >> static_cast<int>(dtype) & 1) != 0;
}

/// Where a tensor's elements begin; nullptr where it has none. The storage of a lazy copy becomes its own before it is
/// written.
inline const void* data_of(const c10::TensorImpl* impl, bool is_written) {
  if (impl->numel() == 0) return nullptr;
  const c10::Storage& storage = impl->unsafe_storage();
  const void* data = is_written ? storage.mutable_data() : storage.data();
  return static_cast<const char*>(data) + impl->storage_offset() * static_cast<int64_t>(impl->itemsize());
}

/// The memory of a tensor's storage; none where it has no address. Not for tensors with symbolic sizes.
inline AddressSpan storage_bytes(const c10::TensorImpl* impl) {
  const c10::Storage& storage = impl->unsafe_storage();
  const void* const data = storage.data();
  return {reinterpret_cast<uint64_t>(data), data == nullptr ? 0 : storage.nbytes()};
}

/// Whether a tensor shares memory only until it, or what it shares it with, is written.
bool is_lazy_copy(const at::Tensor& tensor);

/// Launches, seen by profilers as "wave::launch/<kernel>".
void enqueue(const LaunchSite& site, std::span<const uint8_t> arguments, HostLaunch* host);

/// Whether a profiler looks on at this thread's operators.
bool is_profiled();

/// Launches with a call's tensors, which are packed. Returns warnings for the user. On the emulator with torch's number
/// of threads; a strict kernel's launch is checked against its signature there: what is declared written and was not is
/// a warning (the reverse is a fault).
std::vector<std::string> run(const LaunchSite& site, const ArgumentPacker& packer, const TensorArguments& tensors);

/// The same for arguments without tensors. `memory` is what the emulated kernel may touch.
std::vector<std::string> run(const LaunchSite& site, std::span<const uint8_t> arguments, HostMemory memory,
                             AccessTrace* trace = nullptr);

/// The rest of an operator's launch on dense tensors, whose arguments are read and checked: options, launch, and
/// torch's warnings. `packer` has all arguments but the tensors.
void run_operator(const Kernel& kernel, const LaunchOptions& options, const TensorArguments& tensors,
                  ArgumentPacker& packer);

/// Why a kernel of unknown mutability cannot be used here, with what to pass to load(). `where` completes "cannot be
/// used ...".
[[noreturn]] void refuse_unknown_mutability(const Kernel& kernel, const std::string& where);

/// Whether a tensor is a stand-in of a compiler, or of another tensor subclass with operators of its own.
bool is_fake(const at::Tensor& tensor);

/// Whether operators on stand-ins come from a compiler that has traced autograd already: Inductor's lowering runs them
/// on fake parameters with grad mode on.
bool is_lowering();

/// Throws where a launch would cut the autograd graph at this tensor: see TensorArguments::tell_autograd.
void check_differentiable(std::string_view kernel, const at::Tensor& tensor);
inline void check_differentiable(const Kernel& kernel, const at::Tensor& tensor) {
  check_differentiable(kernel.name(), tensor);
}

}  // namespace wave
