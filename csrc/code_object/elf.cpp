#include "code_object/elf.h"

#include <optional>

#include "base/round_up.h"

namespace wave {
namespace {

// Layouts of the System V ABI for 64-bit files, as they lie in the file.
struct FileHeader {
  uint8_t ident[16];
  uint16_t type, machine;
  uint32_t version;
  uint64_t entry, segment_offset, section_offset;
  uint32_t flags;
  uint16_t header_size, segment_size, segment_count, section_size, section_count, section_names;
};
static_assert(sizeof(FileHeader) == 64);

struct FileSection {
  uint32_t name, type;
  uint64_t flags, address, offset, size;
  uint32_t link, info;
  uint64_t align, entry_size;
};
static_assert(sizeof(FileSection) == 64);

struct FileSegment {
  uint32_t type, flags;
  uint64_t offset, virtual_address, physical_address, file_size, memory_size, align;
};
static_assert(sizeof(FileSegment) == 56);

struct FileSymbol {
  uint32_t name;
  uint8_t info, other;
  uint16_t section;
  uint64_t value, size;
};
static_assert(sizeof(FileSymbol) == 24);

struct FileRelocation {
  uint64_t offset;
  uint32_t type, symbol;
  int64_t addend;
};
static_assert(sizeof(FileRelocation) == 24);

struct FileDynamic {
  uint64_t tag, value;
};

enum DynamicTag : uint64_t {
  DT_NULL = 0,
  DT_PLTRELSZ = 2,
  DT_HASH = 4,
  DT_STRTAB = 5,
  DT_SYMTAB = 6,
  DT_RELA = 7,
  DT_RELASZ = 8,
  DT_STRSZ = 10,
  DT_REL = 17,
  DT_PLTREL = 20,
  DT_JMPREL = 23,
  DT_RELR = 36,
};

// Names may share their characters, so that a small file can declare many long ones. Files that tools make do not come
// near this many characters for each byte of the file.
constexpr uint64_t kNameCharactersPerByte = 16;

// Likewise tables may overlap: symbol, note and relocation tables together get twice the file's size. A program has
// about ten segments.
constexpr uint64_t kTableBytesPerByte = 2;
constexpr uint16_t kMaxSegments = 256;

constexpr uint64_t kClassOffset = 4, kDataOffset = 5;
constexpr uint64_t kSegmentSizeOffset = 54, kSegmentCountOffset = 56, kSectionSizeOffset = 58;

}  // namespace

// The entries of the dynamic segment that are looked at.
struct Elf::Dynamic {
  std::optional<uint64_t> hash, names, symbols, rela, jmprel;
  uint64_t names_size = 0, rela_size = 0, jmprel_size = 0;
};

ElfIdentity read_elf_identity(const Bytes& file) {
  if (!file.starts_with("\x7f"
                        "ELF"))
    file.fail(0, "not an ELF file");
  const auto header = file.read<FileHeader>(0);
  if (header.ident[kClassOffset] != 2) file.fail(kClassOffset, "not a 64-bit ELF file");
  if (header.ident[kDataOffset] != 1) file.fail(kDataOffset, "not a little-endian ELF file");
  return {header.ident[7], header.ident[8], header.type, header.machine, header.flags};
}

Elf::Elf(const Bytes& bytes, Depth depth)
    : bytes_(bytes),
      identity_(read_elf_identity(bytes)),
      name_budget_(kNameCharactersPerByte * bytes.size()),
      table_budget_(kTableBytesPerByte * bytes.size()) {
  read_sections();
  if (depth == Depth::Sections) return;
  read_segments();
  read_symbol_sections();
  if (depth == Depth::Symbols) return;
  read_notes();
  read_dynamic();
}

void Elf::read_sections() {
  const auto header = bytes_.read<FileHeader>(0);
  if (header.section_offset == 0) return;
  if (header.section_size != sizeof(FileSection)) {
    bytes_.fail(kSectionSizeOffset, text("section headers of ", header.section_size, " bytes"));
  }
  // More sections than 16 bits can count: the numbers are in the first section header.
  const auto first = bytes_.read<FileSection>(header.section_offset);
  const uint64_t count = header.section_count != 0 ? header.section_count : first.size;
  const uint64_t names_index = header.section_names != 0xffff ? header.section_names : first.link;
  if (count > bytes_.size() / sizeof(FileSection)) bytes_.fail(header.section_offset, text(count, " sections"));
  const Bytes table = bytes_.slice(header.section_offset, count * sizeof(FileSection));

  std::optional<Bytes> names;
  if (names_index != 0) {
    const auto section = table.read<FileSection>(names_index * sizeof(FileSection));
    names = bytes_.slice(section.offset, section.size);
  }
  for (uint64_t i = 0; i < count; ++i) {
    const auto s = table.read<FileSection>(i * sizeof(FileSection));
    sections_.push_back({names ? name_at(*names, s.name) : std::string_view(), s.type, s.flags, s.address, s.offset,
                         s.size, s.link, s.info, s.entry_size});
  }
}

void Elf::read_segments() {
  const auto header = bytes_.read<FileHeader>(0);
  if (header.segment_count == 0) return;
  if (header.segment_size != sizeof(FileSegment)) {
    bytes_.fail(kSegmentSizeOffset, text("program headers of ", header.segment_size, " bytes"));
  }
  if (header.segment_count > kMaxSegments) {
    bytes_.fail(kSegmentCountOffset, text(header.segment_count, " program headers, the limit is ", kMaxSegments));
  }
  const Bytes table = bytes_.slice(header.segment_offset, uint64_t{header.segment_count} * sizeof(FileSegment));
  for (uint64_t i = 0; i < header.segment_count; ++i) {
    const auto s = table.read<FileSegment>(i * sizeof(FileSegment));
    bytes_.slice(s.offset, s.file_size);
    segments_.push_back({s.type, s.flags, s.offset, s.virtual_address, s.file_size, s.memory_size, s.align});
  }
}

std::string_view Elf::name_at(const Bytes& names, uint64_t offset) {
  if (names.size() == 0 && offset == 0) return {};
  const std::string_view name = names.c_string(offset);
  if (name.size() > name_budget_) names.fail(offset, "names that overlap too much");
  name_budget_ -= name.size();
  return name;
}

void Elf::claim(const Bytes& table) {
  if (table.size() > table_budget_) table.fail(0, "tables that overlap too much");
  table_budget_ -= table.size();
}

std::vector<ElfSymbol> Elf::read_symbols(const Bytes& table, const Bytes& names) {
  claim(table);
  if (table.size() % sizeof(FileSymbol) != 0) table.fail(0, text("a symbol table of ", table.size(), " bytes"));
  std::vector<ElfSymbol> symbols;
  symbols.reserve(table.size() / sizeof(FileSymbol));
  for (uint64_t at = 0; at < table.size(); at += sizeof(FileSymbol)) {
    const auto s = table.read<FileSymbol>(at);
    const auto type = static_cast<uint8_t>(s.info & 15), binding = static_cast<uint8_t>(s.info >> 4);
    symbols.push_back({name_at(names, s.name), type, binding, s.other, s.section, s.value, s.size});
  }
  return symbols;
}

void Elf::read_symbol_sections() {
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
    std::vector<ElfSymbol>& symbols = section.type == SHT_SYMTAB ? static_symbols_ : dynamic_symbols_;
    if (!symbols.empty()) bytes_.fail(section.offset, "a second symbol table of one kind");
    if (section.link >= sections_.size()) bytes_.fail(section.offset, text("symbol names in section ", section.link));
    symbols = read_symbols(contents(section), contents(sections_[section.link]));
  }
}

void Elf::read_notes() {
  for (const ElfSegment& segment : segments_) {
    if (segment.type == PT_NOTE) read_note_bytes(bytes_.slice(segment.offset, segment.file_size), segment.align);
  }
  if (!notes_.empty()) return;
  for (const ElfSection& section : sections_) {
    if (section.type == SHT_NOTE) read_note_bytes(contents(section), 4);
  }
}

void Elf::read_note_bytes(const Bytes& bytes, uint64_t align) {
  claim(bytes);
  const uint64_t step = align == 8 ? 8 : 4;
  for (uint64_t at = 0; at < bytes.size();) {
    const uint64_t name_size = bytes.read<uint32_t>(at), size = bytes.read<uint32_t>(at + 4);
    const uint64_t name_at = at + 12, contents_at = at + round_up(12 + name_size, step);
    std::string_view owner = bytes.characters(name_at, name_size);
    while (owner.ends_with('\0')) owner.remove_suffix(1);
    notes_.push_back({owner, bytes.read<uint32_t>(at + 8), bytes.slice(contents_at, size)});
    at = contents_at + round_up(size, step);
  }
}

void Elf::read_dynamic() {
  std::optional<Dynamic> dynamic;
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_DYNAMIC) continue;
    const Bytes table = bytes_.slice(segment.offset, segment.file_size);
    dynamic.emplace();
    for (uint64_t at = 0; at < table.size(); at += sizeof(FileDynamic)) {
      const auto entry = table.read<FileDynamic>(at);
      if (entry.tag == DT_NULL) break;
      switch (entry.tag) {
        case DT_HASH:
          dynamic->hash = entry.value;
          break;
        case DT_STRTAB:
          dynamic->names = entry.value;
          break;
        case DT_SYMTAB:
          dynamic->symbols = entry.value;
          break;
        case DT_STRSZ:
          dynamic->names_size = entry.value;
          break;
        case DT_RELA:
          dynamic->rela = entry.value;
          break;
        case DT_RELASZ:
          dynamic->rela_size = entry.value;
          break;
        case DT_JMPREL:
          dynamic->jmprel = entry.value;
          break;
        case DT_PLTRELSZ:
          dynamic->jmprel_size = entry.value;
          break;
        case DT_PLTREL:
          if (entry.value != DT_RELA) table.fail(at, "relocations without addends are not supported");
          break;
        case DT_REL:
        case DT_RELR:
          table.fail(at, "relocations without addends are not supported");
        default:
          break;
      }
    }
    break;
  }
  if (dynamic && dynamic_symbols_.empty()) read_dynamic_symbols(*dynamic);
  read_relocations(dynamic);
}

// Without section headers the size of the symbol table is the chain count of the hash table.
void Elf::read_dynamic_symbols(const Dynamic& dynamic) {
  if (!dynamic.hash || !dynamic.symbols || !dynamic.names) return;
  const uint64_t count = at_address(*dynamic.hash, 8).read<uint32_t>(4);
  const Bytes names = at_address(*dynamic.names, dynamic.names_size);
  dynamic_symbols_ = read_symbols(at_address(*dynamic.symbols, count * sizeof(FileSymbol)), names);
}

void Elf::read_relocations(const std::optional<Dynamic>& dynamic) {
  if (dynamic) {
    if (dynamic->rela) read_relocation_bytes(at_address(*dynamic->rela, dynamic->rela_size));
    if (dynamic->jmprel) read_relocation_bytes(at_address(*dynamic->jmprel, dynamic->jmprel_size));
    return;
  }
  for (const ElfSection& section : sections_) {
    if ((section.flags & SHF_ALLOC) == 0) continue;
    if (section.type == SHT_REL) bytes_.fail(section.offset, "relocations without addends are not supported");
    if (section.type == SHT_RELA) read_relocation_bytes(contents(section));
  }
}

void Elf::read_relocation_bytes(const Bytes& table) {
  claim(table);
  if (table.size() % sizeof(FileRelocation) != 0) table.fail(0, text("a relocation table of ", table.size(), " bytes"));
  for (uint64_t at = 0; at < table.size(); at += sizeof(FileRelocation)) {
    const auto r = table.read<FileRelocation>(at);
    if (r.symbol != 0 && r.symbol >= dynamic_symbols_.size()) {
      table.fail(at, text("a relocation against symbol ", r.symbol, " of ", dynamic_symbols_.size()));
    }
    relocations_.push_back({r.offset, r.type, r.symbol, r.addend});
  }
}

Bytes Elf::contents(const ElfSection& section) const {
  if (section.type == SHT_NOBITS) return bytes_.slice(0, 0);
  return bytes_.slice(section.offset, section.size);
}

Bytes Elf::at_address(uint64_t address, uint64_t size) const {
  for (const ElfSegment& segment : segments_) {
    if (segment.type != PT_LOAD || address < segment.address) continue;
    const uint64_t within = address - segment.address;
    if (within > segment.file_size || size > segment.file_size - within) continue;
    return bytes_.slice(segment.offset, segment.file_size).slice(within, size);
  }
  bytes_.fail(0, text("no segment of the file holds ", size, " bytes at address ", hex(address)));
}

}  // namespace wave
