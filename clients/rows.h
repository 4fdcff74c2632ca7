// Rows of typed columns in Arrow's layout, owned by their holder: for rows to send, and for the
// answers of lookups, writes and scans. Values are native, of the column's type
// (include/eris/schema.h). One thread at a time.
#ifndef ERIS_CLIENTS_ROWS_H_
#define ERIS_CLIENTS_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eris/batch.h"

namespace eris::client {

// One bit per row of a batch. Element i is bit (i & 7) of byte (i >> 3).
class RowBits {
 public:
  RowBits() = default;
  RowBits(std::string bits, size_t rows) : bits_(std::move(bits)), rows_(rows) {}

  size_t size() const { return rows_; }
  bool operator[](size_t row) const { return BitAt(bits_, row); }
  // The number of set bits.
  size_t Count() const {
    size_t count = 0;
    for (size_t row = 0; row < rows_; ++row) count += (*this)[row] ? 1 : 0;
    return count;
  }

 private:
  std::string bits_;  // at least (rows_ + 7) / 8 bytes
  size_t rows_ = 0;
};

struct OwnedRows;

// Rows for the length of a call: those of an OwnedRows, or a batch of borrowed columns.
class RowView {
 public:
  RowView() = default;
  RowView(const RowBatch& batch) : rows_(batch.rows), borrowed_(batch.columns) {}
  // `rows` must outlive this and stay unchanged.
  explicit RowView(const OwnedRows& rows);

  // Valid as long as this object.
  RowBatch batch() const { return {rows_, views_.empty() ? borrowed_ : absl::MakeSpan(views_)}; }

 private:
  uint64_t rows_ = 0;
  absl::Span<const ColumnView> borrowed_{};
  std::vector<ColumnView> views_{};
};

struct OwnedRows {
  uint64_t rows = 0;
  std::vector<ColumnBuffers> columns{};

  // As an argument of a call.
  RowView view() const { return RowView(*this); }

  // REQUIRES, for all of these: column and row exist, and T is the type's.
  bool IsNull(size_t column, uint64_t row) const {
    return !BitAt(columns[column].validity, row, /*if_empty=*/true);
  }
  template <class T>
  T Get(size_t column, uint64_t row) const {
    T value;
    std::memcpy(&value, columns[column].values.data() + row * sizeof(T), sizeof(T));
    return value;
  }
  absl::string_view GetString(size_t column, uint64_t row) const {
    uint32_t ends[2];
    std::memcpy(ends, columns[column].offsets.data() + row * sizeof(uint32_t), sizeof(ends));
    return absl::string_view(columns[column].values).substr(ends[0], ends[1] - ends[0]);
  }
  // A column of u64, in place.
  absl::Span<const uint64_t> Uint64s(size_t column) const {
    return {reinterpret_cast<const uint64_t*>(columns[column].values.data()), rows};
  }
};

inline RowView::RowView(const OwnedRows& rows) : rows_(rows.rows) {
  for (const ColumnBuffers& column : rows.columns) {
    views_.push_back({.values = column.values.data(),
                      .validity = column.validity.empty()
                                      ? nullptr
                                      : reinterpret_cast<const uint8_t*>(column.validity.data()),
                      .offsets = column.offsets.empty()
                                     ? nullptr
                                     : reinterpret_cast<const uint32_t*>(column.offsets.data())});
  }
}

// A column of numbers without nulls.
template <class T>
requires std::is_arithmetic_v<T> ColumnBuffers NumberColumn(absl::Span<const T> numbers) {
  return {.values = std::string(reinterpret_cast<const char*>(numbers.data()),
                                numbers.size() * sizeof(T))};
}
// The same for strings. REQUIRES: less than 4 GiB together.
inline ColumnBuffers StringColumn(absl::Span<const absl::string_view> strings) {
  ColumnBuffers column;
  const auto add_offset = [&] {
    const auto offset = static_cast<uint32_t>(column.values.size());
    column.offsets.append(reinterpret_cast<const char*>(&offset), sizeof(offset));
  };
  add_offset();
  for (const absl::string_view string : strings) {
    column.values.append(string.data(), string.size());
    add_offset();
  }
  return column;
}

}  // namespace eris::client

#endif  // ERIS_CLIENTS_ROWS_H_
