#include "clients/python/embedded/status_error.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace eris::python {

namespace nb = nanobind;

namespace {

void Raise(const absl::Status& status) {
  const std::string text(status.message());
  const nb::object error = nb::module_::import_("eris.errors")
                               .attr("error_of_number")(static_cast<int>(status.code()), text);
  PyErr_SetObject(error.type().ptr(), error.ptr());
}

}  // namespace

void TranslateStatusErrors() {
  nb::register_exception_translator([](const std::exception_ptr& exception, void*) {
    try {
      std::rethrow_exception(exception);
    } catch (const StatusError& error) {
      try {
        Raise(error.status());
      } catch (nb::python_error& python) {  // the package eris is not there, or no memory
        python.restore();
      }
    }
  });
}

}  // namespace eris::python
