// Columnar batches: what calls take and answer. Column buffers have Arrow's memory layout,
// little-endian, so client and server can wrap each other's buffers without a copy. Paper: ERIS 3.2
// (batching).
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

// Limits of one batch. A call that exceeds one gets InvalidArgument, and the message names the
// limit.
inline constexpr uint32_t kBatchKeysMax = 1u << 20;  // keys of an index or a hash
// Strings of an index: one string, and all strings of one batch together (sent or answered).
inline constexpr uint32_t kValueBytesMax = 1u << 20;
inline constexpr uint32_t kBatchValueBytesMax = 32u << 20;
inline constexpr uint32_t kTableStringBytesMax = 65535;      // one string of a table
inline constexpr uint32_t kTableBatchRowsMax = 1u << 20;     // rows of a table
inline constexpr uint32_t kTableBatchBytesMax = 128u << 20;  // bytes of their columns together

// One column of a batch. Borrowed.
struct ColumnView {
  // The values by type, one per row, aligned to the element size; for strings their bytes, one
  // after the other. A null row has an unspecified value, which still takes its place.
  const void* values = nullptr;
  // Bit i & 7 of byte i >> 3 is set if row i is not null. nullptr: no row is null.
  const uint8_t* validity = nullptr;
  // For strings: rows + 1 non-descending offsets; row i is values[offsets[i] .. offsets[i + 1]).
  const uint32_t* offsets = nullptr;
};

// Columnar rows. Borrowed.
struct RowBatch {
  uint64_t rows = 0;
  absl::Span<const ColumnView> columns{};  // number and types as the call requires
};

// A column of an answer. Uses std::string so that a server can move it into a message without a
// copy.
struct ColumnBuffers {
  std::string values{};
  std::string validity{};  // empty: no row is null
  std::string offsets{};   // for strings: rows + 1 little-endian u32
};

// Which rows a lookup asks for. Borrowed for the length of the call.
struct LookupBatch {
  // The key columns only, in the key's order: 1 to kBatchKeysMax (tables: kTableBatchRowsMax) rows,
  // in any order, duplicates allowed.
  RowBatch keys{};
  // Which columns are answered, by name, in this order. Empty: all columns outside the key.
  absl::Span<const std::string> columns{};
  // The most bytes that all strings of the answer may have together, up to kBatchValueBytesMax.
  uint64_t answer_bytes_max = kBatchValueBytesMax;
  // For asynchronous calls: keeps the columns' memory alive until the callback has run, so they are
  // not copied. nullptr: they are copied before the call returns.
  std::shared_ptr<const void> holder{};
};

// What a write does to a row, depending on what is stored under its key. For one key, test and
// write are one atomic step. If a key occurs several times in a batch, it is written in the batch's
// order: two adds both count, of two inserts the first wins.
enum class WriteMode : uint8_t {
  // Indexes and hashes only.
  kInsertIfAbsent = 1,    // answers the value stored
  kReplaceIfPresent = 2,  // answers the value before
  // replaces a value that equals the expected one; answers the previous value
  kCompareAndSet = 3,
  // A counter, modulo 2^64 (add the two's complement to subtract). An absent key is created and
  // counts from 0. Answers the sum. Values of kUint64 only.
  kAdd = 4,
  // All objects that have a key.
  kUpsert = 5,  // inserts or replaces; if a key occurs twice in a batch the later row wins
  kErase = 6,
  // Heap tables only.
  kAppend = 7,
};

// What to write. Borrowed for the length of the call.
struct WriteBatch {
  WriteMode mode = WriteMode::kUpsert;
  // All columns of the object; for kErase the key columns, in the key's order. 1 to kBatchKeysMax
  // (tables: kTableBatchRowsMax) rows, any order, duplicates allowed.
  RowBatch rows{};
  // For kCompareAndSet: the value column, with as many rows. Otherwise no column.
  RowBatch expected{};
  std::shared_ptr<const void> holder{};  // as in LookupBatch
};

// The answer to a batch. Columns and bits are in the order of the request's rows.
struct BatchResult {
  // OK.
  // DeadlineExceeded or Cancelled: the outcome of a write is unknown.
  // NotFound: the object was dropped during the call.
  // ResourceExhausted: some rows were refused (memory limit, no room in the answer, or AEUs
  // accepted nothing for send_wait_ms_max); `refused` counts them, and the others took effect.
  absl::Status status;
  uint32_t count = 0;    // rows in the batch
  uint32_t refused = 0;  // rows that were not executed
  // One bit per row each, Arrow order (bit i & 7 of byte i >> 3). All are empty for appends.
  std::string existed;  // the key was there before the operation: for a lookup, it was found
  std::string applied;  // conditional writes, else empty: the row was written
  // Bit i: row i was executed, so its answer counts. Empty: all rows were. But empty with
  // ResourceExhausted, except for appends, means that there was no memory for the answer: then no
  // bit and no column counts.
  std::string executed;
  // For lookups: the columns asked for; a row that was not found is unspecified (null in tables).
  // For conditional writes: the value column with what the mode answers, 0 or empty if there is no
  // value. Otherwise none.
  std::vector<ColumnBuffers> columns;
};

// Bit i of an answer's bitmap. An empty bitmap means `if_empty` for every bit.
inline bool BitAt(const std::string& bits, size_t i, bool if_empty = false) {
  return bits.empty() ? if_empty : ((static_cast<uint8_t>(bits[i >> 3]) >> (i & 7)) & 1) != 0;
}

// The keys of an index or a hash of u64: one column, or for two-part keys two columns of equal
// length. Borrowed. Converts implicitly from anything that converts to a span of u64 (one-part
// keys), or from two spans in braces (two-part keys).
class KeyColumns {
 public:
  constexpr KeyColumns() = default;
  template <class Keys>
  requires std::convertible_to<const Keys&, absl::Span<const uint64_t>>
  constexpr KeyColumns(const Keys& keys) : first_(keys) {}
  // As with absl::Span, valid until the end of the expression.
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
