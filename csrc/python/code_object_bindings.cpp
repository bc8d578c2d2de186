// Reading code objects from Python.

#include <algorithm>
#include <memory>

#include "code_object/code_object.h"
#include "code_object/line_table.h"
#include "code_object/occupancy.h"
#include "code_object/select.h"
#include "code_object/signature.h"
#include "python/bindings.h"
#include "python/define.h"
#include "python/devices.h"
#include "python/gil.h"

namespace wave {

template <>
struct py::Converter<Access> {
  static object to(Access access) { return access == Access::Unstated ? none() : text(name(access)); }
};

WAVE_AS_DICT(ArgumentMetadata, WAVE_MEMBERS(value, name, type_name), {"kind", value.kind_name},
             {"is_hidden", is_hidden(value.kind)},
             WAVE_MEMBERS(value, may_be_pointer, offset, size, pointee_align, address_space, access, actual_access,
                          is_const, is_restrict, is_volatile))

WAVE_AS_DICT(KernelDescriptor,
             WAVE_MEMBERS(value, group_segment_fixed_size, private_segment_fixed_size, kernarg_size,
                          kernel_code_entry_byte_offset),
             // compute_pgm_rsrc1
             WAVE_MEMBERS(value, granulated_workitem_vgpr_count, granulated_wavefront_sgpr_count, priority,
                          float_round_mode_32, float_round_mode_16_64, float_denorm_mode_32, float_denorm_mode_16_64,
                          priv, enable_dx10_clamp, debug_mode, enable_ieee_mode, bulky, cdbg_user, fp16_overflow,
                          wgp_mode, memory_ordered, forward_progress),
             // compute_pgm_rsrc2
             WAVE_MEMBERS(value, enable_private_segment, user_sgpr_count, enable_trap_handler,
                          enable_sgpr_workgroup_id_x, enable_sgpr_workgroup_id_y, enable_sgpr_workgroup_id_z,
                          enable_sgpr_workgroup_info, enable_vgpr_workitem_id, exception_flags, granulated_lds_size),
             // compute_pgm_rsrc3
             WAVE_MEMBERS(value, accum_offset, tg_split, shared_vgpr_count, inst_pref_size, rsrc3),
             // kernel_code_properties and kernarg_preload
             WAVE_MEMBERS(value, enable_sgpr_private_segment_buffer, enable_sgpr_dispatch_ptr, enable_sgpr_queue_ptr,
                          enable_sgpr_kernarg_segment_ptr, enable_sgpr_dispatch_id, enable_sgpr_flat_scratch_init,
                          enable_sgpr_private_segment_size, enable_wavefront_size32, uses_dynamic_stack,
                          kernarg_preload_length, kernarg_preload_offset))

WAVE_AS_DICT(Occupancy, WAVE_MEMBERS(value, waves_per_simd, max_waves_per_simd, workgroups_per_unit, limited_by))
WAVE_AS_DICT(Segment, WAVE_MEMBERS(value, address, file_offset, file_size, memory_size, writable, executable))
WAVE_AS_DICT(Symbol, WAVE_MEMBERS(value, name, address, size, is_function))
WAVE_AS_DICT(Relocation, WAVE_MEMBERS(value, type, address, symbol_address, addend, undefined))

namespace {

std::shared_ptr<const CodeObject> parse(const py::bytes& data, const std::optional<Target>& target) {
  const std::span<const uint8_t> file = data.span();
  const GilRelease release;  // `data` keeps the bytes alive
  return CodeObject::parse(file, target);
}

CodeObjects parse_all(const py::bytes& data, const std::optional<Target>& target) {
  const std::span<const uint8_t> file = data.span();
  const GilRelease release;
  return CodeObject::parse_all(file, target);
}

PyObject* new_code_object(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  return with_python_errors([&] {
    const char* names[] = {"data", "target", nullptr};
    PyObject *data = nullptr, *target = Py_None;
    if (PyArg_ParseTupleAndKeywords(arguments, keywords, "S|O:CodeObject", const_cast<char**>(names), &data, &target) ==
        0) {
      py::raise();
    }
    const auto wanted = py::from_python<std::optional<Target>>(target, {.what = "CodeObject(): target"});
    return make_callable_of<ParsedCode>(type, parse(py::bytes(py::borrow(data)), wanted));
  });
}

const char* format_of(const ParsedCode& parsed) { return name(parsed.code->format()); }
const Target& target_of(const ParsedCode& parsed) { return parsed.code->target(); }
py::bytes bytes_of_code(const ParsedCode& parsed) { return py::bytes(parsed.code->bytes().span()); }
py::tuple kernel_names_of(const ParsedCode& parsed) {
  return py::tuple_of(parsed.code->kernels(), [](const KernelInfo& kernel) { return kernel.metadata.name; });
}

/// The signature that the binary gives, or None where it lists no arguments.
std::optional<std::string> signature_text(const KernelMetadata& metadata) {
  const std::optional<Signature> signature = signature_from_metadata(metadata);
  return signature ? std::optional(signature->text()) : std::nullopt;
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
    result = py::to_python(occupancy(target, kernel, workgroup_size, m.group_segment_fixed_size));
  } catch (const ValueError& error) {
    result.set("unknown", py::text(error.what()));
  }
  result.set("workgroup_size", size == 0 ? std::nullopt : std::optional(size));
  return result;
}

/// What only AMD's code has, or nothing of it.
py::dict descriptor_parts(const KernelInfo& kernel, const Target& target) {
  if (!kernel.descriptor) return {};
  return py::make_dict({WAVE_MEMBERS(kernel, descriptor),
                        {"allocated_vgprs", kernel.descriptor->vgprs},
                        {"granted_vgprs", allocated_vgprs(target, *kernel.descriptor)},
                        {"allocated_sgprs", kernel.descriptor->sgprs},
                        {"occupancy", default_occupancy(kernel, target)},
                        WAVE_MEMBERS(kernel, descriptor_address, entry_address)});
}

py::dict kernel_as_dict(const KernelInfo& kernel, const Target& target) {
  const KernelMetadata& m = kernel.metadata;
  py::dict result = py::make_dict(
      {WAVE_MEMBERS(m, name),
       {"signature", signature_text(m)},
       WAVE_MEMBERS(m, symbol, arguments, reqd_workgroup_size, kernarg_segment_size, kernarg_segment_align,
                    group_segment_fixed_size, private_segment_fixed_size, wavefront_size, sgpr_count, vgpr_count,
                    agpr_count, sgpr_spill_count, vgpr_spill_count, max_flat_workgroup_size, uniform_work_group_size,
                    uses_dynamic_stack, cluster_size),
       WAVE_MEMBERS(kernel, code_size)});
  result.update(descriptor_parts(kernel, target));
  return result;
}

py::dict describe(const ParsedCode& parsed) {
  const CodeObject& code = *parsed.code;
  const Target& target = code.target();
  const py::list kernels =
      py::list_of(code.kernels(), [&](const KernelInfo& kernel) { return kernel_as_dict(kernel, target); });
  return py::make_dict({{"format", name(code.format())},
                        {"target", target},
                        WAVE_MEMBERS(target, generic_version),
                        {"version", code.version()},
                        {"sha256", code.sha256()},
                        {"kernels", kernels},
                        {"segments", code.segments()},
                        {"symbols", code.symbols()},
                        {"relocations", code.relocations()}});
}

Occupancy occupancy_of(const py::bytes& data, const std::optional<Target>& target, const std::string& kernel,
                       uint32_t workgroup_size, uint32_t lds_bytes) {
  const auto object = parse(data, target);
  return occupancy(object->target(), object->kernel(kernel), workgroup_size, lds_bytes);
}

/// (paths, [(address, line, index of its path)]), by address.
py::tuple line_table(const py::bytes& data) {
  const LineTable table = read_line_table(data.span());
  return py::make_tuple(table.files, py::list_of(table.rows, [](const LineRow& row) {
                          return py::make_tuple(row.address, row.line, row.file);
                        }));
}

std::shared_ptr<const CodeObject> image_for(const py::bytes& data, const Target& device) {
  return select_for(parse_all(data, std::nullopt), device);
}

Target normal_target(const Target& id) { return id; }
bool target_runs_on(const Target& code, const Target& device) { return code.runs_on(device); }

/// What is known of an AMD processor of this name; None where there is none.
py::object processor_facts(const std::string& name) {
  const Processor* const processor = find_processor(name);
  if (processor == nullptr) return py::none();
  const ProcessorLimits* const limits = processor->limits;
  return py::make_dict({{"lanes", processor->lanes()},
                        {"lds_granularity", limits == nullptr ? py::none() : py::to_python(limits->lds_granularity)}});
}

/// [(name, "*f32 const", "f32", whether it is a pointer, whether it is const)]
py::list parse_signature_text(const std::string& given) {
  return py::list_of(parse_signature(given, KernelMetadata{}).parameters, [](const Parameter& parameter) {
    return py::make_tuple(parameter.name, parameter.type_text(), name(parameter.type), parameter.is_pointer,
                          parameter.is_const);
  });
}

std::string text_of_symbol(const std::string& symbol) { return kernel_text(symbol); }

}  // namespace

void bind_code_object(py::handle module) {
  py::add_type<ParsedCode>(
      module, {.slots = {py::slot(Py_tp_new, new_code_object)},
               .methods = {py::method<describe>("describe", "")},
               .properties = {py::property<format_of>("format"), py::property<target_of>("target"),
                              py::property<kernel_names_of>("kernels"), py::property<bytes_of_code>("data")},
               .flags = 0});
  py::add_functions(
      module, {py::function<parse_all>("code_objects", "data, target=None"),
               py::function<parse_signature_text>("parse_signature", "text"),
               py::function<demangle>("demangle", "name"), py::function<text_of_symbol>("kernel_text", "symbol"),
               py::function<line_table>("line_table", "data"), py::function<image_for>("image_for", "data, device"),
               py::function<occupancy_of>("occupancy", "data, target, kernel, workgroup_size, lds_bytes"),
               py::function<processor_facts>("processor_facts", "processor"),
               py::function<normal_target>("normal_target", "id"),
               py::function<target_runs_on>("target_runs_on", "code, device")});
}

}  // namespace wave
