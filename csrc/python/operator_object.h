// The Python type OperatorBase: what an operator's call costs where PyTorch has nothing to see.
#pragma once

#include <pybind11/pybind11.h>

namespace wave {

struct OperatorObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* eager;        ///< what a call runs on plain tensors
  PyObject* dispatched;   ///< what it runs otherwise, with the operator itself as the first argument
  PyObject* fingerprint;  ///< str, or null until it is asked for
  char has_autocast;      ///< whether autocast changes what the operator computes
  char returns_new;       ///< whether a result that shares memory with an argument is an error
};

/// Adds the type to the module. Defined in operator_object.cpp.
void bind_operator(pybind11::module_& module);

}  // namespace wave
