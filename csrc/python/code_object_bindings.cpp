// Reading code objects from Python, as plain dictionaries: for `python -m wave_runtime info` and the tests.

#include <cxxabi.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "code_object/code_object.h"
#include "code_object/line_table.h"
#include "code_object/occupancy.h"
#include "code_object/select.h"
#include "code_object/signature.h"
#include "python/bindings.h"
#include "python/errors.h"

namespace py = pybind11;
using namespace pybind11::literals;

namespace wave {
namespace {

std::span<const uint8_t> span_of(const py::bytes& data) {
  const std::string_view view = data;
  return {reinterpret_cast<const uint8_t*>(view.data()), view.size()};
}

std::optional<Target> wanted_target(const std::optional<std::string>& target) {
  if (!target) return std::nullopt;
  return Target::parse(*target);
}

std::shared_ptr<const CodeObject> parse(const py::bytes& data, const std::optional<std::string>& target) {
  const std::span<const uint8_t> file = span_of(data);
  const py::gil_scoped_release release;  // `data` keeps the bytes alive
  return CodeObject::parse(file, wanted_target(target));
}

std::vector<std::shared_ptr<const CodeObject>> parse_all(const py::bytes& data,
                                                         const std::optional<std::string>& target) {
  const std::span<const uint8_t> file = span_of(data);
  const py::gil_scoped_release release;
  return CodeObject::parse_all(file, wanted_target(target));
}

py::bytes to_bytes(const CodeObject& object) {
  const Bytes bytes = object.bytes();
  return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

py::object access_name(Access access) {
  switch (access) {
    case Access::ReadOnly:
      return py::str("read_only");
    case Access::WriteOnly:
      return py::str("write_only");
    case Access::ReadWrite:
      return py::str("read_write");
    case Access::Unstated:
      break;
  }
  return py::none();
}

py::dict to_dict(const ArgumentMetadata& argument) {
  return py::dict("name"_a = python_text(argument.name), "type_name"_a = python_text(argument.type_name),
                  "kind"_a = python_text(argument.kind_name), "is_hidden"_a = is_hidden(argument.kind),
                  "may_be_pointer"_a = argument.may_be_pointer, "offset"_a = argument.offset, "size"_a = argument.size,
                  "pointee_align"_a = argument.pointee_align, "address_space"_a = python_text(argument.address_space),
                  "access"_a = access_name(argument.access), "actual_access"_a = access_name(argument.actual_access),
                  "is_const"_a = argument.is_const, "is_restrict"_a = argument.is_restrict,
                  "is_volatile"_a = argument.is_volatile);
}

py::dict to_dict(const KernelDescriptor& d) {
  return py::dict(
      "group_segment_fixed_size"_a = d.group_segment_fixed_size,
      "private_segment_fixed_size"_a = d.private_segment_fixed_size, "kernarg_size"_a = d.kernarg_size,
      "kernel_code_entry_byte_offset"_a = d.kernel_code_entry_byte_offset,
      // compute_pgm_rsrc1
      "granulated_workitem_vgpr_count"_a = d.granulated_workitem_vgpr_count,
      "granulated_wavefront_sgpr_count"_a = d.granulated_wavefront_sgpr_count, "priority"_a = d.priority,
      "float_round_mode_32"_a = d.float_round_mode_32, "float_round_mode_16_64"_a = d.float_round_mode_16_64,
      "float_denorm_mode_32"_a = d.float_denorm_mode_32, "float_denorm_mode_16_64"_a = d.float_denorm_mode_16_64,
      "priv"_a = d.priv, "enable_dx10_clamp"_a = d.enable_dx10_clamp, "debug_mode"_a = d.debug_mode,
      "enable_ieee_mode"_a = d.enable_ieee_mode, "bulky"_a = d.bulky, "cdbg_user"_a = d.cdbg_user,
      "fp16_overflow"_a = d.fp16_overflow, "wgp_mode"_a = d.wgp_mode, "memory_ordered"_a = d.memory_ordered,
      "forward_progress"_a = d.forward_progress,
      // compute_pgm_rsrc2
      "enable_private_segment"_a = d.enable_private_segment, "user_sgpr_count"_a = d.user_sgpr_count,
      "enable_trap_handler"_a = d.enable_trap_handler, "enable_sgpr_workgroup_id_x"_a = d.enable_sgpr_workgroup_id_x,
      "enable_sgpr_workgroup_id_y"_a = d.enable_sgpr_workgroup_id_y,
      "enable_sgpr_workgroup_id_z"_a = d.enable_sgpr_workgroup_id_z,
      "enable_sgpr_workgroup_info"_a = d.enable_sgpr_workgroup_info,
      "enable_vgpr_workitem_id"_a = d.enable_vgpr_workitem_id, "exception_flags"_a = d.exception_flags,
      "granulated_lds_size"_a = d.granulated_lds_size,
      // compute_pgm_rsrc3
      "accum_offset"_a = d.accum_offset, "tg_split"_a = d.tg_split, "shared_vgpr_count"_a = d.shared_vgpr_count,
      "inst_pref_size"_a = d.inst_pref_size, "rsrc3"_a = d.rsrc3,
      // kernel_code_properties and kernarg_preload
      "enable_sgpr_private_segment_buffer"_a = d.enable_sgpr_private_segment_buffer,
      "enable_sgpr_dispatch_ptr"_a = d.enable_sgpr_dispatch_ptr, "enable_sgpr_queue_ptr"_a = d.enable_sgpr_queue_ptr,
      "enable_sgpr_kernarg_segment_ptr"_a = d.enable_sgpr_kernarg_segment_ptr,
      "enable_sgpr_dispatch_id"_a = d.enable_sgpr_dispatch_id,
      "enable_sgpr_flat_scratch_init"_a = d.enable_sgpr_flat_scratch_init,
      "enable_sgpr_private_segment_size"_a = d.enable_sgpr_private_segment_size,
      "enable_wavefront_size32"_a = d.enable_wavefront_size32, "uses_dynamic_stack"_a = d.uses_dynamic_stack,
      "kernarg_preload_length"_a = d.kernarg_preload_length, "kernarg_preload_offset"_a = d.kernarg_preload_offset);
}

/// The signature that the binary gives, or None where it lists no arguments.
py::object signature_text(const KernelMetadata& metadata) {
  const std::optional<Signature> signature = signature_from_metadata(metadata);
  return signature ? py::object(py::str(signature->text())) : py::none();
}

py::object arguments_of(const KernelMetadata& metadata) {
  if (!metadata.arguments) return py::none();
  py::list arguments;
  for (const ArgumentMetadata& argument : *metadata.arguments) arguments.append(to_dict(argument));
  return arguments;
}

py::dict to_dict(const Occupancy& o) {
  return py::dict("waves_per_simd"_a = o.waves_per_simd, "max_waves_per_simd"_a = o.max_waves_per_simd,
                  "workgroups_per_unit"_a = o.workgroups_per_unit, "limited_by"_a = o.limited_by);
}

// At the block that the kernel requires, else at the largest that it allows, without dynamic LDS; or why it is unknown.
py::dict default_occupancy(const KernelInfo& kernel, const Target& target) {
  const KernelMetadata& m = kernel.metadata;
  uint64_t size = m.max_flat_workgroup_size;
  if (m.reqd_workgroup_size) {
    const auto& [x, y, z] = *m.reqd_workgroup_size;
    size = std::min<uint64_t>(uint64_t{x} * y, UINT32_MAX) * z;
  }
  py::dict result;
  try {
    if (size == 0) throw ValueError("the file states no block size");
    const auto workgroup_size = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
    result = to_dict(occupancy(target, kernel, workgroup_size, m.group_segment_fixed_size));
  } catch (const ValueError& error) {
    result["unknown"] = python_text(error.what());
  }
  result["workgroup_size"] = size == 0 ? py::object(py::none()) : py::int_(size);
  return result;
}

/// What only AMD's code has, or nothing of it.
py::dict descriptor_parts(const KernelInfo& kernel, const Target& target) {
  if (!kernel.descriptor) return {};
  return py::dict("descriptor"_a = to_dict(*kernel.descriptor), "allocated_vgprs"_a = kernel.descriptor->vgprs(target),
                  "allocated_sgprs"_a = kernel.descriptor->sgprs(target),
                  "occupancy"_a = default_occupancy(kernel, target), "descriptor_address"_a = kernel.descriptor_address,
                  "entry_address"_a = kernel.entry_address);
}

py::dict to_dict(const KernelInfo& kernel, const Target& target) {
  const KernelMetadata& m = kernel.metadata;
  const py::dict result(
      "name"_a = python_text(m.name), "signature"_a = signature_text(m), "symbol"_a = python_text(m.symbol),
      "arguments"_a = arguments_of(m), "reqd_workgroup_size"_a = m.reqd_workgroup_size,
      "kernarg_segment_size"_a = m.kernarg_segment_size, "kernarg_segment_align"_a = m.kernarg_segment_align,
      "group_segment_fixed_size"_a = m.group_segment_fixed_size,
      "private_segment_fixed_size"_a = m.private_segment_fixed_size, "wavefront_size"_a = m.wavefront_size,
      "sgpr_count"_a = m.sgpr_count, "vgpr_count"_a = m.vgpr_count, "agpr_count"_a = m.agpr_count,
      "sgpr_spill_count"_a = m.sgpr_spill_count, "vgpr_spill_count"_a = m.vgpr_spill_count,
      "max_flat_workgroup_size"_a = m.max_flat_workgroup_size, "uniform_work_group_size"_a = m.uniform_work_group_size,
      "uses_dynamic_stack"_a = m.uses_dynamic_stack, "cluster_size"_a = m.cluster_size,
      "code_size"_a = kernel.code_size, **descriptor_parts(kernel, target));
  return result;
}

py::dict to_dict(const Segment& segment) {
  return py::dict("address"_a = segment.address, "file_offset"_a = segment.file_offset,
                  "file_size"_a = segment.file_size, "memory_size"_a = segment.memory_size,
                  "writable"_a = segment.writable, "executable"_a = segment.executable);
}

py::dict to_dict(const Symbol& symbol) {
  return py::dict("name"_a = python_text(symbol.name), "address"_a = symbol.address, "size"_a = symbol.size,
                  "is_function"_a = symbol.is_function);
}

py::dict to_dict(const Relocation& relocation) {
  return py::dict("type"_a = relocation.type, "address"_a = relocation.address,
                  "symbol_address"_a = relocation.symbol_address, "addend"_a = relocation.addend,
                  "undefined"_a = python_text(relocation.undefined));
}

template <class Item>
py::list to_list(const std::vector<Item>& items) {
  py::list list;
  for (const Item& item : items) list.append(to_dict(item));
  return list;
}

py::dict read_code_object(const py::bytes& data, const std::optional<std::string>& target) {
  const auto object = parse(data, target);
  py::list kernels;
  for (const KernelInfo& kernel : object->kernels()) kernels.append(to_dict(kernel, object->target()));
  return py::dict("format"_a = name(object->format()), "target"_a = object->target().id(),
                  "generic_version"_a = object->target().generic_version, "version"_a = object->version(),
                  "sha256"_a = object->sha256(), "kernels"_a = kernels, "segments"_a = to_list(object->segments()),
                  "symbols"_a = to_list(object->symbols()), "relocations"_a = to_list(object->relocations()));
}

py::bytes image(const py::bytes& data, const std::optional<std::string>& target) {
  return to_bytes(*parse(data, target));
}

py::list images(const py::bytes& data, const std::optional<std::string>& target) {
  py::list list;
  for (const auto& object : parse_all(data, target)) list.append(to_bytes(*object));
  return list;
}

py::dict occupancy_of(const py::bytes& data, const std::optional<std::string>& target, const std::string& kernel,
                      uint32_t workgroup_size, uint32_t lds_bytes) {
  const auto object = parse(data, target);
  const Occupancy result = occupancy(object->target(), object->kernel(kernel), workgroup_size, lds_bytes);
  return to_dict(result);
}

/// (paths, [(address, line, index of its path)]), by address.
py::tuple line_table(const py::bytes& data) {
  const std::string_view bytes = data;
  const LineTable table = read_line_table({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  py::list files, rows;
  for (const std::string& file : table.files) files.append(python_text(file));
  for (const LineRow& row : table.rows) rows.append(py::make_tuple(row.address, row.line, row.file));
  return py::make_tuple(files, rows);
}

std::optional<py::bytes> image_for(const py::bytes& data, const std::string& device) {
  const auto best = select_for(parse_all(data, std::nullopt), Target::parse(device));
  return best ? std::optional(to_bytes(*best)) : std::nullopt;
}

std::string normal_target(const std::string& id) { return Target::parse(id).id(); }

bool target_runs_on(const std::string& code, const std::string& device) {
  return Target::parse(code).runs_on(Target::parse(device));
}

/// [(name, "*f32 const", "f32", whether it is a pointer, whether it is const)]
py::list parse_signature_text(const std::string& given) {
  py::list parameters;
  for (const Parameter& parameter : parse_signature(given, KernelMetadata{}).parameters) {
    parameters.append(py::make_tuple(parameter.name, parameter.type_text(), name(parameter.type), parameter.is_pointer,
                                     parameter.is_const));
  }
  return parameters;
}

std::optional<std::string> demangle(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return text ? std::optional<std::string>(text.get()) : std::nullopt;
}

}  // namespace

void bind_code_object(py::module_& module) {
  module.def("read_code_object", &read_code_object, "data"_a, "target"_a = py::none(),
             "Everything that a code object, a cubin, PTX or an entry of a container says of its code for `target`.");
  module.def("image", &image, "data"_a, "target"_a = py::none(),
             "The image for `target`, which is what a driver loads.");
  module.def("images", &images, "data"_a, "target"_a = py::none(),
             "The same as a list: of each translation unit the one for `target`, or all without a target.");
  module.def(
      "parse_signature", &parse_signature_text, "text"_a,
      "The parameters of a signature: name, type as in the text, type of a value or of what a pointer points to, "
      "whether it is a pointer, whether it is const.");
  module.def("demangle", &demangle, "name"_a, "A C++ symbol as in the source, with its parameters' types; or None.");
  module.def("line_table", &line_table, "data"_a, "The source lines of an ELF image's instructions, by address.");
  module.def("image_for", &image_for, "data"_a, "device"_a,
             "Of all code in a file the image that runs best on a device with this target, or None.");
  module.def("occupancy", &occupancy_of, "data"_a, "target"_a, "kernel"_a, "workgroup_size"_a, "lds_bytes"_a,
             "Waves and workgroups of a kernel that fit on a compute unit, and what limits them.");
  module.def("normal_target", &normal_target, "id"_a, "A target id in its normal form. Raises ValueError.");
  module.def("target_runs_on", &target_runs_on, "code"_a, "device"_a,
             "Whether code built for the first target id runs on a device with the second.");
}

}  // namespace wave
