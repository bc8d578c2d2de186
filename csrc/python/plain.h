// Whether a call goes past the dispatcher: where nothing that PyTorch has must see it.
#pragma once

#include <ATen/core/TensorBase.h>

#include "python/python_api.h"

namespace wave {

/// Whether nothing on this thread wants to see operators: no mode, no tracer, no functorch level.
bool thread_is_plain();

/// The keys that a dense tensor of a backend has, and those that it may have besides. Compared as raw bits: subtracting
/// key sets keeps backend bits.
struct PlainKeys {
  uint64_t dense, allowed;

  PlainKeys(c10::DispatchKey backend, c10::DispatchKey autograd, c10::DispatchKey autocast)
      : dense(c10::DispatchKeySet(backend).raw_repr()),
        allowed(dense | c10::DispatchKeySet({c10::DispatchKey::ADInplaceOrView, autograd, autocast}).raw_repr()) {}
  bool match(uint64_t keys) const { return (keys & ~allowed) == 0 && (keys & dense) == dense; }
};

extern const PlainKeys kGpuKeys, kCpuKeys;

/// Whether a tensor has the keys of a dense one on the CPU or a GPU and no others.
inline bool has_plain_keys(const c10::TensorImpl* tensor) {
  const uint64_t keys = tensor->key_set().raw_repr();
  return kGpuKeys.match(keys) || kCpuKeys.match(keys);
}

/// Whether the argument is the operator's business: a tensor that is not a plain dense one on the CPU or a GPU, a
/// symbolic scalar, or what has __torch_function__ and so takes part in calls of torch, as stand-ins of torch.fx do.
bool is_for_operator(PyObject* argument);

bool is_tensor(PyObject* object);

}  // namespace wave
