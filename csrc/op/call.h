// One call of a kernel with torch tensors, as its reader leaves it for submit(). All that launch with torch share it.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/submit.h"
#include "op/device.h"
#include "op/running_body.h"

namespace wave {

/// For each type of a signature the dtypes that a pointer to it takes, one bit for each.
extern const std::array<uint64_t, static_cast<size_t>(Type::Void) + 1> kDtypesOf;

/// Whether a pointer to `type` takes tensors of `dtype`: untyped pointers take all, b8 to b64 those of their size.
inline bool takes(Type type, c10::ScalarType dtype) {
  return (kDtypesOf[static_cast<size_t>(type)] >> static_cast<int>(dtype) & 1) != 0;
}

/// Tells autograd that a tensor is changed.
inline void mark_written(const at::Tensor& tensor) { tensor.unsafeGetTensorImpl()->bump_version(); }

/// Where a tensor's elements begin; nullptr where it has none. The storage of a lazy copy becomes its own before it is
/// written.
[[gnu::always_inline]] inline const void* data_of(const c10::TensorImpl* impl, bool is_written) {
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

/// Whether a launch would cut the autograd graph at this tensor: see Call::tell_autograd.
bool cuts_graph(const at::Tensor& tensor);
/// Throws if so.
void check_differentiable(std::string_view kernel, const at::Tensor& tensor);

/// Whether a profiler looks on at this thread's operators.
bool is_profiled();
/// The other enqueue(), as a profiler sees it: "wave::launch/<kernel>".
[[gnu::cold]] void enqueue_profiled(const LaunchSite& site, std::span<const uint8_t> arguments, HostLaunch* host);

/// What a launch on the emulator is asked for, and what it has to say.
struct Emulation {
  EmulatorOptions options = EmulatorOptions::from_environment();
  LaunchReport report;
};

/// A reader fills in the public members. Borrows the tensors. For 16 tensors and 1 KiB of arguments nothing is
/// allocated.
///
/// What costs here is not instructions but cache lines, of code and of data: the driver's launch goes over more than
/// the first-level caches hold. So what most launches need is inline, and looks at few lines of kernel and tensors.
class Call {
 public:
  explicit Call(const Kernel& kernel) : kernel(kernel), packer(kernel) {}
  Call(const Call&) = delete;
  /// A copy that does not borrow: `held` has its tensors, which is to live as long. Autograd knows of it.
  Call(const Call& other, std::vector<at::Tensor>& held);
  Call& operator=(const Call&) = delete;

  const Kernel& kernel;
  LaunchOptions options;
  std::optional<c10::Device> wanted_device;  ///< where to launch; needed where there are no tensors
  std::optional<void*> wanted_stream;        ///< the driver's handle; without: torch's current one
  bool has_addresses = false;                ///< the emulator lets the kernel touch whatever the process has mapped
  bool may_write_all = false;      ///< the emulator lets the kernel write tensors that it only reads by its signature
  bool autograd_knows = false;     ///< the dispatcher has told it of the launch, or nobody should
  bool overlaps_allowed = false;   ///< what the kernel writes may be among its other arguments, too
  AccessTrace* trace = nullptr;    ///< notes what a launch on the emulator touches, wherever CPU tensors go as a rule
  Emulation* emulation = nullptr;  ///< needed where is_for_host()

 private:
  struct Item {
    const at::Tensor* tensor;
    const char* lent_as;  ///< nullptr: an argument
    uint32_t index;       ///< of the parameter
    uint32_t offset;      ///< of the parameter
    bool is_written;
  };
  static constexpr size_t kInline = 16;

  // Beside the other members that all launches look at: arguments and items are long.
  bool any_written_ = false, devices_differ_ = false;
  size_t count_ = 0, capacity_ = kInline;
  const at::Tensor* number_ = nullptr;  ///< stands for a number, and would take part in autograd's graph
  Item* items_ = inline_;
  std::unique_ptr<Item[]> more_;  ///< in place of the others where they do not suffice

 public:
  ArgumentPacker packer;  ///< all arguments but the tensors

  /// Takes the tensor for the pointer parameter `index`. Throws TypeError or ValueError: undefined or sparse, a dtype
  /// other than the annotated one, a lazy conjugate or negative, strides that the policy refuses.
  void add(size_t index, const at::Tensor& tensor);

  /// The same for a tensor that is dense, and neither conjugate nor negative. False where add() would throw.
  [[nodiscard, gnu::always_inline]] bool try_add(size_t index, const at::Tensor& tensor) {
    const CompactParameter& parameter = kernel.compact_parameters()[index];
    if (!parameter.is_pointer || !takes(parameter.type, tensor.scalar_type())) return false;
    if (kernel.strides() == StridePolicy::Contiguous && !tensor.unsafeGetTensorImpl()->is_contiguous()) return false;
    push({&tensor, nullptr, static_cast<uint32_t>(index), parameter.offset, parameter.is_written});
    return true;
  }

  /// Notes that a number in the packer was read from this tensor: the launch would cut autograd's graph there, too.
  /// Bound launches keep the number, so it counts whether it had a gradient then. Borrows the tensor.
  void note_number(const at::Tensor& tensor) {
    if (number_ == nullptr && cuts_graph(tensor)) number_ = &tensor;
  }

  /// Lets the kernel touch a tensor that is no argument: the `index`th that the caller's keyword `name` has.
  void lend(const char* name, size_t index, const at::Tensor& tensor, bool is_written) {
    push({&tensor, name, static_cast<uint32_t>(index), 0, is_written});
  }

  /// Whether the launch is for tensors in the host's memory, as far as can be said before check().
  bool is_for_host() const {
    if (count_ != 0) return items_[0].tensor->is_cpu() || trace != nullptr;
    return wanted_device && wanted_device->is_cpu();
  }

  // What submit() asks for.

  /// Throws ValueError unless something says where to launch, all tensors are there, no written tensor overlaps another
  /// argument, and none is an input that an operator whose body launches does not name in mutates=; RuntimeError where
  /// it is not known what the kernel writes and a tensor was made in inference mode.
  [[gnu::always_inline]] void check() const {
    if (count_ == 0) {
      if (!wanted_device) refuse_no_device();
      return;
    }
    if (devices_differ_ || wanted_device) check_devices();
    if (!kernel.signature().mutability_known) return check_inference();
    if (!any_written_ || overlaps_allowed) return;
    if (storages_meet()) check_overlaps();
    if (const RunningBody* body = RunningBody::current()) check_declared(*body);
  }

  Place place() const { return trace != nullptr ? Place{DriverKind::Emulator, 0} : place_of(device()); }
  void* stream() const { return wanted_stream ? *wanted_stream : current_stream(device()); }

  /// Throws RuntimeError where the launch would cut the autograd graph: an argument, be it one that stands for a
  /// number, requires grad while grad mode is on, or carries a forward-mode tangent. Then marks the written tensors as
  /// changed: one saved for backward must not give a wrong gradient. Throws for inference tensors outside of inference
  /// mode.
  [[gnu::always_inline]] void tell_autograd() const {
    if (autograd_knows) return;
    for (const Item& item : tensors()) {
      if (item.tensor->unsafeGetTensorImpl()->autograd_meta() != nullptr) check_gradient(item);
    }
    if (number_ != nullptr) [[unlikely]]
      check_differentiable(kernel.name(), *number_);
    mark_written();
  }
  void mark_written() const {
    for (const Item& item : tensors()) {
      if (item.is_written) wave::mark_written(*item.tensor);
    }
  }

  /// Puts the tensors' addresses into `into`.
  [[gnu::always_inline]] void pack(ArgumentPacker& into) const {
    for (const Item& item : tensors()) {
      if (item.lent_as != nullptr) continue;
      into.pointer(item.offset, data_of(item.tensor->unsafeGetTensorImpl(), item.is_written || may_write_all));
    }
  }

  /// Enqueues, seen by profilers as "wave::launch/<kernel>" unless `profiled` says that none looks on. The emulator
  /// uses torch's number of threads. There a strict kernel's launch is checked against its signature: what is declared
  /// written and was not is a warning (the reverse is a fault).
  [[gnu::always_inline]] void enqueue(const LaunchSite& site, std::span<const uint8_t> arguments) const {
    enqueue(site, arguments, emulation, true);
  }
  [[gnu::always_inline]] void enqueue(const LaunchSite& site, std::span<const uint8_t> arguments, Emulation* emulation,
                                      bool profiled) const {
    if (site.function.place.kind == DriverKind::Emulator) [[unlikely]]
      return emulate(site, arguments, *emulation);
    if (profiled && is_profiled()) [[unlikely]]
      return enqueue_profiled(site, arguments, nullptr);
    wave::enqueue(site, arguments, nullptr);
  }

  /// What check() finds on tensors without data: meta tensors, compilers' stand-ins.
  void check_without_data() const;

  /// Whether the packed addresses are those of the tensors still, and autograd has no part in them.
  bool is_as_packed() const;

  c10::Device device() const { return count_ == 0 ? *wanted_device : items_[0].tensor->device(); }
  bool has_tensors() const { return count_ != 0; }
  /// The bytes that each tensor's elements lie in, to be traced.
  AccessTrace make_trace() const;
  /// The parameter of the `i`th tensor.
  size_t parameter_of(size_t i) const { return items_[i].index; }

 private:
  [[gnu::always_inline]] void push(const Item& item) {
    if (count_ == capacity_) grow();
    any_written_ |= item.is_written;
    devices_differ_ |= count_ != 0 && item.tensor->device() != items_[0].tensor->device();
    items_[count_++] = item;
  }
  [[gnu::cold]] void grow();
  std::span<const Item> tensors() const { return {items_, count_}; }

  std::string text_of(const Item& item) const;
  [[noreturn]] void refuse(size_t index, const at::Tensor& tensor) const;
  [[noreturn, gnu::cold]] void refuse_no_device() const;
  [[gnu::cold]] void check_devices() const;
  void check_gradient(const Item& item) const;
  void check_inference() const;
  /// Whether a storage that the kernel writes has bytes in common with another's.
  [[gnu::always_inline]] bool storages_meet() const {
    for (const Item& item : tensors()) {
      if (!item.is_written || item.lent_as != nullptr) continue;
      const AddressSpan bytes = storage_bytes(item.tensor->unsafeGetTensorImpl());
      for (const Item& other : tensors()) {
        if (&other != &item && storage_bytes(other.tensor->unsafeGetTensorImpl()).overlaps(bytes)) return true;
      }
    }
    return false;
  }
  void check_overlaps() const;
  void check_overlap(const Item& written, const Item& other) const;
  [[noreturn]] void refuse_overlap(const Item& written, const Item& other) const;
  void check_declared(const RunningBody& body) const;
  /// "argument 2 'c' (float32 [64])"; as a storage where the tensor is a view of a part of it.
  std::string name_of_storage(const Item& item) const;
  MemoryRange memory_of(const Item& item) const;
  std::vector<MemoryRange> memory() const;
  TensorLayout layout_of(const Item& item) const;
  std::vector<TensorLayout> layouts(const EmulatorOptions& options) const;
  void emulate(const LaunchSite& site, std::span<const uint8_t> arguments, Emulation& emulation) const;
  void report_unwritten(const AccessTrace& trace, LaunchReport& report) const;

  Item inline_[kInline];
};

extern template void submit(Call& call);
extern template Geometry prepare(const Call& call);

/// Submits an operator's call, with torch's warnings.
void submit_operator(Call& call);

/// Gives a launch on the host to whoever records this thread's. False where nobody does. See recording.h.
bool record_launch(const Call& call);

/// What this thread's last launch on the emulator that was submitted with tensors reported.
const LaunchReport& last_report();
void set_last_report(LaunchReport report);

/// Whether a tensor shares memory only until it, or what it shares it with, is written.
bool is_lazy_copy(const at::Tensor& tensor);

/// Whether a tensor is a stand-in of a compiler, or of another tensor subclass with operators of its own.
inline bool is_fake(const at::Tensor& tensor) { return tensor.key_set().has(c10::DispatchKey::Python); }

/// Why a kernel of unknown mutability cannot be used here, with what to pass to load(). `where` completes "cannot be
/// used ...".
[[noreturn]] void refuse_unknown_mutability(const Kernel& kernel, const std::string& where);

/// "[64, 32]".
std::string list_text(c10::IntArrayRef values);

}  // namespace wave
