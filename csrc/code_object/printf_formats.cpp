#include "code_object/printf_formats.h"

#include <charconv>
#include <string_view>

#include "code_object/elf.h"
#include "code_object/msgpack.h"

namespace wave {

namespace {

void add_format(std::map<uint64_t, std::string>& formats, std::string_view text) {
  constexpr std::string_view kHip = "0:0:";
  const size_t comma = text.find(',');
  if (!text.starts_with(kHip) || comma == text.npos) return;
  uint64_t number = 0;
  const char* const end = text.data() + comma;
  if (std::from_chars(text.data() + kHip.size(), end, number, 16).ptr == end) formats[number] = text.substr(comma + 1);
}

}  // namespace

std::map<uint64_t, std::string> read_printf_formats(const CodeObject& code) {
  std::map<uint64_t, std::string> formats;
  const Elf elf(code.bytes());
  for (const ElfNote& note : elf.notes()) {
    if (note.type != NT_AMDGPU_METADATA || note.owner != "AMDGPU") continue;
    MsgpackReader reader(note.contents);
    const uint32_t pairs = reader.read_map();
    for (uint32_t i = 0; i < pairs; ++i) {
      if (reader.read_string() != "amdhsa.printf") {
        reader.skip();
        continue;
      }
      const uint32_t count = reader.read_array();
      for (uint32_t k = 0; k < count; ++k) add_format(formats, reader.read_string());
    }
  }
  return formats;
}

}  // namespace wave
