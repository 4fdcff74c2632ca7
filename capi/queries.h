// Queries as C gives them, as the engine takes them.
#ifndef ERIS_CAPI_QUERIES_H_
#define ERIS_CAPI_QUERIES_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/c/scan.h"
#include "eris/query.h"

namespace eris::capi {

// nullptr: all rows. Errors: InvalidArgument (a text, with the member's name and the position).
absl::StatusOr<Query> QueryFrom(const eris_query* given);
absl::StatusOr<AggregateOptions> AggregateFrom(const eris_aggregate_options* given);
eris_aggregate_result AggregateOut(const RangeAggregate& from);
absl::StatusOr<std::optional<ValueRange>> ValuesFrom(const eris_value_range* values);
// Puts the member's name before the status's text.
absl::Status Within(const char* member, const absl::Status& status);

}  // namespace eris::capi

#endif  // ERIS_CAPI_QUERIES_H_
