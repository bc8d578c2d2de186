#include "code_object/function_table.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "code_object/dwarf.h"

namespace wave {

namespace {

enum Tag : uint64_t { DW_TAG_inlined_subroutine = 0x1d, DW_TAG_subprogram = 0x2e };
enum Attribute : uint64_t {
  DW_AT_name = 0x03,
  DW_AT_stmt_list = 0x10,
  DW_AT_low_pc = 0x11,
  DW_AT_high_pc = 0x12,
  DW_AT_abstract_origin = 0x31,
  DW_AT_specification = 0x47,
  DW_AT_ranges = 0x55,
  DW_AT_call_file = 0x58,
  DW_AT_call_line = 0x59,
  DW_AT_str_offsets_base = 0x72,
  DW_AT_addr_base = 0x73,
  DW_AT_rnglists_base = 0x74,
};
enum RangeEntry : uint8_t {
  DW_RLE_end_of_list,
  DW_RLE_base_addressx,
  DW_RLE_startx_endx,
  DW_RLE_startx_length,
  DW_RLE_offset_pair,
  DW_RLE_base_address,
  DW_RLE_start_end,
  DW_RLE_start_length,
};

/// The sections that a unit refers to.
struct Sections {
  explicit Sections(DwarfSections& of_file)
      : abbreviations(of_file.get(".debug_abbrev", "abbreviations")),
        strings(of_file.get(".debug_str", "debug strings")),
        line_strings(of_file.get(".debug_line_str", "line strings")),
        string_offsets(of_file.get(".debug_str_offsets", "offsets of strings")),
        addresses(of_file.get(".debug_addr", "addresses")),
        ranges(of_file.get(".debug_ranges", "ranges")),
        range_lists(of_file.get(".debug_rnglists", "range lists")) {}

  Bytes abbreviations, strings, line_strings, string_offsets, addresses, ranges, range_lists;
};

struct InfoValue {
  uint64_t form = 0;  ///< 0: there is none
  uint64_t number = 0;
  std::string_view text;

  bool is_there() const { return form != 0; }
};

struct Abbreviation {
  struct Part {
    uint64_t attribute, form;
    int64_t constant;
  };
  uint64_t tag = 0;
  bool has_children = false;
  std::vector<Part> parts;
};

/// What matters of an entry.
struct InfoEntry {
  InfoValue name, low, high, ranges, origin, call_file, call_line;
};

/// One unit: 32-bit DWARF with addresses of 64 bits, as compilers make it for these processors.
class InfoUnit {
 public:
  InfoUnit(DwarfCursor& section, const Sections& sections, DwarfBudget& budget)
      : sections_(sections), budget_(budget), cursor_(take(section)) {}

  void read(std::vector<SourceFunction>& all) {
    version_ = cursor_.read<uint16_t>();
    if (version_ != 4 && version_ != 5) return;
    if (version_ == 5 && cursor_.read<uint8_t>() != 1) return;  // a type's unit, a skeleton
    if (version_ == 5) cursor_.read<uint8_t>();                 // the size of addresses
    read_abbreviations(cursor_.read<uint32_t>());
    if (version_ == 4) cursor_.read<uint8_t>();
    std::vector<std::optional<size_t>> within;  // for each level the function that it is in
    while (!cursor_.at_end()) {
      const uint64_t offset = kHeader + cursor_.position();
      const uint64_t code = cursor_.uleb128();
      if (code == 0) {
        if (within.empty()) break;
        within.pop_back();
        continue;
      }
      const auto found = abbreviations_.find(code);
      if (found == abbreviations_.end()) cursor_.fail(text("an entry with the unknown abbreviation ", code));
      const Abbreviation& abbreviation = found->second;
      const InfoEntry entry = read_entry(abbreviation);
      std::optional<size_t> function = within.empty() ? std::nullopt : within.back();
      const bool is_copy = abbreviation.tag == DW_TAG_inlined_subroutine;
      if (is_copy || abbreviation.tag == DW_TAG_subprogram) {
        if (entry.name.is_there()) names_[offset] = string(entry.name);
        const bool is_own = entry.origin.form != DW_FORM_ref_addr;  // of this unit
        if (entry.origin.is_there() && is_own) origins_[offset] = entry.origin.number;
        function = add(all, entry, offset, is_copy ? function : std::nullopt);
      }
      if (abbreviation.has_children) within.push_back(function);
    }
    for (const auto& [index, offset] : made_) all[index].name = name_of(offset);
  }

 private:
  static constexpr uint64_t kHeader = 4;  ///< bytes of the length, from which references count

  static Bytes take(DwarfCursor& section) {
    const uint32_t length = section.read<uint32_t>();
    if (length >= 0xfffffff0) section.fail("a unit of 64-bit DWARF");
    return section.take(length);
  }

  void read_abbreviations(uint64_t offset) {
    const Bytes& bytes = sections_.abbreviations;
    if (offset > bytes.size()) bytes.fail(offset, "a unit's abbreviations");
    DwarfCursor cursor(bytes.slice(offset, bytes.size() - offset));
    while (const uint64_t code = cursor.uleb128()) {
      Abbreviation& abbreviation = abbreviations_[code];
      abbreviation = {.tag = cursor.uleb128(), .has_children = cursor.read<uint8_t>() != 0, .parts = {}};
      while (true) {
        Abbreviation::Part part{cursor.uleb128(), cursor.uleb128(), 0};
        if (part.form == DW_FORM_implicit_const) part.constant = cursor.sleb128();
        budget_.spend(bytes, 1);
        if (part.attribute == 0 && part.form == 0) break;
        abbreviation.parts.push_back(part);
      }
    }
  }

  InfoEntry read_entry(const Abbreviation& abbreviation) {
    InfoEntry entry;
    budget_.spend(sections_.abbreviations, abbreviation.parts.size());  // some take no bytes of an entry
    for (const Abbreviation::Part& part : abbreviation.parts) {
      const InfoValue value = read_value(part);
      switch (part.attribute) {
        case DW_AT_name:
          entry.name = value;
          break;
        case DW_AT_low_pc:
          entry.low = value;
          break;
        case DW_AT_high_pc:
          entry.high = value;
          break;
        case DW_AT_ranges:
          entry.ranges = value;
          break;
        case DW_AT_abstract_origin:
        case DW_AT_specification:
          entry.origin = value;
          break;
        case DW_AT_call_file:
          entry.call_file = value;
          break;
        case DW_AT_call_line:
          entry.call_line = value;
          break;
        case DW_AT_stmt_list:
          lines_ = value.number;
          break;
        case DW_AT_str_offsets_base:
          string_base_ = value.number;
          break;
        case DW_AT_addr_base:
          address_base_ = value.number;
          break;
        case DW_AT_rnglists_base:
          list_base_ = value.number;
          break;
        default:
          break;
      }
    }
    if (!has_root_) {
      has_root_ = true;
      if (entry.low.is_there()) low_ = address(entry.low);
    }
    return entry;
  }

  InfoValue read_value(const Abbreviation::Part& part) {
    InfoValue value{part.form, 0, {}};
    switch (part.form) {
      case DW_FORM_data1:
      case DW_FORM_flag:
      case DW_FORM_ref1:
      case DW_FORM_strx1:
      case DW_FORM_addrx1:
        value.number = cursor_.read<uint8_t>();
        break;
      case DW_FORM_data2:
      case DW_FORM_ref2:
      case DW_FORM_strx2:
      case DW_FORM_addrx2:
        value.number = cursor_.read<uint16_t>();
        break;
      case DW_FORM_strx3:
      case DW_FORM_addrx3:
        value.number = cursor_.read<uint16_t>();
        value.number |= uint64_t{cursor_.read<uint8_t>()} << 16;
        break;
      case DW_FORM_data4:
      case DW_FORM_ref4:
      case DW_FORM_strp:
      case DW_FORM_line_strp:
      case DW_FORM_sec_offset:
      case DW_FORM_ref_addr:
      case DW_FORM_ref_sup4:
      case DW_FORM_strp_sup:
      case DW_FORM_strx4:
      case DW_FORM_addrx4:
        value.number = cursor_.read<uint32_t>();
        break;
      case DW_FORM_addr:
      case DW_FORM_data8:
      case DW_FORM_ref8:
      case DW_FORM_ref_sig8:
      case DW_FORM_ref_sup8:
        value.number = cursor_.read<uint64_t>();
        break;
      case DW_FORM_data16:
        cursor_.take(16);
        break;
      case DW_FORM_sdata:
        value.number = static_cast<uint64_t>(cursor_.sleb128());
        break;
      case DW_FORM_udata:
      case DW_FORM_ref_udata:
      case DW_FORM_strx:
      case DW_FORM_addrx:
      case DW_FORM_loclistx:
      case DW_FORM_rnglistx:
        value.number = cursor_.uleb128();
        break;
      case DW_FORM_string:
        value.text = cursor_.string();
        break;
      case DW_FORM_block1:
        cursor_.take(cursor_.read<uint8_t>());
        break;
      case DW_FORM_block2:
        cursor_.take(cursor_.read<uint16_t>());
        break;
      case DW_FORM_block4:
        cursor_.take(cursor_.read<uint32_t>());
        break;
      case DW_FORM_block:
      case DW_FORM_exprloc:
        cursor_.take(cursor_.uleb128());
        break;
      case DW_FORM_flag_present:
        value.number = 1;
        break;
      case DW_FORM_implicit_const:
        value.number = static_cast<uint64_t>(part.constant);
        break;
      default:
        cursor_.fail(text("the unknown form ", part.form));
    }
    return value;
  }

  std::string_view string(const InfoValue& value) {
    switch (value.form) {
      case DW_FORM_string:
        return value.text;
      case DW_FORM_strp:
        return budget_.string(sections_.strings, value.number);
      case DW_FORM_line_strp:
        return budget_.string(sections_.line_strings, value.number);
      case DW_FORM_strx:
      case DW_FORM_strx1:
      case DW_FORM_strx2:
      case DW_FORM_strx3:
      case DW_FORM_strx4:
        return budget_.string(sections_.strings,
                              sections_.string_offsets.read<uint32_t>(string_base_ + 4 * value.number));
      default:
        return {};
    }
  }

  uint64_t indexed_address(uint64_t index) const {
    return sections_.addresses.read<uint64_t>(address_base_ + 8 * index);
  }
  uint64_t address(const InfoValue& value) const {
    return value.form == DW_FORM_addr ? value.number : indexed_address(value.number);
  }

  std::vector<AddressSpan> code_of(const InfoEntry& entry) {
    if (entry.ranges.is_there()) return version_ == 4 ? old_ranges(entry.ranges.number) : range_list(entry.ranges);
    if (!entry.low.is_there() || !entry.high.is_there()) return {};
    const uint64_t low = address(entry.low);
    const bool is_address = entry.high.form == DW_FORM_addr;  // else it is the size
    return {is_address ? AddressSpan::up_to(low, entry.high.number) : AddressSpan(low, entry.high.number)};
  }

  std::vector<AddressSpan> old_ranges(uint64_t offset) {
    std::vector<AddressSpan> code;
    uint64_t base = low_;
    while (true) {
      const auto begin = sections_.ranges.read<uint64_t>(offset), end = sections_.ranges.read<uint64_t>(offset + 8);
      offset += 16;
      budget_.spend(sections_.ranges, 16);
      if (begin == 0 && end == 0) return code;
      if (begin == ~uint64_t{0}) {
        base = end;
      } else {
        code.push_back(AddressSpan::up_to(base + begin, base + end));
      }
    }
  }

  std::vector<AddressSpan> range_list(const InfoValue& value) {
    const Bytes& bytes = sections_.range_lists;
    const bool is_indexed = value.form == DW_FORM_rnglistx;
    const uint64_t offset =
        is_indexed ? list_base_ + bytes.read<uint32_t>(list_base_ + 4 * value.number) : value.number;
    if (offset > bytes.size()) bytes.fail(offset, "a list of ranges");
    DwarfCursor list(bytes.slice(offset, bytes.size() - offset));
    std::vector<AddressSpan> code;
    uint64_t base = low_;
    while (true) {
      const uint8_t kind = list.read<uint8_t>();
      uint64_t first = 0;
      budget_.spend(bytes, 16);
      switch (kind) {
        case DW_RLE_end_of_list:
          return code;
        case DW_RLE_base_addressx:
          base = indexed_address(list.uleb128());
          break;
        case DW_RLE_startx_endx:
          first = indexed_address(list.uleb128());
          code.push_back(AddressSpan::up_to(first, indexed_address(list.uleb128())));
          break;
        case DW_RLE_startx_length:
          first = indexed_address(list.uleb128());
          code.emplace_back(first, list.uleb128());
          break;
        case DW_RLE_offset_pair:
          first = base + list.uleb128();
          code.push_back(AddressSpan::up_to(first, base + list.uleb128()));
          break;
        case DW_RLE_base_address:
          base = list.read<uint64_t>();
          break;
        case DW_RLE_start_end:
          first = list.read<uint64_t>();
          code.push_back(AddressSpan::up_to(first, list.read<uint64_t>()));
          break;
        case DW_RLE_start_length:
          first = list.read<uint64_t>();
          code.emplace_back(first, list.uleb128());
          break;
        default:
          list.fail(text("the unknown kind ", int{kind}, " of a range"));
      }
    }
  }

  /// The function's index, or its caller's where it has no code.
  std::optional<size_t> add(std::vector<SourceFunction>& all, const InfoEntry& entry, uint64_t offset,
                            std::optional<size_t> caller) {
    std::vector<AddressSpan> code = code_of(entry);
    if (code.empty()) return caller;
    made_.emplace_back(all.size(), offset);
    all.push_back({.name = {},
                   .code = std::move(code),
                   .caller = caller,
                   .lines = lines_,
                   .call_file = static_cast<uint32_t>(entry.call_file.number),
                   .call_line = static_cast<uint32_t>(entry.call_line.number)});
    return all.size() - 1;
  }

  /// An entry's own name, or that of the one that it is a copy or the definition of.
  std::string_view name_of(uint64_t offset) const {
    constexpr int kMost = 8;
    for (int i = 0; i < kMost; ++i) {
      if (const auto own = names_.find(offset); own != names_.end()) return own->second;
      const auto origin = origins_.find(offset);
      if (origin == origins_.end()) break;
      offset = origin->second;
    }
    return {};
  }

  const Sections& sections_;
  DwarfBudget& budget_;
  DwarfCursor cursor_;
  uint16_t version_ = 0;
  bool has_root_ = false;
  uint64_t lines_ = 0, string_base_ = 8, address_base_ = 8, list_base_ = 12, low_ = 0;
  std::unordered_map<uint64_t, Abbreviation> abbreviations_;
  std::unordered_map<uint64_t, std::string_view> names_;  ///< by the entry's offset in the unit
  std::unordered_map<uint64_t, uint64_t> origins_;
  std::vector<std::pair<size_t, uint64_t>> made_;  ///< functions and the offsets of their entries
};

}  // namespace

std::vector<SourceFunction> read_function_table(std::span<const uint8_t> image) {
  const Elf elf(Bytes(image, "ELF file"), Elf::Depth::Sections);
  DwarfSections of_file(elf);
  const Sections sections(of_file);
  DwarfCursor cursor(of_file.get(".debug_info", "debugging information"));
  std::vector<SourceFunction> all;
  DwarfBudget budget(of_file.size());
  while (!cursor.at_end()) InfoUnit(cursor, sections, budget).read(all);
  return all;
}

}  // namespace wave
