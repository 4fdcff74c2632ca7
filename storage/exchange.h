// How a range moves as a copy: the chunk that carries it, and the partition's part in it, in steps
// that can be undone (docs/internals/balancing.md). Paper: ERIS 3.3.2.
#ifndef ERIS_STORAGE_EXCHANGE_H_
#define ERIS_STORAGE_EXCHANGE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/batch.h"
#include "eris/types.h"
#include "storage/key.h"
#include "storage/snapshot_view.h"

namespace eris::storage {

// The versions that snapshots need, of a chunk's rows and of erased rows: by key, newest first.
// Byte strings as in ExchangeChunk.
struct VersionColumns {
  std::vector<uint64_t> keys{};
  std::vector<uint64_t> seconds{};  // for two-part keys
  std::vector<uint64_t> ends{};     // end << 1 | whether there was a value
  std::vector<uint64_t> values{};
  std::vector<uint64_t> offsets{};
  std::string bytes{};
  uint64_t lost_before = 0;  // snapshots below it cannot be read in this range

  // Empties it but keeps its memory.
  void Clear() {
    keys.clear();
    seconds.clear();
    ends.clear();
    values.clear();
    offsets.clear();
    bytes.clear();
    lost_before = 0;
  }
};

// A version counts as this many rows in a transfer: it is looked up, copied, added and freed by
// itself, while rows are processed in runs.
inline constexpr uint32_t kRowsPerVersion = 16;

// The maximum size of a chunk. But a chunk always has at least one key, or one first part of
// two-part keys.
struct ChunkLimit {
  constexpr ChunkLimit(uint32_t rows_max,  // NOLINT: the usual limit is a number of rows
                       uint64_t bytes_max = kBatchValueBytesMax)
      : rows(rows_max), bytes(bytes_max) {}

  uint32_t rows;   // rows, and versions, each of which counts as kRowsPerVersion rows
  uint64_t bytes;  // of the rows' strings, and again as much for the versions' strings
};

// Rows of a table in transit: in Arrow's layout, owned; only live rows, in the order of the chunk's
// keys if it has any.
struct ExchangeRows {
  std::vector<ColumnBuffers> columns{};  // as in the table's schema
  uint64_t count = 0;
};

// The exchange format of a copy transfer: a sorted run of rows. `rows` are keys[i] -> values[i];
// `covers` is the key range that moves with them. For byte strings row i is bytes[offsets[i] ..
// offsets[i + 1]), and `values` is empty. For a table `keys` (and `seconds`, if keys have two
// words; for a heap table neither) are the keys of its rows, `values` is empty, and the rows are in
// `rows`.
struct ExchangeChunk {
  Range covers;
  std::vector<uint64_t> keys;
  std::vector<uint64_t> values;
  std::vector<uint64_t> offsets{};
  std::string bytes{};
  std::vector<uint64_t> seconds{};  // for two-part keys: second parts; (keys, seconds) ascend
  VersionColumns versions{};
  ExchangeRows rows{};  // for tables

  // What it counts towards ChunkLimit::rows.
  uint64_t weight() const {
    return std::max<uint64_t>(keys.size(), rows.count) +  // a heap table has no keys
           uint64_t{kRowsPerVersion} * versions.keys.size();
  }
  // Does not clear keys and values, so the next rows can reuse their memory.
  void ClearExtras() {
    offsets.clear();
    bytes.clear();
    seconds.clear();
    versions.Clear();
    rows = {};
  }
};

class Segment;

// Whole segments of a heap table on their way to another partition of the table. Their memory is
// the table's, and is freed with it.
struct SegmentsOut {
  std::vector<Segment*> segments{};  // the last one first
  Segment* open = nullptr;           // of those: rows may be appended to it
  uint64_t rows = 0;
};

// Called on the thread of the AEU that owns the partition.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Lend copies rows from the end `from` of range() into `out`, together with the versions that
  // snapshots need of them and of erased rows between them, and cuts them off the range. It takes
  // as many as `limit` allows, but at least one key with all of its versions; for two-part keys
  // whole first parts. The work is bounded by the limit. It takes nothing outside `leaving`, which
  // is that end of the range or all of it. When no row and no version of `leaving` remains, the
  // rest of it goes with the chunk.
  //
  // The rows stay here, unchanged and invisible to all readers, until Forget or TakeBack. There is
  // one loan at a time, and no SplitAt, Absorb or Ingest during it (FailedPrecondition). A heap
  // table keeps its range and lends rows of its last segments. Kinds that need a Preparation must
  // have been prepared. `out` may have been used before: its memory is reused.
  // Errors: ResourceExhausted (no memory for the copy), FailedPrecondition (a loan is out; not
  // prepared), InvalidArgument (not an end of the range); then only `out` has changed.
  enum class End : uint8_t { kLow, kHigh };
  virtual absl::Status Lend(const Range& leaving, End from, const ChunkLimit& limit,
                            ExchangeChunk& out) = 0;
  // The borrower keeps the rows. Frees them here, about `rows_max` rows per call, or as many
  // versions as count as that (kRowsPerVersion); needs no memory. True: there are more. Then Forget
  // or Maintain is called again, between other calls. The next loan need not wait for that: during
  // it only Maintain continues, because Forget ends that loan. Tables forget all rows in one call:
  // they are marked dead as SetDeath says, so that older snapshots still see them here.
  virtual bool Forget(const SnapshotView& snapshots, uint32_t rows_max) = 0;
  // For tables, before Forget: the epoch at which the borrower's rows were born, at most the
  // turn's. Default: the turn's.
  virtual void SetDeath(uint64_t) {}
  // The borrower has refused: the rows and their range are as before. Never fails. O(1).
  virtual void TakeBack() = 0;
  // Adds an adjacent chunk, rows and range. Errors: InvalidArgument (not adjacent, keys not
  // ascending or outside covers), ResourceExhausted, FailedPrecondition (rows are prepared to
  // leave, or lent); then nothing has changed.
  virtual absl::Status Ingest(const ExchangeChunk& chunk) = 0;
};

// For kinds whose rows are not in key order: a pass over them before any can be lent.
class Preparation {
 public:
  virtual ~Preparation() = default;

  // Announces that the rows of `leaving`, which is an end of the range or all of it, will leave.
  // Touches no row; all keys are served as before until the chunks are cut. Errors: InvalidArgument
  // (not an end of the range), FailedPrecondition (other rows are prepared).
  virtual absl::Status PrepareExtract(const Range& leaving) = 0;
  // Continues the preparation, over at most `rows_max` (>= 1) rows: call it once per turn.
  // True: it is complete. Errors: ResourceExhausted (it continues where it stopped),
  // FailedPrecondition (nothing is prepared).
  virtual absl::StatusOr<bool> WalkLeaving(uint32_t rows_max) = 0;
  // Cancels the preparation, over at most `rows_max` rows per call. True: the state is as if
  // nothing had been prepared. Errors: ResourceExhausted (as above).
  virtual absl::StatusOr<bool> CancelExtract(uint32_t rows_max) = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_EXCHANGE_H_
