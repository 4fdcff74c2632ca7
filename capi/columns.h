// Columns between C, Arrow and the engine.
#ifndef ERIS_CAPI_COLUMNS_H_
#define ERIS_CAPI_COLUMNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "eris/arrow_c_data.h"
#include "eris/batch.h"
#include "eris/c/base.h"
#include "eris/schema.h"
#include "eris/types.h"

namespace eris::capi {

// Rows that a call takes, as the engine's views. Borrowed.
class RowsIn {
 public:
  RowsIn() = default;  // no rows
  // Errors: InvalidArgument (no columns where some should be, values that are not aligned). The
  // engine checks what else there is of shapes and types.
  static absl::StatusOr<RowsIn> Create(const eris_rows& rows, absl::Span<const ColumnSchema> types);
  // A struct array of Arrow: children in any order. Errors: InvalidArgument (another number of
  // children, names or types; nulls of the struct itself; a released structure).
  static absl::StatusOr<RowsIn> FromArrow(const ArrowSchema& schema, const ArrowArray& array,
                                          absl::Span<const ColumnSchema> types);

  RowBatch batch() const { return {rows_, views_}; }

 private:
  uint64_t rows_ = 0;
  std::vector<ColumnView> views_{};
  std::vector<std::vector<uint8_t>> validities_{};  // those of slices, moved to bit 0
};

// The columns of the key, in its order.
std::vector<ColumnSchema> KeyOf(const Schema& schema);
// Those outside the key.
std::vector<ColumnSchema> OutsideKey(const Schema& schema);

// Errors: InvalidArgument.
absl::StatusOr<std::vector<ColumnSchema>> ColumnsFrom(const eris_column_schema* columns,
                                                      size_t count);
absl::StatusOr<std::vector<ColumnSchema>> ColumnsFromArrow(const ArrowSchema& schema);
// Texts of a C array. Errors: InvalidArgument (NULL).
absl::StatusOr<std::vector<std::string>> NamesFrom(const char* what, const char* const* names,
                                                   size_t count);
// All members 0: everything. Errors: InvalidArgument (open_end with a bound).
absl::StatusOr<KeyRange> RangeFrom(const eris_range& range);
eris_range RangeOut(const KeyRange& range);

// Column i of something with columns, for a getter; `schema` may be nullptr.
void ColumnOut(const ColumnSchema& type, const ColumnView& view, eris_column& column,
               eris_column_schema* schema);

// ExportArrowSchema. Errors: ResourceExhausted.
absl::Status ExportSchema(const Schema& schema, ArrowSchema* out);

}  // namespace eris::capi

#endif  // ERIS_CAPI_COLUMNS_H_
