// Rows of all types as envelopes and as plain values, and memory that can be refused and counted:
// what the tests of query operators share.
#ifndef ERIS_TESTS_UNIT_QUERY_QUERY_LAB_H_
#define ERIS_TESTS_UNIT_QUERY_QUERY_LAB_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/query/rows/envelope_list.h"
#include "storage/query/rows/envelope_writer.h"
#include "storage/query/rows/query_memory.h"
#include "storage/table/kernels/exact_number.h"
#include "storage/table/query/row_output.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {

// A value of any type; which member counts depends on the type of its column.
struct Cell {
  bool null = false;
  Int128 number = 0;
  double real = 0;
  std::string text{};
};
using CellRow = std::vector<Cell>;

// A cache behind a budget.
struct QueryLab {
  explicit QueryLab(uint64_t budget_bytes = uint64_t{1} << 40) : budget(budget_bytes) {}
  // Nothing may be left.
  ~QueryLab() {
    EXPECT_EQ(memory.used_bytes(), 0);
    EXPECT_EQ(budget.used(), 0u);
    EXPECT_EQ(tree.cache.used_bytes(), 0u);
  }
  TreeMemory tree;
  RunMemory budget;
  QueryMemory memory{tree.cache, &budget};
};

// Calls `work`, which says whether something was refused, with the first allocation failing, then
// with the second, and so on until nothing is refused. Returns how many were.
inline uint64_t RefuseEach(QueryLab& lab, const std::function<bool()>& work) {
  for (uint64_t nth = 1;; ++nth) {
    lab.tree.cache.ArmFailures(nth, memory::FailurePoint::Mode::kOnce);
    const bool refused = work();
    lab.tree.cache.ArmFailures(0, memory::FailurePoint::Mode::kOnce);
    if (!refused) return nth - 1;
  }
}

inline void PutCell(const Cell& cell, ResultColumn& out, uint32_t row) {
  if (IsByteString(out.type)) {
    ASSERT_TRUE(PutString(cell.null ? std::string_view() : cell.text, !cell.null, out, row));
    return;
  }
  char bytes[16];
  std::memset(bytes, 0x6b, sizeof bytes);
  if (!cell.null) {
    if (out.type == ColumnType::kFloat64) {
      std::memcpy(bytes, &cell.real, 8);
    } else {
      std::memcpy(bytes, &cell.number, 16);  // little-endian: the low bytes come first
    }
  }
  PutValue(bytes, !cell.null, out, row);
}

// Appends rows [first, last) as one sealed envelope, which has `spare` rows of room more.
inline void AddEnvelope(QueryMemory& memory, EnvelopeList& list, const std::vector<CellRow>& rows,
                        size_t first, size_t last, uint32_t spare = 0) {
  const auto columns = list.columns();
  std::vector<uint32_t> string_bytes(columns.size(), 0);
  for (size_t c = 0; c < columns.size(); ++c) {
    for (size_t r = first; r < last; ++r) {
      string_bytes[c] += static_cast<uint32_t>(rows[r][c].text.size());
    }
  }
  Envelope* const envelope = Envelope::Create(
      memory, columns, std::max<uint32_t>(static_cast<uint32_t>(last - first) + spare, 1),
      string_bytes);
  ASSERT_NE(envelope, nullptr);
  ResultRows& out = envelope->out();
  for (size_t r = first; r < last; ++r) {
    for (size_t c = 0; c < columns.size(); ++c) PutCell(rows[r][c], out.columns[c], out.rows);
    ++out.rows;
    if (r % 97 == 0) envelope->Count();
  }
  envelope->Seal();
  ASSERT_EQ(list.Add(envelope), EnvelopeList::Added::kYes);
}

inline void AddEnvelope(QueryLab& lab, EnvelopeList& list, const std::vector<CellRow>& rows,
                        size_t first, size_t last, uint32_t spare = 0) {
  AddEnvelope(lab.memory, list, rows, first, last, spare);
}

// Envelopes of random sizes. Returns the number of each row.
inline std::vector<RowNumber> AddRows(QueryMemory& memory, EnvelopeList& list,
                                      const std::vector<CellRow>& rows, Random& random,
                                      uint32_t envelope_rows_max) {
  std::vector<RowNumber> numbers;
  for (size_t first = 0; first < rows.size();) {
    const size_t last = std::min(rows.size(), first + 1 + random() % envelope_rows_max);
    for (size_t r = first; r < last; ++r) {
      numbers.push_back(RowNumberOf(list.size(), static_cast<uint32_t>(r - first)));
    }
    AddEnvelope(memory, list, rows, first, last, static_cast<uint32_t>(random() % 3));
    first = last;
  }
  return numbers;
}
inline std::vector<RowNumber> AddRows(QueryLab& lab, EnvelopeList& list,
                                      const std::vector<CellRow>& rows, Random& random,
                                      uint32_t envelope_rows_max) {
  return AddRows(lab.memory, list, rows, random, envelope_rows_max);
}

inline Cell CellAt(const SegmentColumn& column, uint32_t row) {
  Cell cell;
  cell.null = column.validity != nullptr && !BitAt(column.validity, row);
  if (cell.null) return cell;
  if (IsByteString(column.type)) {
    cell.text = StringAt(column, row);
  } else if (column.type == ColumnType::kFloat64) {
    cell.real = static_cast<const double*>(column.values)[row];
  } else if (column.type == ColumnType::kInt128) {
    std::memcpy(&cell.number, static_cast<const char*>(column.values) + size_t{row} * 16, 16);
  } else if (column.type == ColumnType::kUint64) {
    cell.number = Int128{static_cast<const uint64_t*>(column.values)[row]};
  } else if (ColumnValueBytes(column.type) == 4) {
    cell.number = static_cast<const int32_t*>(column.values)[row];
  } else {
    cell.number = static_cast<const int64_t*>(column.values)[row];
  }
  return cell;
}

// The same value, a NaN and the two zeros by their bits.
inline bool SameCell(ColumnType type, const Cell& a, const Cell& b) {
  if (a.null || b.null) return a.null == b.null;
  if (IsByteString(type)) return a.text == b.text;
  if (type == ColumnType::kFloat64) return std::memcmp(&a.real, &b.real, 8) == 0;
  return a.number == b.number;
}

inline constexpr ColumnType kAllTypes[] = {
    ColumnType::kInt32, ColumnType::kInt64,    ColumnType::kUint64, ColumnType::kFloat64,
    ColumnType::kDate,  ColumnType::kDecimal,  ColumnType::kString, ColumnType::kInt128,
    ColumnType::kBytes, ColumnType::kTimestamp};

// How values are chosen: from a few, from a dense range, or from all of the type's.
enum class Values { kFew, kDense, kAny };

inline Cell RandomCell(ColumnType type, Values values, int nulls_percent, Random& random) {
  Cell cell;
  cell.null = static_cast<int>(random() % 100) < nulls_percent;
  if (cell.null) return cell;
  const uint64_t any = random();
  const auto near = static_cast<int64_t>(any % (values == Values::kFew ? 5 : 3000)) - 2;
  switch (type) {
    case ColumnType::kFloat64: {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
      const double special[] = {0.0, -0.0, kNan, -kNan, kInfinity, -kInfinity, 1e-300};
      cell.real = random() % 6 == 0 ? special[any % 7] : static_cast<double>(near) / 4;
      break;
    }
    case ColumnType::kString:
    case ColumnType::kBytes:
      if (values == Values::kAny) cell.text = "a common prefix" + std::string(any % 3, 'x');
      cell.text += values == Values::kFew ? std::string(any % 4, 'a') : std::to_string(near);
      if (random() % 8 == 0) cell.text.push_back('\0');
      if (random() % 8 == 0) cell.text.push_back('\xff');
      break;
    case ColumnType::kInt128:
      cell.number = near;
      if (values != Values::kDense) cell.number <<= random() % 3 * 31;
      break;
    default: {
      const bool narrow = ColumnValueBytes(type) == 4;
      const bool is_unsigned = type == ColumnType::kUint64;
      cell.number = is_unsigned ? Int128{near + 2} : Int128{near};
      if (values == Values::kAny) {
        const int64_t far = static_cast<int64_t>(any) >> random() % 64;
        cell.number = narrow        ? Int128{static_cast<int32_t>(far)}
                      : is_unsigned ? Int128{static_cast<uint64_t>(far)}
                                    : Int128{far};
      }
    }
  }
  return cell;
}

inline std::vector<CellRow> RandomRows(std::span<const EnvelopeColumn> columns, size_t count,
                                       Values values, int nulls_percent, Random& random) {
  std::vector<CellRow> rows(count);
  for (CellRow& row : rows) {
    for (const EnvelopeColumn& column : columns) {
      row.push_back(RandomCell(column.type, values, nulls_percent, random));
    }
  }
  return rows;
}

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_QUERY_QUERY_LAB_H_
