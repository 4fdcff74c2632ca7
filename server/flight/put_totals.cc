#include "server/flight/put_totals.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "eris/errors.h"

namespace eris::server {

PutTotals PutTotalsOf(const BatchResult& result, uint64_t rows) {
  if (result.status.ok()) return {.written = rows};
  if (!absl::IsResourceExhausted(result.status)) return {.unknown = rows};
  const uint64_t refused = std::min<uint64_t>(result.refused, rows);
  return {.written = rows - refused, .refused = refused};
}

std::string PutTotalsJson(const PutTotals& totals) {
  return absl::StrCat("{\"batches\": ", totals.batches, ", \"written\": ", totals.written,
                      ", \"refused\": ", totals.refused, ", \"unknown\": ", totals.unknown, "}");
}

absl::Status WithTotals(const absl::Status& status, const PutTotals& totals) {
  std::string text = absl::StrCat(status.message(), "; ", totals.written, " rows were written");
  if (totals.refused > 0) absl::StrAppend(&text, ", ", totals.refused, " were refused");
  if (totals.unknown > 0) absl::StrAppend(&text, ", of ", totals.unknown, " it is unknown");
  absl::Status with_totals = WithText(status, text);
  if (totals.written + totals.unknown > 0) {
    // The whole call must not be tried again: it would write these rows twice.
    ErrorDetails details = ErrorDetailsOf(status);
    details.retry_ms = 0;
    SetErrorDetails(details, &with_totals);
  }
  return with_totals;
}

}  // namespace eris::server
