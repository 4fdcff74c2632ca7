// The rows of the fake engine, of all kinds of objects: ordered by their keys, snapshots as shared
// copies. Filters and expressions are the engine's business: what a scan asked for is kept for the
// test to look at.
#ifndef ERIS_TESTS_UNIT_SERVER_FAKE_ROWS_H_
#define ERIS_TESTS_UNIT_SERVER_FAKE_ROWS_H_

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eris/engine.h"
#include "eris/key_encoding.h"

namespace eris::server {

using FakeCell = std::optional<std::string>;  // a value's bytes; nullopt: null
using FakeRow = std::vector<FakeCell>;
// The encoded parts; of a key of one the second is 0. Of a heap table a number that counts up.
using FakeKey = std::pair<uint64_t, uint64_t>;
using FakeRows = std::map<FakeKey, std::string>;  // the cells that are not of the key, packed

template <class T>
std::string FakeBytes(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}
template <class T>
T FakeValue(const std::string& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

inline std::string KeyCell(ColumnType type, uint64_t key) {
  if (type == ColumnType::kUint64) return FakeBytes(key);
  if (type == ColumnType::kFloat64) return FakeBytes(Float64FromKey(key));
  if (ColumnValueBytes(type) == sizeof(int32_t)) return FakeBytes(DateFromKey(key));
  return FakeBytes(Int64FromKey(key));
}
// Errors: InvalidArgument (NaN).
inline absl::StatusOr<uint64_t> KeyPart(const ColumnSchema& column, const std::string& bytes,
                                        uint64_t row) {
  if (column.type == ColumnType::kUint64) return FakeValue<uint64_t>(bytes);
  if (ColumnValueBytes(column.type) == sizeof(int32_t)) {
    return KeyFromDate(FakeValue<int32_t>(bytes));
  }
  if (column.type != ColumnType::kFloat64) return KeyFromInt64(FakeValue<int64_t>(bytes));
  if (!IsNan(FakeValue<double>(bytes))) return KeyFromFloat64(FakeValue<double>(bytes));
  return absl::InvalidArgumentError(
      absl::StrCat("column ", column.name, ": element ", row, " is NaN, which is no key"));
}

inline FakeCell CellOf(ColumnType type, const ColumnView& view, uint64_t row) {
  if (view.validity != nullptr && (view.validity[row >> 3] >> (row & 7) & 1) == 0) {
    return std::nullopt;
  }
  const char* const values = static_cast<const char*>(view.values);
  if (IsByteString(type)) {
    return std::string(values + view.offsets[row], view.offsets[row + 1] - view.offsets[row]);
  }
  const size_t width = ColumnValueBytes(type);
  return std::string(values + row * width, width);
}

// A row's key, from the cells of the key's columns in their order.
inline absl::StatusOr<FakeKey> KeyOf(const Schema& schema, const FakeRow& cells, uint64_t row) {
  FakeKey key{};
  for (size_t part = 0; part < schema.key.size(); ++part) {
    const auto word = KeyPart(schema.columns[schema.key[part]], *cells[part], row);
    if (!word.ok()) return word.status();
    (part == 0 ? key.first : key.second) = *word;
  }
  return key;
}

// The cells of the key, of a whole row or of them alone.
inline FakeRow KeyCells(const Schema& schema, const FakeRow& cells) {
  if (cells.size() != schema.columns.size()) return cells;
  FakeRow key;
  for (const uint32_t column : schema.key) key.push_back(cells[column]);
  return key;
}

// Whether a column is of the key, and which part.
inline std::optional<size_t> PartOf(const Schema& schema, size_t column) {
  for (size_t part = 0; part < schema.key.size(); ++part) {
    if (schema.key[part] == column) return part;
  }
  return std::nullopt;
}
inline std::string Pack(const Schema& schema, const FakeRow& row) {
  std::string packed;
  for (size_t i = 0; i < row.size(); ++i) {
    if (PartOf(schema, i)) continue;
    packed += row[i] ? '\1' : '\0';
    if (!row[i]) continue;
    if (IsByteString(schema.columns[i].type)) {
      packed += FakeBytes(static_cast<uint32_t>(row[i]->size()));
    }
    packed += *row[i];
  }
  return packed;
}
inline FakeRow Unpack(const Schema& schema, const FakeKey& key, const std::string& packed) {
  FakeRow row;
  size_t at = 0;
  const auto take = [&](size_t bytes) {
    return packed.substr(std::exchange(at, at + bytes), bytes);
  };
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnType type = schema.columns[i].type;
    if (const auto part = PartOf(schema, i)) {
      row.emplace_back(KeyCell(type, *part == 0 ? key.first : key.second));
    } else if (take(1)[0] == '\0') {
      row.emplace_back();
    } else {
      const size_t width =
          IsByteString(type) ? FakeValue<uint32_t>(take(sizeof(uint32_t))) : ColumnValueBytes(type);
      row.emplace_back(take(width));
    }
  }
  return row;
}

inline uint32_t ColumnNamed(const Schema& schema, const std::string& name) {
  uint32_t i = 0;
  while (schema.columns[i].name != name) ++i;
  return i;
}

// For aggregates the first one alone, as a count, behind the columns of the groups.
inline Schema AnswerOf(const Schema& object, const Query& query) {
  Schema schema;
  if (!query.aggregates.empty()) {
    for (const std::string& name : query.group_by) {
      schema.columns.push_back(object.columns[ColumnNamed(object, name)]);
    }
    schema.columns.push_back({.name = query.aggregates[0].name, .type = ColumnType::kUint64});
    return schema;
  }
  if (query.columns.empty()) return {.columns = object.columns};
  for (const NamedExpression& asked : query.columns) {
    for (const ColumnSchema& column : object.columns) {
      if (column.name == asked.expression.column) schema.columns.push_back(column);
    }
  }
  return schema;
}

// Rows of `types` as columns.
inline std::vector<ColumnBuffers> ColumnsOf(const std::vector<ColumnType>& types,
                                            const std::vector<FakeRow>& rows) {
  std::vector<ColumnBuffers> columns(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    ColumnBuffers& column = columns[i];
    const bool is_string = IsByteString(types[i]);
    const auto add_offset = [&] {
      if (is_string) column.offsets += FakeBytes(static_cast<uint32_t>(column.values.size()));
    };
    add_offset();
    column.validity.assign((rows.size() + 7) / 8, '\0');
    bool any_null = false;
    for (size_t row = 0; row < rows.size(); ++row) {
      const FakeCell& cell = rows[row][i];
      any_null |= !cell;
      if (cell) column.validity[row >> 3] |= static_cast<char>(1 << (row & 7));
      column.values += cell.value_or(std::string(ColumnValueBytes(types[i]), '\0'));
      add_offset();
    }
    if (!any_null) column.validity.clear();
  }
  return columns;
}

class FakeChunk final : public Chunk {
 public:
  FakeChunk(Schema schema, const std::vector<FakeRow>& rows, std::string resume,
            std::function<void()> on_destroy)
      : schema_(std::move(schema)),
        rows_(rows.size()),
        resume_(std::move(resume)),
        on_destroy_(std::move(on_destroy)) {
    std::vector<ColumnType> types;
    for (const ColumnSchema& column : schema_.columns) types.push_back(column.type);
    columns_ = ColumnsOf(types, rows);
  }
  ~FakeChunk() override { on_destroy_(); }
  uint64_t rows() const override { return rows_; }
  const Schema& schema() const override { return schema_; }
  ColumnView column(size_t i) const override {
    const ColumnBuffers& from = columns_[i];
    ColumnView view{.values = from.values.data()};
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
  std::vector<ColumnBuffers> columns_;
  const uint64_t rows_;
  const std::string resume_;
  const std::function<void()> on_destroy_;
};

}  // namespace eris::server

#endif  // ERIS_TESTS_UNIT_SERVER_FAKE_ROWS_H_
