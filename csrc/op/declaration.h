// Operators that are declared rather than programmed: what a call allocates, computes and launches is said by
// expressions over its inputs.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <atomic>
#include <functional>
#include <span>

#include "base/error.h"
#include "base/fork_safe.h"
#include "launch/geometry.h"
#include "launch/kernel.h"
#include "op/call.h"
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
  /// Completes a call that has the inputs: adds results, which it makes, computed arguments and options. Returns
  /// whether there is something to launch: operators on empty tensors are no errors. Throws ValueError where a size
  /// comes out negative, and what expressions throw. The call borrows the results.
  bool complete(Call& call, const InputView* inputs, std::vector<at::Tensor>& results) const;

  /// Runs `body`; what it throws for bad input names the operator.
  template <class Body>
  auto with_name(Body body) const {
    try {
      return body();
    } catch (const ValueError& error) {
      throw ValueError(text("operator '", name_, "': ", error.what()));
    } catch (const TypeError& error) {
      throw TypeError(text("operator '", name_, "': ", error.what()));
    }
  }

 private:
  bool fits(const Specialization& specialization, const InputView* inputs) const;
  const Specialization& specialized(const InputView* inputs) const;
  const Specialization& specialize(const InputView* inputs) const;

  const std::string name_;
  const Kernel& kernel_;
  const Roles roles_;
  const LaunchOptions options_;
  const Specialize specialize_;
  std::vector<size_t> tensors_;  ///< which inputs are tensors
  mutable Mutex mutex_;          ///< of making specialisations
  mutable std::atomic<const Specialization*> specializations_{nullptr};
};

/// Gives the dispatcher what it runs for the operator, whose schema is known already: on CPU and GPU tensors, where it
/// writes, and for autograd. Calls that autograd must see go to the operator `autograd`, which has the same schema.
/// Until the returned object is destroyed.
std::shared_ptr<void> implement(const std::shared_ptr<const Declaration>& declaration, const std::string& autograd);

}  // namespace wave
