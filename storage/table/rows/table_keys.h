// Packs the key columns of rows into the two words that identify them. Pure functions; any thread.
#ifndef ERIS_STORAGE_TABLE_TABLE_KEYS_H_
#define ERIS_STORAGE_TABLE_TABLE_KEYS_H_

#include <cstdint>

#include "storage/key.h"
#include "storage/table/rows/row_source.h"
#include "storage/table/rows/table_layout.h"

namespace eris::storage {

// The key of one row, as TableLayout::PackKeys packs it. `columns` has all columns of the table.
Key KeyOfRow(const TableLayout& layout, const ColumnSource* columns, uint32_t row);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_TABLE_KEYS_H_
