// The rows of a table call as its request holds them: the caller's columns, the keys made from
// them, and the columns for the answers of a lookup. Built by the caller, written by AEUs at the
// positions of their own keys, read after the last answer.
#ifndef ERIS_ENGINE_CORE_TABLE_BATCH_H_
#define ERIS_ENGINE_CORE_TABLE_BATCH_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "engine/core/batch_columns.h"
#include "eris/batch.h"
#include "storage/table/output_columns.h"
#include "storage/table/rows/table_layout.h"

namespace eris::engine {

// Bytes of the batch's columns, without validity. REQUIRES: a checked batch; `keys_only` as in
// TableLayout::Check.
uint64_t BytesOf(const storage::TableLayout& layout, const RowBatch& batch, bool keys_only);

class TableBatch {
 public:
  // Borrows the buffers that `batch` points to; copies the views.
  TableBatch(std::shared_ptr<const storage::TableLayout> layout, const RowBatch& batch);
  TableBatch(const TableBatch&) = delete;
  TableBatch& operator=(const TableBatch&) = delete;

  const RowBatch& rows() const { return rows_; }
  // Makes the keys. Throws bad_alloc, as does AskFor.
  void PackKeys(bool keys_only);
  BatchColumns keys() const { return {.keys = heads_, .seconds = tails_}; }

  // For appends: the first row of each piece, then the number of rows (storage::AppendPieces).
  void SetPieces(std::vector<uint64_t> firsts) { pieces_ = std::move(firsts); }
  const std::vector<uint64_t>& pieces() const { return pieces_; }

  // For lookups: the table's columns to return, in this order.
  void AskFor(std::span<const uint32_t> columns);
  const storage::OutputColumns* columns_out() const { return &columns_out_; }
  bool answers_strings() const { return strings_; }
  // Memory per key that AskFor needs.
  static int64_t AnswerBytesPerKey(const storage::TableLayout& layout,
                                   std::span<const uint32_t> columns);
  // After the last answer, while the strings' records exist. Once. Throws bad_alloc.
  std::vector<ColumnBuffers> TakeColumns();

 private:
  struct Answer {
    std::string values;  // for strings a word each
    std::string valid;   // a byte per key
  };
  static std::string ToBits(const std::string& valid);

  const std::shared_ptr<const storage::TableLayout> layout_;
  const std::vector<ColumnView> views_;
  const RowBatch rows_;
  std::vector<uint64_t> heads_;
  std::vector<uint64_t> tails_;
  std::vector<uint64_t> pieces_;
  std::vector<Answer> answers_;
  std::vector<storage::OutputColumn> outputs_;
  storage::OutputColumns columns_out_;
  bool strings_ = false;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_TABLE_BATCH_H_
