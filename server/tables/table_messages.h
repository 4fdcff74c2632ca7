// What requests on tables say beside schema and query (wire/tables.h). Any thread, no state.
#ifndef ERIS_SERVER_TABLES_TABLE_MESSAGES_H_
#define ERIS_SERVER_TABLES_TABLE_MESSAGES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/options.h"
#include "eris/schema.h"
#include "eris/query.h"
#include "eris/v1/table.pb.h"

namespace eris::server {

// Where keys are expected, as bounds of the first eight bytes of the key. Errors: InvalidArgument
// (a bound of another type than the first key column, NaN, inverted, bounds of a heap table).
absl::StatusOr<TableOptions> TableOptionsFrom(const Schema& schema,
                                              const v1::CreateTableRequest& request);

// Of table and query, without the limit: equal for a scan and for what goes on with it.
uint64_t QueryFingerprint(absl::string_view table, const v1::TableQuery& message);

}  // namespace eris::server

#endif  // ERIS_SERVER_TABLES_TABLE_MESSAGES_H_
