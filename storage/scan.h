// A scan's place in a partition, and the piece of it that one slice answers.
#ifndef ERIS_STORAGE_SCAN_H_
#define ERIS_STORAGE_SCAN_H_

#include <cstdint>
#include <limits>

#include "storage/key.h"

namespace eris::storage {

// Where a scan goes on: a key, never a pointer, since split, absorb and growth move TreeNodes. It
// is sought again at each slice.
struct ScanCursor {
  Range rest;                                                 // what is still to be answered
  uint64_t rows_left = std::numeric_limits<uint64_t>::max();  // the scan's limit
  uint64_t snapshot = 0;                                      // epoch; 0: the rows as they are
  bool done = false;  // rest is answered, or no row is left to give
};

// Bounds one slice, so that point commands never wait behind more than that. The clock is read once
// every few hundred rows.
struct ScanBudget {
  uint64_t deadline_ns = std::numeric_limits<uint64_t>::max();  // on the steady clock
};

// Where rows go: two columns with room for `capacity` rows, `rows` filled.
struct ScanRows {
  uint64_t* keys = nullptr;
  uint64_t* values = nullptr;
  uint32_t capacity = 0;
  uint32_t rows = 0;
  bool Full() const { return rows == capacity; }
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_SCAN_H_
