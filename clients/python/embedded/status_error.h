// A status as a Python exception: the class of the package eris for its code.
#ifndef ERIS_CLIENTS_PYTHON_EMBEDDED_STATUS_ERROR_H_
#define ERIS_CLIENTS_PYTHON_EMBEDDED_STATUS_ERROR_H_

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace eris::python {

// Python's functions throw; nothing of the engine does. Raised where nanobind calls back.
class StatusError final : public std::exception {
 public:
  explicit StatusError(absl::Status status) : status_(std::move(status)) {}
  const absl::Status& status() const { return status_; }
  const char* what() const noexcept override { return "a status of the engine"; }

 private:
  const absl::Status status_;
};

// Once, when the module is made.
void TranslateStatusErrors();

inline void ThrowUnlessOk(absl::Status status) {
  if (!status.ok()) throw StatusError(std::move(status));
}
template <class T>
T ValueOrThrow(absl::StatusOr<T> value) {
  if (!value.ok()) throw StatusError(std::move(value).status());
  return *std::move(value);
}

}  // namespace eris::python

#endif  // ERIS_CLIENTS_PYTHON_EMBEDDED_STATUS_ERROR_H_
