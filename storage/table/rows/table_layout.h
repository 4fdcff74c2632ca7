// An object's schema as the engine uses it: checked, and for tables with the mapping from key
// columns to the two words by which rows are found and routed. Immutable; shared by the engine and
// all AEUs.
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
  // Checks the rules that hold for all kinds of objects. Errors: InvalidArgument (no or too many
  // columns, names, types, scales, a key too wide, of strings or bytes, or nullable), with the
  // column and the limit.
  static absl::StatusOr<std::shared_ptr<const TableLayout>> Create(const Schema& schema);

  const Schema& schema() const { return schema_; }
  uint32_t columns() const { return static_cast<uint32_t>(schema_.columns.size()); }
  const ColumnSchema& column(uint32_t i) const { return schema_.columns[i]; }
  bool clustered() const { return schema_.has_key(); }
  // The column of that name.
  std::optional<uint32_t> Find(absl::string_view name) const;

  // For a clustered table: whether keys take more than eight bytes, so that rows are found by two
  // words. One-word keys have tail 0.
  bool two_words() const { return key_bytes_ > 8; }
  uint32_t key_bytes() const { return key_bytes_; }
  // Packs the key columns' values in two words: order-preserving and most significant first, one
  // column after the other. `batch` has the key's columns (in the key's order) if `keys_only`, else
  // those of the table. heads and (if two_words()) tails have batch.rows elements.
  void PackKeys(const RowBatch& batch, bool keys_only, uint64_t* heads, uint64_t* tails) const;

  // Whether `batch` is valid: number of columns, buffers present, offsets that do not descend,
  // strings within the limit, nulls only where allowed, no NaN in a key. Whether strings are text:
  // CheckText. `keys_only` as above.
  // Errors: InvalidArgument, with column, row and limit.
  absl::Status Check(const RowBatch& batch, bool keys_only,
                     uint32_t string_bytes_max = kTableStringBytesMax) const;
  // The same for one column, without the NaN check.
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
