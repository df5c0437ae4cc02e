// emplace::Error as Python exceptions with the same text.
#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "common/error.h"
#include "python/bindings/bindings.h"

namespace nb = nanobind;

namespace emplace::python {
namespace {

// The classes live as long as the interpreter.
PyObject* bad_input = nullptr;
PyObject* run_failed = nullptr;

PyObject* AddException(nb::module_& module, const char* name, const char* doc, const nb::object& bases) {
  const std::string full_name = std::string("emplace.") + name;
  PyObject* const type = PyErr_NewExceptionWithDoc(full_name.c_str(), doc, bases.ptr(), nullptr);
  if (type == nullptr) nb::raise_python_error();
  module.attr(name) = nb::borrow(type);
  return type;
}

}  // namespace

void BindErrors(nb::module_& module) {
  PyObject* const base =
      AddException(module, "Error", "What emplace raises.", nb::make_tuple(nb::handle(PyExc_Exception)));
  bad_input = AddException(module, "BadInput",
                           "The input is wrong. The text is one line: the place, what is wrong, what was expected.",
                           nb::make_tuple(nb::handle(base), nb::handle(PyExc_ValueError)));
  run_failed = AddException(module, "RunFailed", "The input is right, and yet there is no result.",
                            nb::make_tuple(nb::handle(base), nb::handle(PyExc_RuntimeError)));
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      // A text may quote bytes of a file that are no UTF-8.
      const std::string_view text = error.what();
      PyObject* const readable = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
      if (readable == nullptr) return;  // Python's own error is set.
      PyErr_SetObject(error.kind() == Error::Kind::kBadInput ? bad_input : run_failed, readable);
      Py_DECREF(readable);
    }
  });
}

}  // namespace emplace::python
