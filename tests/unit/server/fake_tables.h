// The tables of the fake engine: rows as bytes in one vector per table, snapshots as copies.
// Filters and expressions are the engine's business: what a scan asked for is kept for the test to
// look at.
#ifndef ERIS_TESTS_UNIT_SERVER_FAKE_TABLES_H_
#define ERIS_TESTS_UNIT_SERVER_FAKE_TABLES_H_

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eris/engine.h"

namespace eris::server {

struct FakeTable {
  using Row = std::vector<std::optional<std::string>>;  // a cell's bytes; nullopt: null
  Schema schema;
  std::vector<Row> rows;

  std::string KeyOf(const Row& row) const {
    std::string key;
    for (const uint32_t column : schema.key) key += *row[column];
    return key;
  }
  std::vector<Row>::iterator Find(const std::string& key) {
    auto row = rows.begin();
    while (row != rows.end() && KeyOf(*row) != key) ++row;
    return row;
  }
};
using FakeTableMap = std::map<std::string, FakeTable>;

inline std::optional<std::string> FakeCell(ColumnType type, const ColumnView& view, uint64_t row) {
  if (view.validity != nullptr && (view.validity[row >> 3] >> (row & 7) & 1) == 0) {
    return std::nullopt;
  }
  const char* const values = static_cast<const char*>(view.values);
  if (type == ColumnType::kString) {
    return std::string(values + view.offsets[row], view.offsets[row + 1] - view.offsets[row]);
  }
  const size_t width = ColumnValueBytes(type);
  return std::string(values + row * width, width);
}

// Rows of `types` as columns.
inline std::vector<ColumnBuffers> FakeColumns(const std::vector<ColumnType>& types,
                                              const std::vector<FakeTable::Row>& rows) {
  std::vector<ColumnBuffers> columns(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    ColumnBuffers& column = columns[i];
    const bool is_string = types[i] == ColumnType::kString;
    uint32_t end = 0;
    const auto add_offset = [&] {
      column.offsets.append(reinterpret_cast<const char*>(&end), sizeof(end));
    };
    if (is_string) add_offset();
    column.validity.assign((rows.size() + 7) / 8, '\0');
    bool any_null = false;
    for (size_t row = 0; row < rows.size(); ++row) {
      const std::optional<std::string>& cell = rows[row][i];
      any_null |= !cell;
      if (cell) column.validity[row >> 3] |= static_cast<char>(1 << (row & 7));
      column.values += cell.value_or(std::string(ColumnValueBytes(types[i]), '\0'));
      end = static_cast<uint32_t>(column.values.size());
      if (is_string) add_offset();
    }
    if (!any_null) column.validity.clear();
  }
  return columns;
}

class FakeSnapshot final : public Snapshot {
 public:
  FakeSnapshot(FakeTableMap tables_in, std::atomic<int>* held)
      : tables(std::move(tables_in)), held_(*held) {
    held_.fetch_add(1, std::memory_order_relaxed);  // relaxed, here and below: a count for tests
  }
  ~FakeSnapshot() override { held_.fetch_sub(1, std::memory_order_relaxed); }
  uint64_t epoch() const override { return 1; }
  bool aborted() const override { return false; }

  const FakeTableMap tables;

 private:
  std::atomic<int>& held_;
};

class FakeTableChunk final : public Chunk {
 public:
  FakeTableChunk(Schema schema, std::vector<ColumnBuffers> columns, uint64_t rows,
                 std::string resume)
      : schema_(std::move(schema)),
        columns_(std::move(columns)),
        rows_(rows),
        resume_(std::move(resume)) {}
  uint64_t rows() const override { return rows_; }
  const Schema& schema() const override { return schema_; }
  ColumnView column(size_t i) const override {
    const ColumnBuffers& from = columns_[i];
    ColumnView view;
    view.values = from.values.data();
    if (!from.validity.empty()) {
      view.validity = reinterpret_cast<const uint8_t*>(from.validity.data());
    }
    if (!from.offsets.empty()) {
      view.offsets = reinterpret_cast<const uint32_t*>(from.offsets.data());
    }
    return view;
  }
  std::string resume() const override { return resume_; }

 private:
  const Schema schema_;
  const std::vector<ColumnBuffers> columns_;
  const uint64_t rows_;
  const std::string resume_;
};

// What a scan has still to give: columns as they are, or a count.
class FakeTableRows {
 public:
  FakeTableRows(const FakeTable& table, const Query& query) : limit_(query.limit) {
    if (!query.aggregates.empty()) {
      schema_.columns = {{.name = query.aggregates[0].name, .type = ColumnType::kUint64}};
      const uint64_t count = table.rows.size();
      rows_ = {{std::string(reinterpret_cast<const char*>(&count), sizeof(count))}};
      return;
    }
    std::vector<size_t> picked;
    for (size_t i = 0; i < table.schema.columns.size(); ++i) {
      if (query.columns.empty()) picked.push_back(i);
    }
    for (const NamedExpression& column : query.columns) {
      size_t i = 0;
      while (table.schema.columns[i].name != column.expression.column) ++i;
      picked.push_back(i);
    }
    for (const size_t i : picked) schema_.columns.push_back(table.schema.columns[i]);
    for (const FakeTable::Row& row : table.rows) {
      FakeTable::Row& out = rows_.emplace_back();
      for (const size_t i : picked) out.push_back(row[i]);
    }
    if (!query.resume.empty()) next_ = std::stoull(query.resume);
  }
  const Schema& schema() const { return schema_; }
  std::shared_ptr<const Chunk> Next(size_t rows_max) {
    size_t count = std::min(rows_max, rows_.size() - next_);
    if (limit_ != 0) count = std::min<size_t>(count, limit_ - given_);
    if (count == 0) return nullptr;
    const auto begin = rows_.begin() + static_cast<ptrdiff_t>(next_);
    std::vector<ColumnType> types;
    for (const ColumnSchema& column : schema_.columns) types.push_back(column.type);
    next_ += count;
    given_ += count;
    return std::make_shared<FakeTableChunk>(
        schema_, FakeColumns(types, {begin, begin + static_cast<ptrdiff_t>(count)}), count,
        absl::StrCat(next_));
  }

 private:
  Schema schema_;
  std::vector<FakeTable::Row> rows_;
  size_t next_ = 0;
  uint64_t given_ = 0;
  const uint64_t limit_;
};

}  // namespace eris::server

#endif  // ERIS_TESTS_UNIT_SERVER_FAKE_TABLES_H_
