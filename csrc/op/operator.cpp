// The operators wave::launch and wave::launch_embedded.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/SymIntArrayRef.h>
#include <torch/library.h>

#include "base/error.h"
#include "op/call.h"
#include "op/embedded.h"
#include "op/kernel_operator.h"
#include "op/torch_errors.h"

// `inputs` are tensors the kernel only reads, `outputs` those it may write; `ints` and `floats` are its scalars. The
// kernel's signature says which parameter takes the next item of which list: const pointers take inputs, other pointers
// outputs, floats take floats, everything else ints (bytes[N]: N / 8 words, rounded up). Where `floats` is empty, a
// float parameter takes a zero-dimensional CPU tensor from `inputs`. `grid` counts workgroups.
//
// launch_embedded is for exported programs, which must run in processes that never loaded the kernel: the first of its
// inputs is the kernel's code, a tensor of bytes; the rest is the same. Where a kernel takes no ints, `ints` may hold
// one 0: packages of AOTInductor (torch 2.13) pass no list where it is empty.
#define WAVE_LAUNCH_SCHEMA                                                                                            \
  "(str kernel, Tensor[] inputs, Tensor(a!)[] outputs, SymInt[] ints, float[] floats, SymInt[] grid, "                \
  "SymInt[] block, SymInt shared_memory=0, SymInt[]? cluster=None, bool cooperative=False, bool programmatic=False, " \
  "int? priority=None) -> ()"

TORCH_LIBRARY(wave, m) {
  for (const char* schema : {"launch" WAVE_LAUNCH_SCHEMA, "launch_embedded" WAVE_LAUNCH_SCHEMA}) {
    m.def(schema, {at::Tag::pt2_compliant_tag, at::Tag::needs_exact_strides});
  }
}

namespace wave {

namespace {

#define WAVE_LAUNCH_PARAMETERS                                                                 \
  [[maybe_unused]] std::string_view handle, [[maybe_unused]] at::TensorList inputs,            \
      [[maybe_unused]] at::TensorList outputs, [[maybe_unused]] c10::SymIntArrayRef ints,      \
      [[maybe_unused]] at::ArrayRef<double> floats, [[maybe_unused]] c10::SymIntArrayRef grid, \
      [[maybe_unused]] c10::SymIntArrayRef block, [[maybe_unused]] c10::SymInt shared_memory,  \
      [[maybe_unused]] at::OptionalSymIntArrayRef cluster, [[maybe_unused]] bool cooperative,  \
      [[maybe_unused]] bool programmatic, [[maybe_unused]] std::optional<int64_t> priority
#define WAVE_LAUNCH_ARGUMENTS \
  handle, inputs, outputs, ints, floats, grid, block, shared_memory, cluster, cooperative, programmatic, priority

/// Takes the items of the operator's lists in the order of the kernel's parameters.
class ListReader {
 public:
  ListReader(const Kernel& kernel, at::TensorList inputs, at::TensorList outputs, c10::SymIntArrayRef ints,
             at::ArrayRef<double> floats)
      : kernel_(kernel), inputs_(inputs), outputs_(outputs), ints_(ints), floats_(floats) {
    check_counts();
  }

  const at::Tensor& next_tensor(const Parameter& parameter) {
    return parameter.is_const ? inputs_[input_++] : outputs_[output_++];
  }
  const at::Tensor& next_float_tensor() { return inputs_[input_++]; }
  const c10::SymInt& next_int() { return ints_[int_++]; }
  double next_float() { return floats_[float_++]; }
  bool floats_are_tensors() const { return floats_are_tensors_; }

  static size_t words(const Parameter& parameter) { return (parameter.size + 7) / 8; }

 private:
  void check_counts() {
    size_t inputs = 0, outputs = 0, ints = 0, floats = 0;
    for (const Parameter& parameter : kernel_.signature().parameters) {
      if (parameter.is_pointer) {
        ++(parameter.is_const ? inputs : outputs);
      } else if (parameter.is_float()) {
        ++floats;
      } else {
        ints += words(parameter);
      }
    }
    const bool none_but_zero = ints == 0 && ints_.size() == 1 && ints_[0].maybe_as_int() == 0;
    floats_are_tensors_ = floats > 0 && floats_.empty() && inputs_.size() == inputs + floats;
    if (floats_are_tensors_) {
      inputs += floats;
      floats = 0;
    }
    if (inputs_.size() != inputs || outputs_.size() != outputs || (ints_.size() != ints && !none_but_zero) ||
        floats_.size() != floats) {
      throw ValueError(text(kernel_text(kernel_.name()), " (", kernel_.signature().text(), ") takes ", inputs,
                            " inputs, ", outputs, " outputs, ", ints, " ints and ", floats, " floats, given ",
                            inputs_.size(), ", ", outputs_.size(), ", ", ints_.size(), " and ", floats_.size()));
    }
  }

  const Kernel& kernel_;
  at::TensorList inputs_, outputs_;
  c10::SymIntArrayRef ints_;
  at::ArrayRef<double> floats_;
  size_t input_ = 0, output_ = 0, int_ = 0, float_ = 0;
  bool floats_are_tensors_ = false;
};

double float_of(const Kernel& kernel, size_t index, const at::Tensor& tensor) {
  if (tensor.dim() != 0 || !tensor.device().is_cpu() || !c10::isFloatingType(tensor.scalar_type())) {
    throw TypeError(text(kernel.argument_text(index), ": expected ", kernel.signature().parameters[index].type_text(),
                         ", a float or a zero-dimensional floating-point CPU tensor"));
  }
  return tensor.item().toDouble();
}

Extents dims_of(const Kernel& kernel, const char* what, c10::SymIntArrayRef dims) {
  if (dims.empty() || dims.size() > 3) {
    throw ValueError(text(kernel_text(kernel.name()), ": ", what, " must have 1 to 3 extents, given ", dims.size()));
  }
  Extents extents{1, 1, 1};
  for (size_t i = 0; i < dims.size(); ++i) extents[i] = dims[i].expect_int();
  return extents;
}

LaunchOptions options_of(const Kernel& kernel, c10::SymIntArrayRef grid, c10::SymIntArrayRef block,
                         const c10::SymInt& shared_memory, const at::OptionalSymIntArrayRef& cluster) {
  LaunchOptions options;
  options.grid = dims_of(kernel, "grid", grid);
  options.block = dims_of(kernel, "block", block);
  options.shared_memory = shared_memory.expect_int();
  if (cluster) options.cluster = dims_of(kernel, "cluster", *cluster);
  return options;
}

void read_arguments(Call& call, ListReader lists) {
  const auto& parameters = call.kernel.signature().parameters;
  for (size_t index = 0; index < parameters.size(); ++index) {
    const Parameter& parameter = parameters[index];
    if (parameter.is_pointer) {
      call.add(index, lists.next_tensor(parameter));
    } else if (parameter.is_float()) {
      call.packer.floating(index, lists.floats_are_tensors() ? float_of(call.kernel, index, lists.next_float_tensor())
                                                             : lists.next_float());
    } else if (parameter.type == Type::Bytes) {
      std::vector<int64_t> words(ListReader::words(parameter));
      for (int64_t& word : words) word = lists.next_int().expect_int();
      call.packer.bytes(index, {reinterpret_cast<const uint8_t*>(words.data()), parameter.size});
    } else {
      call.packer.word(index, lists.next_int().expect_int());
    }
  }
}

/// The checks that need no data.
void check(const Kernel& kernel, ListReader lists) {
  Call call(kernel);
  const auto& parameters = kernel.signature().parameters;
  for (size_t index = 0; index < parameters.size(); ++index) {
    if (parameters[index].is_pointer) {
      call.add(index, lists.next_tensor(parameters[index]));
    } else if (parameters[index].is_float() && lists.floats_are_tensors()) {
      lists.next_float_tensor();
    }
  }
  call.check_without_data();
}

using LaunchFunction = void(WAVE_LAUNCH_PARAMETERS);

/// What tells the two operators apart: where the kernel comes from, and which inputs are its arguments.
struct ByHandle {
  static constexpr const char* kName = "launch";
  static const Kernel& kernel(std::string_view handle, at::TensorList) { return find_kernel(handle); }
  static const Kernel* kernel_if_known(std::string_view handle) { return &find_kernel(handle); }
  static at::TensorList arguments(at::TensorList inputs) { return inputs; }
};
struct Embedded {
  static constexpr const char* kName = "launch_embedded";
  static const Kernel& kernel(std::string_view handle, at::TensorList inputs) { return find_embedded(handle, inputs); }
  // Where tensors have no data the code cannot be read: what is wrong with the arguments shows at the launch then.
  static const Kernel* kernel_if_known(std::string_view handle) { return find_kernel_if_known(handle); }
  static at::TensorList arguments(at::TensorList inputs) { return inputs.empty() ? inputs : inputs.slice(1); }
};

/// The kernels of an operator for the dispatcher's keys.
template <class Source>
struct Operator {
  /// Dense tensors on the CPU or a GPU.
  static void dense(WAVE_LAUNCH_PARAMETERS) {
    with_torch_errors([&] {
      const Kernel& kernel = Source::kernel(handle, inputs);
      Call call(kernel);
      read_arguments(call, {kernel, Source::arguments(inputs), outputs, ints, floats});
      call.options = options_of(kernel, grid, block, shared_memory, cluster);
      call.options.cooperative = cooperative;
      call.options.programmatic = programmatic;
      call.options.priority = priority;
      submit_operator(call);
    });
  }

  /// Tensors without data: nothing is written.
  static void meta(WAVE_LAUNCH_PARAMETERS) {
    with_torch_errors([&] {
      const Kernel* kernel = Source::kernel_if_known(handle);
      if (kernel == nullptr) return;
      if (!kernel->signature().mutability_known)
        refuse_unknown_mutability(*kernel, "in torch.compile, torch.export or on meta tensors");
      check(*kernel, {*kernel, Source::arguments(inputs), outputs, ints, floats});
    });
  }

  /// Tensors of every other kind, and no tensor at all.
  static void elsewhere(WAVE_LAUNCH_PARAMETERS) {
    with_torch_errors([&] {
      const Kernel& kernel = Source::kernel(handle, inputs);
      const at::TensorList arguments = Source::arguments(inputs);
      check(kernel, {kernel, arguments, outputs, ints, floats});
      const at::Tensor& tensor = outputs.empty() ? arguments.front() : outputs.front();
      throw ValueError(text(kernel_text(kernel.name()), ": tensors are on ", tensor.device().str(),
                            "; expected CPU or CUDA (ROCm) tensors"));
    });
  }

  /// Raises where a launch would cut the autograd graph without a word.
  static void autograd(c10::DispatchKeySet keys, WAVE_LAUNCH_PARAMETERS) {
    check_autograd(name_in_handle(handle), [&](VisitTensor visit) {
      for (const at::Tensor& tensor : Source::arguments(inputs)) visit(tensor);
      for (const at::Tensor& tensor : outputs) visit(tensor);
    });
    redispatch(keys & c10::after_autograd_keyset, WAVE_LAUNCH_ARGUMENTS);
  }

  static void in_place(c10::DispatchKeySet keys, WAVE_LAUNCH_PARAMETERS) {
    for (const at::Tensor& tensor : outputs) mark_written(tensor);
    redispatch(keys & c10::after_ADInplaceOrView_keyset, WAVE_LAUNCH_ARGUMENTS);
  }

  static void batched(WAVE_LAUNCH_PARAMETERS) {
    with_torch_errors([&] { refuse_batch(name_in_handle(handle)); });
  }

  static void traced(WAVE_LAUNCH_PARAMETERS) {
    TORCH_CHECK(false, text(kernel_text(name_in_handle(handle)),
                            ": torch.jit.trace is not supported; use torch.compile or torch.export"));
  }

  static void redispatch(c10::DispatchKeySet keys, WAVE_LAUNCH_PARAMETERS) {
    static const c10::OperatorHandle self =
        c10::Dispatcher::singleton().findSchemaOrThrow(text("wave::", Source::kName).c_str(), "");
    static const c10::TypedOperatorHandle<LaunchFunction> launch = self.typed<LaunchFunction>();
    launch.redispatch(keys, WAVE_LAUNCH_ARGUMENTS);
  }
};

}  // namespace

}  // namespace wave

#define WAVE_IMPLEMENT(key, function)                                    \
  TORCH_LIBRARY_IMPL(wave, key, m) {                                     \
    m.impl("launch", wave::Operator<wave::ByHandle>::function);          \
    m.impl("launch_embedded", wave::Operator<wave::Embedded>::function); \
  }

WAVE_IMPLEMENT(CPU, dense)
WAVE_IMPLEMENT(CUDA, dense)
WAVE_IMPLEMENT(Meta, meta)
WAVE_IMPLEMENT(CompositeExplicitAutograd, elsewhere)
WAVE_IMPLEMENT(ADInplaceOrView, in_place)
WAVE_IMPLEMENT(Autograd, autograd)
WAVE_IMPLEMENT(FuncTorchBatched, batched)
WAVE_IMPLEMENT(Tracer, traced)

// Tensors with lazy conjugates or signs are refused by name; torch's fallbacks would copy them.
TORCH_LIBRARY_IMPL(wave, Conjugate, m) {
  m.impl("launch", torch::CppFunction::makeFallthrough());
  m.impl("launch_embedded", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(wave, Negative, m) {
  m.impl("launch", torch::CppFunction::makeFallthrough());
  m.impl("launch_embedded", torch::CppFunction::makeFallthrough());
}
