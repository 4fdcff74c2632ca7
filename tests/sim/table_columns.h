// Rows of the simulation's tables as columns: what a write stores, and where a lookup is answered.
// Every cell of a row but its key follows from one value, so a row that is torn shows.
#ifndef ERIS_TESTS_SIM_TABLE_COLUMNS_H_
#define ERIS_TESTS_SIM_TABLE_COLUMNS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "eris/schema.h"
#include "storage/key.h"
#include "storage/table/output_columns.h"
#include "storage/table/rows/table_layout.h"

namespace eris::sim {

// The columns of every table, in this order. A heap table's rows have no key: its first column
// names the append, the second the row's place in it.
enum TableColumn : uint32_t { kHeadColumn, kTailColumn, kValueColumn, kTwinColumn, kTextColumn };
inline constexpr uint32_t kTableColumns = 5;
// The length of the longest text that TextOf makes.
inline constexpr uint32_t kTextBytesMax = 40;

// The layout of a table with this many key columns; 0: a heap table.
const std::shared_ptr<const storage::TableLayout>& LayoutOf(uint32_t key_columns);

// What stands in a row with that value.
uint64_t TwinOf(uint64_t value);
std::string TableTextOf(uint64_t value);

// The rows of a batch, as the request of a write holds them.
class TableRows {
 public:
  TableRows() = default;
  TableRows(const TableRows&) = delete;

  void Add(const storage::Key& key, uint64_t value);
  // After the last row.
  const RowBatch& Batch();

 private:
  std::vector<uint64_t> heads_, tails_, values_, twins_;
  std::string text_;
  std::vector<uint32_t> offsets_{0};
  ColumnView views_[kTableColumns];
  RowBatch batch_;
};

// The columns in which a batch of lookups is answered, but for the values.
class TableAnswers {
 public:
  // `values` has room for all of them.
  TableAnswers(size_t keys, uint64_t* values);
  TableAnswers(const TableAnswers&) = delete;

  const storage::OutputColumns* columns() const { return &columns_; }
  // Whether all of the row at `position` follows from its value.
  bool Whole(size_t position) const;

 private:
  const uint64_t* const values_;
  std::vector<uint64_t> twins_, texts_;
  std::vector<uint8_t> valid_;  // three a key
  storage::OutputColumn outputs_[3];
  storage::OutputColumns columns_;
};

}  // namespace eris::sim

#endif  // ERIS_TESTS_SIM_TABLE_COLUMNS_H_
