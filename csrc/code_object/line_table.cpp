#include "code_object/line_table.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "code_object/dwarf.h"
#include "code_object/elf.h"

namespace wave {

namespace {

/// Standard opcodes, extended opcodes, content types and forms of DWARF that occur in line tables.
enum Opcode : uint8_t {
  DW_LNS_copy = 1,
  DW_LNS_advance_pc = 2,
  DW_LNS_advance_line = 3,
  DW_LNS_set_file = 4,
  DW_LNS_const_add_pc = 8,
  DW_LNS_fixed_advance_pc = 9,
  DW_LNE_end_sequence = 1,
  DW_LNE_set_address = 2,
};
enum ContentType : uint64_t { DW_LNCT_path = 1, DW_LNCT_directory_index = 2 };

/// What forms refer to.
struct Strings {
  Bytes line_strings;  ///< .debug_line_str
  Bytes strings;       ///< .debug_str
};

struct FileEntry {
  std::string_view path;
  uint64_t directory = 0;
};

std::string joined(std::string_view directory, std::string_view path) {
  if (directory.empty() || directory == "." || path.starts_with('/')) return std::string(path);
  return std::string(directory) + "/" + std::string(path);
}

/// One unit of the section: its header, and the program that makes its rows.
class Unit {
 public:
  Unit(DwarfCursor& section, const Strings& strings, DwarfBudget& budget)
      : strings_(strings), budget_(budget), cursor_(take_unit(section)) {}

  void read(LineTable& table) {
    version_ = cursor_.read<uint16_t>();
    if (version_ != 4 && version_ != 5) return;
    if (version_ == 5) {
      cursor_.read<uint8_t>();  // the size of addresses
      cursor_.read<uint8_t>();  // ... and of segment selectors
    }
    DwarfCursor header(cursor_.take(offset()));
    minimum_length_ = header.read<uint8_t>();
    header.read<uint8_t>();  // operations of an instruction: of VLIW machines
    header.read<uint8_t>();  // whether rows begin statements
    line_base_ = header.read<int8_t>();
    line_range_ = header.read<uint8_t>();
    opcode_base_ = header.read<uint8_t>();
    if (line_range_ == 0 || opcode_base_ == 0) header.fail("a line range or a first opcode of zero");
    for (int i = 1; i < opcode_base_; ++i) operands_.push_back(header.read<uint8_t>());
    if (version_ == 5) {
      read_entries(header);
    } else {
      read_old_entries(header);
    }
    add_files(table);
    run(table);
  }

 private:
  Bytes take_unit(DwarfCursor& section) {
    constexpr uint32_t kLong = 0xffffffff;
    uint64_t length = section.read<uint32_t>();
    is_64_bit_ = length == kLong;
    if (is_64_bit_) length = section.read<uint64_t>();
    return section.take(length);
  }

  uint64_t offset() { return is_64_bit_ ? cursor_.read<uint64_t>() : cursor_.read<uint32_t>(); }

  void read_old_entries(DwarfCursor& header) {
    directories_.push_back("");  // of the compilation, which is written elsewhere
    while (true) {
      const std::string_view directory = header.string();
      if (directory.empty()) break;
      directories_.push_back(directory);
    }
    entries_.push_back({});  // files count from 1
    while (true) {
      const std::string_view path = header.string();
      if (path.empty()) break;
      entries_.push_back({path, header.uleb128()});
      header.uleb128();  // its time
      header.uleb128();  // ... and size
    }
  }

  void read_entries(DwarfCursor& header) {
    for (const FileEntry& directory : entry_table(header)) directories_.push_back(directory.path);
    entries_ = entry_table(header);
  }

  std::vector<FileEntry> entry_table(DwarfCursor& header) {
    std::vector<std::pair<uint64_t, uint64_t>> formats(header.read<uint8_t>());
    for (auto& [type, form] : formats) {
      type = header.uleb128();
      form = header.uleb128();
    }
    const uint64_t count = header.uleb128();
    std::vector<FileEntry> entries;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t begin = header.position();
      FileEntry entry;
      for (const auto& [type, form] : formats) read_field(header, type, form, entry);
      if (header.position() == begin) header.fail("an entry without contents");
      entries.push_back(entry);
    }
    return entries;
  }

  void read_field(DwarfCursor& header, uint64_t type, uint64_t form, FileEntry& entry) {
    uint64_t number = 0;
    std::string_view path;
    switch (form) {
      case DW_FORM_string:
        path = header.string();
        break;
      case DW_FORM_line_strp:
        path = budget_.string(strings_.line_strings, string_offset(header));
        break;
      case DW_FORM_strp:
        path = budget_.string(strings_.strings, string_offset(header));
        break;
      case DW_FORM_udata:
        number = header.uleb128();
        break;
      case DW_FORM_data1:
        number = header.read<uint8_t>();
        break;
      case DW_FORM_data2:
        number = header.read<uint16_t>();
        break;
      case DW_FORM_data4:
        number = header.read<uint32_t>();
        break;
      case DW_FORM_data8:
        number = header.read<uint64_t>();
        break;
      case DW_FORM_data16:
        header.take(16);
        break;
      case DW_FORM_block:
        header.take(header.uleb128());
        break;
      default:
        header.fail(text("form ", form, " in a list of files"));
    }
    if (type == DW_LNCT_path) entry.path = path;
    if (type == DW_LNCT_directory_index) entry.directory = number;
  }

  uint64_t string_offset(DwarfCursor& header) { return is_64_bit_ ? header.read<uint64_t>() : header.read<uint32_t>(); }

  /// The unit's files get numbers of the whole table.
  void add_files(LineTable& table) {
    first_file_ = static_cast<uint32_t>(table.files.size());
    for (const FileEntry& entry : entries_) {
      const bool known = entry.directory < directories_.size();
      const std::string_view directory = known ? directories_[entry.directory] : "";
      budget_.spend(strings_.line_strings, directory.size() + entry.path.size());
      table.files.push_back(joined(directory, entry.path));
    }
  }

  void run(LineTable& table) {
    while (!cursor_.at_end()) {
      const uint8_t opcode = cursor_.read<uint8_t>();
      if (opcode >= opcode_base_) {
        advance(static_cast<uint64_t>((opcode - opcode_base_) / line_range_));
        line_ += static_cast<uint64_t>(int64_t{line_base_} + (opcode - opcode_base_) % line_range_);
        add_row(table);
      } else if (opcode == 0) {
        run_extended(table);
      } else {
        run_standard(table, opcode);
      }
    }
  }

  void run_standard(LineTable& table, uint8_t opcode) {
    switch (opcode) {
      case DW_LNS_copy:
        add_row(table);
        break;
      case DW_LNS_advance_pc:
        advance(cursor_.uleb128());
        break;
      case DW_LNS_advance_line:
        line_ += static_cast<uint64_t>(cursor_.sleb128());
        break;
      case DW_LNS_set_file:
        file_ = cursor_.uleb128();
        break;
      case DW_LNS_const_add_pc:
        advance(static_cast<uint64_t>((255 - opcode_base_) / line_range_));
        break;
      case DW_LNS_fixed_advance_pc:
        address_ += cursor_.read<uint16_t>();
        break;
      default:
        for (int i = 0; i < operands_[opcode - 1u]; ++i) cursor_.uleb128();
        break;
    }
  }

  void run_extended(LineTable& table) {
    const uint64_t length = cursor_.uleb128();
    DwarfCursor operation(cursor_.take(length));
    if (length == 0) return;
    const uint8_t opcode = operation.read<uint8_t>();
    if (opcode == DW_LNE_set_address) address_ = operation.read<uint64_t>();
    if (opcode == DW_LNE_end_sequence) {
      line_ = 0;
      add_row(table);
      address_ = 0;
      line_ = 1;
      file_ = 1;
    }
  }

  void advance(uint64_t operations) { address_ += operations * minimum_length_; }

  void add_row(LineTable& table) {
    const bool known = file_ < entries_.size();
    const uint32_t file = known ? first_file_ + static_cast<uint32_t>(file_) : 0;
    table.rows.push_back({address_, known ? static_cast<uint32_t>(line_) : 0, file});
  }

  const Strings& strings_;
  DwarfBudget& budget_;
  bool is_64_bit_ = false;
  DwarfCursor cursor_;
  uint16_t version_ = 0;
  uint8_t minimum_length_ = 1, line_range_ = 1, opcode_base_ = 1;
  int8_t line_base_ = 0;
  std::vector<uint8_t> operands_;  ///< of the standard opcodes
  std::vector<std::string_view> directories_;
  std::vector<FileEntry> entries_;
  uint32_t first_file_ = 0;
  uint64_t address_ = 0, file_ = 1, line_ = 1;
};

}  // namespace

LineTable read_line_table(std::span<const uint8_t> image) {
  const Elf elf(Bytes(image, "ELF file"), Elf::Depth::Sections);
  DwarfSections sections(elf);
  const Strings strings{sections.get(".debug_line_str", "line strings"), sections.get(".debug_str", "debug strings")};
  DwarfCursor cursor(sections.get(".debug_line", "line table"));
  LineTable table;
  DwarfBudget budget(sections.size());
  while (!cursor.at_end()) {
    table.units.push_back({cursor.position(), static_cast<uint32_t>(table.files.size())});
    Unit(cursor, strings, budget).read(table);
  }
  // Where one sequence ends another may begin, which is earlier in the file: what has a line answers for the address.
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const LineRow& a, const LineRow& b) {
    return std::pair(a.address, a.line != 0) < std::pair(b.address, b.line != 0);
  });
  return table;
}

}  // namespace wave
