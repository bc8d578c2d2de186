// Which instructions each processor has from the emulator, and by which bodies.
#pragma once

#include <functional>
#include <string_view>

namespace wave::emulator {

/// An instruction, without the encoding's suffix, and the name of the bodies that carry it out.
using UseBinding = std::function<void(std::string_view instruction, std::string_view body)>;

/// Calls `use` with every instruction that is listed for a processor ("gfx942"), once.
void for_each_binding(std::string_view processor, const UseBinding& use);

}  // namespace wave::emulator
