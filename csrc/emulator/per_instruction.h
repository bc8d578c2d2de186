// What those who look at instructions have worked out of each.
#pragma once

#include <unordered_map>
#include <vector>

#include "emulator/module.h"

namespace wave::emulator {

/// A Value for each instruction of the functions that waves run, made when it is first met.
template <class Value>
class PerInstruction {
 public:
  /// `make` is given the place of a Value that was just constructed.
  template <class Make>
  Value& get(const Wave& wave, const Op* op, Make make) {
    if (wave.function != function_) change(wave);
    Entry& entry = (*entries_)[(function_->address(op) - function_->begin()) / sizeof(u32)];
    if (!entry.is_made) {
      make(entry.value);
      entry.is_made = true;
    }
    return entry.value;
  }

 private:
  struct Entry {
    bool is_made = false;
    Value value{};
  };

  static constexpr size_t kLongestInstruction = 4;  ///< dwords

  void change(const Wave& wave) {
    function_ = wave.function;
    entries_ = &functions_[function_];
    // Code that ends without a jump goes on by an operation behind it, which lies as far behind as an instruction is
    // long.
    entries_->resize((function_->end() - function_->begin()) / sizeof(u32) + kLongestInstruction);
  }

  const TranslatedFunction* function_ = nullptr;  ///< the last one
  std::vector<Entry>* entries_ = nullptr;
  std::unordered_map<const TranslatedFunction*, std::vector<Entry>> functions_;
};

}  // namespace wave::emulator
