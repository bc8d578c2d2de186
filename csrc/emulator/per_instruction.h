// What those who look at instructions have worked out of each.
#pragma once

#include <atomic>
#include <memory>

#include "emulator/module.h"

namespace wave::emulator {

/// A Value for each instruction of the functions that waves run, made when it is first met. Functions keep them, so
/// that later launches, and other threads, find them: a Value must follow from the function alone, and from the type.
template <class Value>
class PerInstruction {
 public:
  /// `make` is given a Value that was just constructed. Several threads may make the same.
  template <class Make>
  const Value& get(const Wave& wave, const Op* op, const Make& make) {
    if (const Value* const known = find(wave, op)) [[likely]]
      return *known;
    return make_or_find(wave, op, make);
  }
  /// nullptr where it has to be made, or the wave is in another function than the last one.
  const Value* find(const Wave& wave, const Op* op) const {
    if (wave.function != function_) [[unlikely]]
      return nullptr;
    return places_[function_->index(op)].load(std::memory_order_acquire);
  }

 private:
  /// Out of line, so that get() saves no registers for it.
  template <class Make>
  [[gnu::noinline]] const Value& make_or_find(const Wave& wave, const Op* op, const Make& make) {
    if (wave.function != function_) change(wave);
    std::atomic<const Value*>& place = places_[function_->index(op)];
    if (const Value* known = place.load(std::memory_order_acquire)) return *known;
    auto made = std::make_unique<Value>();
    make(*made);
    const Value* first = nullptr;
    if (place.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)) first = made.release();
    return *first;
  }

  /// Of a function.
  struct Values : FunctionNotes {
    explicit Values(size_t count) : places(std::make_unique<std::atomic<const Value*>[]>(count)), size(count) {}
    ~Values() override {
      for (size_t i = 0; i < size; ++i) delete places[i].load(std::memory_order_relaxed);
    }

    std::unique_ptr<std::atomic<const Value*>[]> places;
    const size_t size;
  };

  void change(const Wave& wave) {
    static constexpr char kKey = 0;
    function_ = wave.function;
    const size_t count = function_->op_count();
    FunctionNotes& notes = function_->notes(&kKey, [=] { return std::make_unique<Values>(count); });
    places_ = static_cast<Values&>(notes).places.get();
  }

  const TranslatedFunction* function_ = nullptr;  ///< the last one
  std::atomic<const Value*>* places_ = nullptr;   ///< of its operations
};

}  // namespace wave::emulator
