#include "op/dedicated.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <set>

#include "base/error.h"
#include "op/call.h"
#include "op/torch_errors.h"

namespace wave {

namespace {

using c10::DispatchKeySet;
using c10::OperatorHandle;
using torch::jit::Stack;

constexpr size_t kGridArguments = 3;

/// What all kernels of one operator share. Lives as long as the operator: until the process ends.
struct Definition {
  const Kernel& kernel;
  LaunchOptions options;
};

/// The operator's arguments at the end of the stack.
std::span<const c10::IValue> arguments_of(const Definition& definition, const Stack& stack) {
  const size_t count = definition.kernel.signature().parameters.size() + kGridArguments;
  return {stack.data() + stack.size() - count, count};
}

int64_t integer_of(const c10::IValue& value) { return value.isInt() ? value.toInt() : value.toSymInt().expect_int(); }

template <class Visit>
void for_each_tensor(const Definition& definition, const Stack& stack, Visit visit) {
  const std::span<const c10::IValue> arguments = arguments_of(definition, stack);
  const auto& parameters = definition.kernel.signature().parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].is_pointer) visit(i, arguments[i].toTensor());
  }
}

/// What the operator's kernels for different dispatch keys have in common.
struct OperatorPart : c10::OperatorKernel {
  explicit OperatorPart(std::shared_ptr<const Definition> shared) : definition(std::move(shared)) {}
  const std::shared_ptr<const Definition> definition;

  void drop_arguments(Stack* stack) const {
    torch::jit::drop(*stack, definition->kernel.signature().parameters.size() + kGridArguments);
  }
};

struct LaunchDense : OperatorPart {
  using OperatorPart::OperatorPart;
  void operator()(const OperatorHandle&, DispatchKeySet, Stack* stack) {
    with_torch_errors([&] { run(arguments_of(*definition, *stack)); });
    drop_arguments(stack);
  }

  void run(std::span<const c10::IValue> arguments) const {
    const Kernel& kernel = definition->kernel;
    const auto& parameters = kernel.signature().parameters;
    TensorArguments tensors(kernel);
    ArgumentPacker packer(kernel);
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].is_pointer) {
        tensors.add(i, arguments[i].toTensor());
      } else if (arguments[i].isDouble()) {
        packer.floating(i, arguments[i].toDouble());
      } else {
        packer.word(i, integer_of(arguments[i]));
      }
    }
    tensors.check_together();
    tensors.check_inference();
    LaunchOptions options = definition->options;
    for (size_t axis = 0; axis < kGridArguments; ++axis) {
      options.grid[axis] = integer_of(arguments[parameters.size() + axis]);
    }
    run_operator(kernel, options, tensors, packer);
  }
};

/// On tensors without data there is nothing to do but to check them.
struct CheckMeta : OperatorPart {
  using OperatorPart::OperatorPart;
  void operator()(const OperatorHandle&, DispatchKeySet, Stack* stack) {
    with_torch_errors([&] {
      TensorArguments tensors(definition->kernel);
      for_each_tensor(*definition, *stack, [&](size_t i, const at::Tensor& tensor) { tensors.add(i, tensor); });
      tensors.check_together();
    });
    drop_arguments(stack);
  }
};

struct MarkWritten : OperatorPart {
  using OperatorPart::OperatorPart;
  void operator()(const OperatorHandle& handle, DispatchKeySet keys, Stack* stack) {
    for_each_tensor(*definition, *stack, [&](size_t i, const at::Tensor& tensor) {
      if (!definition->kernel.signature().parameters[i].is_const) mark_written(tensor);
    });
    handle.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
  }
};

struct CheckAutograd : OperatorPart {
  using OperatorPart::OperatorPart;
  void operator()(const OperatorHandle& handle, DispatchKeySet keys, Stack* stack) {
    bool all_fake = true;
    for_each_tensor(*definition, *stack, [&](size_t, const at::Tensor& tensor) { all_fake &= is_fake(tensor); });
    if (!all_fake || !is_lowering()) {
      for_each_tensor(*definition, *stack, [&](size_t, const at::Tensor& tensor) {
        with_torch_errors([&] { check_differentiable(definition->kernel, tensor); });
      });
    }
    handle.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
  }
};

/// "mylib::gemm" as its two parts.
std::pair<std::string, std::string> split(const std::string& name) {
  const size_t colons = name.find("::");
  if (colons == name.npos || colons == 0 || colons + 2 == name.size()) {
    throw ValueError(text("as_operator: expected a name \"namespace::name\", given \"", name, "\""));
  }
  return {name.substr(0, colons), name.substr(colons + 2)};
}

const char* schema_type(const Kernel& kernel, size_t index) {
  const Parameter& parameter = kernel.signature().parameters[index];
  if (parameter.type == Type::Bytes) {
    throw ValueError(text(kernel.argument_text(index), " (", parameter.type_text(),
                          "): operators of one kernel take no structs: use torch.ops.wave.launch"));
  }
  return parameter.is_float() ? "float " : "SymInt ";
}

/// The parameter's name where it can be one in a schema and is the first of its kind, else "arg3".
std::string argument_name(const Kernel& kernel, size_t index, std::set<std::string>& taken) {
  const std::string& name = kernel.signature().parameters[index].name;
  const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  const bool usable = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
                      std::all_of(name.begin(), name.end(), is_letter) && taken.insert(name).second;
  return usable ? name : text("arg", index);
}

std::string schema_of(const Kernel& kernel, const std::string& name) {
  std::string schema = name + "(";
  std::set<std::string> taken{"self", "grid_x", "grid_y", "grid_z"};
  const auto& parameters = kernel.signature().parameters;
  char alias = 'a';
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].is_pointer) {
      schema += schema_type(kernel, i);
    } else if (parameters[i].is_const) {
      schema += "Tensor ";
    } else {
      schema += text("Tensor(", alias++, "!) ");
    }
    schema += argument_name(kernel, i, taken) + ", ";
  }
  return schema + "SymInt grid_x, SymInt grid_y=1, SymInt grid_z=1) -> ()";
}

template <class Functor>
torch::CppFunction boxed(const std::shared_ptr<const Definition>& definition) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Functor>(definition));
}

}  // namespace

std::string define_operator(const Kernel& kernel, const std::string& name, const LaunchOptions& options) {
  if (!kernel.signature().mutability_known) refuse_unknown_mutability(kernel, "as an operator");
  const auto [space, short_name] = split(name);
  if (c10::Dispatcher::singleton().findOp({name, ""})) {
    throw ValueError(text("as_operator: there is an operator ", name, " already"));
  }
  const std::string schema = schema_of(kernel, short_name);
  const auto definition = std::make_shared<const Definition>(Definition{kernel, options});
  // Never destroyed: graphs may hold the operator.
  auto* library = new torch::Library(torch::Library::FRAGMENT, space, std::nullopt, __FILE__, __LINE__);
  library->def(schema.c_str(), {at::Tag::pt2_compliant_tag, at::Tag::needs_exact_strides});
  const auto add = [&](c10::DispatchKey key, torch::CppFunction function) {
    library->impl(short_name.c_str(), torch::dispatch(key, std::move(function)));
  };
  add(c10::DispatchKey::CPU, boxed<LaunchDense>(definition));
  add(c10::DispatchKey::CUDA, boxed<LaunchDense>(definition));
  add(c10::DispatchKey::Meta, boxed<CheckMeta>(definition));
  add(c10::DispatchKey::ADInplaceOrView, boxed<MarkWritten>(definition));
  add(c10::DispatchKey::Autograd, boxed<CheckAutograd>(definition));
  add(c10::DispatchKey::Conjugate, torch::CppFunction::makeFallthrough());
  add(c10::DispatchKey::Negative, torch::CppFunction::makeFallthrough());
  return space + "::" + schema;
}

}  // namespace wave
