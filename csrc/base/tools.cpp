#include "base/tools.h"

#include <algorithm>
#include <bit>

namespace wave {

namespace {

constexpr std::string_view kNames[] = {"memory", "races", "waits", "barriers", "numbers", "uninitialized"};

}  // namespace

std::span<const std::string_view> tool_names() { return kNames; }

const char* tool_name(Tool tool) { return kNames[std::countr_zero(Tools{tool})].data(); }

Tools parse_tools(std::string_view text) {
  if (text == "all") return (1u << std::size(kNames)) - 1;
  Tools tools = 0;
  while (true) {
    const size_t comma = text.find(',');
    const auto found = std::ranges::find(kNames, text.substr(0, comma));
    if (found == std::end(kNames)) return 0;
    tools |= 1u << (found - kNames);
    if (comma == std::string_view::npos) return tools;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace wave
