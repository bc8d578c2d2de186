#include "python/callable_type.h"

#include "python/define.h"
#include "python/docs.h"

namespace wave::detail {

PyObject* call_collected(PyObject* self, PyObject* const*, size_t, PyObject*) {
  return PyErr_Format(PyExc_RuntimeError, "this %s was garbage, and what it held is gone", py::type_name(self).c_str());
}

void add_docs(std::string_view name, TypeParts& parts) {
  const std::string type(name.substr(name.rfind('.') + 1));
  const auto doc = [&](const char* part) { return doc_of(text(type, ".", part)); };
  if (const char* const own = doc_of(type)) parts.slots.push_back({Py_tp_doc, const_cast<char*>(own)});
  for (PyMethodDef& method : parts.methods) method.ml_doc = py::with_doc(method.ml_doc, doc(method.ml_name));
  for (PyGetSetDef& property : parts.properties) property.doc = doc(property.name);
  for (PyMemberDef& member : parts.members) member.doc = doc(member.name);
}

}  // namespace wave::detail
