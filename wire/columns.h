// Columns of rows as messages, in both directions: what requests and answers carry, and what the
// engine and the client library take and give. Both sides have Arrow's layout, so bytes are moved,
// or read where they lie. Any thread, no state.
#ifndef ERIS_WIRE_COLUMNS_H_
#define ERIS_WIRE_COLUMNS_H_

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eris/batch.h"
#include "eris/query.h"
#include "eris/schema.h"
#include "eris/v1/column.pb.h"

namespace eris::wire {

using Columns = google::protobuf::RepeatedPtrField<v1::Column>;
using ColumnTypes = absl::InlinedVector<ColumnType, 8>;

v1::ColumnType ToProto(ColumnType type);
// Errors: InvalidArgument (a type that no column of an object has; `name` stands in the message).
absl::StatusOr<ColumnType> ColumnTypeFrom(absl::string_view name, v1::ColumnType type);

// Which columns of a schema a batch has: all of them, or the last, which is the value of an index
// or a hash. (Those of the key: Schema::key.)
absl::Span<const uint32_t> AllColumns(const Schema& schema);
absl::Span<const uint32_t> ValueColumn(const Schema& schema);
ColumnTypes TypesOf(const Schema& schema, absl::Span<const uint32_t> columns);
// What a lookup that asks for `names` is answered: these columns; of no names all that are not of
// the key. Errors: InvalidArgument (a name that the schema has not, more than kTableColumnsMax).
absl::StatusOr<ColumnTypes> AnsweredTypes(const Schema& schema,
                                          absl::Span<const std::string> names);

// Columns of a request, readable as the engine takes them. Points into the message, which outlives
// it; into copies where bytes there are not aligned.
struct ViewedColumns {
  uint64_t rows = 0;
  absl::InlinedVector<ColumnView, 4> views;
  std::vector<std::unique_ptr<char[]>> copies;

  RowBatch batch() const { return {rows, views}; }
};

// `name` ("keys", "columns") stands in messages; `columns` are those of the schema that the message
// must have, in that order. The first one says how many rows there are. Errors: InvalidArgument: no
// row, more than kTableBatchRowsMax or kTableBatchBytesMax; another number of columns, other types
// or lengths; offsets that do not ascend from 0 to the end of the bytes; a null where the schema
// has none. ResourceExhausted: no memory for a copy. NaN in keys and the lengths of strings are the
// engine's business.
absl::StatusOr<ViewedColumns> ViewColumns(absl::string_view name, const Schema& schema,
                                          absl::Span<const uint32_t> columns,
                                          const Columns& message);
// How many rows a column says it has, also where it will be refused.
uint64_t RowsSaid(const v1::Column& column);

// Moves the columns of an answer into a message. Shapes: as many columns as types.
void MoveColumns(const ColumnTypes& types, std::vector<ColumnBuffers> columns, Columns* message);
// Copies columns into a message, whose memory is used again. Shapes: as many columns as types.
void FillColumn(ColumnType type, uint64_t rows, const ColumnView& view, v1::Column* column);
void FillColumns(const ColumnTypes& types, const RowBatch& rows, Columns* message);
// `take_strings`: those of an index are moved out of the chunk (Chunk::TakeColumn).
void FillColumns(const Chunk& chunk, bool take_strings, Columns* message);
// What the latter takes.
uint64_t ChunkBytes(const Chunk& chunk);
// What it can be expected to take, of chunks of at most `rows_max` rows (0: any number), but never
// more than `bytes_max`; nobody knows before how long strings are.
uint64_t ExpectedChunkBytes(const Schema& schema, uint64_t rows_max, uint64_t bytes_max);

// Takes the columns of an answer on `rows` rows; those that were in `columns` before stay in the
// message. Without a row there may be none. Errors: Internal (the server sent other columns, or
// columns that are not as long as the rows).
absl::Status TakeColumns(const ColumnTypes& types, uint64_t rows, Columns* message,
                         std::vector<ColumnBuffers>* columns);

}  // namespace eris::wire

#endif  // ERIS_WIRE_COLUMNS_H_
