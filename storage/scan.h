// A scan's position in a partition, and the answer of one slice.
#ifndef ERIS_STORAGE_SCAN_H_
#define ERIS_STORAGE_SCAN_H_

#include <cstdint>
#include <limits>

#include "eris/types.h"
#include "storage/key.h"

namespace eris::storage {

class BytesSink;

// What a scan wants of the rows of its range.
struct ScanQuery {
  ScanDirection direction = ScanDirection::kForward;
  bool keys_only = false;   // values are not copied
  bool count_only = false;  // for Aggregate: only the count
  ValueRange values{};      // rows with other values are skipped; not inverted

  bool Backward() const { return direction == ScanDirection::kBackward; }
  bool Filters() const { return values != ValueRange{}; }
};

// Where a scan continues: a key, never a pointer, since split, absorb and growth move TreeNodes. It
// is searched again at each slice.
struct ScanCursor {
  Range rest;  // what is still to be read: lo moves up; for a backward scan hi moves down
  uint64_t rows_left = std::numeric_limits<uint64_t>::max();  // the scan's limit
  uint64_t snapshot = 0;                                      // epoch; 0: the current rows
  bool done = false;  // rest has been read, or the limit has been reached
  ScanQuery query{};
  uint64_t looked = 0;  // rows read so far, returned or skipped
  // The partition had no memory to keep what `snapshot` needs: the snapshot must be given up.
  bool snapshot_lost = false;

  // The whole rest has been read.
  void End() {
    rest.hi = rest.lo;
    done = true;
  }
};

// Bounds one slice, so that point commands never wait longer. The clock is read once every few
// hundred rows, whether a filter keeps them or not.
struct ScanBudget {
  uint64_t deadline_ns = std::numeric_limits<uint64_t>::max();  // on the steady clock
};

// The first part of the last key in a non-empty range; for one-part keys the key. The end (h, 0)
// excludes all keys whose first part is h; any other end that begins with h includes some.
inline uint64_t LastFirstPartOf(const Range& range) {
  if (!range.hi) return std::numeric_limits<uint64_t>::max();
  return range.hi->tail > 0 ? range.hi->head : range.hi->head - 1;
}

// The output rows: two columns with room for `capacity` rows, `rows` filled. `values` may be
// nullptr for a scan of keys only.
struct ScanRows {
  uint64_t* keys = nullptr;
  uint64_t* values = nullptr;
  uint32_t capacity = 0;
  uint32_t rows = 0;
  uint64_t* seconds = nullptr;  // for two-part keys: a third column, the second parts
  // For byte strings: where they are copied to; their words are then in `values`. nullptr: the
  // values are not wanted. `bytes_full`: there was no room for the next one.
  BytesSink* bytes = nullptr;
  bool bytes_full = false;
  bool Full() const { return rows == capacity || bytes_full; }
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_SCAN_H_
