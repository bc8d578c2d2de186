#include "base/tools.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/environment.h"

namespace wave {

namespace {

constexpr std::string_view kNames[] = {"memory", "races", "waits", "barriers", "numbers", "uninitialized", "lanes"};

}  // namespace

std::span<const std::string_view> tool_names() { return kNames; }

const char* tool_name(Tool tool) { return kNames[std::countr_zero(Tools{tool})].data(); }

Tools parse_tools(std::string_view text) {
  constexpr Tools kEvery = (1u << std::size(kNames)) - 1;
  std::array<std::string_view, std::size(kNames) + 1> words;
  std::ranges::copy(kNames, words.begin());
  words.back() = "all";
  const Tools tools = read_list(text, words).value_or(0);
  return tools > kEvery ? kEvery : tools;
}

}  // namespace wave
