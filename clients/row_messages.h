// Rows of tables in messages. Pure functions; any thread.
#ifndef ERIS_CLIENTS_ROW_MESSAGES_H_
#define ERIS_CLIENTS_ROW_MESSAGES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "clients/table_rows.h"
#include "eris/schema.h"
#include "eris/v1/table.pb.h"

namespace eris::client {

// Hands the buffers over to the message, and takes the message's own for them: swap them back when
// it has been sent. Shapes: as many columns as types.
void SwapRows(absl::Span<const ColumnType> types, OwnedRows& rows, v1::Rows& message);
// Takes the rows of an answer, whose columns are of `types`. Errors: Internal (other columns, or
// columns that are not as long as the rows).
absl::Status TakeRows(absl::Span<const ColumnType> types, v1::Rows& message, OwnedRows& rows);

}  // namespace eris::client

#endif  // ERIS_CLIENTS_ROW_MESSAGES_H_
