// A batch: the commands that one AEU turn executes on one partition, gathered from the parts of
// many data commands. The answers of each part go into its record, or to other columns, at places
// of their own. Paper: ERIS 3.1 (command grouping).
#ifndef ERIS_STORAGE_BATCH_H_
#define ERIS_STORAGE_BATCH_H_

#include <cstdint>
#include <span>

#include "eris/batch.h"

namespace eris::storage {

class BytesSink;
struct OutputColumns;
struct SnapshotView;

enum class Operation : uint8_t {
  kLookup = 1,
  kUpsert = 2,
  kErase = 3,
  // Conditional writes: see conditional_write.h for what each does to a key.
  kInsertIfAbsent = 4,
  kReplaceIfPresent = 5,
  kCompareAndSet = 6,
  kAdd = 7,
  // For clustered tables.
  kPutRows = 8,  // inserts rows, or replaces rows with the same key
  kLookupRows = 9,
};

constexpr bool IsConditional(Operation operation) {
  return operation >= Operation::kInsertIfAbsent && operation <= Operation::kAdd;
}

// The outcome for one key, in a column of states.
enum class KeyState : uint8_t {
  kPending = 0,    // still to be executed
  kAbsent = 1,     // executed; the key was not there before
  kPresent = 2,    // executed; the key was there before
  kUnequal = 3,    // executed; the key was there with another value than expected, nothing changed
  kNoMemory = 4,   // refused at the memory limit, nothing changed
  kMoved = 5,      // not executed: sent to an AEU that neither owns it nor can forward it
  kNoObject = 6,   // not executed: the object was dropped
  kCancelled = 7,  // not executed: the request had been cancelled
  kRefused = 8,    // not executed: an incoming buffer stayed full
  kNoRoom = 9,     // not executed: there is no room for the byte string of its answer
};

// Pointers are borrowed for the length of Execute. keys, values_in and positions have `count`
// elements; the answer of keys[i] goes to index At(i) of values_out and states_out. No two keys
// share an element.
//
// values_out may be the part's own keys or values_in, At(i) being i: a partition reads what it
// needs of key i before it writes the answer of key i.
struct BatchPart {
  uint32_t count = 0;
  const uint64_t* keys = nullptr;
  const uint64_t* values_in = nullptr;  // kUpsert, conditional writes
  const uint32_t* positions = nullptr;  // nullptr: 0, 1, 2, ...
  uint64_t* values_out = nullptr;  // kLookup, conditional writes; untouched if the key is absent
  KeyState* states_out = nullptr;
  const uint64_t* expected = nullptr;  // kCompareAndSet only
  const uint64_t* seconds = nullptr;   // for two-part keys: the second part of keys[i]
  BytesSink* bytes_out = nullptr;      // for byte strings: where answers are copied to
  // For tables. kPutRows: the row of keys[i] is row RowOf(i) of `rows`, in the table's columns.
  // kLookupRows: the output columns, written at RowOf(i).
  const RowBatch* rows = nullptr;
  const OutputColumns* columns_out = nullptr;
  const uint32_t* row_numbers = nullptr;  // RowOf(i) is row_numbers[At(i)]; nullptr: At(i)

  uint32_t At(uint32_t i) const { return positions == nullptr ? i : positions[i]; }
  uint32_t RowOf(uint32_t i) const { return row_numbers == nullptr ? At(i) : row_numbers[At(i)]; }
  KeyState& state(uint32_t i) const { return states_out[At(i)]; }
  uint64_t& answer(uint32_t i) const { return values_out[At(i)]; }
  // Columns of a reply are in another core's cache: fetch them while the key is searched.
  void FetchAnswer(uint32_t i, bool value) const {
    if (positions == nullptr) return;
    __builtin_prefetch(states_out + positions[i], 1);
    if (value) __builtin_prefetch(values_out + positions[i], 1);
  }
  // Keys [begin, begin + keys) alone.
  BatchPart Piece(uint32_t begin, uint32_t keys_wanted) const;
};

inline BatchPart BatchPart::Piece(uint32_t begin, uint32_t keys_wanted) const {
  const auto from = [begin](auto*& column) {
    if (column != nullptr) column += begin;
  };
  BatchPart piece = *this;
  piece.count = keys_wanted;
  from(piece.keys);
  from(piece.values_in);
  from(piece.expected);
  from(piece.seconds);
  if (positions != nullptr) {
    from(piece.positions);
  } else {
    from(piece.values_out);
    from(piece.states_out);
    from(piece.row_numbers);
  }
  return piece;
}

struct Batch {
  Operation operation = Operation::kLookup;
  std::span<const BatchPart> parts;  // executed in order: later writes of a key win
  // for byte strings: grows by the bytes copied in and out
  uint64_t* bytes_copied = nullptr;
  const SnapshotView* snapshots = nullptr;  // the turn's view; nullptr: no snapshot is held
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_BATCH_H_
