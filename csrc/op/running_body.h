// The body of an operator that runs on a thread: its launches ask it whether they may write what they write.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <string>

namespace wave {

/// From its construction to its destruction launches of the same thread see it, and those bodies in which it runs.
class RunningBody {
 public:
  RunningBody();
  virtual ~RunningBody();
  RunningBody(const RunningBody&) = delete;
  RunningBody& operator=(const RunningBody&) = delete;

  /// Notes a tensor that the operator was given. `name` is for refuse(); `is_declared`: that the body writes it.
  void add(const at::Tensor& tensor, const void* name, bool is_declared) {
    const c10::StorageImpl* storage = storage_of(tensor);
    if (storage != nullptr) inputs_.push_back({storage, name, is_declared});
  }

  /// The innermost that runs on this thread, or nullptr.
  static const RunningBody* current();

  /// Throws what refuse() does if the tensor, which a launch is about to write, is an input that the body does not
  /// declare, of this operator or of one around it. `writer` makes the text that says which argument of which kernel.
  template <class Writer>
  void check_write(const at::Tensor& tensor, const Writer& writer) const {
    const c10::StorageImpl* storage = storage_of(tensor);
    if (storage == nullptr) return;
    for (const RunningBody* body = this; body != nullptr; body = body->outer_) {
      if (const Input* input = body->undeclared(storage)) body->refuse(input->name, writer());
    }
  }

 protected:
  /// Throws ValueError. Called without an interpreter's lock.
  [[noreturn]] virtual void refuse(const void* name, const std::string& writer) const = 0;

 private:
  struct Input {
    const c10::StorageImpl* storage;
    const void* name;
    bool is_declared;
  };
  static const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  }
  /// The first input of this storage, unless one of them is declared: which part of it is written is for others to say.
  const Input* undeclared(const c10::StorageImpl* storage) const;

  const RunningBody* outer_;
  c10::SmallVector<Input, 8> inputs_;
};

}  // namespace wave
