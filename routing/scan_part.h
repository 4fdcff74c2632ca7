// The part of a scan of an index, or of an aggregate, that one AEU answers (part.h). A delivered
// chunk has at least one row.
#ifndef ERIS_ROUTING_SCAN_PART_H_
#define ERIS_ROUTING_SCAN_PART_H_

#include <cstdint>
#include <optional>

#include "eris/batch.h"
#include "eris/types.h"
#include "routing/part.h"
#include "routing/reply_bytes.h"
#include "storage/key.h"
#include "storage/scan.h"

namespace eris::routing {

// Rows of one chunk; keys and values are 512 KiB together, so a chunk fits any message limit.
inline constexpr uint32_t kScanChunkRows = 32768;
// For two-part keys the same memory has three columns.
constexpr uint32_t ScanChunkRowsOf(bool two_parts) {
  return two_parts ? 2 * kScanChunkRows / 3 : kScanChunkRows;
}
// Strings of one chunk of byte strings, in records: one string of any length always fits.
inline constexpr uint64_t kScanChunkStringBytes = storage::RecordBytes(kValueBytesMax);

struct ScanChunkBuffer {
  storage::ScanRows rows;
  ReplyBytes strings{kScanChunkStringBytes};

  void Clear() {
    strings.FreeAll();
    rows.rows = 0;
    rows.bytes = &strings;
    rows.bytes_full = false;
  }
};

class ScanPart : public Part<ScanChunkBuffer> {
 public:
  // For an aggregate's command, which moves no chunk: written by the AEU while the part is out,
  // read by the reader after the completion. Does not include rows of rest().
  RangeAggregate& aggregate() { return aggregate_; }
  const RangeAggregate& aggregate() const { return aggregate_; }

  // The AEU's final result, after its last Deliver. `rest`: what it has not answered (kMoved), else
  // empty. Not read before the call of the command's completion function, which publishes it.
  void Finish(PartOutcome outcome, std::optional<storage::Range> rest) {
    rest_ = rest;
    outcome_ = outcome;
  }
  // For the reader, after the completion. It may then take an ended part's empty chunks too.
  PartOutcome outcome() const { return outcome_; }
  const std::optional<storage::Range>& rest() const { return rest_; }
  // For the reader, after the completion: before the part is sent out again.
  void Reset() {
    outcome_ = PartOutcome::kRunning;
    rest_.reset();
    aggregate_ = {};
  }

 private:
  // Written by the AEU while the part is out, otherwise by the reader.
  std::optional<storage::Range> rest_;
  RangeAggregate aggregate_;
  PartOutcome outcome_ = PartOutcome::kRunning;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_SCAN_PART_H_
