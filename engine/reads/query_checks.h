// Checks queries, ranges and objects before anything is read. Pure functions; any thread.
#ifndef ERIS_ENGINE_READS_QUERY_CHECKS_H_
#define ERIS_ENGINE_READS_QUERY_CHECKS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/objects/object_entry.h"
#include "engine/reads/scan_state.h"
#include "eris/query.h"

namespace eris::engine {

// `what` is a range of keys. Errors: InvalidArgument (inverted; a second part without its bound).
absl::Status CheckRange(absl::string_view what, const KeyRange& range);
// Errors: InvalidArgument (bounds with second parts, for keys without them).
absl::Status CheckRangeParts(const ObjectEntry& object, const KeyRange& range);
// Errors: InvalidArgument (inverted).
absl::Status CheckValues(const std::optional<ValueRange>& values);
// Errors: FailedPrecondition (values are strings).
absl::Status CheckU64Values(const ObjectEntry& object);

// The query as a scan of an index, with the rest of the range from its resume token.
// Errors: InvalidArgument (the query), FailedPrecondition (a hash; a filter on values that are
// strings).
absl::StatusOr<ScanState::Request> IndexRequestOf(ObjectRef object, const Query& query);

// Errors: InvalidArgument (range, direction or values, which are for indexes).
absl::Status CheckTableQuery(const ObjectEntry& table, const Query& query);
// Errors: InvalidArgument (an AEU or a part that there is not; no snapshot).
absl::Status CheckShare(const Query& query, uint32_t aeus);
// Checks the target of a scan whose rows have the schema `result`. Errors: InvalidArgument,
// FailedPrecondition.
absl::Status CheckTarget(const Schema& result, const ObjectEntry& target);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_QUERY_CHECKS_H_
