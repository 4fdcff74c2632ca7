// Columns of rows as messages, in both directions: between requests and answers, and the engine or
// the client library. Both sides have Arrow's layout, so bytes are moved or read in place. Any
// thread, no state.
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
// Errors: InvalidArgument (a type that columns of objects cannot have; `name` is for the message).
absl::StatusOr<ColumnType> ColumnTypeFrom(absl::string_view name, v1::ColumnType type);

// The columns of a schema in a batch: all of them, or only the last, which is the value of an index
// or a hash. (Key columns: Schema::key.)
absl::Span<const uint32_t> AllColumns(const Schema& schema);
absl::Span<const uint32_t> ValueColumn(const Schema& schema);
ColumnTypes TypesOf(const Schema& schema, absl::Span<const uint32_t> columns);
// The columns that a lookup for `names` returns; without names all columns outside the key. Errors:
// InvalidArgument (an unknown name, more than kTableColumnsMax).
absl::StatusOr<ColumnTypes> AnsweredTypes(const Schema& schema,
                                          absl::Span<const std::string> names);

// Columns of a request, in the form that the engine takes. Points into the message, which outlives
// it, or into copies if bytes there are not aligned.
struct ViewedColumns {
  uint64_t rows = 0;
  absl::InlinedVector<ColumnView, 4> views;
  std::vector<std::unique_ptr<char[]>> copies;

  RowBatch batch() const { return {rows, views}; }
};

// `name` ("keys", "columns") is for messages; `columns` are the columns of the schema that the
// message must have, in that order. The first one determines the number of rows. Errors:
// InvalidArgument: no row, more than kTableBatchRowsMax or kTableBatchBytesMax; another number of
// columns, other types or lengths; offsets that do not ascend from 0 to the end of the bytes; a
// null in a column without nulls. ResourceExhausted: no memory for a copy. The engine checks for
// NaN in keys and the lengths of strings.
absl::StatusOr<ViewedColumns> ViewColumns(absl::string_view name, const Schema& schema,
                                          absl::Span<const uint32_t> columns,
                                          const Columns& message);
// The number of rows that a column claims to have, even if it will be refused.
uint64_t RowsSaid(const v1::Column& column);

// Moves the columns of an answer into a message. Shapes: as many columns as types.
void MoveColumns(const ColumnTypes& types, std::vector<ColumnBuffers> columns, Columns* message);
// Copies columns into a message, whose memory is reused. Shapes: as many columns as types.
void FillColumn(ColumnType type, uint64_t rows, const ColumnView& view, v1::Column* column);
void FillColumns(const ColumnTypes& types, const RowBatch& rows, Columns* message);
// `take_strings`: strings of an index are moved out of the chunk (Chunk::TakeColumn).
void FillColumns(const Chunk& chunk, bool take_strings, Columns* message);
// The bytes that the latter needs.
uint64_t ChunkBytes(const Chunk& chunk);
// The bytes that it is expected to need, for chunks of at most `rows_max` rows (0: any number), but
// at most `bytes_max`; the lengths of strings are not known in advance.
uint64_t ExpectedChunkBytes(const Schema& schema, uint64_t rows_max, uint64_t bytes_max);

// Moves the columns of an answer with `rows` rows to `columns`, whose previous buffers go to the
// message. Without a row there may be none. Errors: Internal (the server sent other columns, or
// columns of another length).
absl::Status TakeColumns(const ColumnTypes& types, uint64_t rows, Columns* message,
                         std::vector<ColumnBuffers>* columns);

}  // namespace eris::wire

#endif  // ERIS_WIRE_COLUMNS_H_
