// Operators that are declared rather than programmed: what a call allocates, computes and launches is said by
// expressions over its inputs.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <atomic>
#include <functional>
#include <span>

#include "base/fork_safe.h"
#include "launch/geometry.h"
#include "launch/kernel.h"
#include "op/expression.h"

namespace wave {

/// What expressions are specialised on: a tensor's number of dimensions and dtype.
struct TensorKind {
  int64_t rank;
  c10::ScalarType dtype;

  explicit TensorKind(const c10::TensorImpl& tensor)
      : rank(tensor.dim()), dtype(c10::typeMetaToScalarType(tensor.dtype())) {}
  bool operator==(const TensorKind&) const = default;
};

struct Result {
  size_t rank;
  c10::ScalarType dtype;
  bool zeroed;
};

/// The expressions for inputs of some kinds. `program` leaves, in this order: the sizes of the results, the computed
/// arguments, and kGeometry numbers: grid, block, shared memory.
struct Specialization {
  static constexpr size_t kGeometry = 7;

  std::vector<TensorKind> kinds;  ///< of the tensors among the inputs
  Program program;
  std::vector<Result> results;
  const Specialization* next = nullptr;
};

/// Immutable but for its specialisations.
class Declaration {
 public:
  static constexpr size_t kMaxInputs = 32;

  /// Which parameters of the kernel are the operator's inputs and its results, and which are computed.
  struct Roles {
    std::vector<size_t> inputs, results, computed;
  };
  /// Makes the expressions for inputs of the given kinds; called once for each.
  using Specialize = std::function<Specialization(std::span<const TensorKind>)>;

  /// `name` is "namespace::name"; `options` has the attributes of launches. Throws ValueError and TypeError where the
  /// roles do not fit the kernel, RuntimeError where it is not known what it writes.
  Declaration(std::string name, const Kernel& kernel, Roles roles, const LaunchOptions& options, Specialize specialize);
  ~Declaration();
  Declaration(const Declaration&) = delete;
  Declaration& operator=(const Declaration&) = delete;

  const std::string& name() const { return name_; }
  const Kernel& kernel() const { return kernel_; }
  const Roles& roles() const { return roles_; }
  const LaunchOptions& options() const { return options_; }

  /// The specialisation for these inputs; nullptr where there is none yet.
  const Specialization* find(const InputView* inputs) const {
    const Specialization* found = specializations_.load(std::memory_order_acquire);
    while (found != nullptr && !fits(*found, inputs)) found = found->next;
    return found;
  }

  /// Calls the kernel. Takes the inputs, and returns the results. Throws what a launch throws, and ValueError where a
  /// size comes out negative; messages name the operator.
  std::vector<at::Tensor> run(std::span<const c10::IValue> inputs) const;

 private:
  bool fits(const Specialization& specialization, const InputView* inputs) const;
  const Specialization& specialized(const InputView* inputs) const;
  std::vector<at::Tensor> run_unnamed(std::span<const c10::IValue> inputs) const;

  const std::string name_;
  const Kernel& kernel_;
  const Roles roles_;
  const LaunchOptions options_;
  const Specialize specialize_;
  std::vector<size_t> tensors_;  ///< which inputs are tensors
  mutable Mutex mutex_;          ///< of making specialisations
  mutable std::atomic<const Specialization*> specializations_{nullptr};
};

/// A new contiguous tensor. The sizes are not negative.
at::Tensor allocate(const Result& result, const Number* sizes, c10::Device device);

/// The first of the sizes that is negative, or `rank`.
inline size_t first_negative(const Number* sizes, size_t rank) {
  size_t dim = 0;
  while (dim < rank && sizes[dim].integer >= 0) ++dim;
  return dim;
}

/// Whether there is nothing to launch: operators on empty tensors are no errors.
inline bool is_empty(const Extents& grid) { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }

inline Extents extents_of(const Number* numbers) {
  return {numbers[0].integer, numbers[1].integer, numbers[2].integer};
}

/// Gives the dispatcher what it runs for the operator, whose schema is known already: on CPU and GPU tensors, where it
/// writes, and for autograd. Calls that autograd must see go to the operator `autograd`, which has the same schema.
/// Until the returned object is destroyed.
std::shared_ptr<void> implement(const std::shared_ptr<const Declaration>& declaration, const std::string& autograd);

}  // namespace wave
