#include "op/dedicated.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Bitset.h>

#include <numeric>
#include <set>

#include "base/error.h"
#include "base/fork_safe.h"
#include "base/sha256.h"
#include "op/call.h"
#include "op/kernel_operator.h"

namespace wave {

namespace {

Mutex& defining = *new Mutex();  // never destroyed

/// The arguments behind the kernel's own. Without defaults where compilers write the calls: they would pass those as
/// keywords, which torch parses slowly.
struct GeometryArguments {
  const char* schema;
  size_t count;  ///< grid, then block and shared memory
};
constexpr GeometryArguments kGridOrOnes{"SymInt grid_x, SymInt grid_y=1, SymInt grid_z=1", 3};
constexpr GeometryArguments kGrid{"SymInt grid_x, SymInt grid_y, SymInt grid_z", 3};
constexpr GeometryArguments kGridAndBlock{
    "SymInt grid_x, SymInt grid_y, SymInt grid_z, SymInt block_x, SymInt block_y, SymInt block_z, SymInt shared_memory",
    7};

/// More arguments no operator of torch has: the dispatcher keeps a bit for each (c10::utils::bitset).
constexpr size_t kMaxArguments = 64;
static_assert(sizeof(c10::utils::bitset) * 8 == kMaxArguments);

std::vector<size_t> all_parameters(const Kernel& kernel) {
  std::vector<size_t> indices(kernel.signature().parameters.size());
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

/// An operator of one kernel. Lives until the process ends.
class DedicatedOperator : public KernelOperator {
 public:
  DedicatedOperator(const Kernel& kernel, const LaunchOptions& options, const GeometryArguments& geometry)
      : KernelOperator(kernel, kernel.signature().parameters.size() + geometry.count, all_parameters(kernel)),
        options_(options) {}

  std::vector<at::Tensor> run(std::span<const c10::IValue> arguments) const override {
    const auto& parameters = kernel.signature().parameters;
    Call call(kernel);
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].is_pointer) {
        call.add(i, arguments[i].toTensor());
      } else if (arguments[i].isDouble()) {
        call.packer.floating(i, arguments[i].toDouble());
      } else {
        call.packer.word(i, integer_of(arguments[i]));
      }
    }
    call.options = options_of(arguments.subspan(parameters.size()));
    submit_operator(call);
    return {};
  }

 private:
  LaunchOptions options_of(std::span<const c10::IValue> geometry) const {
    LaunchOptions options = options_;
    const auto extents_at = [&](size_t first) {
      return Extents{integer_of(geometry[first]), integer_of(geometry[first + 1]), integer_of(geometry[first + 2])};
    };
    options.grid = extents_at(0);
    if (geometry.size() == kGridAndBlock.count) {
      options.block = extents_at(3);
      options.shared_memory = integer_of(geometry[6]);
    }
    return options;
  }

  const LaunchOptions options_;
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

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The parameter's name where it can be one in a schema and is the first of its kind, else "arg3".
std::string argument_name(const Kernel& kernel, size_t index, std::set<std::string>& taken) {
  const std::string& name = kernel.signature().parameters[index].name;
  const bool usable = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
                      std::all_of(name.begin(), name.end(), is_word) && taken.insert(name).second;
  return usable ? name : text("arg", index);
}

std::string schema_of(const Kernel& kernel, const std::string& name, const GeometryArguments& geometry) {
  std::string schema = name + "(";
  std::set<std::string> taken{"self", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_memory"};
  const auto& parameters = kernel.signature().parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].is_pointer) {
      schema += schema_type(kernel, i);
    } else if (parameters[i].is_const) {
      schema += "Tensor ";
    } else {
      // Named as torch.library.infer_schema names alias sets: letters alone would end at z.
      schema += text("Tensor(a", i, "!) ");
    }
    schema += argument_name(kernel, i, taken) + ", ";
  }
  return schema + geometry.schema + ") -> ()";
}

/// Defines "space::name" and returns its schema. `name` may end with ".overload".
std::string define(const std::string& space, const std::string& name, const Kernel& kernel,
                   const LaunchOptions& options, const GeometryArguments& geometry) {
  const std::string schema = schema_of(kernel, name, geometry);
  const auto op = std::make_shared<const DedicatedOperator>(kernel, options, geometry);
  // Never destroyed: graphs may hold the operator.
  auto* library = new torch::Library(torch::Library::FRAGMENT, space, std::nullopt, __FILE__, __LINE__);
  library->def(schema.c_str(), {at::Tag::pt2_compliant_tag, at::Tag::needs_exact_strides});
  implement(*library, name, op, std::nullopt);
  library->impl(name.c_str(), torch::dispatch(c10::DispatchKey::Meta, check_kernel(op)));
  for (const c10::DispatchKey key : {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative}) {
    library->impl(name.c_str(), torch::dispatch(key, torch::CppFunction::makeFallthrough()));
  }
  return space + "::" + schema;
}

/// The kernel's name, as far as it can stand in a schema, and a hash of its handle.
std::string traced_name(const Kernel& kernel) {
  constexpr size_t kLongest = 64;  // mangled names may be very long
  std::string name = kernel.name().substr(0, kLongest);
  for (char& c : name) c = is_word(c) ? c : '_';
  if (std::isdigit(static_cast<unsigned char>(name[0]))) name[0] = '_';
  const std::string& handle = kernel.handle();
  return text(name, "_", sha256({reinterpret_cast<const uint8_t*>(handle.data()), handle.size()}).substr(0, 16));
}

}  // namespace

std::string define_operator(const Kernel& kernel, const std::string& name, const LaunchOptions& options) {
  if (!kernel.signature().mutability_known) refuse_unknown_mutability(kernel, "as an operator");
  const auto [space, short_name] = split(name);
  if (c10::Dispatcher::singleton().findOp({name, ""})) {
    throw ValueError(text("as_operator: there is an operator ", name, " already"));
  }
  if (const size_t count = kernel.signature().parameters.size() + kGridOrOnes.count; count > kMaxArguments) {
    throw ValueError(text(kernel_text(kernel.name()), ": an operator of its own would have ", count,
                          " arguments with those of the grid, and torch's have ", kMaxArguments,
                          " at most: use torch.ops.wave.launch"));
  }
  return define(space, short_name, kernel, options, kGridOrOnes);
}

bool can_have_operator(const Kernel& kernel) {
  const auto& parameters = kernel.signature().parameters;
  return kernel.signature().mutability_known && parameters.size() + kGridAndBlock.count <= kMaxArguments &&
         std::none_of(parameters.begin(), parameters.end(), [](const Parameter& p) { return p.type == Type::Bytes; });
}

std::string define_traced_operator(const Kernel& kernel) {
  const std::lock_guard lock(defining);
  const std::string name = traced_name(kernel);
  if (!c10::Dispatcher::singleton().findOp({"wave_kernel::" + name, "block"})) {
    if (kernel.block()) define("wave_kernel", name, kernel, {}, kGrid);
    define("wave_kernel", name + ".block", kernel, {}, kGridAndBlock);
  }
  return name;
}

}  // namespace wave
