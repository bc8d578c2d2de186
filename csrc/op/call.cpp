#include "op/call.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/COW.h>

#include <algorithm>

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
    {Type::F8E8M0FNU, c10::kFloat8_e8m0fnu},
    {Type::F4E2M1FNX2, c10::kFloat4_e2m1fn_x2},
};

constexpr const char* kSignatureSaysConst = "the kernel's signature says that it only reads it (load() takes writes=)";

/// What to pass instead: ": pass one of torch.float32, or correct the signature".
std::string dtype_advice(Type type, const at::Tensor& tensor) {
  for (const DtypeRow& row : kDtypes) {
    if (row.type != type) continue;
    const bool is_view = c10::isIntegralType(row.dtype, false) && c10::isIntegralType(tensor.scalar_type(), false) &&
                         static_cast<int64_t>(c10::elementSize(row.dtype)) == tensor.element_size();
    const std::string dtype = text("torch.", c10::getDtypeNames(row.dtype).first);
    return text(": pass ", is_view ? text("tensor.view(", dtype, "), which has the same bits") : "one of " + dtype,
                ", or correct the signature");
  }
  return "";
}

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

Call::Call(const Call& other, std::vector<at::Tensor>& held)
    : kernel(other.kernel),
      options(other.options),
      wanted_device(other.wanted_device),
      wanted_stream(other.wanted_stream),
      has_addresses(other.has_addresses),
      may_write_all(other.may_write_all),
      autograd_knows(true),
      overlaps_allowed(other.overlaps_allowed),
      packer(other.packer) {
  held.reserve(other.count_);  // items point at the tensors
  for (Item item : other.tensors()) {
    item.tensor = &held.emplace_back(item.tensor->variable_data());  // it holds no graph of autograd's
    push(item);
  }
}

void Call::add(size_t index, const at::Tensor& tensor) {
  const Parameter& parameter = kernel.signature().parameters[index];
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const bool fits =
      tensor.defined() && tensor.layout() == c10::kStrided &&
      (parameter.may_be_pointer || takes(parameter.type, tensor.scalar_type())) && !tensor.is_conj() &&
      !tensor.is_neg() &&
      (kernel.strides() == StridePolicy::Any || impl->has_symbolic_sizes_strides() || impl->is_contiguous());
  if (!fits) refuse(index, tensor);
  push({&tensor, nullptr, static_cast<uint32_t>(index), parameter.offset, !parameter.is_const});
}

void Call::refuse(size_t index, const at::Tensor& tensor) const {
  const std::string where = kernel.argument_text(index);
  const std::string type = kernel.signature().parameters[index].type_text();
  if (!tensor.defined()) throw TypeError(text(where, ": expected a tensor (", type, "), given None"));
  if (tensor.layout() != c10::kStrided) {
    throw TypeError(text(where, ": expected a strided tensor, given one of layout ", c10::str(tensor.layout())));
  }
  if (!takes(kernel.signature().parameters[index].type, tensor.scalar_type())) {
    throw TypeError(text(where, ": expected a tensor for ", type, ", given one of dtype ",
                         c10::getDtypeNames(tensor.scalar_type()).first,
                         dtype_advice(kernel.signature().parameters[index].type, tensor)));
  }
  if (tensor.is_conj() || tensor.is_neg()) {
    throw ValueError(text(where, ": the tensor is a lazy ", tensor.is_conj() ? "conjugate" : "negative",
                          " whose storage holds other values: call .resolve_", tensor.is_conj() ? "conj" : "neg",
                          "() first"));
  }
  throw ValueError(
      text(where, ": expected a contiguous tensor, given shape ", list_text(tensor.sizes()), " with strides ",
           list_text(tensor.strides()),
           ": pass a contiguous one, or load the kernel with strides=\"any\" if it handles strides itself"));
}

void Call::grow() {
  auto more = std::make_unique<Item[]>(2 * capacity_);
  std::ranges::copy(tensors(), more.get());
  more_ = std::move(more);
  items_ = more_.get();
  capacity_ *= 2;
}

std::string Call::text_of(const Item& item) const {
  return item.lent_as == nullptr ? kernel.parameter_text(item.index) : text(item.lent_as, "[", item.index, "]");
}

void Call::refuse_no_device() const {
  throw ValueError(text(
      kernel_text(kernel.name()), ": no tensor among the arguments, so there is no device to launch on: say it ",
      "to kernel(...), as in device=\"cpu\" (operators, and so torch.compile and modes, launch with tensors only)"));
}

void Call::check_devices() const {
  const Item& first = items_[0];
  const c10::Device device = first.tensor->device();
  for (const Item& item : tensors()) {
    if (item.tensor->device() == device) continue;
    throw ValueError(text(kernel_text(kernel.name()), ": tensors on different devices: ", text_of(first), " is on ",
                          device.str(), ", ", text_of(item), " on ", item.tensor->device().str()));
  }
  if (wanted_device && *wanted_device != device) {
    throw ValueError(text(kernel_text(kernel.name()), ": device=", wanted_device->str(),
                          " given, but the tensors are on ", device.str()));
  }
}

void Call::check_gradient(const Item& item) const {
  if (item.lent_as == nullptr) check_differentiable(kernel.name(), *item.tensor);
}

void Call::check_without_data() const {
  if (count_ == 0 && !wanted_device) refuse_no_device();
  if (count_ != 0) check_devices();
  if (!kernel.signature().mutability_known) return;
  check_overlaps();
  if (const RunningBody* body = RunningBody::current()) check_declared(*body);
}

void Call::check_declared(const RunningBody& body) const {
  for (const Item& item : tensors()) {
    if (!item.is_written || item.lent_as != nullptr) continue;
    const c10::TensorImpl* impl = item.tensor->unsafeGetTensorImpl();
    if (!impl->has_symbolic_sizes_strides() && impl->numel() == 0) continue;  // a null pointer
    body.check_write(*item.tensor, [&] { return text(kernel_text(kernel.name()), " as ", text_of(item)); });
  }
}

void Call::check_inference() const {
  if (trace != nullptr || autograd_knows) return;
  for (const Item& item : tensors()) {
    if (item.tensor->is_inference()) refuse_unknown_mutability(kernel, "with tensors made in inference mode");
  }
}

namespace {

/// Whether two tensors may have bytes in common: of one storage, or of two over the same memory, as storages over one
/// numpy array are.
bool may_overlap(const at::Tensor& a, const at::Tensor& b) {
  const c10::TensorImpl *first = a.unsafeGetTensorImpl(), *second = b.unsafeGetTensorImpl();
  if (first->unsafe_storage().is_alias_of(second->unsafe_storage())) return true;
  for (const at::Tensor* tensor : {&a, &b}) {
    if (is_fake(*tensor) || tensor->unsafeGetTensorImpl()->has_symbolic_sizes_strides()) return false;
  }
  return storage_bytes(first).overlaps(storage_bytes(second));
}

}  // namespace

void Call::check_overlaps() const {
  for (const Item& item : tensors()) {
    if (!item.is_written || item.lent_as != nullptr) continue;
    for (const Item& other : tensors()) {
      if (&other == &item || other.lent_as != nullptr) continue;
      if (may_overlap(*item.tensor, *other.tensor)) check_overlap(item, other);
    }
  }
}

void Call::check_overlap(const Item& written, const Item& other) const {
  const at::Tensor &a = *written.tensor, &b = *other.tensor;
  // Of symbolic sizes nothing is known but that one tensor is given twice. It may be empty where that is not excluded.
  if (a.is_same(b) && a.sym_numel().sym_gt(0).guard_or_false(__FILE__, __LINE__)) refuse_overlap(written, other);
  if (a.unsafeGetTensorImpl()->has_symbolic_sizes_strides() || b.unsafeGetTensorImpl()->has_symbolic_sizes_strides() ||
      a.numel() == 0) {
    return;
  }
  if (a.storage().is_alias_of(b.storage())) {
    const at::MemOverlapStatus status = at::get_overlap_status(a, b);
    if (status != at::MemOverlapStatus::Full && status != at::MemOverlapStatus::Partial) return;
  } else if (!storages_overlap(a, b)) {
    return;
  }
  refuse_overlap(written, other);
}

void Call::refuse_overlap(const Item& written, const Item& other) const {
  throw ValueError(text(kernel_text(kernel.name()), ": ", text_of(written),
                        ", which the kernel writes, shares memory with ", text_of(other),
                        ": pass a clone of one of them"));
}

bool Call::is_as_packed() const {
  if (number_ != nullptr) return false;
  for (const Item& item : tensors()) {
    const c10::TensorImpl* impl = item.tensor->unsafeGetTensorImpl();
    if (impl->autograd_meta() != nullptr || packer.pointer_at(item.offset) != data_of(impl, item.is_written)) {
      return false;
    }
  }
  return true;
}

std::string Call::name_of_storage(const Item& item) const {
  const bool is_part = extent(*item.tensor) != storage_bytes(item.tensor->unsafeGetTensorImpl());
  return text(is_part ? "the storage of " : "", text_of(item), " (", shape_text(*item.tensor), ")");
}

MemoryRange Call::memory_of(const Item& item) const {
  bool is_shared = false;
  for (const Item& other : tensors()) is_shared |= !other.is_written && may_overlap(*item.tensor, *other.tensor);
  // What torch has not allocated itself, such as a NumPy array over a file, says by a context of its own how it is
  // freed.
  const at::DataPtr& data = item.tensor->storage().data_ptr();
  MemoryRange range{.bytes = storage_bytes(item.tensor->unsafeGetTensorImpl()),
                    .writable = item.is_written || may_write_all,
                    .name = RangeName([this, &item] { return name_of_storage(item); }),
                    .why_const = item.lent_as == nullptr ? kSignatureSaysConst : "it was given as reads=",
                    .is_allocated = data.get_context() == data.get()};
  if (is_shared && item.is_written && item.lent_as == nullptr) range.bytes = extent(*item.tensor);
  return range;
}

/// What the kernel may touch: the tensors' storages. Where a storage is shared by const and written arguments, only the
/// bytes of the written ones are writable; all of it is readable.
std::vector<MemoryRange> Call::memory() const {
  std::vector<MemoryRange> ranges;
  ranges.reserve(tensors().size());
  for (const Item& item : tensors()) {
    if (item.tensor->storage().nbytes() != 0) ranges.push_back(memory_of(item));
  }
  return ranges;
}

TensorLayout Call::layout_of(const Item& item) const {
  const at::Tensor& tensor = *item.tensor;
  const auto& parameters = kernel.signature().parameters;
  return {.parameter = item.lent_as != nullptr ? text(item.lent_as, "[", item.index, "]") : parameters[item.index].name,
          .argument = item.index,
          .dtype = std::string(c10::getDtypeNames(tensor.scalar_type()).first),
          .element_size = static_cast<uint32_t>(tensor.element_size()),
          .data = reinterpret_cast<uint64_t>(tensor.const_data_ptr()),
          .storage = storage_bytes(tensor.unsafeGetTensorImpl()),
          .shape = tensor.sizes().vec(),
          .strides = tensor.strides().vec()};
}

/// What findings name addresses by: nothing where nobody asks for findings.
std::vector<TensorLayout> Call::layouts(const EmulatorOptions& options) const {
  std::vector<TensorLayout> layouts;
  if (options.sanitizer == nullptr) return layouts;
  for (const Item& item : tensors()) layouts.push_back(layout_of(item));
  return layouts;
}

AccessTrace Call::make_trace() const {
  std::vector<AddressSpan> ranges;
  for (const Item& item : tensors()) ranges.push_back(extent(*item.tensor));
  return AccessTrace(ranges);
}

bool is_profiled() { return at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value(); }

void enqueue_profiled(const LaunchSite& site, std::span<const uint8_t> arguments, HostLaunch* host) {
  at::RecordFunction range(at::RecordScope::FUNCTION);
  if (range.isActive()) range.before(text("wave::launch/", site.kernel.name()));
  enqueue(site, arguments, host);
}

void Call::emulate(const LaunchSite& site, std::span<const uint8_t> arguments, Emulation& emulation) const {
  if (trace == nullptr && record_launch(*this)) return;
  std::optional<AccessTrace> of_signature;
  if (kernel.strict() && trace == nullptr) of_signature.emplace(make_trace());
  HostLaunch host{{memory(), layouts(emulation.options), has_addresses},
                  torch_threads(),
                  kernel.strict(),
                  of_signature ? &*of_signature : trace,
                  emulation.options,
                  emulation.report};
  is_profiled() ? enqueue_profiled(site, arguments, &host) : wave::enqueue(site, arguments, &host);
  if (of_signature) report_unwritten(*of_signature, emulation.report);
}

void Call::report_unwritten(const AccessTrace& accesses, LaunchReport& report) const {
  for (size_t i = 0; i < count_ && kernel.signature().mutability_known; ++i) {
    const Item& item = items_[i];
    if (!item.is_written || item.lent_as != nullptr || accesses.written(i) || item.tensor->numel() == 0) continue;
    report.warnings.push_back(text(kernel.argument_text(item.index),
                                   ": declared as written, but this launch wrote nothing ",
                                   "to it: if no launch does, mark it const in signature= or leave it out of writes="));
  }
}

template void submit(Call& call);
template Geometry prepare(const Call& call);

void submit_operator(Call& call) {
  call.autograd_knows = true;
  if (!call.is_for_host()) return submit(call);
  Emulation emulation;
  call.emulation = &emulation;
  submit(call);
  for (const std::string& warning : emulation.report.warnings) TORCH_WARN(warning);
  set_last_report(std::move(emulation.report));
}

namespace {

thread_local LaunchReport last;

}  // namespace

const LaunchReport& last_report() { return last; }
void set_last_report(LaunchReport report) { last = std::move(report); }

void refuse_unknown_mutability(const Kernel& kernel, const std::string& where) {
  std::string indices;
  const auto& parameters = kernel.signature().parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_pointer) indices += text(indices.empty() ? "" : ", ", i);
  }
  throw RuntimeError(
      text(kernel_text(kernel.name()), " cannot be used ", where,
           ": its binary does not say which pointers it writes. "
           "Pass writes= to wave_runtime.load() with the indices of the arguments that it writes, out of writes=[",
           indices, "]"));
}

bool is_lazy_copy(const at::Tensor& tensor) { return c10::impl::cow::is_cow_data_ptr(tensor.storage().data_ptr()); }

namespace {

bool wants_gradient(const at::Tensor& tensor) { return c10::GradMode::is_enabled() && tensor.requires_grad(); }

}  // namespace

bool cuts_graph(const at::Tensor& tensor) { return wants_gradient(tensor) || tensor._fw_grad(0).defined(); }

void check_differentiable(std::string_view kernel, const at::Tensor& tensor) {
  if (!cuts_graph(tensor)) return;
  const bool requires_grad = wants_gradient(tensor);
  throw RuntimeError(text(
      kernel_text(kernel), ": a tensor ", requires_grad ? "requires grad" : "carries a forward-mode tangent",
      ", but a launch has no derivative. Call it under torch.no_grad(), on tensor.detach(), or in an operator that "
      "has one: wave_runtime.define_op"));
}

}  // namespace wave
