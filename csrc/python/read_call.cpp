#include "python/read_call.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/error.h"
#include "python/convert.h"
#include "python/devices.h"
#include "python/errors.h"
#include "python/sanitizer_bindings.h"

namespace wave {

namespace {

/// A zero-dimensional CPU tensor stands for a float: under torch.compile a Python float would recompile for each value.
void read_tensor_scalar(Call& call, size_t index, const at::Tensor& tensor) {
  const Parameter& parameter = call.kernel.signature().parameters[index];
  if (!parameter.is_float() || tensor.dim() != 0 || !c10::isFloatingType(tensor.scalar_type())) {
    throw TypeError(text(call.kernel.argument_text(index), ": expected ", parameter.type_text(),
                         ", given a tensor of dtype ", c10::getDtypeNames(tensor.scalar_type()).first, " and shape ",
                         list_text(tensor.sizes()), tensor.dim() == 0 ? ": pass tensor.item()" : ""));
  }
  call.note_number(tensor);
  call.packer.floating(index, tensor.item().toDouble());
}

/// Bytes, NumPy's records, ctypes' structures. Throws BufferError where they do not lie side by side.
void read_bytes(Call& call, size_t index, PyObject* object) {
  const HeldBuffer buffer(object);
  call.packer.bytes(index, {static_cast<const uint8_t*>(buffer.data()), buffer.size()});
}

void read_scalar(Call& call, size_t index, PyObject* object) {
  const Parameter& parameter = call.kernel.signature().parameters[index];
  if (is_tensor(object)) return read_tensor_scalar(call, index, tensor_of(object));
  if (parameter.type == Type::Bytes && HeldBuffer::has(object)) return read_bytes(call, index, object);
  if (PyFloat_Check(object) || parameter.is_float()) {
    if (PyLong_Check(object) && is_beyond_floats(object)) {
      throw ValueError(text(call.kernel.argument_text(index), ": expected ", parameter.type_text(),
                            ", given an integer that is too large for any float"));
    }
    if (const std::optional<double> value = read_real(object)) return call.packer.floating(index, *value);
  } else if (PyIndex_Check(object)) {
    const Integer integer = read_integer(object, 64, {&call.kernel, nullptr, static_cast<Py_ssize_t>(index)});
    if (integer.is_negative) return call.packer.integer(index, static_cast<int64_t>(integer.word));
    return call.packer.large_integer(index, integer.word);
  }
  throw TypeError(
      text(call.kernel.argument_text(index), ": expected ", parameter.type_text(), ", given ", py::type_name(object)));
}

[[noreturn]] void refuse_pointer(const Call& call, size_t index, PyObject* object) {
  const char* const advice = PyLong_Check(object)
                                 ? ": pass the tensor itself, not its data_ptr(); launch_raw() takes addresses"
                             : object == Py_None ? ": an empty tensor passes a null pointer"
                                                 : "";
  throw TypeError(text(call.kernel.argument_text(index), ": expected a tensor (",
                       call.kernel.signature().parameters[index].type_text(), "), given ", py::given_text(object),
                       advice));
}

bool truth_of(PyObject* object) {
  const int truth = PyObject_IsTrue(object);
  if (truth < 0) py::raise();
  return truth != 0;
}

/// The driver's handle of a stream: an address, what torch's streams call so, or what __cuda_stream__() says, which
/// NVIDIA's cuda.core asks of whoever has streams: a version, which is 0, and the handle.
uint64_t handle_of(PyObject* stream, const Where& where) {
  constexpr const char* expected = "a torch.cuda.Stream, an object with __cuda_stream__(), or a handle as an int";
  const py::handle object(stream);
  py::object handle = py::borrow(stream);
  if (object.has_attr("cuda_stream")) {
    handle = object.attr("cuda_stream");
  } else if (object.has_attr("__cuda_stream__")) {
    const py::tuple made = py::tuple_of(object.attr("__cuda_stream__")());
    if (made.size() > 1) handle = py::borrow(made[1]);
  }
  return read_integer(handle.ptr(), 64, where, expected).word;
}

/// Reads the tensors' device, so it must come behind the arguments.
void read_stream(Call& call, PyObject* stream) {
  if (stream == Py_None) return;
  call.wanted_stream = reinterpret_cast<void*>(handle_of(stream, {&call.kernel, "stream"}));
  if (!call.has_tensors() || !call.device().is_cuda() || !py::handle(stream).has_attr("device")) return;
  const std::optional<c10::Device> device = optional_device(py::handle(stream).attr("device"));
  if (!device || *device == call.device()) return;
  throw ValueError(text(kernel_text(call.kernel.name()), ": stream= is one of ", device->str(),
                        ", but the tensors are on ", call.device().str()));
}

using Read = void (*)(Call& call, PyObject* value);

struct Keyword {
  const char* name;
  Read read;
};

constexpr Keyword kOtherKeywords[] = {
    {"cluster",
     [](Call& call, PyObject* value) {
       if (value != Py_None) Any::extents(call.kernel, "cluster", value, call.options.cluster);
     }},
    {"cooperative", [](Call& call, PyObject* value) { call.options.cooperative = truth_of(value); }},
    {"programmatic", [](Call& call, PyObject* value) { call.options.programmatic = truth_of(value); }},
    {"priority",
     [](Call& call, PyObject* value) {
       if (value != Py_None) call.options.priority = read_signed(value, {&call.kernel, "priority"});
     }},
    {"device", [](Call& call, PyObject* value) { call.wanted_device = optional_device(py::borrow(value)); }},
    {"stream", read_stream},
};

/// The names of the usual keywords as the interpreter interns them: those of a call are mostly the same objects. Only
/// an interpreter opens this library.
PyObject* const kGridKeyword = PyUnicode_InternFromString("grid");
PyObject* const kBlockKeyword = PyUnicode_InternFromString("block");
PyObject* const kSharedMemoryKeyword = PyUnicode_InternFromString("shared_memory");

template <class Strength>
bool read_block(Call& call, PyObject* object) {
  if (object == Py_None) return true;
  return Strength::extents(call.kernel, "block", object, call.options.block.emplace(Extents{1, 1, 1}));
}

/// Whether there was a grid goes into `has_grid`.
template <class Strength>
bool read_keywords(Call& call, PyObject* const* values, PyObject* names, bool& has_grid) {
  const Py_ssize_t count = keyword_count(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const name = Strength::name(PyTuple_GetItem(names, i));
    bool taken = false;
    if (name == kGridKeyword) {
      taken = has_grid = Strength::extents(call.kernel, "grid", values[i], call.options.grid);
    } else if (name == kBlockKeyword) {
      taken = read_block<Strength>(call, values[i]);
    } else if (name == kSharedMemoryKeyword) {
      taken = Strength::integer(call.kernel, "shared_memory", values[i], call.options.shared_memory);
    } else {
      taken = Strength::other_keyword(call, name, values[i]);
    }
    if (!taken) return false;
  }
  return true;
}

void read_dictionary(Call& call, const py::dict& keywords, bool& has_grid) {
  std::vector<PyObject*> values;
  py::tuple names(keywords.size());
  keywords.each([&](py::handle name, py::handle value) {
    names.set(values.size(), py::borrow(name));
    values.push_back(value.ptr());
  });
  read_keywords<Any>(call, values.data(), names.ptr(), has_grid);
}

}  // namespace

namespace {

bool is_parameter(const Kernel& kernel, const std::string& name) {
  return std::ranges::any_of(kernel.signature().parameters,
                             [&](const Parameter& parameter) { return !name.empty() && parameter.name == name; });
}

}  // namespace

/// An int, or 1 to 3 of them; missing extents are 1.
bool Any::extents(const Kernel& kernel, const char* what, PyObject* object, Extents& extents) {
  if (Usual::extents(kernel, what, object, extents)) return true;
  extents = {1, 1, 1};
  if (PyLong_Check(object) || PyUnicode_Check(object) || !PySequence_Check(object)) {
    return integer(kernel, what, object, extents[0]);
  }
  const py::tuple items = py::tuple_of(object);
  const size_t count = items.size();
  if (count < 1 || count > 3) {
    throw ValueError(text(kernel_text(kernel.name()), ": ", what, " must be an int or 1 to 3 ints, given ", count));
  }
  for (size_t i = 0; i < count; ++i) integer(kernel, what, items[i].ptr(), extents[i]);
  return true;
}

PyObject* Any::name(PyObject* name) {
  for (PyObject* const known : {kGridKeyword, kBlockKeyword, kSharedMemoryKeyword}) {
    if (name == known || PyUnicode_Compare(name, known) == 0) return known;
  }
  return name;
}

bool Any::other_keyword(Call& call, PyObject* name, PyObject* value) {
  for (const Keyword& keyword : kOtherKeywords) {
    if (PyUnicode_CompareWithASCIIString(name, keyword.name) != 0) continue;
    keyword.read(call, value);
    return true;
  }
  throw TypeError(
      text(kernel_text(call.kernel.name()), " got an unexpected keyword '", py::str::of(name),
           "'; it takes grid=, block=, shared_memory=, cluster=, cooperative=, programmatic=, priority=, "
           "device= and stream=",
           is_parameter(call.kernel, py::str::of(py::handle(name))) ? "; parameters are passed by place" : ""));
}

void Any::read_unusual_argument(Call& call, size_t index, PyObject* object) {
  const Parameter& parameter = call.kernel.signature().parameters[index];
  if (!parameter.is_pointer && !(parameter.may_be_pointer && is_tensor(object))) {
    return read_scalar(call, index, object);
  }
  if (!is_tensor(object)) refuse_pointer(call, index, object);
  call.add(index, tensor_of(object));
}

bool Any::no_grid(const Kernel& kernel) {
  throw TypeError(text(kernel_text(kernel.name()), ": grid= is missing (it counts workgroups)"));
}

void refuse_count(const Kernel& kernel, Py_ssize_t given, PyObject* keyword_names) {
  std::string advice;
  for (Py_ssize_t i = 0; keyword_names != nullptr && i < PyTuple_Size(keyword_names); ++i) {
    const std::string name = py::str::of(py::handle(PyTuple_GetItem(keyword_names, i)));
    if (!is_parameter(kernel, name)) continue;
    advice = text(": '", name, "' is a parameter, which are all passed by place, not by name");
  }
  refuse_parameter_count(kernel, given, advice);
}

template <class Strength>
bool read_call(Call& call, PyObject* const* arguments, PyObject* const* keywords, PyObject* keyword_names) {
  const size_t count = call.kernel.compact_parameters().size();
  for (size_t i = 0; i < count; ++i) {
    if (!Strength::argument(call, i, arguments[i])) return false;
  }
  bool has_grid = false;
  if (!read_keywords<Strength>(call, keywords, keyword_names, has_grid)) return false;
  if (!call.options.block && call.kernel.block()) {
    const auto& [x, y, z] = *call.kernel.block();
    call.options.block = {x, y, z};
  }
  return has_grid || Strength::no_grid(call.kernel);
}

template bool read_call<Usual>(Call&, PyObject* const*, PyObject* const*, PyObject*);
template bool read_call<Any>(Call&, PyObject* const*, PyObject* const*, PyObject*);

void read_options(Call& call, const py::dict& keywords) {
  bool has_grid = false;
  read_dictionary(call, keywords, has_grid);
  if (!has_grid) Any::no_grid(call.kernel);
}

LaunchOptions read_fixed_options(const Kernel& kernel, const py::dict& keywords) {
  Call call(kernel);
  bool has_grid = false;
  read_dictionary(call, keywords, has_grid);
  if (!has_grid && !call.wanted_device && !call.wanted_stream) return call.options;
  const char* const given = has_grid ? "grid" : call.wanted_device ? "device" : "stream";
  throw TypeError(
      text(kernel_text(kernel.name()), ": ", given, "= is said at each launch, and is no option that is fixed"));
}

void emulate_unlocked(const std::function<void(Emulation*)>& launch) {
  Emulation emulation;
  {
    const GilRelease release;
    launch(&emulation);
  }
  if (emulation.options.sanitizer != nullptr) tell_findings(*emulation.options.sanitizer);
  const std::vector<std::string> warnings = std::move(emulation.report.warnings);
  set_last_report(std::move(emulation.report));
  for (const std::string& warning : warnings) {
    if (PyErr_WarnEx(PyExc_RuntimeWarning, warning.c_str(), 1) != 0) py::raise();
  }
}

}  // namespace wave
