// The functions that code_object/function_table finds in files, a line for each, or the error.

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "code_object/function_table.h"

int main(int count, char** paths) {
  for (int i = 1; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::printf("file\n");
    try {
      for (const wave::SourceFunction& function :
           wave::read_function_table({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()})) {
        std::printf("%.*s|", static_cast<int>(function.name.size()), function.name.data());
        for (const wave::AddressSpan& code : function.code)
          std::printf("%" PRIx64 "+%" PRIx64 " ", code.begin(), code.size());
        std::printf("|%d|%" PRIu64 "|%u|%u\n", function.caller ? static_cast<int>(*function.caller) : -1,
                    function.lines, function.call_file, function.call_line);
      }
    } catch (const wave::ValueError& error) {
      std::printf("%s\n", error.what());
    }
  }
}
