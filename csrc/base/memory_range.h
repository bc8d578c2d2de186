// Memory that a launch hands to a kernel.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/address_span.h"
#include "base/finding.h"

namespace wave {

/// What messages call a range of memory. Each launch is given several, of which few are ever named: so a name is made
/// when it is asked for.
class RangeName {
 public:
  RangeName(const char* literal = "") : say_([literal] { return std::string(literal); }) {}
  RangeName(std::string text) : say_([text = std::move(text)] { return text; }) {}
  /// `say` is called by any thread, as long as there is a range of this name.
  template <std::invocable Say>
  explicit RangeName(Say say) : say_(std::move(say)) {}

  std::string text() const { return say_(); }

 private:
  std::function<std::string()> say_;
};

/// Bytes of the process, and what a kernel may do with them.
struct MemoryRange {
  AddressSpan bytes;
  bool writable;
  RangeName name;                                 ///< for messages: "argument 2 'c' (float32 [64, 64])"
  bool readable = true;                           ///< false: known, to say why an access is a fault
  const char* why_unreadable = "use-after-free";  ///< the kind of that fault
  /// Why it is not writable, for messages.
  const char* why_const = "nothing may write there";
  bool is_allocated = false;  ///< by whom allocates what may be written, so that nobody needs to ask the system
};

/// What a launch may touch of the host's memory.
struct HostMemory {
  std::vector<MemoryRange> ranges;
  std::vector<TensorLayout> tensors;  ///< what findings name them by; only where somebody asks for findings
  bool whole_process = false;  ///< besides, whatever the process has mapped: for arguments that are plain addresses
};

}  // namespace wave
