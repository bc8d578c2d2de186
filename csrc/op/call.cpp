#include "op/call.h"

#include <ATen/MemoryOverlap.h>
#include <c10/core/GradMode.h>

#include <tuple>

#include "base/error.h"
#include "driver/driver.h"
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

/// Whether a pointer to `type` takes tensors of `dtype`: untyped pointers take all, b8 to b64 those of their size.
bool takes(Type type, c10::ScalarType dtype) {
  if (type == Type::Void) return true;
  if (type >= Type::B8 && type <= Type::B64) return c10::elementSize(dtype) == size_of(type);
  for (const DtypeRow& row : kDtypes) {
    if (row.type == type) return row.dtype == dtype;
  }
  return false;
}

/// [first, last) of the bytes that a tensor's elements lie in.
std::pair<uint64_t, uint64_t> extent(const at::Tensor& tensor) {
  const uint64_t begin = reinterpret_cast<uint64_t>(tensor.const_data_ptr());
  if (tensor.numel() == 0) return {begin, begin};
  int64_t last = 0;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) last += (tensor.size(dim) - 1) * tensor.stride(dim);
  return {begin, begin + (static_cast<uint64_t>(last) + 1) * tensor.element_size()};
}

/// "float32 [64, 64]".
std::string shape_text(const at::Tensor& tensor) {
  return text(c10::getDtypeNames(tensor.scalar_type()).first, " ", list_text(tensor.sizes()));
}

/// The tensor's storage, named after the argument; as a storage where the tensor is a view of a part of it.
MemoryRange storage_range(const at::Tensor& tensor, bool writable, const std::string& argument) {
  const uint64_t begin = reinterpret_cast<uint64_t>(tensor.storage().data());
  const uint64_t end = begin + tensor.storage().nbytes();
  const bool is_part = extent(tensor) != std::pair(begin, end);
  return {begin, end, writable, text(is_part ? "the storage of " : "", argument, " (", shape_text(tensor), ")")};
}

}  // namespace

std::string list_text(c10::IntArrayRef values) {
  std::string out = "[";
  for (const int64_t value : values) append(out += out.size() > 1 ? ", " : "", value);
  return out + "]";
}

void TensorArguments::add(size_t index, const at::Tensor& tensor) {
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
  if (kernel_.strides() == StridePolicy::Contiguous && !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
      !tensor.is_contiguous()) {
    throw ValueError(text(kernel_.argument_text(index), ": expected a contiguous tensor, given shape ",
                          list_text(tensor.sizes()), " with strides ", list_text(tensor.strides()),
                          ": pass a contiguous one, or load the kernel with strides=\"any\" if it "
                          "handles strides itself"));
  }
  items_.push_back({index, &tensor});
}

void TensorArguments::check_together() const {
  if (items_.empty()) {
    throw ValueError(
        text("kernel '", kernel_.name(), "': no tensor among the arguments, so there is no device to launch on"));
  }
  const Item& first = items_.front();
  for (const Item& item : items_) {
    if (item.tensor->device() != first.tensor->device()) {
      throw ValueError(text("kernel '", kernel_.name(), "': tensors on different devices: ",
                            kernel_.parameter_text(first.index), " is on ", first.tensor->device().str(), ", ",
                            kernel_.parameter_text(item.index), " on ", item.tensor->device().str()));
    }
  }
  if (!kernel_.signature().mutability_known) return;
  for (const Item& item : items_) {
    if (!is_written(item)) continue;
    for (const Item& other : items_) {
      if (&other != &item) check_overlap(item, other);
    }
  }
}

void TensorArguments::check_overlap(const Item& written, const Item& other) const {
  if (written.tensor->unsafeGetTensorImpl()->has_symbolic_sizes_strides() ||
      other.tensor->unsafeGetTensorImpl()->has_symbolic_sizes_strides() || written.tensor->numel() == 0) {
    return;
  }
  const at::MemOverlapStatus status = at::get_overlap_status(*written.tensor, *other.tensor);
  if (status != at::MemOverlapStatus::Full && status != at::MemOverlapStatus::Partial) return;
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

void TensorArguments::mark_written() const {
  for (const Item& item : items_) {
    if (is_written(item)) item.tensor->unsafeGetTensorImpl()->bump_version();
  }
}

void TensorArguments::pack(ArgumentPacker& packer) const {
  for (const Item& item : items_) packer.pointer(item.index, item.tensor->const_data_ptr());
}

std::vector<MemoryRange> TensorArguments::memory() const {
  std::vector<MemoryRange> ranges;
  for (const Item& item : items_) {
    if (item.tensor->storage().nbytes() == 0) continue;
    bool shared_with_const = false;
    for (const Item& other : items_) {
      shared_with_const |= !is_written(other) && other.tensor->is_alias_of(*item.tensor);
    }
    MemoryRange range = storage_range(*item.tensor, is_written(item), kernel_.parameter_text(item.index));
    if (is_written(item) && shared_with_const) std::tie(range.begin, range.end) = extent(*item.tensor);
    ranges.push_back(std::move(range));
  }
  return ranges;
}

AccessTrace TensorArguments::trace() const {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const Item& item : items_) ranges.push_back(extent(*item.tensor));
  return AccessTrace(ranges);
}

void mark_written(at::TensorList tensors) {
  for (const at::Tensor& tensor : tensors) tensor.unsafeGetTensorImpl()->bump_version();
}

std::vector<MemoryRange> memory_of(at::TensorList tensors) {
  std::vector<MemoryRange> ranges;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    if (!tensor.device().is_cpu())
      throw ValueError(text("memory[", i, "]: expected a CPU tensor, given one on ", tensor.device().str()));
    if (tensor.storage().nbytes() == 0) continue;
    ranges.push_back(storage_range(tensor, true, text("memory[", i, "]")));
  }
  return ranges;
}

std::vector<std::string> launch_on_cpu(const Kernel& kernel, const Geometry& geometry,
                                       std::span<const uint8_t> arguments, std::vector<MemoryRange> memory,
                                       AccessTrace* trace) {
  const Launch launch{kernel.shared_code(),   kernel.info(), geometry.grid,     geometry.block,
                      geometry.shared_memory, arguments,     std::move(memory), torch_threads(),
                      kernel.strict(),        trace};
  return emulator_driver().launch(launch);
}

std::vector<std::string> launch_on_cpu(const Kernel& kernel, const Geometry& geometry, const ArgumentPacker& packer,
                                       const TensorArguments& tensors) {
  if (!kernel.strict()) return launch_on_cpu(kernel, geometry, packer.packed(), tensors.memory());
  AccessTrace trace = tensors.trace();
  std::vector<std::string> warnings = launch_on_cpu(kernel, geometry, packer.packed(), tensors.memory(), &trace);
  for (size_t i = 0; i < tensors.items().size() && kernel.signature().mutability_known; ++i) {
    const TensorArguments::Item& item = tensors.items()[i];
    if (tensors.is_written(item) && !trace.written(i) && item.tensor->numel() != 0) {
      warnings.push_back(text(kernel.argument_text(item.index), ": declared as written, but this launch wrote nothing ",
                              "to it: if no launch does, mark it const in signature= or leave it out of writes="));
    }
  }
  return warnings;
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

void check_differentiable(const Kernel& kernel, const at::Tensor& tensor) {
  const bool requires_grad = c10::GradMode::is_enabled() && tensor.requires_grad();
  if (!requires_grad && !tensor._fw_grad(0).defined()) return;
  throw RuntimeError(text(
      "kernel '", kernel.name(), "': a tensor ", requires_grad ? "requires grad" : "carries a forward-mode tangent",
      ", but a launch has no derivative. Call it under torch.no_grad(), on tensor.detach(), or inside a "
      "torch.autograd.Function that has a backward"));
}

}  // namespace wave
