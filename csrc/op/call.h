// One call of a kernel with torch tensors: from tensors to a checked launch. The operator and the binding's fast call
// share it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/access_trace.h"
#include "base/memory_range.h"
#include "launch/arguments.h"
#include "launch/geometry.h"
#include "launch/kernel.h"

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

  /// Tells autograd that the written tensors change: one saved for backward must not give a wrong gradient. Before the
  /// launch, since it throws for inference tensors outside of inference mode.
  void mark_written() const;

  /// Puts the tensors' addresses into `packer`.
  void pack(ArgumentPacker& packer) const;

  /// What the kernel may touch: the tensors' storages. Where a storage is shared by const and written arguments, only
  /// the bytes of the written ones are writable; all of it is readable.
  std::vector<MemoryRange> memory() const;

  /// For each item the bytes that its elements lie in.
  AccessTrace trace() const;

  c10::Device device() const { return items_.front().tensor->device(); }
  bool empty() const { return items_.empty(); }

  struct Item {
    size_t index;
    const at::Tensor* tensor;
  };
  const c10::SmallVector<Item, 16>& items() const { return items_; }
  bool is_written(const Item& item) const { return !kernel_.signature().parameters[item.index].is_const; }

 private:
  void check_overlap(const Item& written, const Item& other) const;

  const Kernel& kernel_;
  c10::SmallVector<Item, 16> items_;
};

/// TensorArguments::mark_written for tensors that are all written.
void mark_written(at::TensorList tensors);

/// The address ranges of tensors given as memory= to a raw launch: all writable.
std::vector<MemoryRange> memory_of(at::TensorList tensors);

/// Launches on the emulator with torch's number of threads. Returns warnings for the user.
std::vector<std::string> launch_on_cpu(const Kernel& kernel, const Geometry& geometry,
                                       std::span<const uint8_t> arguments, std::vector<MemoryRange> memory,
                                       AccessTrace* trace = nullptr);

/// The same for a call's tensors. A strict kernel's launch is checked against its signature: what is declared written
/// and was not is a warning (the reverse is a fault).
std::vector<std::string> launch_on_cpu(const Kernel& kernel, const Geometry& geometry, const ArgumentPacker& packer,
                                       const TensorArguments& tensors);

/// Why a kernel of unknown mutability cannot be used here, with what to pass to load(). `where` completes "cannot be
/// used ...".
[[noreturn]] void refuse_unknown_mutability(const Kernel& kernel, const std::string& where);

/// Throws where a launch would cut the autograd graph: a tensor that requires grad while grad mode is on, or that
/// carries a forward-mode tangent.
void check_differentiable(const Kernel& kernel, const at::Tensor& tensor);

}  // namespace wave
