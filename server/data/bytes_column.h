// Columns of byte strings as they arrive, checked: Arrow's binary layout. Beside columns.h, and
// like it before anything has changed. Any thread, no state.
#ifndef ERIS_SERVER_DATA_BYTES_COLUMN_H_
#define ERIS_SERVER_DATA_BYTES_COLUMN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/data/columns.h"

namespace eris::server {

// eris.v1.ColumnType.COLUMN_TYPE_BYTES.
inline constexpr int kColumnTypeBytes = 30;

// The strings of a request's column, in the message's own bytes. `name` stands in messages. How
// long they may be the engine says.
// Errors: InvalidArgument: another type than BYTES, no element, more than kBatchKeysMax, a validity
// bitmap, offsets that are no whole number of uint32, do not begin at 0, descend, or do not end
// with the data.
absl::StatusOr<std::vector<absl::string_view>> DecodeBytesColumn(absl::string_view name,
                                                                 const ColumnParts& parts);

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_BYTES_COLUMN_H_
