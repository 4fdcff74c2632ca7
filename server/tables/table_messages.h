// Schemas and queries of tables between message and engine. Any thread, no state.
#ifndef ERIS_SERVER_TABLES_TABLE_MESSAGES_H_
#define ERIS_SERVER_TABLES_TABLE_MESSAGES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/options.h"
#include "eris/table.h"
#include "eris/table_query.h"
#include "eris/v1/table.pb.h"

namespace eris::server {

v1::ColumnType ToMessage(ColumnType type);
// Errors: InvalidArgument (a type that no column of a table has; `name` stands in the message).
absl::StatusOr<ColumnType> ColumnTypeFrom(absl::string_view name, v1::ColumnType type);

// Errors: InvalidArgument (types, scales out of their range, a key column that is none of the
// columns). The engine checks the rest.
absl::StatusOr<TableSchema> SchemaFrom(const v1::TableSchema& message);
void FillSchema(const TableSchema& schema, v1::TableSchema* message);

// Where keys are expected, as bounds of the first eight bytes of the key. Errors: InvalidArgument
// (a bound of another type than the first key column, NaN, inverted, bounds of a heap table).
absl::StatusOr<TableOptions> TableOptionsFrom(const TableSchema& schema,
                                              const v1::CreateTableRequest& request);

// Without snapshot and resume point. Errors: InvalidArgument (unknown kinds and functions, values
// that are unset where one is needed, more than kExpressionSizeMax or kExpressionDepthMax). The
// engine checks names and types.
absl::StatusOr<TableQuery> QueryFrom(const v1::TableQuery& message);

// Of table and query, without the limit: equal for a scan and for what goes on with it.
uint64_t QueryFingerprint(absl::string_view table, const v1::TableQuery& message);

}  // namespace eris::server

#endif  // ERIS_SERVER_TABLES_TABLE_MESSAGES_H_
