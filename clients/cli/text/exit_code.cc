#include "clients/cli/text/exit_code.h"

#include <cstdio>
#include <string>

#include "clients/cli/text/interrupt.h"
#include "eris/errors.h"

namespace eris::cli {

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kNotFound:
      return kExitNotFound;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return kExitInvalid;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnavailable;
    case absl::StatusCode::kCancelled:
      return CheckInterrupted().ok() ? kExitRefused : kExitInterrupted;
    default:
      return kExitRefused;
  }
}

namespace {

// For a reason that says more than the code.
void ReportReason(const absl::Status& status) {
  const std::string reason = ErrorDetailsOf(status).reason;
  if (reason == KindOf(ReasonOfCode(status.code())).name) return;
  const ErrorKind* kind = FindErrorKind(reason);
  const std::string helps = kind == nullptr ? "see docs/guide/errors.md of the server's version"
                                            : std::string(kind->helps);
  std::fprintf(stderr, "eris: %s: %s\n", reason.c_str(), helps.c_str());
}

}  // namespace

int Report(const absl::Status& status) {
  if (!status.ok()) {
    const std::string name = absl::StatusCodeToString(status.code());
    std::fprintf(stderr, "eris: %s: %s\n", name.c_str(), std::string(status.message()).c_str());
    ReportReason(status);
  }
  return ExitCodeOf(status);
}

}  // namespace eris::cli
