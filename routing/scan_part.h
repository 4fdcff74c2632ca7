// The part of a scan that one AEU answers, and the two rings between the AEU and the scan's reader:
// empty chunks go in, filled ones come out. Without an empty chunk the AEU pauses this part and
// does other work. Owned by the scan, which keeps it until the command's completion function has
// been called.
#ifndef ERIS_ROUTING_SCAN_PART_H_
#define ERIS_ROUTING_SCAN_PART_H_

#include <cstdint>
#include <optional>

#include "base/check.h"
#include "eris/batch.h"
#include "eris/types.h"
#include "routing/reply.h"
#include "routing/reply_bytes.h"
#include "routing/spsc_ring.h"
#include "storage/key.h"
#include "storage/scan.h"

namespace eris::routing {

// Rows of one chunk; keys and values come to 512 KiB, so a chunk fits any message limit.
inline constexpr uint32_t kScanChunkRows = 32768;
// The same memory has three columns where keys have two parts.
constexpr uint32_t ScanChunkRowsOf(bool two_parts) {
  return two_parts ? 2 * kScanChunkRows / 3 : kScanChunkRows;
}
// Chunks that may circulate in one part.
inline constexpr uint32_t kPartChunksMax = 4;

// Strings of one chunk of byte strings, in records: one of any length always fits.
inline constexpr uint64_t kScanChunkStringBytes = storage::RecordBytes(kValueBytesMax);

struct ScanChunkBuffer {
  storage::ScanRows rows;
  ReplyBytes strings{kScanChunkStringBytes};
};

enum class PartOutcome : uint8_t {
  kRunning = 0,
  kAnswered = 1,  // the whole range, or all rows that were asked for
  kMoved = 2,     // all but the part's rest(), whose near end the AEU does not own
  kNoObject = 3,  // the object is gone
  kCancelled = 4,
  kRefused = 5,   // never reached the AEU
  kAborted = 6,   // its snapshot was given up
  kNoMemory = 7,  // the AEU had no memory for it: none of it is answered
};

class ScanPart : public Reply {
 public:
  // The reader. Gives an empty chunk; wakes nobody.
  void GiveChunk(ScanChunkBuffer* chunk) {
    chunk->strings.FreeAll();
    chunk->rows.rows = 0;
    chunk->rows.bytes = &chunk->strings;
    chunk->rows.bytes_full = false;
    const bool pushed = empty_.Push(chunk);
    ERIS_CHECK(pushed);  // no more than kPartChunksMax circulate
  }
  // The AEU. nullptr: none.
  ScanChunkBuffer* TakeEmpty() { return empty_.Pop(); }
  bool HasEmpty() const { return !empty_.Empty(); }

  // The AEU. A chunk with at least one row.
  void Deliver(ScanChunkBuffer* chunk) {
    const bool pushed = filled_.Push(chunk);
    ERIS_CHECK(pushed);
  }
  // The reader. nullptr: none yet (or, after outcome() != kRunning, none any more).
  ScanChunkBuffer* TakeFilled() { return filled_.Pop(); }
  bool HasFilled() const { return !filled_.Empty(); }

  // Of an aggregate's command, which moves no chunk: written by the AEU while the part is out, the
  // reader's after the completion. Rows of rest() are not in it.
  RangeAggregate& aggregate() { return aggregate_; }
  const RangeAggregate& aggregate() const { return aggregate_; }

  // The AEU's last word, after its last Deliver. `rest`: what it has not answered (kMoved), else
  // empty. Not read before the command's completion function has been called, which publishes it.
  void Finish(PartOutcome outcome, std::optional<storage::Range> rest) {
    rest_ = rest;
    outcome_ = outcome;
  }
  // The reader, after the completion. An ended part's empty chunks are the reader's again, too.
  PartOutcome outcome() const { return outcome_; }
  const std::optional<storage::Range>& rest() const { return rest_; }
  // The reader, after the completion: before the part is sent out again.
  void Reset() {
    outcome_ = PartOutcome::kRunning;
    rest_.reset();
    aggregate_ = {};
  }

 private:
  SpscRing<ScanChunkBuffer*, kPartChunksMax> empty_;   // reader -> AEU
  SpscRing<ScanChunkBuffer*, kPartChunksMax> filled_;  // AEU -> reader
  // Written by the AEU while the part is out, by the reader otherwise.
  std::optional<storage::Range> rest_;
  RangeAggregate aggregate_;
  PartOutcome outcome_ = PartOutcome::kRunning;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_SCAN_PART_H_
