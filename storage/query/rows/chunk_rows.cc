#include "storage/query/rows/chunk_rows.h"

#include <cstdint>
#include <vector>

#include "storage/query/rows/gather.h"

namespace eris::storage {

absl::Status AddChunk(const Chunk& chunk, RowSink& sink) {
  std::vector<SegmentColumn> columns;
  for (size_t i = 0; i < chunk.schema().columns.size(); ++i) {
    const ColumnView view = chunk.column(i);
    // Chunks have bitmaps in whole words.
    columns.push_back({.type = chunk.schema().columns[i].type,
                       .values = view.values,
                       .validity = reinterpret_cast<const uint64_t*>(view.validity),
                       .offsets = view.offsets});
  }
  const auto rows = static_cast<uint32_t>(chunk.rows());
  return sink.AddAll(
      rows, [&](uint32_t done, ResultRows& out) { AppendRange(columns, done, rows - done, out); });
}

}  // namespace eris::storage
