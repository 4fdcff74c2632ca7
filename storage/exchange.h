// How a range changes hands as a copy: the chunk that carries it, and what a partition does with
// it, in steps that can be taken back (docs/internals/balancing.md). Paper: ERIS 3.3.2.
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

// Of the rows of a chunk, and of erased ones: the versions that snapshots need, by key, the newest
// first. Byte strings as in ExchangeChunk.
struct VersionColumns {
  std::vector<uint64_t> keys{};
  std::vector<uint64_t> seconds{};  // of two-part keys
  std::vector<uint64_t> ends{};     // end << 1 | whether there was a value
  std::vector<uint64_t> values{};
  std::vector<uint64_t> offsets{};
  std::string bytes{};
  uint64_t lost_before = 0;  // snapshots below it cannot be read in this range

  // Empties it; its memory stays.
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

// What a version counts as where ranges change hands, in rows: it is looked up, copied, added and
// freed by itself, rows in runs.
inline constexpr uint32_t kRowsPerVersion = 16;

// The most that a chunk has; but one key in any case, and of two-part keys one first part.
struct ChunkLimit {
  constexpr ChunkLimit(uint32_t rows_max,  // NOLINT: the usual limit is a number of rows
                       uint64_t bytes_max = kBatchValueBytesMax)
      : rows(rows_max), bytes(bytes_max) {}

  uint32_t rows;   // and versions, each of which counts as kRowsPerVersion rows
  uint64_t bytes;  // of the rows' strings, and as many of the versions' strings
};

// Rows of a table on their way: in Arrow's layout, owned; living ones only, in the order of the
// chunk's keys where they have any.
struct ExchangeRows {
  std::vector<ColumnBuffers> columns{};  // as in the table's schema
  uint64_t count = 0;
};

// The exchange format of a copy transfer: a sorted run of rows. `rows` are keys[i] -> values[i];
// `covers` is the key range that changes hands with them. Of byte strings row i is
// bytes[offsets[i] .. offsets[i + 1]), and `values` is empty. Of a table `keys` (and `seconds`,
// where keys have two words; of a heap table neither) are those of its rows, `values` is empty, and
// the rows stand in `rows`.
struct ExchangeChunk {
  Range covers;
  std::vector<uint64_t> keys;
  std::vector<uint64_t> values;
  std::vector<uint64_t> offsets{};
  std::string bytes{};
  std::vector<uint64_t> seconds{};  // of two-part keys: second parts; (keys, seconds) ascend
  VersionColumns versions{};
  ExchangeRows rows{};  // of tables

  // What it counts as of ChunkLimit::rows.
  uint64_t weight() const {
    return std::max<uint64_t>(keys.size(), rows.count) +  // a heap table has no keys
           uint64_t{kRowsPerVersion} * versions.keys.size();
  }
  // Leaves keys and values alone, whose memory the next rows can have as it is.
  void ClearExtras() {
    offsets.clear();
    bytes.clear();
    seconds.clear();
    versions.Clear();
    rows = {};
  }
};

// On the thread of the AEU that owns the partition, as all of it.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Lend copies rows of the end `from` of range() into `out`, with the versions that snapshots need
  // of them and of erased rows between them, and cuts them off the range: as many as `limit` has
  // room for, but one key at least, with all of its versions; of two-part keys whole first parts.
  // The work is bounded by the limit. Nothing outside `leaving`, which is that end of the range or
  // all of it. When no row and no version of `leaving` is left behind, the rest of it goes with the
  // chunk. The rows stay here, untouched and out of everybody's sight, until Forget or TakeBack;
  // one loan at a time, and no SplitAt, Absorb or Ingest meanwhile (FailedPrecondition). Of a heap
  // table, whose range stays: rows of its last segments. Kinds that need it are prepared
  // before (Preparation). `out` may have been used before: its memory is used
  // again. Errors: ResourceExhausted (no memory for the copy), FailedPrecondition (a loan is out;
  // not prepared), InvalidArgument (not an end of the range); only `out` has changed then.
  enum class End : uint8_t { kLow, kHigh };
  virtual absl::Status Lend(const Range& leaving, End from, const ChunkLimit& limit,
                            ExchangeChunk& out) = 0;
  // Whoever borrowed the rows keeps them. Frees them here, about `rows_max` a call, or as many
  // versions as count as that (kRowsPerVersion); needs no memory. True: there are more, for which
  // it is called again, or Maintain, between other calls. The next loan need not wait for that:
  // while it is out Maintain alone goes on, as Forget is its end. Of tables: all of them in this
  // call, marked dead as SetDeath has said, so that older snapshots go on seeing them here.
  virtual bool Forget(const SnapshotView& snapshots, uint32_t rows_max) = 0;
  // Of tables, before Forget: the epoch at which the borrower's rows were born, not above that of
  // the turn. Without it: that of the turn.
  virtual void SetDeath(uint64_t) {}
  // The borrower has refused: the rows and their range are as before. Never fails. O(1).
  virtual void TakeBack() = 0;
  // Adds an adjacent chunk, rows and range. Errors: InvalidArgument (not adjacent, keys not
  // ascending or outside covers), ResourceExhausted, FailedPrecondition (rows are prepared to
  // leave, or lent); nothing has changed then.
  virtual absl::Status Ingest(const ExchangeChunk& chunk) = 0;
};

// Of a kind whose rows do not stand in key order: a pass over them before any can be lent.
class Preparation {
 public:
  virtual ~Preparation() = default;

  // Says that the rows of `leaving`, which is an end of the range or all of it, are going to leave.
  // Touches no row; everything is served as before until the chunks are cut. Errors:
  // InvalidArgument (not an end of the range), FailedPrecondition (others are prepared).
  virtual absl::Status PrepareExtract(const Range& leaving) = 0;
  // Goes on with the preparation, over at most `rows_max` (>= 1) rows: to be called once a turn.
  // True: it is complete. Errors: ResourceExhausted (it goes on where it stopped),
  // FailedPrecondition (nothing is prepared).
  virtual absl::StatusOr<bool> WalkLeaving(uint32_t rows_max) = 0;
  // Gives the preparation up, over at most `rows_max` rows a call. True: all is as if nothing had
  // been prepared. Errors: ResourceExhausted (as above).
  virtual absl::StatusOr<bool> CancelExtract(uint32_t rows_max) = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_EXCHANGE_H_
