// Columnar batches: what calls take and answer. Column buffers have Arrow's memory layout,
// little-endian, so that either side wraps the other's without a copy. Paper: ERIS 3.2 (batching).
#ifndef ERIS_BATCH_H_
#define ERIS_BATCH_H_

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "eris/schema.h"

namespace eris {

// Limits of one batch; beyond one a call gets InvalidArgument that names it.
inline constexpr uint32_t kBatchKeysMax = 1u << 20;  // keys of an index or a hash
// Strings of an index: one of them, and those of one batch together (sent, or answered).
inline constexpr uint32_t kValueBytesMax = 1u << 20;
inline constexpr uint32_t kBatchValueBytesMax = 32u << 20;
inline constexpr uint32_t kTableStringBytesMax = 65535;      // one string of a table
inline constexpr uint32_t kTableBatchRowsMax = 1u << 20;     // rows of a table
inline constexpr uint32_t kTableBatchBytesMax = 128u << 20;  // of their columns together

// One column of a batch. Borrowed.
struct ColumnView {
  // By type, one per row, aligned to its size; of strings their bytes, one behind the other. Where
  // a row is null the value says nothing, but must be there.
  const void* values = nullptr;
  // Bit i & 7 of byte i >> 3 is set where row i is not null. nullptr: no row is.
  const uint8_t* validity = nullptr;
  // Of strings: rows + 1 of them, not descending; row i is values[offsets[i] .. offsets[i + 1]).
  const uint32_t* offsets = nullptr;
};

// Columnar rows. Borrowed.
struct RowBatch {
  uint64_t rows = 0;
  absl::Span<const ColumnView> columns{};  // as many, and of the types, that the call asks for
};

// A column of an answer. std::string, so that a server can move it into a message without a copy.
struct ColumnBuffers {
  std::string values{};
  std::string validity{};  // empty: no row is null
  std::string offsets{};   // of strings: rows + 1 little-endian u32
};

// Which rows a lookup asks for. Borrowed for the length of the call.
struct LookupBatch {
  // The key columns alone, in the key's order: 1 to kBatchKeysMax (tables: kTableBatchRowsMax)
  // rows, in any order, duplicates allowed.
  RowBatch keys{};
  // Which columns are answered, by name, in this order. Empty: all that are not of the key.
  absl::Span<const std::string> columns{};
  // What the strings of the answer may have together, up to kBatchValueBytesMax.
  uint64_t answer_bytes_max = kBatchValueBytesMax;
  // Of asynchronous calls: keeps the columns' memory until the callback has been called, so that
  // they are not copied. nullptr: they are copied before the call returns.
  std::shared_ptr<const void> holder{};
};

// What a write does to a row, by what it finds under its key. One key's test and write are one
// step: nobody comes between. A key that stands several times in a batch is written in its order:
// two adds both count, of two inserts the first wins.
enum class WriteMode : uint8_t {
  // Indexes and hashes only.
  kInsertIfAbsent = 1,    // answers the value that is there
  kReplaceIfPresent = 2,  // answers the value before
  kCompareAndSet = 3,     // replaces a value that equals the expected one; answers the one before
  // A counter, modulo 2^64 (the two's complement subtracts): an absent key counts from 0 and comes
  // into being. Answers the sum. Values of kUint64 only.
  kAdd = 4,
  // All objects with a key.
  kUpsert = 5,  // inserts or replaces; of a key that stands twice in a batch the later wins
  kErase = 6,
  // Heap tables.
  kAppend = 7,
};

// What to write. Borrowed for the length of the call.
struct WriteBatch {
  WriteMode mode = WriteMode::kUpsert;
  // All columns of the object; kErase: those of the key, in its order. 1 to kBatchKeysMax (tables:
  // kTableBatchRowsMax) rows, any order, duplicates allowed.
  RowBatch rows{};
  // kCompareAndSet: the value column, as many rows. Else no column.
  RowBatch expected{};
  std::shared_ptr<const void> holder{};  // as in LookupBatch
};

// The answer to a batch. Columns and bits stand in the order of the request's rows.
struct BatchResult {
  // OK; DeadlineExceeded or Cancelled (of a write: the outcome is unknown); NotFound (the object
  // was dropped meanwhile); ResourceExhausted (some rows were refused: memory limit, no room in the
  // answer, or AEUs that took nothing for send_wait_ms_max; `refused` says how many, the others
  // took effect).
  absl::Status status;
  uint32_t count = 0;    // rows in the batch
  uint32_t refused = 0;  // rows that were not executed
  // One bit per row each, Arrow order (bit i & 7 of byte i >> 3). Of appends all are empty.
  std::string existed;  // the key was there before the operation: of a lookup, it was found
  std::string applied;  // conditional writes, else empty: the row was written
  // The row was executed, that is, its answer counts. Empty: all were; with ResourceExhausted, but
  // of appends: there was no memory for the answer, so no bit and no column counts.
  std::string executed;
  // Lookups: those asked for, unspecified (of tables null) where nothing was found. Conditional
  // writes: the value column, with what the mode answers, 0 or empty where there is none. Else
  // none.
  std::vector<ColumnBuffers> columns;
};

// Bit i of an answer's bitmap. An empty one says `if_empty` of all.
inline bool BitAt(const std::string& bits, size_t i, bool if_empty = false) {
  return bits.empty() ? if_empty : ((static_cast<uint8_t>(bits[i >> 3]) >> (i & 7)) & 1) != 0;
}

// The keys of an index or a hash of u64: a column, or, where keys have two parts, one of each part,
// equally long. Borrowed. Whatever converts to a span of u64 stands for one-part keys; two spans in
// braces for two-part ones.
class KeyColumns {
 public:
  constexpr KeyColumns() = default;
  template <class Keys>
  requires std::convertible_to<const Keys&, absl::Span<const uint64_t>>
  constexpr KeyColumns(const Keys& keys) : first_(keys) {}
  // As for absl::Span: for the length of the expression.
  KeyColumns(std::initializer_list<uint64_t> keys ABSL_ATTRIBUTE_LIFETIME_BOUND) : first_(keys) {}
  constexpr KeyColumns(const uint64_t* keys, size_t count) : first_(keys, count) {}
  constexpr KeyColumns(absl::Span<const uint64_t> first, absl::Span<const uint64_t> second)
      : first_(first), second_(second), two_parts_(true) {}

  size_t size() const { return first_.size(); }
  absl::Span<const uint64_t> first() const { return first_; }
  absl::Span<const uint64_t> second() const { return second_; }  // empty unless two_parts()
  bool two_parts() const { return two_parts_; }

 private:
  absl::Span<const uint64_t> first_{};
  absl::Span<const uint64_t> second_{};
  bool two_parts_ = false;
};

}  // namespace eris

#endif  // ERIS_BATCH_H_
