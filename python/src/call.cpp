// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <cstring>

namespace berth_python {

thread_local CallScope* CallScope::current_ = nullptr;

void CallScope::keep_raised() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  raised_ = nb::steal(value);
}

void CallScope::throw_raised() {
  if (raised_.is_valid()) raise_object(take_raised());
}

nb::str text_of(const char* data, std::size_t size) {
  PyObject* const text = PyUnicode_DecodeUTF8(data, static_cast<Py_ssize_t>(size), "replace");
  if (text == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(text);
}

void raise_object(const nb::object& raised) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
  throw nb::python_error();
}

void raise_error(berth_status status, const char* object, const char* text) {
  const nb::object made =
      nb::module_::import_("berth.errors")
          .attr("error_of")(status, text_of(object, std::strlen(object)), text_of(text, std::strlen(text)));
  raise_object(made);
}

void raise_closed(const char* kind) { raise_object(nb::module_::import_("berth.errors").attr("closed_error")(kind)); }

}  // namespace berth_python
