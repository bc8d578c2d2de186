// A strict reader of little-endian ELF64 files (System V ABI; LLVM AMDGPU usage guide, "ELF Code Object").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace wave {

/// Figures of the ELF specification that this product looks at.
enum ElfConstant : uint32_t {
  ET_REL = 1,
  ET_EXEC = 2,
  ET_DYN = 3,
  EM_CUDA = 190,
  EM_AMDGPU = 224,
  ELFOSABI_AMDGPU_HSA = 64,
  ELFOSABI_AMDGPU_PAL = 65,
  ELFOSABI_AMDGPU_MESA3D = 66,
  PT_LOAD = 1,
  PT_DYNAMIC = 2,
  PT_NOTE = 4,
  PF_X = 1,
  PF_W = 2,
  SHT_SYMTAB = 2,
  SHT_STRTAB = 3,
  SHT_RELA = 4,
  SHT_NOTE = 7,
  SHT_NOBITS = 8,
  SHT_REL = 9,
  SHT_DYNSYM = 11,
  SHF_ALLOC = 2,
  SHN_UNDEF = 0,
  SHN_LORESERVE = 0xff00,
  SHN_ABS = 0xfff1,
  STT_NOTYPE = 0,
  STT_OBJECT = 1,
  STT_FUNC = 2,
  STT_SECTION = 3,
  STT_FILE = 4,
  STT_AMDGPU_HSA_KERNEL = 10,
  STO_CUDA_ENTRY = 0x10,
  STB_LOCAL = 0,
  STB_WEAK = 2,
  NT_AMDGPU_METADATA = 32,
};

inline constexpr uint64_t kFlagsOffset = 48;  ///< of e_flags in the file header

/// What the file header says of an ELF file as a whole.
struct ElfIdentity {
  uint8_t osabi;
  uint8_t abi_version;
  uint16_t type;
  uint16_t machine;
  uint32_t flags;
};

/// Reads and checks the header alone. Throws FormatError where it is not that of a little-endian ELF64 file.
ElfIdentity read_elf_identity(const Bytes& file);

struct ElfSection {
  std::string_view name;
  uint32_t type;
  uint64_t flags;
  uint64_t address;
  uint64_t offset;
  uint64_t size;
  uint32_t link;
  uint32_t info;
  uint64_t entry_size;
};

struct ElfSegment {
  uint32_t type;
  uint32_t flags;
  uint64_t offset;
  uint64_t address;
  uint64_t file_size;
  uint64_t memory_size;
  uint64_t align;
};

struct ElfSymbol {
  std::string_view name;
  uint8_t type;
  uint8_t binding;
  uint8_t other;
  uint16_t section;
  uint64_t address;
  uint64_t size;
};

struct ElfRelocation {
  uint64_t address;
  uint32_t type;
  uint32_t symbol;  ///< an index into the dynamic symbols
  int64_t addend;
};

struct ElfNote {
  std::string_view owner;
  uint32_t type;
  Bytes contents;
};

/// An ELF file, read in one go: construction checks headers, sections, segments, both symbol tables, notes and dynamic
/// relocations and throws FormatError. Borrows the bytes, which must outlive it and the names it gives. A file without
/// section headers is read by its dynamic segment. Not supported: ELF32, big-endian files, relocations without addends.
class Elf {
 public:
  /// What to read. `Sections` is enough for a host object, and leaves out all else: segments, symbols, notes and
  /// relocations. `Symbols` leaves out notes and relocations.
  enum class Depth : uint8_t { Sections, Symbols, All };

  explicit Elf(const Bytes& bytes, Depth depth = Depth::All);

  const ElfIdentity& identity() const { return identity_; }
  const Bytes& bytes() const { return bytes_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  const std::vector<ElfSegment>& segments() const { return segments_; }
  /// Index 0 is the undefined symbol of the specification.
  const std::vector<ElfSymbol>& dynamic_symbols() const { return dynamic_symbols_; }
  const std::vector<ElfSymbol>& static_symbols() const { return static_symbols_; }
  const std::vector<ElfNote>& notes() const { return notes_; }
  /// Of the dynamic segment, or of the allocated SHT_RELA sections where there is none.
  const std::vector<ElfRelocation>& relocations() const { return relocations_; }

  /// The bytes of a section; none for SHT_NOBITS.
  Bytes contents(const ElfSection& section) const;
  /// The `size` bytes of the file that a loader puts at `address`.
  Bytes at_address(uint64_t address, uint64_t size) const;

 private:
  struct Dynamic;

  void read_sections();
  void read_segments();
  void read_symbol_sections();
  void read_notes();
  void read_note_bytes(const Bytes& bytes, uint64_t align);
  void read_dynamic();
  void read_dynamic_symbols(const Dynamic& dynamic);
  void read_relocations(const std::optional<Dynamic>& dynamic);
  void read_relocation_bytes(const Bytes& table);
  std::vector<ElfSymbol> read_symbols(const Bytes& table, const Bytes& names);
  std::string_view name_at(const Bytes& names, uint64_t offset);
  void claim(const Bytes& table);

  Bytes bytes_;
  ElfIdentity identity_;
  uint64_t name_budget_;   ///< characters of names that may still be read
  uint64_t table_budget_;  ///< bytes of tables that may still be read
  std::vector<ElfSection> sections_;
  std::vector<ElfSegment> segments_;
  std::vector<ElfSymbol> dynamic_symbols_;
  std::vector<ElfSymbol> static_symbols_;
  std::vector<ElfNote> notes_;
  std::vector<ElfRelocation> relocations_;
};

}  // namespace wave
