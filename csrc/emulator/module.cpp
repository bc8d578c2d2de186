#include "emulator/module.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "emulator/loaded_modules.h"
#include "emulator/translate.h"

namespace wave::emulator {

namespace {

/// Address space that a code object may span: text and data of real files lie within some hundred megabytes.
constexpr u64 kMaxSpan = u64{4} << 30;
constexpr u64 kSegmentPage = 4096;
/// Code is translated in pieces of at most so many bytes, so that one kernel of a large library does not cost the
/// whole.
constexpr u64 kMaxFunction = u64{256} << 10;

const ProcessorTraits& traits_for(const Target& target) {
  if (const ProcessorTraits* traits = find_processor_for(target)) return *traits;
  throw ValueError(text("the emulator runs code for ", emulated_code(), ", not for ", target.id(),
                        ": move the tensors to a device of that kind, or build the kernel for gfx942"));
}

}  // namespace

Module::Module(std::shared_ptr<const CodeObject> code)
    : code_(std::move(code)), processor_(traits_for(code_->target())), instruction_set_(processor_.instruction_set()) {
  load_segments();
  relocate();
  find_functions();
}

void Module::load_segments() {
  const std::vector<Segment>& segments = code_->segments();  // sorted
  if (segments.empty()) throw ValueError("the code object has no segments to load");
  const u64 begin = segments.front().address / kSegmentPage * kSegmentPage;
  const u64 size = segments.back().address + segments.back().memory_size - begin;
  if (size > kMaxSpan) throw ValueError(text("the code object's segments span ", size, " bytes"));
  memory_ = MappedMemory(size, "the code object's segments");
  base_ = memory_.span().begin() - begin;
  for (const Segment& segment : segments) {
    const Bytes bytes = code_->bytes().slice(segment.file_offset, segment.file_size);
    std::memcpy(reinterpret_cast<void*>(base_ + segment.address), bytes.data(), bytes.size());
  }
}

void Module::relocate() {
  for (const Relocation& relocation : code_->relocations()) {
    if (!relocation.undefined.empty()) {
      throw ValueError(text("the code object needs the symbol '", relocation.undefined, "', which it does not define"));
    }
    const u64 symbol = relocation.symbol_address + (relocation.is_absolute ? 0 : base_);
    const u64 value = symbol + static_cast<u64>(relocation.addend);
    u64 size = 8, stored = value;
    switch (relocation.type) {
      case R_AMDGPU_ABS64:
        break;
      case R_AMDGPU_RELATIVE64:
        stored = base_ + static_cast<u64>(relocation.addend);
        break;
      case R_AMDGPU_ABS32_LO:
      case R_AMDGPU_ABS32:
        size = 4;
        break;
      case R_AMDGPU_ABS32_HI:
        size = 4;
        stored = value >> 32;
        break;
      default:
        throw ValueError(
            text("relocation type ", relocation.type, " at ", hex(relocation.address), " is not supported"));
    }
    std::memcpy(reinterpret_cast<void*>(base_ + relocation.address), &stored, size);
  }
}

void Module::find_functions() {
  for (const Symbol& symbol : code_->symbols()) {
    const bool is_code = symbol.address % 4 == 0 && code_segment(symbol.address) != nullptr;
    if (symbol.is_function && is_code) function_starts_.push_back(symbol.address);
  }
  for (const KernelInfo& kernel : code_->kernels()) function_starts_.push_back(kernel.entry_address);
  std::sort(function_starts_.begin(), function_starts_.end());
}

const Segment* Module::code_segment(u64 address) const {
  for (const Segment& segment : code_->segments()) {
    if (segment.executable && AddressSpan(segment.address, segment.file_size).contains(address)) return &segment;
  }
  return nullptr;
}

std::shared_ptr<const Module> Module::other_at(u64 pc) const { return has_code(pc) ? nullptr : loaded_module_at(pc); }

const TranslatedFunction& Module::function(u64 pc, const KernelRegisters& registers) const {
  const Segment* segment = code_segment(pc - base_);
  const u64 segment_end = segment == nullptr ? 0 : base_ + (segment->address + segment->file_size) / 4 * 4;
  if (pc >= segment_end || pc % 4 != 0) {
    fault_at(text("a jump to ", hex(pc),
                  pc % 4 != 0 ? ", which is no multiple of 4" : ", which is not in the code object's code"),
             -1, pc);
  }
  u64 begin = base_ + (segment->address + 3) / 4 * 4, end = segment_end;
  const auto after = std::upper_bound(function_starts_.begin(), function_starts_.end(), pc - base_);
  if (after != function_starts_.end()) end = std::min(end, base_ + *after);
  if (after != function_starts_.begin()) begin = std::max(begin, base_ + *(after - 1));
  begin += (pc - begin) / kMaxFunction * kMaxFunction;
  end = std::min(end, begin + kMaxFunction);

  const std::lock_guard lock(mutex_);
  const auto translated = [&](Functions& functions, const TranslatedFunction* besides) -> const TranslatedFunction& {
    std::unique_ptr<TranslatedFunction>& function = functions[{begin, registers}];
    if (function == nullptr) {
      const std::span<const u32> words(reinterpret_cast<const u32*>(begin), (segment_end - begin) / 4);
      function = Translator(processor_, registers).translate(begin, end, words, besides);
    }
    return *function;
  };
  const TranslatedFunction& function = translated(functions_, nullptr);
  return function.contains(pc) ? function : translated(hidden_, &function);
}

/// Guards the notes of all functions, which a thread asks for once a launch. Never destroyed.
static Mutex& noting = *new Mutex();

FunctionNotes& TranslatedFunction::notes(const void* key,
                                         const std::function<std::unique_ptr<FunctionNotes>()>& make) const {
  const std::lock_guard lock(noting);
  const auto known = std::ranges::find(notes_, key, [](const auto& one) { return one.first; });
  if (known != notes_.end()) return *known->second;
  return *notes_.emplace_back(key, make()).second;
}

isa::Instruction Module::decode(u64 pc, u32 lanes) const {
  const Segment* segment = code_segment(pc - base_);
  if (const auto other = other_at(pc)) return other->decode(pc, lanes);
  if (segment == nullptr || pc % 4 != 0) return {};
  const u64 end = base_ + segment->address + segment->file_size;
  return instruction_set_.decode({reinterpret_cast<const u32*>(pc), (end - pc) / 4}, lanes);
}

std::string Module::disassemble(u64 pc, u32 lanes) const {
  if (const auto other = other_at(pc)) return other->disassemble(pc, lanes);
  if (!has_code(pc)) return "no code";
  return isa::disassemble(decode(pc, lanes));
}

std::string Module::symbol(u64 pc) const {
  if (const auto other = other_at(pc)) return other->symbol(pc);
  const u64 address = pc - base_;
  const Symbol* best = nullptr;
  for (const Symbol& symbol : code_->symbols()) {
    if (symbol.is_function && symbol.address <= address && (best == nullptr || symbol.address > best->address))
      best = &symbol;
  }
  return best == nullptr ? hex(address) : text(best->name, "+", hex(address - best->address));
}

std::string Module::describe(u64 pc) const {
  const std::vector<SourceFrame> source = frames(pc);
  if (source.empty()) return symbol(pc);
  const std::string& path = source[0].file;
  return text(symbol(pc), " (", path.substr(path.rfind('/') + 1), ":", source[0].line, ")");
}

const Module::Source& Module::source() const {
  const std::lock_guard lock(mutex_);
  if (source_) return *source_;
  source_.emplace();
  const auto read = [&](auto& into, auto reader) {
    try {
      into = reader(code_->bytes().span());
    } catch (const Error&) {  // messages go without
    }
  };
  read(source_->lines, read_line_table);
  read(source_->functions, read_function_table);
  return *source_;
}

std::string Module::Source::file(const SourceFunction& copy) const {
  const auto unit = std::ranges::find(lines.units, copy.lines, &LineUnit::offset);
  if (unit == lines.units.end() || copy.call_file >= lines.files.size() - unit->first_file) return {};
  return lines.files[unit->first_file + copy.call_file];
}

std::vector<SourceFrame> Module::frames(u64 pc) const {
  if (const auto other = other_at(pc)) return other->frames(pc);
  const u64 address = pc - base_;
  const auto& [lines, functions] = source();
  const auto after = std::upper_bound(lines.rows.begin(), lines.rows.end(), address,
                                      [](u64 value, const LineRow& row) { return value < row.address; });
  if (after == lines.rows.begin() || (after - 1)->line == 0) return {};
  std::vector<SourceFrame> frames{{.function = {}, .file = lines.files[(after - 1)->file], .line = (after - 1)->line}};
  const auto contains = [&](const SourceFunction& function) {
    return std::ranges::any_of(function.code, [&](const AddressSpan& code) { return code.contains(address); });
  };
  const auto innermost = std::find_if(functions.rbegin(), functions.rend(), contains);  // callers are before
  if (innermost == functions.rend()) return frames;
  for (const SourceFunction* function = &*innermost;; function = &functions[*function->caller]) {
    frames.back().function = function->name;
    if (!function->caller) return frames;
    frames.push_back({.function = {}, .file = source().file(*function), .line = function->call_line});
  }
}

void Module::add_regions(std::vector<Region>& regions) const {
  for (const Segment& segment : code_->segments()) {
    const AddressSpan bytes(base_ + segment.address, segment.memory_size);
    Region& region = regions.emplace_back(Region{bytes, segment.writable, "the code object's data"});
    // Code is translated once, and its text read again: what both say of an instruction must be the same.
    if (segment.executable) region.writable = false, region.why_const = "code stays as it was loaded";
  }
}

}  // namespace wave::emulator
