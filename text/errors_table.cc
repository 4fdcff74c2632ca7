#include "text/errors_table.h"

#include "absl/strings/str_cat.h"
#include "eris/errors.h"

namespace eris::text {

std::string ErrorsTable() {
  std::string out;
  for (int code = 1; code <= 16; ++code) {
    const auto status = static_cast<absl::StatusCode>(code);
    absl::StrAppend(&out, out.empty() ? "" : "\n", "### ", absl::StatusCodeToString(status),
                    "\n\n| reason | meaning | what helps | try again |\n|---|---|---|---|\n");
    for (const ErrorKind& kind : kErrorKinds) {
      if (kind.code != status) continue;
      const std::string retry =
          kind.retry_ms == 0 ? "" : absl::StrCat("after ", kind.retry_ms, " ms");
      absl::StrAppend(&out, "| `", kind.name, "` | ", kind.meaning, " | ", kind.helps, " | ", retry,
                      " |\n");
    }
  }
  return out;
}

}  // namespace eris::text
