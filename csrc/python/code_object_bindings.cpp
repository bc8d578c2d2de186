// Reading code objects from Python, as plain dictionaries: for `python -m wave_runtime info` and the tests.

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "code_object/code_object.h"
#include "code_object/line_table.h"
#include "code_object/occupancy.h"
#include "code_object/select.h"
#include "code_object/signature.h"
#include "python/bindings.h"
#include "python/define.h"
#include "python/gil.h"

namespace wave {
namespace {

std::optional<Target> wanted_target(const std::optional<std::string>& target) {
  if (!target) return std::nullopt;
  return Target::parse(*target);
}

std::shared_ptr<const CodeObject> parse(const py::bytes& data, const std::optional<std::string>& target) {
  const std::span<const uint8_t> file = data.span();
  const GilRelease release;  // `data` keeps the bytes alive
  return CodeObject::parse(file, wanted_target(target));
}

std::vector<std::shared_ptr<const CodeObject>> parse_all(const py::bytes& data,
                                                         const std::optional<std::string>& target) {
  const std::span<const uint8_t> file = data.span();
  const GilRelease release;
  return CodeObject::parse_all(file, wanted_target(target));
}

py::bytes to_bytes(const CodeObject& object) { return py::bytes(object.bytes().span()); }

std::optional<const char*> access_name(Access access) {
  switch (access) {
    case Access::ReadOnly:
      return "read_only";
    case Access::WriteOnly:
      return "write_only";
    case Access::ReadWrite:
      return "read_write";
    case Access::Unstated:
      break;
  }
  return std::nullopt;
}

py::dict to_dict(const ArgumentMetadata& argument) {
  return py::make_dict({{"name", argument.name},
                        {"type_name", argument.type_name},
                        {"kind", argument.kind_name},
                        {"is_hidden", is_hidden(argument.kind)},
                        {"may_be_pointer", argument.may_be_pointer},
                        {"offset", argument.offset},
                        {"size", argument.size},
                        {"pointee_align", argument.pointee_align},
                        {"address_space", argument.address_space},
                        {"access", access_name(argument.access)},
                        {"actual_access", access_name(argument.actual_access)},
                        {"is_const", argument.is_const},
                        {"is_restrict", argument.is_restrict},
                        {"is_volatile", argument.is_volatile}});
}

py::dict to_dict(const KernelDescriptor& d) {
  return py::make_dict({{"group_segment_fixed_size", d.group_segment_fixed_size},
                        {"private_segment_fixed_size", d.private_segment_fixed_size},
                        {"kernarg_size", d.kernarg_size},
                        {"kernel_code_entry_byte_offset", d.kernel_code_entry_byte_offset},
                        // compute_pgm_rsrc1
                        {"granulated_workitem_vgpr_count", d.granulated_workitem_vgpr_count},
                        {"granulated_wavefront_sgpr_count", d.granulated_wavefront_sgpr_count},
                        {"priority", d.priority},
                        {"float_round_mode_32", d.float_round_mode_32},
                        {"float_round_mode_16_64", d.float_round_mode_16_64},
                        {"float_denorm_mode_32", d.float_denorm_mode_32},
                        {"float_denorm_mode_16_64", d.float_denorm_mode_16_64},
                        {"priv", d.priv},
                        {"enable_dx10_clamp", d.enable_dx10_clamp},
                        {"debug_mode", d.debug_mode},
                        {"enable_ieee_mode", d.enable_ieee_mode},
                        {"bulky", d.bulky},
                        {"cdbg_user", d.cdbg_user},
                        {"fp16_overflow", d.fp16_overflow},
                        {"wgp_mode", d.wgp_mode},
                        {"memory_ordered", d.memory_ordered},
                        {"forward_progress", d.forward_progress},
                        // compute_pgm_rsrc2
                        {"enable_private_segment", d.enable_private_segment},
                        {"user_sgpr_count", d.user_sgpr_count},
                        {"enable_trap_handler", d.enable_trap_handler},
                        {"enable_sgpr_workgroup_id_x", d.enable_sgpr_workgroup_id_x},
                        {"enable_sgpr_workgroup_id_y", d.enable_sgpr_workgroup_id_y},
                        {"enable_sgpr_workgroup_id_z", d.enable_sgpr_workgroup_id_z},
                        {"enable_sgpr_workgroup_info", d.enable_sgpr_workgroup_info},
                        {"enable_vgpr_workitem_id", d.enable_vgpr_workitem_id},
                        {"exception_flags", d.exception_flags},
                        {"granulated_lds_size", d.granulated_lds_size},
                        // compute_pgm_rsrc3
                        {"accum_offset", d.accum_offset},
                        {"tg_split", d.tg_split},
                        {"shared_vgpr_count", d.shared_vgpr_count},
                        {"inst_pref_size", d.inst_pref_size},
                        {"rsrc3", d.rsrc3},
                        // kernel_code_properties and kernarg_preload
                        {"enable_sgpr_private_segment_buffer", d.enable_sgpr_private_segment_buffer},
                        {"enable_sgpr_dispatch_ptr", d.enable_sgpr_dispatch_ptr},
                        {"enable_sgpr_queue_ptr", d.enable_sgpr_queue_ptr},
                        {"enable_sgpr_kernarg_segment_ptr", d.enable_sgpr_kernarg_segment_ptr},
                        {"enable_sgpr_dispatch_id", d.enable_sgpr_dispatch_id},
                        {"enable_sgpr_flat_scratch_init", d.enable_sgpr_flat_scratch_init},
                        {"enable_sgpr_private_segment_size", d.enable_sgpr_private_segment_size},
                        {"enable_wavefront_size32", d.enable_wavefront_size32},
                        {"uses_dynamic_stack", d.uses_dynamic_stack},
                        {"kernarg_preload_length", d.kernarg_preload_length},
                        {"kernarg_preload_offset", d.kernarg_preload_offset}});
}

/// The signature that the binary gives, or None where it lists no arguments.
std::optional<std::string> signature_text(const KernelMetadata& metadata) {
  const std::optional<Signature> signature = signature_from_metadata(metadata);
  return signature ? std::optional(signature->text()) : std::nullopt;
}

py::object arguments_of(const KernelMetadata& metadata) {
  if (!metadata.arguments) return py::none();
  return py::list_of(*metadata.arguments, [](const ArgumentMetadata& argument) { return to_dict(argument); });
}

py::dict to_dict(const Occupancy& o) {
  return py::make_dict({{"waves_per_simd", o.waves_per_simd},
                        {"max_waves_per_simd", o.max_waves_per_simd},
                        {"workgroups_per_unit", o.workgroups_per_unit},
                        {"limited_by", o.limited_by}});
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
    result.set("unknown", py::text(error.what()));
  }
  result.set("workgroup_size", size == 0 ? std::nullopt : std::optional(size));
  return result;
}

/// What only AMD's code has, or nothing of it.
py::dict descriptor_parts(const KernelInfo& kernel, const Target& target) {
  if (!kernel.descriptor) return {};
  return py::make_dict({{"descriptor", to_dict(*kernel.descriptor)},
                        {"allocated_vgprs", kernel.descriptor->vgprs(target)},
                        {"allocated_sgprs", kernel.descriptor->sgprs(target)},
                        {"occupancy", default_occupancy(kernel, target)},
                        {"descriptor_address", kernel.descriptor_address},
                        {"entry_address", kernel.entry_address}});
}

py::dict to_dict(const KernelInfo& kernel, const Target& target) {
  const KernelMetadata& m = kernel.metadata;
  py::dict result = py::make_dict({{"name", m.name},
                                   {"signature", signature_text(m)},
                                   {"symbol", m.symbol},
                                   {"arguments", arguments_of(m)},
                                   {"reqd_workgroup_size", m.reqd_workgroup_size},
                                   {"kernarg_segment_size", m.kernarg_segment_size},
                                   {"kernarg_segment_align", m.kernarg_segment_align},
                                   {"group_segment_fixed_size", m.group_segment_fixed_size},
                                   {"private_segment_fixed_size", m.private_segment_fixed_size},
                                   {"wavefront_size", m.wavefront_size},
                                   {"sgpr_count", m.sgpr_count},
                                   {"vgpr_count", m.vgpr_count},
                                   {"agpr_count", m.agpr_count},
                                   {"sgpr_spill_count", m.sgpr_spill_count},
                                   {"vgpr_spill_count", m.vgpr_spill_count},
                                   {"max_flat_workgroup_size", m.max_flat_workgroup_size},
                                   {"uniform_work_group_size", m.uniform_work_group_size},
                                   {"uses_dynamic_stack", m.uses_dynamic_stack},
                                   {"cluster_size", m.cluster_size},
                                   {"code_size", kernel.code_size}});
  result.update(descriptor_parts(kernel, target));
  return result;
}

py::dict to_dict(const Segment& segment) {
  return py::make_dict({{"address", segment.address},
                        {"file_offset", segment.file_offset},
                        {"file_size", segment.file_size},
                        {"memory_size", segment.memory_size},
                        {"writable", segment.writable},
                        {"executable", segment.executable}});
}

py::dict to_dict(const Symbol& symbol) {
  return py::make_dict(
      {{"name", symbol.name}, {"address", symbol.address}, {"size", symbol.size}, {"is_function", symbol.is_function}});
}

py::dict to_dict(const Relocation& relocation) {
  return py::make_dict({{"type", relocation.type},
                        {"address", relocation.address},
                        {"symbol_address", relocation.symbol_address},
                        {"addend", relocation.addend},
                        {"undefined", relocation.undefined}});
}

template <class Item>
py::list to_list(const std::vector<Item>& items) {
  return py::list_of(items, [](const Item& item) { return to_dict(item); });
}

py::dict read_code_object(const py::bytes& data, const std::optional<std::string>& target) {
  const auto object = parse(data, target);
  const Target& target_of_code = object->target();
  const py::list kernels =
      py::list_of(object->kernels(), [&](const KernelInfo& kernel) { return to_dict(kernel, target_of_code); });
  return py::make_dict({{"format", name(object->format())},
                        {"target", target_of_code.id()},
                        {"generic_version", target_of_code.generic_version},
                        {"version", object->version()},
                        {"sha256", object->sha256()},
                        {"kernels", kernels},
                        {"segments", to_list(object->segments())},
                        {"symbols", to_list(object->symbols())},
                        {"relocations", to_list(object->relocations())}});
}

py::bytes image(const py::bytes& data, const std::optional<std::string>& target) {
  return to_bytes(*parse(data, target));
}

py::list images(const py::bytes& data, const std::optional<std::string>& target) {
  return py::list_of(parse_all(data, target), [](const auto& object) { return to_bytes(*object); });
}

py::dict occupancy_of(const py::bytes& data, const std::optional<std::string>& target, const std::string& kernel,
                      uint32_t workgroup_size, uint32_t lds_bytes) {
  const auto object = parse(data, target);
  const Occupancy result = occupancy(object->target(), object->kernel(kernel), workgroup_size, lds_bytes);
  return to_dict(result);
}

/// (paths, [(address, line, index of its path)]), by address.
py::tuple line_table(const py::bytes& data) {
  const LineTable table = read_line_table(data.span());
  return py::make_tuple(table.files, py::list_of(table.rows, [](const LineRow& row) {
                          return py::make_tuple(row.address, row.line, row.file);
                        }));
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
  return py::list_of(parse_signature(given, KernelMetadata{}).parameters, [](const Parameter& parameter) {
    return py::make_tuple(parameter.name, parameter.type_text(), name(parameter.type), parameter.is_pointer,
                          parameter.is_const);
  });
}

std::optional<std::string> demangle(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return text ? std::optional<std::string>(text.get()) : std::nullopt;
}

}  // namespace

void bind_code_object(py::handle module) {
  py::add_functions(
      module,
      {py::function<read_code_object>(
           "read_code_object", "data, target=None",
           "Everything that a code object, a cubin, PTX or an entry of a container says of its code for `target`."),
       py::function<image>("image", "data, target=None", "The image for `target`, which is what a driver loads."),
       py::function<images>(
           "images", "data, target=None",
           "The same as a list: of each translation unit the one for `target`, or all without a target."),
       py::function<parse_signature_text>(
           "parse_signature", "text",
           "The parameters of a signature: name, type as in the text, type of a value or of what a pointer points to, "
           "whether it is a pointer, whether it is const."),
       py::function<demangle>("demangle", "name",
                              "A C++ symbol as in the source, with its parameters' types; or None."),
       py::function<line_table>("line_table", "data", "The source lines of an ELF image's instructions, by address."),
       py::function<image_for>("image_for", "data, device",
                               "Of all code in a file the image that runs best on a device with this target, or None."),
       py::function<occupancy_of>("occupancy", "data, target, kernel, workgroup_size, lds_bytes",
                                  "Waves and workgroups of a kernel that fit on a compute unit, and what limits them."),
       py::function<normal_target>("normal_target", "id", "A target id in its normal form. Raises ValueError."),
       py::function<target_runs_on>("target_runs_on", "code, device",
                                    "Whether code built for the first target id runs on a device with the second.")});
}

}  // namespace wave
