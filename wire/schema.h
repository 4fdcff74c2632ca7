// Schemas of objects and of answers as messages. Any thread, no state.
#ifndef ERIS_WIRE_SCHEMA_H_
#define ERIS_WIRE_SCHEMA_H_

#include "absl/status/statusor.h"
#include "eris/schema.h"
#include "eris/v1/column.pb.h"

namespace eris::wire {

// Errors: InvalidArgument (types, scales out of their range, a key column that does not exist). The
// engine checks the rest.
absl::StatusOr<Schema> SchemaFrom(const v1::Schema& message);
void FillSchema(const Schema& schema, v1::Schema* message);
// For an answer, whose columns may have types that only results have. Errors: Internal (an unknown
// type or key column: the server is newer).
absl::StatusOr<Schema> AnsweredSchemaFrom(const v1::Schema& message);

}  // namespace eris::wire

#endif  // ERIS_WIRE_SCHEMA_H_
