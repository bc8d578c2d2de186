#include "op/call.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/COW.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include "base/error.h"
#include "op/threads.h"

namespace wave {

namespace {

struct DtypeRow {
  Type type;
  c10::ScalarType dtype;
};

constexpr DtypeRow kDtypes[] = {
    {Type::I8, c10::kChar},
    {Type::I16, c10::kShort},
    {Type::I32, c10::kInt},
    {Type::I64, c10::kLong},
    {Type::U8, c10::kByte},
    {Type::U16, c10::kUInt16},
    {Type::U32, c10::kUInt32},
    {Type::U64, c10::kUInt64},
    {Type::Bool, c10::kBool},
    {Type::F16, c10::kHalf},
    {Type::BF16, c10::kBFloat16},
    {Type::F32, c10::kFloat},
    {Type::F64, c10::kDouble},
    {Type::F8E4M3FN, c10::kFloat8_e4m3fn},
    {Type::F8E4M3FNUZ, c10::kFloat8_e4m3fnuz},
    {Type::F8E5M2, c10::kFloat8_e5m2},
    {Type::F8E5M2FNUZ, c10::kFloat8_e5m2fnuz},
};

constexpr const char* kSignatureSaysConst = "the kernel's signature says that it only reads it (load() takes writes=)";

/// The bytes that a tensor's elements lie in.
AddressSpan extent(const at::Tensor& tensor) {
  const uint64_t begin = reinterpret_cast<uint64_t>(tensor.const_data_ptr());
  if (tensor.numel() == 0) return {begin, 0};
  int64_t last = 0;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) last += (tensor.size(dim) - 1) * tensor.stride(dim);
  return {begin, (static_cast<uint64_t>(last) + 1) * tensor.element_size()};
}

/// "float32 [64, 64]".
std::string shape_text(const at::Tensor& tensor) {
  return text(c10::getDtypeNames(tensor.scalar_type()).first, " ", list_text(tensor.sizes()));
}

/// The tensor's storage, named after the argument; as a storage where the tensor is a view of a part of it.
MemoryRange storage_range(const at::Tensor& tensor, bool writable, const std::string& argument, const char* why_const) {
  const AddressSpan bytes = storage_bytes(tensor.unsafeGetTensorImpl());
  std::string name = text(extent(tensor) != bytes ? "the storage of " : "", argument, " (", shape_text(tensor), ")");
  return {bytes, writable, std::move(name), true, why_const};
}

/// Whether two tensors of different storages have bytes in common, as far as that is easy to say.
bool storages_overlap(const at::Tensor& written, const at::Tensor& other) {
  const auto is_dense = [](const at::Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->is_non_overlapping_and_dense();
  };
  return is_dense(written) && is_dense(other) && extent(written).overlaps(extent(other)) && !is_lazy_copy(written);
}

}  // namespace

const std::array<uint64_t, static_cast<size_t>(Type::Void) + 1> kDtypesOf = [] {
  std::array<uint64_t, static_cast<size_t>(Type::Void) + 1> dtypes{};
  const auto add = [&](Type type, int dtype) { dtypes[static_cast<size_t>(type)] |= uint64_t{1} << dtype; };
  for (const DtypeRow& row : kDtypes) add(row.type, static_cast<int>(row.dtype));
  for (int dtype = 0; dtype < c10::NumScalarTypes; ++dtype) {
    for (const Type type : {Type::B8, Type::B16, Type::B32, Type::B64}) {
      const auto scalar_type = static_cast<c10::ScalarType>(dtype);
      if (scalar_type != c10::ScalarType::Undefined && c10::elementSize(scalar_type) == size_of(type)) add(type, dtype);
    }
  }
  dtypes[static_cast<size_t>(Type::Void)] = ~uint64_t{0};
  return dtypes;
}();

std::string list_text(c10::IntArrayRef values) {
  std::string out = "[";
  for (const int64_t value : values) append(out += out.size() > 1 ? ", " : "", value);
  return out + "]";
}

void TensorArguments::add(size_t index, const at::Tensor& tensor) {
  const Parameter& parameter = kernel_.signature().parameters[index];
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const bool fits =
      tensor.defined() && tensor.layout() == c10::kStrided &&
      (parameter.may_be_pointer || takes(parameter.type, tensor.scalar_type())) && !tensor.is_conj() &&
      !tensor.is_neg() &&
      (kernel_.strides() == StridePolicy::Any || impl->has_symbolic_sizes_strides() || impl->is_contiguous());
  if (!fits) refuse(index, tensor);
  items_.push_back({index, &tensor, impl->unsafe_storage().unsafeGetStorageImpl(), !parameter.is_const});
}

void TensorArguments::refuse(size_t index, const at::Tensor& tensor) const {
  const Parameter& parameter = kernel_.signature().parameters[index];
  if (!tensor.defined()) {
    throw TypeError(
        text(kernel_.argument_text(index), ": expected a tensor (", parameter.type_text(), "), given None"));
  }
  if (tensor.layout() != c10::kStrided) {
    throw TypeError(text(kernel_.argument_text(index), ": expected a strided tensor, given a ", tensor.toString()));
  }
  if (!takes(parameter.type, tensor.scalar_type())) {
    throw TypeError(text(kernel_.argument_text(index), ": expected a tensor for ", parameter.type_text(),
                         ", given one of dtype ", c10::getDtypeNames(tensor.scalar_type()).first));
  }
  if (tensor.is_conj() || tensor.is_neg()) {
    throw ValueError(
        text(kernel_.argument_text(index), ": the tensor is a lazy ", tensor.is_conj() ? "conjugate" : "negative",
             " whose storage holds other values: call .resolve_", tensor.is_conj() ? "conj" : "neg", "() first"));
  }
  throw ValueError(text(kernel_.argument_text(index), ": expected a contiguous tensor, given shape ",
                        list_text(tensor.sizes()), " with strides ", list_text(tensor.strides()),
                        ": pass a contiguous one, or load the kernel with strides=\"any\" if it "
                        "handles strides itself"));
}

void TensorArguments::check_together() const {
  if (items_.empty()) {
    throw ValueError(text(
        "kernel '", kernel_.name(), "': no tensor among the arguments, so there is no device to launch on: say it ",
        "to kernel(...), as in device=\"cpu\" (operators, and so torch.compile and modes, launch with tensors only)"));
  }
  const c10::Device device = this->device();
  for (const Item& item : items_) {
    if (item.tensor->device() != device) refuse_devices(item);
  }
  if (!kernel_.signature().mutability_known) return;
  for (const Item& item : items_) {
    if (!item.is_written) continue;
    for (const Item& other : items_) {
      if (&other != &item && may_overlap(item, other)) check_overlap(item, other);
    }
  }
}

void TensorArguments::refuse_devices(const Item& item) const {
  const Item& first = items_.front();
  throw ValueError(text(
      "kernel '", kernel_.name(), "': tensors on different devices: ", kernel_.parameter_text(first.index), " is on ",
      first.tensor->device().str(), ", ", kernel_.parameter_text(item.index), " on ", item.tensor->device().str()));
}

bool TensorArguments::may_overlap(const Item& a, const Item& b) {
  if (a.storage == b.storage) return true;
  for (const at::Tensor* tensor : {a.tensor, b.tensor}) {
    if (is_fake(*tensor) || tensor->unsafeGetTensorImpl()->has_symbolic_sizes_strides()) return false;
  }
  return storage_bytes(a.tensor->unsafeGetTensorImpl()).overlaps(storage_bytes(b.tensor->unsafeGetTensorImpl()));
}

void TensorArguments::check_overlap(const Item& written, const Item& other) const {
  if (written.tensor->unsafeGetTensorImpl()->has_symbolic_sizes_strides() ||
      other.tensor->unsafeGetTensorImpl()->has_symbolic_sizes_strides() || written.tensor->numel() == 0) {
    return;
  }
  if (written.storage == other.storage) {
    const at::MemOverlapStatus status = at::get_overlap_status(*written.tensor, *other.tensor);
    if (status != at::MemOverlapStatus::Full && status != at::MemOverlapStatus::Partial) return;
  } else if (!storages_overlap(*written.tensor, *other.tensor)) {
    return;
  }
  throw ValueError(text("kernel '", kernel_.name(), "': ", kernel_.parameter_text(written.index),
                        ", which the kernel writes, shares memory with ", kernel_.parameter_text(other.index),
                        ": pass a clone of one of them"));
}

void TensorArguments::check_inference() const {
  if (kernel_.signature().mutability_known) return;
  for (const Item& item : items_) {
    if (item.tensor->is_inference()) refuse_unknown_mutability(kernel_, "with tensors made in inference mode");
  }
}

void TensorArguments::tell_autograd() const {
  for (const Item& item : items_) {
    if (item.tensor->unsafeGetTensorImpl()->autograd_meta() != nullptr) check_differentiable(kernel_, *item.tensor);
  }
  for (const Item& item : items_) {
    if (item.is_written) mark_written(*item.tensor);
  }
}

void TensorArguments::pack(ArgumentPacker& packer) const {
  for (const Item& item : items_)
    packer.pointer(item.index, data_of(item.tensor->unsafeGetTensorImpl(), item.is_written));
}

std::vector<MemoryRange> TensorArguments::memory() const {
  std::vector<MemoryRange> ranges;
  for (const Item& item : items_) {
    if (item.tensor->storage().nbytes() == 0) continue;
    bool shared_with_const = false;
    for (const Item& other : items_) {
      shared_with_const |= !other.is_written && may_overlap(item, other);
    }
    MemoryRange range =
        storage_range(*item.tensor, item.is_written, kernel_.parameter_text(item.index), kSignatureSaysConst);
    if (item.is_written && shared_with_const) range.bytes = extent(*item.tensor);
    ranges.push_back(std::move(range));
  }
  return ranges;
}

AccessTrace TensorArguments::trace() const {
  std::vector<AddressSpan> ranges;
  for (const Item& item : items_) ranges.push_back(extent(*item.tensor));
  return AccessTrace(ranges);
}

void mark_written(at::TensorList tensors) {
  for (const at::Tensor& tensor : tensors) mark_written(tensor);
}

std::vector<MemoryRange> memory_of(const char* name, at::TensorList tensors, c10::Device device, bool writable) {
  std::vector<MemoryRange> ranges;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    if (tensor.device() != device) {
      throw ValueError(
          text(name, "[", i, "]: expected a tensor on ", device.str(), ", given one on ", tensor.device().str()));
    }
    if (tensor.storage().nbytes() == 0) continue;
    ranges.push_back(storage_range(tensor, writable, text(name, "[", i, "]"), "it was given as reads="));
  }
  return ranges;
}

namespace {

bool is_emulated(const LaunchSite& site) { return site.function.place.kind == DriverKind::Emulator; }

/// The launch as a profiler sees it: "wave::launch/<kernel>".
[[gnu::noinline, gnu::cold]] void launch_profiled(at::StepCallbacks callbacks, const LaunchSite& site,
                                                  std::span<const uint8_t> arguments, HostLaunch* host) {
  at::RecordFunction range(std::move(callbacks));
  if (range.isActive()) range.before(text("wave::launch/", site.kernel.name()));
  launch(site, arguments, host);
}

}  // namespace

bool is_profiled() { return at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value(); }

void enqueue(const LaunchSite& site, std::span<const uint8_t> arguments, HostLaunch* host) {
  if (auto callbacks = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION)) {
    launch_profiled(std::move(*callbacks), site, arguments, host);
  } else {
    launch(site, arguments, host);
  }
}

std::vector<std::string> run(const LaunchSite& site, std::span<const uint8_t> arguments, HostMemory memory,
                             AccessTrace* trace) {
  if (!is_emulated(site)) {
    enqueue(site, arguments, nullptr);
    return {};
  }
  HostLaunch host{
      std::move(memory), torch_threads(), site.kernel.strict(), trace, EmulatorOptions::from_environment(), {}};
  enqueue(site, arguments, &host);
  return std::move(host.warnings);
}

std::vector<std::string> run(const LaunchSite& site, const ArgumentPacker& packer, const TensorArguments& tensors) {
  const Kernel& kernel = site.kernel;
  if (!is_emulated(site)) return run(site, packer.packed(), {});
  if (!kernel.strict()) return run(site, packer.packed(), {tensors.memory()});
  AccessTrace trace = tensors.trace();
  std::vector<std::string> warnings = run(site, packer.packed(), {tensors.memory()}, &trace);
  for (size_t i = 0; i < tensors.items().size() && kernel.signature().mutability_known; ++i) {
    const TensorArguments::Item& item = tensors.items()[i];
    if (item.is_written && !trace.written(i) && item.tensor->numel() != 0) {
      warnings.push_back(text(kernel.argument_text(item.index), ": declared as written, but this launch wrote nothing ",
                              "to it: if no launch does, mark it const in signature= or leave it out of writes="));
    }
  }
  return warnings;
}

void run_operator(const Kernel& kernel, const LaunchOptions& options, const TensorArguments& tensors,
                  ArgumentPacker& packer) {
  const FunctionUse function(kernel, place_of(tensors.device()));
  const Geometry geometry = check_geometry(*function, options);
  tensors.pack(packer);
  const LaunchSite site{kernel, *function, geometry, current_stream(tensors.device())};
  for (const std::string& warning : run(site, packer, tensors)) TORCH_WARN(warning);
}

void refuse_unknown_mutability(const Kernel& kernel, const std::string& where) {
  std::string indices;
  const auto& parameters = kernel.signature().parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_pointer) indices += text(indices.empty() ? "" : ", ", i);
  }
  throw RuntimeError(
      text("kernel '", kernel.name(), "' cannot be used ", where,
           ": its binary does not say which pointers it writes. "
           "Pass writes= to wave_runtime.load() with the indices of the arguments that it writes, out of writes=[",
           indices, "]"));
}

bool is_lazy_copy(const at::Tensor& tensor) { return c10::impl::cow::is_cow_data_ptr(tensor.storage().data_ptr()); }

bool is_fake(const at::Tensor& tensor) { return tensor.key_set().has(c10::DispatchKey::Python); }

bool is_lowering() {
  using c10::impl::TorchDispatchModeKey;
  using c10::impl::TorchDispatchModeTLS;
  return !TorchDispatchModeTLS::get_mode(TorchDispatchModeKey::FUNCTIONAL).has_value();
}

void check_differentiable(std::string_view kernel, const at::Tensor& tensor) {
  const bool requires_grad = c10::GradMode::is_enabled() && tensor.requires_grad();
  if (!requires_grad && !tensor._fw_grad(0).defined()) return;
  throw RuntimeError(text(
      "kernel '", kernel, "': a tensor ", requires_grad ? "requires grad" : "carries a forward-mode tangent",
      ", but a launch has no derivative. Call it under torch.no_grad(), on tensor.detach(), or in an operator that "
      "has one: wave_runtime.define_op"));
}

}  // namespace wave
