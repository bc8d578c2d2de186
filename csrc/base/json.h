// Text in JSON, for files that programs read.
#pragma once

#include <string>
#include <string_view>

namespace wave {

/// A string with its quotation marks. Control characters but newlines are left out, and bytes that are no UTF-8, as
/// names of files may have, become what Python's "backslashreplace" makes of them: \xe9.
std::string json_text(std::string_view value);

/// "[item, item]".
template <class Range, class Item>
std::string json_list(const Range& range, Item item) {
  std::string out = "[";
  for (const auto& element : range) out += (out.size() == 1 ? "" : ", ") + item(element);
  return out + "]";
}

template <class Numbers>
std::string numbers_json(const Numbers& numbers) {
  return json_list(numbers, [](auto number) { return std::to_string(number); });
}

}  // namespace wave
