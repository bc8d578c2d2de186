#include "code_object/loadable.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>

namespace wave {
namespace {

// A loader allocates the span: beyond any GPU's code and statically sized globals it is a damaged file.
constexpr uint64_t kMaxSpan = uint64_t{64} << 30;

// A name and an address as one key. Two symbols of one name at two addresses (local ones) are both kept.
struct SymbolKey {
  std::string_view name;
  uint64_t address;
  bool operator==(const SymbolKey&) const = default;
};

struct SymbolHash {
  size_t operator()(const SymbolKey& key) const {
    return std::hash<std::string_view>()(key.name) ^ std::hash<uint64_t>()(key.address * 0x9e3779b97f4a7c15);
  }
};

bool is_defined(const ElfSymbol& symbol) { return symbol.section != SHN_UNDEF && symbol.section < SHN_LORESERVE; }

bool is_wanted(const ElfSymbol& symbol) {
  return is_defined(symbol) && !symbol.name.empty() &&
         (symbol.type <= STT_FUNC || symbol.type == STT_AMDGPU_HSA_KERNEL);
}

uint64_t patched_bytes(uint32_t type) {
  return type == R_AMDGPU_ABS64 || type == R_AMDGPU_REL64 || type == R_AMDGPU_RELATIVE64 ? 8 : 4;
}

}  // namespace

std::vector<Segment> read_segments(const Elf& elf) {
  std::vector<Segment> segments;
  for (const ElfSegment& s : elf.segments()) {
    if (s.type != PT_LOAD) continue;
    if (s.memory_size < s.file_size || s.memory_size > UINT64_MAX - s.address) {
      elf.bytes().fail(s.offset, text("a segment at ", hex(s.address), " of ", s.file_size, " bytes in the file and ",
                                      s.memory_size, " in memory"));
    }
    segments.push_back({s.address, s.offset, s.file_size, s.memory_size, (s.flags & PF_W) != 0, (s.flags & PF_X) != 0});
  }
  std::ranges::sort(segments, {}, &Segment::address);
  for (size_t i = 1; i < segments.size(); ++i) {
    if (segments[i - 1].address + segments[i - 1].memory_size > segments[i].address) {
      elf.bytes().fail(segments[i].file_offset, text("segments overlap at ", hex(segments[i].address)));
    }
  }
  if (!segments.empty()) {
    const uint64_t end = segments.back().address + segments.back().memory_size;
    const uint64_t span = end - segments.front().address;
    if (span > kMaxSpan) elf.bytes().fail(0, text("segments span ", span, " bytes, the limit is ", kMaxSpan));
  }
  return segments;
}

const Segment* find_segment(const std::vector<Segment>& segments, uint64_t address, uint64_t size) {
  for (const Segment& segment : segments) {
    if (address < segment.address) continue;
    const uint64_t within = address - segment.address;
    if (within <= segment.memory_size && size <= segment.memory_size - within) return &segment;
  }
  return nullptr;
}

std::vector<Symbol> read_symbols(const Elf& elf) {
  std::vector<Symbol> symbols;
  std::unordered_set<SymbolKey, SymbolHash> seen;
  for (const auto* table : {&elf.dynamic_symbols(), &elf.static_symbols()}) {
    for (const ElfSymbol& symbol : *table) {
      if (!is_wanted(symbol) || !seen.insert({symbol.name, symbol.address}).second) continue;
      const bool is_function = symbol.type == STT_FUNC || symbol.type == STT_AMDGPU_HSA_KERNEL;
      symbols.push_back(
          {std::string(symbol.name), symbol.address, symbol.size, is_function, symbol.binding != STB_LOCAL});
    }
  }
  return symbols;
}

std::vector<Relocation> read_relocations(const Elf& elf, const std::vector<Segment>& segments) {
  std::vector<Relocation> relocations;
  for (const ElfRelocation& r : elf.relocations()) {
    if (r.type == R_AMDGPU_NONE) continue;
    if (find_segment(segments, r.address, patched_bytes(r.type)) == nullptr) {
      elf.bytes().fail(0, text("a relocation of type ", r.type, " at ", hex(r.address), ", outside of the segments"));
    }
    Relocation out{r.type, r.address, 0, r.addend, {}};
    if (r.symbol != 0) {
      const ElfSymbol& symbol = elf.dynamic_symbols()[r.symbol];
      if (symbol.section != SHN_UNDEF)
        out.symbol_address = symbol.address;
      else if (symbol.binding != STB_WEAK)
        out.undefined = symbol.name;
      out.is_absolute = symbol.section == SHN_UNDEF || symbol.section == SHN_ABS;
    }
    relocations.push_back(std::move(out));
  }
  return relocations;
}

}  // namespace wave
