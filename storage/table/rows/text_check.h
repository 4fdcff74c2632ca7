// Whether the strings of a batch are text. The session that takes a batch from its caller asks
// once; inside the engine strings are text already. Pure function, any thread.
#ifndef ERIS_STORAGE_TABLE_TEXT_CHECK_H_
#define ERIS_STORAGE_TABLE_TEXT_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "eris/batch.h"
#include "eris/schema.h"

namespace eris::storage {

// Errors: InvalidArgument, with column and row, if a string of a kString column is not UTF-8. Rows
// that are null may have any bytes, which are never answered. Columns of other types pass.
// REQUIRES: TableLayout::CheckColumn has passed.
absl::Status CheckText(const ColumnSchema& column, const ColumnView& view, uint64_t rows);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_TEXT_CHECK_H_
