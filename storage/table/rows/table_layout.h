// An object's schema as the engine uses it: checked, and of tables with the way from key columns to
// the two words that rows are found and routed by. Immutable; shared by the engine and all AEUs.
#ifndef ERIS_STORAGE_TABLE_TABLE_LAYOUT_H_
#define ERIS_STORAGE_TABLE_TABLE_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/batch.h"
#include "eris/schema.h"

namespace eris::storage {

class TableLayout {
 public:
  // Checks what holds for objects of all kinds. Errors: InvalidArgument (no or too many columns,
  // names, types, scales, a key too wide, of strings, or nullable), naming the column and the
  // limit.
  static absl::StatusOr<std::shared_ptr<const TableLayout>> Create(const Schema& schema);

  const Schema& schema() const { return schema_; }
  uint32_t columns() const { return static_cast<uint32_t>(schema_.columns.size()); }
  const ColumnSchema& column(uint32_t i) const { return schema_.columns[i]; }
  bool clustered() const { return schema_.has_key(); }
  // The column of that name.
  std::optional<uint32_t> Find(absl::string_view name) const;

  // Of a clustered table: whether keys take more than eight bytes, so that rows are found by two
  // words. Those of one word have tail 0.
  bool two_words() const { return key_bytes_ > 8; }
  uint32_t key_bytes() const { return key_bytes_; }
  // The key columns' values, order-preserving and most significant first, one column behind the
  // other, in two words. `batch` has as many columns as the key (in the key's order) if
  // `keys_only`, else those of the table. heads and (where two_words()) tails have batch.rows
  // elements.
  void PackKeys(const RowBatch& batch, bool keys_only, uint64_t* heads, uint64_t* tails) const;

  // Whether `batch` fits: number of columns, buffers that are there, offsets that do not descend,
  // strings within the limit, no null where none may be, no NaN in a key. `keys_only` as above.
  // Errors: InvalidArgument, naming column, row and limit.
  absl::Status Check(const RowBatch& batch, bool keys_only,
                     uint32_t string_bytes_max = kTableStringBytesMax) const;
  // The same for one column, but for NaN.
  static absl::Status CheckColumn(const ColumnSchema& column, const ColumnView& view, uint64_t rows,
                                  uint32_t string_bytes_max);

 private:
  explicit TableLayout(const Schema& schema) : schema_(schema) {}

  // Immutable after construction.
  Schema schema_;
  uint32_t key_bytes_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_TABLE_LAYOUT_H_
