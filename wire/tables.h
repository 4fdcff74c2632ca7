// Schemas and queries of tables as messages. Any thread, no state.
#ifndef ERIS_WIRE_TABLES_H_
#define ERIS_WIRE_TABLES_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/schema.h"
#include "eris/query.h"
#include "eris/v1/table.pb.h"

namespace eris::wire {

v1::ColumnType ToProto(ColumnType type);
// Errors: InvalidArgument (a type that no column of a table has; `name` stands in the message).
absl::StatusOr<ColumnType> ColumnTypeFrom(absl::string_view name, v1::ColumnType type);

// Errors: InvalidArgument (types, scales out of their range, a key column that is none of the
// columns). The engine checks the rest.
absl::StatusOr<Schema> SchemaFrom(const v1::TableSchema& message);
void FillSchema(const Schema& schema, v1::TableSchema* message);
// Of an answer, whose columns may have types that only results have. Errors: Internal (a type that
// this program does not know, a key column that is none: the server is newer).
absl::StatusOr<Schema> AnsweredSchemaFrom(const v1::TableSchema& message);

// Without snapshot and resume point. Errors: InvalidArgument (unknown kinds and functions, values
// that are unset where one is needed, more than kExpressionSizeMax or kExpressionDepthMax). The
// engine checks names and types.
absl::StatusOr<Query> QueryFrom(const v1::TableQuery& message);
void FillQuery(const Query& query, v1::TableQuery* message);

}  // namespace eris::wire

#endif  // ERIS_WIRE_TABLES_H_
