// Rows of tables between message and engine: columns as they arrive, checked so far that the engine
// can read them where they lie; and answers as columns. Any thread, no state.
#ifndef ERIS_SERVER_TABLES_TABLE_ROWS_H_
#define ERIS_SERVER_TABLES_TABLE_ROWS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eris/schema.h"
#include "eris/query.h"
#include "eris/v1/table.pb.h"

namespace eris::server {

// Points into the message, which outlives it; into copies where bytes there are not aligned.
struct DecodedRows {
  uint64_t rows = 0;
  std::vector<ColumnView> views;
  std::vector<std::unique_ptr<char[]>> copies;

  RowBatch batch() const { return {rows, views}; }
};

// `name` ("rows", "keys") stands in messages; `columns` are those of the schema that the message
// must have, in that order. Errors: InvalidArgument: no rows, more than kTableBatchRowsMax or
// kTableBatchBytesMax; another number of columns, other types or lengths than rows; offsets that
// do not ascend to the end of the bytes. The engine checks nulls and the lengths of strings.
absl::StatusOr<DecodedRows> DecodeRows(absl::string_view name, const Schema& schema,
                                       absl::Span<const uint32_t> columns, const v1::Rows& message);

// Bytes of the columns of an answer.
uint64_t ColumnsBytes(absl::Span<const ColumnBuffers> columns);
// Moves the columns, whose types are in `types`, into the message.
void FillRows(uint64_t rows, absl::Span<const ColumnType> types, std::vector<ColumnBuffers> columns,
              v1::Rows* message);
// Copies a chunk's columns into the message, whose memory is used again.
void FillRows(const Chunk& chunk, v1::Rows* message);
// What that takes.
uint64_t ChunkBytes(const Chunk& chunk);
// What it can be expected to take, of chunks of at most `rows_max` rows (0: any number), but never
// more than `bytes_max`; nobody knows before how long strings are.
uint64_t ExpectedChunkBytes(const Schema& schema, uint64_t rows_max, uint64_t bytes_max);

}  // namespace eris::server

#endif  // ERIS_SERVER_TABLES_TABLE_ROWS_H_
