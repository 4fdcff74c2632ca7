// Rows of cells (fake_rows.h) in messages, for tests of calls.
#ifndef ERIS_TESTS_UNIT_SERVER_CELL_MESSAGES_H_
#define ERIS_TESTS_UNIT_SERVER_CELL_MESSAGES_H_

#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "tests/unit/server/fake_rows.h"
#include "wire/columns.h"

namespace eris::server {

// `which` cells of the rows.
inline std::vector<FakeRow> Pick(const std::vector<FakeRow>& rows,
                                 absl::Span<const uint32_t> which) {
  std::vector<FakeRow> picked;
  for (const FakeRow& row : rows) {
    FakeRow& to = picked.emplace_back();
    for (const uint32_t column : which) to.push_back(row[column]);
  }
  return picked;
}
inline void FillCells(const Schema& schema, absl::Span<const uint32_t> which,
                      const std::vector<FakeRow>& rows, wire::Columns* message) {
  const wire::ColumnTypes types = wire::TypesOf(schema, which);
  wire::MoveColumns(types, ColumnsOf({types.begin(), types.end()}, Pick(rows, which)), message);
}
// The cells of an answer.
inline std::vector<FakeRow> CellsIn(const wire::ColumnTypes& types, uint64_t count,
                                    wire::Columns message) {
  std::vector<ColumnBuffers> columns;
  const absl::Status taken = wire::TakeColumns(types, count, &message, &columns);
  EXPECT_TRUE(taken.ok()) << taken;
  std::vector<FakeRow> cells(columns.empty() ? 0 : count);
  for (size_t i = 0; i < columns.size(); ++i) {
    ColumnView view{.values = columns[i].values.data()};
    if (!columns[i].validity.empty()) {
      view.validity = reinterpret_cast<const uint8_t*>(columns[i].validity.data());
    }
    view.offsets = reinterpret_cast<const uint32_t*>(columns[i].offsets.data());
    for (uint64_t row = 0; row < count; ++row) cells[row].push_back(CellOf(types[i], view, row));
  }
  return cells;
}

}  // namespace eris::server

#endif  // ERIS_TESTS_UNIT_SERVER_CELL_MESSAGES_H_
