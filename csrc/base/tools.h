// What launches on the emulator can be looked at for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace wave {

/// A set of tools, a bit for each.
using Tools = uint32_t;

enum Tool : Tools {
  kMemoryTool = 1u << 0,
  kRacesTool = 1u << 1,
  kWaitsTool = 1u << 2,
  kBarriersTool = 1u << 3,
  kNumbersTool = 1u << 4,
  kUninitializedTool = 1u << 5,
  kLanesTool = 1u << 6,
};

/// The name of a tool: "memory".
const char* tool_name(Tool tool);

/// All of them, in the order of their bits.
std::span<const std::string_view> tool_names();

/// "memory,races", with blanks or without, or "all". Nothing where a word is none of them, or there is none.
Tools parse_tools(std::string_view text);

}  // namespace wave
