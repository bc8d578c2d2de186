#include "op/declaration.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "base/error.h"
#include "launch/arguments.h"
#include "op/kernel_operator.h"

namespace wave {

namespace {

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
    throw ValueError(text(kernel_text(kernel.name()), ": each parameter must be an input, a result or computed"));
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

/// A new contiguous tensor. The sizes are not negative.
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

Extents extents_of(const Number* numbers) { return {numbers[0].integer, numbers[1].integer, numbers[2].integer}; }

class DeclaredOperator : public KernelOperator {
 public:
  DeclaredOperator(std::shared_ptr<const Declaration> declaration, size_t argument_count)
      : KernelOperator(declaration->kernel(), argument_count, declaration->roles().inputs),
        declaration_(std::move(declaration)) {}

  std::vector<at::Tensor> run(std::span<const c10::IValue> arguments) const override {
    return declaration_->with_name([&] {
      Call call(kernel);
      InputView views[Declaration::kMaxInputs];
      const std::vector<size_t>& inputs = declaration_->roles().inputs;
      for (size_t i = 0; i < inputs.size(); ++i) views[i] = read(call, inputs[i], arguments[i]);
      std::vector<at::Tensor> results;
      if (declaration_->complete(call, views, results)) submit_operator(call);
      return results;
    });
  }

 private:
  static InputView read(Call& call, size_t index, const c10::IValue& argument) {
    const Parameter& parameter = call.kernel.signature().parameters[index];
    if (parameter.is_pointer) {
      call.add(index, argument.toTensor());
      return {argument.toTensor().unsafeGetTensorImpl(), {}};
    }
    const Number number = number_of(parameter, argument);
    pack(call.packer, index, number);
    return {nullptr, number};
  }

  const std::shared_ptr<const Declaration> declaration_;
};

}  // namespace

Declaration::Declaration(std::string name, const Kernel& kernel, Roles roles, const LaunchOptions& options,
                         Specialize specialize)
    : name_(std::move(name)),
      kernel_(kernel),
      roles_(std::move(roles)),
      options_(options),
      specialize_(std::move(specialize)) {
  with_name([&] {
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
  const Specialization* found = specializations_.load(std::memory_order_acquire);
  while (found != nullptr && !fits(*found, inputs)) found = found->next;
  return found != nullptr ? *found : specialize(inputs);
}

const Specialization& Declaration::specialize(const InputView* inputs) const {
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

bool Declaration::complete(Call& call, const InputView* inputs, std::vector<at::Tensor>& results) const {
  const Specialization& specialization = specialized(inputs);
  Number stack[Program::kStack];
  if (!specialization.program.run(inputs, stack)) throw ValueError("an expression divides by zero");
  const Number* numbers = stack;
  results.reserve(specialization.results.size());  // the call points to them
  for (const Result& result : specialization.results) {
    const size_t index = roles_.results[results.size()];
    for (size_t dim = 0; dim < result.rank; ++dim) {
      if (numbers[dim].integer >= 0) continue;
      throw ValueError(text(kernel_.parameter_text(index), ": size ", dim, " comes out as ", numbers[dim].integer));
    }
    results.push_back(allocate(result, numbers, call.device()));
    call.add(index, results.back());
    numbers += result.rank;
  }
  for (const size_t index : roles_.computed) pack(call.packer, index, *numbers++);
  call.options = options_;
  call.options.grid = extents_of(numbers);
  call.options.block = extents_of(numbers + 3);
  call.options.shared_memory = numbers[6].integer;
  const Extents& grid = call.options.grid;
  if (grid[0] != 0 && grid[1] != 0 && grid[2] != 0) return true;
  call.check();
  return false;
}

std::shared_ptr<void> implement(const std::shared_ptr<const Declaration>& declaration, const std::string& autograd) {
  auto& dispatcher = c10::Dispatcher::singleton();
  const c10::OperatorHandle handle = dispatcher.findSchemaOrThrow(declaration->name().c_str(), "");
  const size_t colons = declaration->name().find("::");
  const auto library = std::make_shared<torch::Library>(torch::Library::FRAGMENT, declaration->name().substr(0, colons),
                                                        std::nullopt, __FILE__, __LINE__);
  implement(*library, declaration->name().substr(colons + 2),
            std::make_shared<const DeclaredOperator>(declaration, handle.schema().arguments().size()),
            dispatcher.findSchemaOrThrow(autograd.c_str(), ""));
  return library;
}

}  // namespace wave
