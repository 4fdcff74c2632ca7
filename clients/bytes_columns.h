// Columns of byte strings on the wire, beside columns.h. Pure functions; any thread.
#ifndef ERIS_CLIENTS_BYTES_COLUMNS_H_
#define ERIS_CLIENTS_BYTES_COLUMNS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "clients/columns.h"
#include "eris/bytes_column.h"

namespace eris::v1 {
class Column;
class LookupResponse;
class WriteResponse;
}  // namespace eris::v1

namespace eris::client {

// Replaces `column` by `strings`. Errors: InvalidArgument (more than kBatchValueBytesMax bytes
// together: no request can carry them).
absl::Status ToBytesColumn(absl::Span<const absl::string_view> strings, v1::Column& column);

// Takes the strings of an answer. Errors: FailedPrecondition (u64), Internal (a column that breaks
// the protocol, or another number of strings than `rows`).
absl::Status FromBytesColumn(v1::Column& column, size_t rows, BytesColumn& strings);

struct BytesLookupResult {
  BytesColumn values;  // values[i] belongs to keys[i]; empty where not found
  RowBits found;
  RowBits executed;      // clear: the answer had no room for its value; see `refusal`
  absl::Status refusal;  // why some keys were not executed; OK: all were
};
// Takes the answer to a lookup of `keys` keys. Errors: as FromBytesColumn.
absl::Status TakeBytesLookupResult(v1::LookupResponse response, size_t keys,
                                   BytesLookupResult& out);

// As WriteResult.
struct BytesWriteResult {
  RowBits applied;
  RowBits existed;
  RowBits executed;
  BytesColumn values;  // what Session::Write says of the mode, empty where there is none
  absl::Status refusal;
};
absl::Status TakeBytesWriteResult(v1::WriteResponse response, size_t keys, BytesWriteResult& out);

}  // namespace eris::client

#endif  // ERIS_CLIENTS_BYTES_COLUMNS_H_
