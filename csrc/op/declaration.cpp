#include "op/declaration.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "launch/arguments.h"
#include "op/boxed.h"
#include "op/call.h"
#include "op/torch_errors.h"

namespace wave {

namespace {

/// Runs `body`; what it throws for bad input names the operator.
template <class Body>
auto with_name(const std::string& name, Body body) {
  try {
    return body();
  } catch (const ValueError& error) {
    throw ValueError(text("operator '", name, "': ", error.what()));
  } catch (const TypeError& error) {
    throw TypeError(text("operator '", name, "': ", error.what()));
  }
}

void pack(ArgumentPacker& packer, size_t index, Number value) {
  if (packer.kernel().signature().parameters[index].is_float()) {
    packer.floating(index, value.real);
  } else {
    packer.integer(index, value.integer);
  }
}

Number number_of(const Parameter& parameter, const c10::IValue& value) {
  return parameter.is_float() ? Number{.real = value.toDouble()} : Number{.integer = integer_of(value)};
}

void check_roles(const Kernel& kernel, const Declaration::Roles& roles) {
  const auto& parameters = kernel.signature().parameters;
  std::vector<int> uses(parameters.size());
  for (const auto* role : {&roles.inputs, &roles.results, &roles.computed}) {
    for (const size_t index : *role) ++uses.at(index);
  }
  if (std::any_of(uses.begin(), uses.end(), [](int count) { return count != 1; })) {
    throw ValueError(text("kernel '", kernel.name(), "': each parameter must be an input, a result or computed"));
  }
  for (const size_t index : roles.results) {
    if (!parameters[index].is_pointer || parameters[index].is_const) {
      throw ValueError(text(kernel.argument_text(index), " (", parameters[index].type_text(),
                            ") is no result: the kernel does not write it"));
    }
  }
  for (const size_t index : roles.computed) {
    if (parameters[index].is_pointer) {
      throw ValueError(text(kernel.argument_text(index), " is a pointer: it cannot be computed"));
    }
  }
}

}  // namespace

Declaration::Declaration(std::string name, const Kernel& kernel, Roles roles, const LaunchOptions& options,
                         Specialize specialize)
    : name_(std::move(name)),
      kernel_(kernel),
      roles_(std::move(roles)),
      options_(options),
      specialize_(std::move(specialize)) {
  with_name(name_, [&] {
    if (!kernel.signature().mutability_known) refuse_unknown_mutability(kernel, "as an operator");
    check_roles(kernel, roles_);
    if (roles_.inputs.size() > kMaxInputs) throw ValueError(text("more than ", kMaxInputs, " inputs"));
  });
  for (size_t i = 0; i < roles_.inputs.size(); ++i) {
    if (kernel.signature().parameters[roles_.inputs[i]].is_pointer) tensors_.push_back(i);
  }
}

Declaration::~Declaration() {
  for (const Specialization* next = specializations_; next != nullptr;) delete std::exchange(next, next->next);
}

bool Declaration::fits(const Specialization& specialization, const InputView* inputs) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (specialization.kinds[i] != TensorKind(*inputs[tensors_[i]].tensor)) return false;
  }
  return true;
}

const Specialization& Declaration::specialized(const InputView* inputs) const {
  if (const Specialization* found = find(inputs)) return *found;
  std::vector<TensorKind> kinds;
  for (const size_t input : tensors_) kinds.emplace_back(*inputs[input].tensor);
  // Without the lock: it calls into Python. Threads that come here at once make the same.
  auto made = std::make_unique<Specialization>(specialize_(kinds));
  size_t expected = roles_.computed.size() + Specialization::kGeometry;
  for (size_t i = 0; i < made->results.size(); ++i) expected += made->results[i].rank;
  if (made->results.size() != roles_.results.size() || made->program.results() != expected) {
    throw ValueError("the expressions give another number of values than the declaration needs");
  }
  for (size_t i = 0; i < made->results.size(); ++i) {
    const Parameter& parameter = kernel_.signature().parameters[roles_.results[i]];
    if (takes(parameter.type, made->results[i].dtype)) continue;
    throw TypeError(text(kernel_.parameter_text(roles_.results[i]), ": the kernel writes ", parameter.type_text(),
                         ", but its expression gives a tensor of dtype ",
                         c10::getDtypeNames(made->results[i].dtype).first));
  }
  made->kinds = std::move(kinds);
  const std::lock_guard lock(mutex_);
  made->next = specializations_.load();
  specializations_.store(made.get());
  return *made.release();
}

std::vector<at::Tensor> Declaration::run(std::span<const c10::IValue> inputs) const {
  return with_name(name_, [&] { return run_unnamed(inputs); });
}

std::vector<at::Tensor> Declaration::run_unnamed(std::span<const c10::IValue> inputs) const {
  const auto& parameters = kernel_.signature().parameters;
  TensorArguments tensors(kernel_);
  ArgumentPacker packer(kernel_);
  InputView views[kMaxInputs];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const size_t index = roles_.inputs[i];
    if (parameters[index].is_pointer) {
      const at::Tensor& tensor = inputs[i].toTensor();
      tensors.add(index, tensor);
      views[i].tensor = tensor.unsafeGetTensorImpl();
    } else {
      views[i].number = number_of(parameters[index], inputs[i]);
      pack(packer, index, views[i].number);
    }
  }
  tensors.check_together();
  const Specialization& specialization = specialized(views);
  Number stack[Program::kStack];
  if (!specialization.program.run(views, stack)) throw ValueError("an expression divides by zero");
  const Number* numbers = stack;
  std::vector<at::Tensor> results;
  results.reserve(specialization.results.size());  // `tensors` points to them
  for (const Result& result : specialization.results) {
    const size_t index = roles_.results[results.size()];
    if (const size_t dim = first_negative(numbers, result.rank); dim != result.rank) {
      throw ValueError(text(kernel_.parameter_text(index), ": size ", dim, " comes out as ", numbers[dim].integer));
    }
    results.push_back(allocate(result, numbers, tensors.device()));
    tensors.add(index, results.back());
    numbers += result.rank;
  }
  for (const size_t index : roles_.computed) pack(packer, index, *numbers++);
  LaunchOptions options = options_;
  options.grid = extents_of(numbers);
  options.block = extents_of(numbers + 3);
  options.shared_memory = numbers[6].integer;
  if (!is_empty(options.grid)) run_operator(kernel_, options, tensors, packer);
  return results;
}

at::Tensor allocate(const Result& result, const Number* sizes, c10::Device device) {
  static_assert(sizeof(Number) == sizeof(int64_t));
  const c10::IntArrayRef shape(&sizes->integer, result.rank);
  const auto options = at::TensorOptions(device).dtype(result.dtype);
  if (result.zeroed) return at::zeros(shape, options);
  // Past the dispatcher's work for factory functions. Autograd and modes have no part here.
  const c10::DispatchKeySet keys(device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU);
  return at::_ops::empty_memory_format::redispatch(keys, c10::fromIntArrayRefKnownNonNegative(shape), result.dtype,
                                                   c10::kStrided, device, false, std::nullopt);
}

namespace {

struct LaunchDeclared : c10::OperatorKernel {
  explicit LaunchDeclared(std::shared_ptr<const Declaration> shared) : declaration(std::move(shared)) {}
  const std::shared_ptr<const Declaration> declaration;

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet, torch::jit::Stack* stack) {
    const size_t given = handle.schema().arguments().size();
    const size_t inputs = declaration->roles().inputs.size();
    std::vector<at::Tensor> results;
    with_torch_errors([&] { results = declaration->run({stack->data() + stack->size() - given, inputs}); });
    torch::jit::drop(*stack, given);
    for (at::Tensor& result : results) stack->emplace_back(std::move(result));
  }
};

SharedPositions positions_of(const Declaration& declaration, size_t argument_count) {
  const auto& inputs = declaration.roles().inputs;
  std::vector<TensorPositions::Position> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (declaration.kernel().signature().parameters[inputs[i]].is_pointer) tensors.push_back({i, inputs[i]});
  }
  return std::make_shared<const TensorPositions>(
      TensorPositions{declaration.kernel(), argument_count, std::move(tensors)});
}

}  // namespace

std::shared_ptr<void> implement(const std::shared_ptr<const Declaration>& declaration, const std::string& autograd) {
  auto& dispatcher = c10::Dispatcher::singleton();
  const c10::OperatorHandle handle = dispatcher.findSchemaOrThrow(declaration->name().c_str(), "");
  const c10::OperatorHandle other = dispatcher.findSchemaOrThrow(autograd.c_str(), "");
  const SharedPositions positions = positions_of(*declaration, handle.schema().arguments().size());
  const size_t colons = declaration->name().find("::");
  const auto library = std::make_shared<torch::Library>(torch::Library::FRAGMENT, declaration->name().substr(0, colons),
                                                        std::nullopt, __FILE__, __LINE__);
  const std::string short_name = declaration->name().substr(colons + 2);
  const auto add = [&](c10::DispatchKey key, torch::CppFunction function) {
    library->impl(short_name.c_str(), torch::dispatch(key, std::move(function)));
  };
  add(c10::DispatchKey::CPU, boxed<LaunchDeclared>(declaration));
  add(c10::DispatchKey::CUDA, boxed<LaunchDeclared>(declaration));
  add(c10::DispatchKey::ADInplaceOrView, mark_written_kernel(positions));
  add(c10::DispatchKey::Autograd, send_autograd_kernel(positions, other));
  return library;
}

}  // namespace wave
