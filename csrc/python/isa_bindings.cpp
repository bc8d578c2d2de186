// The instruction tables from Python: for the tests, `python -m wave_runtime disasm`, and whoever asks what is
// supported.

#include <cstring>
#include <string>
#include <vector>

#include "emulator/isa/fields.h"
#include "emulator/isa/isa.h"
#include "emulator/processor.h"
#include "python/bindings.h"
#include "python/define.h"

namespace wave {

inline constexpr const char* kFormatNames[] = {
#define WAVE_ISA_FORMAT(name) #name,
#include "emulator/isa/fields.inc"
};

inline constexpr const char* kFieldNames[] = {
    "NONE",
#define WAVE_ISA_FIELD_NAME(name) #name,
#include "emulator/isa/fields.inc"
};

inline constexpr const char* kDirectionNames[] = {"none", "load", "store", "atomic"};
static_assert(std::size(kDirectionNames) == size_t(isa::MemoryAccess::Direction::Atomic) + 1);

inline constexpr const char* kGenerationNames[] = {"gfx9", "gfx10", "gfx11", "gfx12"};
static_assert(std::size(kGenerationNames) == size_t(isa::Generation::GFX12) + 1);

namespace {

/// The names of the bits that are set: of kNeg "Neg".
template <class Flag, size_t... kBit>
py::list flag_names(uint64_t flags, std::index_sequence<kBit...>) {
  py::list found;
  ((flags >> kBit & 1 ? found.append(py::enumerator<static_cast<Flag>(uint64_t{1} << kBit)>().substr(1)) : void()),
   ...);
  return found;
}
template <class Flag>
py::list flag_names(uint64_t flags) {
  return flag_names<Flag>(flags, std::make_index_sequence<8 * sizeof(Flag)>{});
}

}  // namespace

template <>
struct py::Converter<isa::Generation> : py::NamedValues<kGenerationNames> {};
template <>
struct py::Converter<isa::Format> : py::NamedValues<kFormatNames> {};
template <>
struct py::Converter<isa::Field> : py::NamedValues<kFieldNames> {};
template <>
struct py::Converter<isa::MemoryAccess::Direction> : py::NamedValues<kDirectionNames> {};

WAVE_AS_DICT(isa::Operand, WAVE_MEMBERS(value, field, kind, type, dwords, written, read))

namespace {

py::object to_object(const isa::MemoryAccess& memory) {
  if (memory.direction == isa::MemoryAccess::Direction::None) return py::none();
  return py::make_dict({WAVE_MEMBERS(memory, direction, bytes, addresses, stride, replaces)});
}

py::object to_object(const isa::MatrixProduct& matrix) {
  if (matrix.m == 0) return py::none();
  return py::make_dict({WAVE_MEMBERS(matrix, m, n, k, blocks, d, a, b, passes)});
}

py::dict row_as_dict(const isa::Row& row) {
  return py::make_dict({WAVE_MEMBERS(row, generation, format, opcode, mnemonic),
                        {"base_name", isa::base_name(row)},
                        WAVE_MEMBERS(row, mask, match, ignored),
                        {"modifiers", flag_names<isa::Modifier>(row.modifiers)},
                        {"operands", py::list_of(std::span(row.operands, row.operand_count))},
                        WAVE_MEMBERS(row, kind),
                        {"traits", flag_names<isa::Trait>(row.traits)},
                        {"memory", to_object(row.memory)},
                        {"matrix", to_object(row.matrix)}});
}

const isa::InstructionSet& instruction_set(const std::string& processor) {
  const isa::InstructionSet* set = emulator::find_instruction_set(processor);
  if (set == nullptr) throw ValueError("no instruction table for the processor \"" + processor + "\"");
  return *set;
}

std::vector<uint32_t> to_words(const py::bytes& data) {
  const std::span<const uint8_t> bytes = data.span();
  if (bytes.size() % 4 != 0) {
    throw ValueError("instructions are made of 4-byte words, and " + std::to_string(bytes.size()) +
                     " bytes are not a multiple of that");
  }
  std::vector<uint32_t> words(bytes.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

py::list isa_rows(const std::string& processor) { return py::list_of(instruction_set(processor).rows(), row_as_dict); }

/// {format: {field: (lowest bit, width)}} of a processor.
py::dict isa_fields(const std::string& processor) {
  const isa::Generation generation = instruction_set(processor).rows().front().generation;
  py::dict formats;
  for (size_t format = 0; format < std::size(kFormatNames); ++format) {
    py::dict fields;
    for (size_t field = 1; field < std::size(kFieldNames); ++field) {
      const isa::Position at =
          isa::position(generation, static_cast<isa::Format>(format), static_cast<isa::Field>(field));
      if (at.width != 0) fields.set(kFieldNames[field], py::make_tuple(at.low, at.width));
    }
    formats.set(kFormatNames[format], fields);
  }
  return formats;
}

py::list located_operands(const isa::Instruction& instruction) {
  py::list operands;
  for (const isa::Operand& operand : std::span(instruction.row->operands, instruction.row->operand_count)) {
    const isa::Location location = isa::locate(instruction, operand);
    py::dict entry = py::to_python(operand);
    entry.update(py::make_dict({WAVE_MEMBERS(location, place, value), {"located_dwords", location.dwords}}));
    operands.append(entry);
  }
  return operands;
}

/// The instruction at the start of `data`: its row's columns, the values of its fields, and where its operands lie.
/// None where the bytes are no instruction.
py::object decode(const std::string& processor, const py::bytes& data) {
  const std::vector<uint32_t> words = to_words(data);
  if (words.empty()) throw ValueError("an instruction has at least 4 bytes");
  const isa::Instruction instruction = instruction_set(processor).decode(words);
  if (instruction.row == nullptr) return py::none();
  py::dict fields;
  for (size_t index = 1; index < std::size(kFieldNames); ++index) {
    const auto field = static_cast<isa::Field>(index);
    if (isa::position(instruction.row->generation, instruction.row->format, field).width != 0)
      fields.set(kFieldNames[index], instruction[field]);
  }
  py::dict result = row_as_dict(*instruction.row);
  result.update(py::make_dict({WAVE_MEMBERS(instruction, dwords, literal),
                               {"fields", fields},
                               {"operands", located_operands(instruction)},
                               {"text", isa::disassemble(instruction)}}));
  return result;
}

/// A linear sweep of code for waves of so many lanes: (address, bytes, text) of each instruction. Words that are none
/// are one word long: ".long 0x...".
py::list disassemble(const std::string& processor, const py::bytes& data, uint64_t address, uint32_t lanes) {
  const isa::InstructionSet& set = instruction_set(processor);
  const std::vector<uint32_t> words = to_words(data);
  const std::string_view bytes = data.view();
  py::list lines;
  for (size_t begin = 0; begin < words.size();) {
    const isa::Instruction instruction = set.decode(std::span(words).subspan(begin), lanes);
    const size_t size = size_t{instruction.dwords} * 4;
    lines.append(
        py::make_tuple(address + begin * 4, py::bytes(bytes.data() + begin * 4, size), isa::disassemble(instruction)));
    begin += instruction.dwords;
  }
  return lines;
}

}  // namespace

void bind_isa(py::handle module) {
  py::add_functions(module, {py::function<isa_rows>("isa_rows", "processor"),
                             py::function<isa_fields>("isa_fields", "processor=\"gfx942\""),
                             py::function<decode>("decode", "processor, data"),
                             py::function<disassemble>("disassemble", "processor, data, address=0, lanes=32")});
}

}  // namespace wave
