// A batch: what one AEU turn executes on one partition. It is gathered from the parts of many data
// commands; each part's answers go straight to its own request's reply columns, at the keys'
// positions in the request. Paper: ERIS 3.1 (command grouping).
#ifndef ERIS_STORAGE_BATCH_H_
#define ERIS_STORAGE_BATCH_H_

#include <cstdint>
#include <span>

namespace eris::storage {

enum class Operation : uint8_t { kLookup = 1, kUpsert = 2, kErase = 3 };

// What became of one key, as the AEU writes it into the request's state column.
enum class KeyState : uint8_t {
  kPending = 0,    // not executed yet
  kAbsent = 1,     // executed; the key was not there before
  kPresent = 2,    // executed; the key was there before
  kNoMemory = 3,   // refused at the memory limit, nothing changed
  kMoved = 4,      // not executed: sent to an AEU that does not own it and cannot pass it on
  kNoObject = 5,   // not executed: the object is gone
  kCancelled = 6,  // not executed: the request was cancelled before
  kRefused = 7,    // not executed: an incoming buffer stayed full
};

// Pointers are borrowed for the length of Execute. keys, values_in and positions have `count`
// elements; the answer of keys[i] goes to index positions[i] of values_out and states_out.
// Positions of different parts never share an element.
struct BatchPart {
  uint32_t count = 0;
  const uint64_t* keys = nullptr;
  const uint64_t* values_in = nullptr;  // kUpsert only
  const uint32_t* positions = nullptr;
  uint64_t* values_out = nullptr;  // kLookup only; untouched where the key is absent
  KeyState* states_out = nullptr;
};

struct Batch {
  Operation operation = Operation::kLookup;
  std::span<const BatchPart> parts;  // executed in order: later writes of a key win
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_BATCH_H_
