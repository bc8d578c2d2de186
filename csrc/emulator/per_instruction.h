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
    if (wave.function != function_) change(wave);
    std::atomic<const Value*>& place = places_[function_->index(op)];
    if (const Value* known = place.load(std::memory_order_acquire)) [[likely]]
      return *known;
    auto made = std::make_unique<Value>();
    make(*made);
    const Value* first = nullptr;
    if (place.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)) first = made.release();
    return *first;
  }

 private:
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
