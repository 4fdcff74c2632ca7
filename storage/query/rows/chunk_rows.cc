#include "storage/query/rows/chunk_rows.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "base/status_macros.h"
#include "storage/table/query/row_output.h"

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
  std::array<uint16_t, kBlockRows> picks;
  std::iota(picks.begin(), picks.end(), uint16_t{0});
  const auto rows = static_cast<uint32_t>(chunk.rows());
  for (uint32_t at = 0; at < rows;) {
    const uint32_t base = at / kBlockRows * kBlockRows;
    const uint32_t end = std::min(base + kBlockRows, rows);
    Envelope* const open = sink.Open();
    if (open == nullptr) return sink.Refusal();
    ResultRows& out = open->out();
    const uint16_t* const first = picks.data() + (at - base);
    uint32_t fit = std::min(end - at, out.capacity - out.rows);
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].type != ColumnType::kString) continue;
      fit = StringsThatFit(columns[i], base, first, fit, out.columns[i], out.rows);
    }
    for (size_t i = 0; i < columns.size() && fit > 0; ++i) {
      AppendColumn(columns[i], base, first, fit, out.columns[i], out.rows);
    }
    out.rows += fit;
    open->Count();
    at += fit;
    if (at < end) ERIS_RETURN_IF_ERROR(sink.Full());
  }
  return absl::OkStatus();
}

}  // namespace eris::storage
