// Which of several builds of a kernel runs on a device, and which of them runs best.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "code_object/code_object.h"

namespace wave {

/// How well code built for `code` suits a device, to be compared with other code; nothing where it does not run there.
///
/// AMD: the same processor before a generic one, then code that fixes the features which the device fixes and leaves
/// open those which it leaves open. NVIDIA: cubins before PTX; of either the one for the latest processor; then the one
/// that uses features of its processor alone before the one that uses features of the family.
std::optional<int> suitability(Format format, const Target& code, const Target& device);

/// Whether the code runs on the device.
bool runs_on(const CodeObject& code, const Target& device);

/// The variant that suits the device best, the first of several; nullptr where none runs there.
std::shared_ptr<const CodeObject> select_for(std::span<const std::shared_ptr<const CodeObject>> variants,
                                             const Target& device);

}  // namespace wave
