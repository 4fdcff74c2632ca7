// Queries and aggregates of key ranges as messages. Any thread, no state.
#ifndef ERIS_WIRE_QUERY_H_
#define ERIS_WIRE_QUERY_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/query.h"
#include "eris/schema.h"
#include "eris/types.h"
#include "eris/v1/data.pb.h"
#include "eris/v1/query.pb.h"

namespace eris::wire {

// For an object of that kind and schema; without snapshot and resume point. Errors: InvalidArgument
// (unknown kinds, functions, directions and types of casts, scales above kDecimalScaleMax or
// kWideScaleMax, missing values, more than kExpressionSizeMax or kExpressionDepthMax; ranges as in
// wire/keys.h, and for a table any range). The engine checks names, types, and everything else that
// does not fit the kind.
absl::StatusOr<Query> QueryFrom(ObjectKind kind, const Schema& schema, const v1::Query& message);
// Errors: InvalidArgument (a range that keys of the object cannot have, or any range for a table;
// fields and subqueries, which only plans have).
absl::Status FillQuery(ObjectKind kind, const Schema& schema, const Query& query,
                       v1::Query* message);

// Without snapshot, which is a number in the request. Errors: InvalidArgument, as above. For tables the range is ignored: the engine
// refuses them.
absl::StatusOr<AggregateOptions> AggregateOptionsFrom(ObjectKind kind, const Schema& schema,
                                                      const v1::AggregateRequest& request);
absl::Status FillAggregateOptions(ObjectKind kind, const Schema& schema,
                                  const AggregateOptions& options, v1::AggregateRequest* request);
// REQUIRES, here and below: the schema of an index.
void FillAggregate(const Schema& schema, const RangeAggregate& rows,
                   v1::AggregateResponse* response);
RangeAggregate AggregateFrom(const Schema& schema, const v1::AggregateResponse& response);

}  // namespace eris::wire

#endif  // ERIS_WIRE_QUERY_H_
