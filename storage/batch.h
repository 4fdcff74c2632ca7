// A batch: what one AEU turn executes on one partition. It is gathered from the parts of many data
// commands; each part's answers go straight to its own request's reply columns, at the keys'
// positions in the request. Paper: ERIS 3.1 (command grouping).
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
  // Conditional writes: conditional_write.h says what each makes of a key.
  kInsertIfAbsent = 4,
  kReplaceIfPresent = 5,
  kCompareAndSet = 6,
  kAdd = 7,
  // Of clustered tables.
  kPutRows = 8,  // inserts rows, or replaces those of the same key
  kLookupRows = 9,
};

constexpr bool IsConditional(Operation operation) {
  return operation >= Operation::kInsertIfAbsent && operation <= Operation::kAdd;
}

// What became of one key, as the AEU writes it into the request's state column.
enum class KeyState : uint8_t {
  kPending = 0,    // still to be executed
  kAbsent = 1,     // executed; the key was not there before
  kPresent = 2,    // executed; the key was there before
  kUnequal = 3,    // executed; the key was there with another value than expected, nothing changed
  kNoMemory = 4,   // refused at the memory limit, nothing changed
  kMoved = 5,      // not executed: sent to an AEU that does not own it and cannot pass it on
  kNoObject = 6,   // not executed: the object is gone
  kCancelled = 7,  // not executed: the request was cancelled before
  kRefused = 8,    // not executed: an incoming buffer stayed full
  kNoRoom = 9,     // not executed: there is no room for the byte string that it would be answered
};

// Pointers are borrowed for the length of Execute. keys, values_in and positions have `count`
// elements; the answer of keys[i] goes to index positions[i] of values_out and states_out.
// Positions of different parts never share an element.
struct BatchPart {
  uint32_t count = 0;
  const uint64_t* keys = nullptr;
  const uint64_t* values_in = nullptr;  // kUpsert, conditional writes
  const uint32_t* positions = nullptr;
  uint64_t* values_out = nullptr;  // kLookup, conditional writes; untouched where there is none
  KeyState* states_out = nullptr;
  const uint64_t* expected = nullptr;  // kCompareAndSet only
  const uint64_t* seconds = nullptr;   // of two-part keys: the second part of keys[i]
  BytesSink* bytes_out = nullptr;      // of byte strings: where answers are copied to
  // Of tables. kPutRows: the row of keys[i] is row positions[i] of `rows`, in the table's columns.
  // kLookupRows: where the columns go, at positions[i].
  const RowBatch* rows = nullptr;
  const OutputColumns* columns_out = nullptr;
};

struct Batch {
  Operation operation = Operation::kLookup;
  std::span<const BatchPart> parts;         // executed in order: later writes of a key win
  uint64_t* bytes_copied = nullptr;         // of byte strings: grows by what was copied in and out
  const SnapshotView* snapshots = nullptr;  // of the turn; nullptr: none is held
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_BATCH_H_
