// One hand-over of a range of a data object: a link, or one chunk of a copy. The engine owns it and
// sends it to the source (kGive). The source fills it and passes it on to the target (kHandOver),
// which installs the content. The AEU that ends the step completes it. The engine then publishes
// the table in which the target owns the range, and tells the source the outcome (kConclude). If
// the target could not install it, the source takes it back, and the table is published after that.
// Written by one party at a time: each command publishes it to the next. Paper: ERIS 3.3.2;
// docs/internals/balancing.md.
#ifndef ERIS_ROUTING_TRANSFER_STEP_H_
#define ERIS_ROUTING_TRANSFER_STEP_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "eris/balancer.h"
#include "eris/batch.h"
#include "eris/types.h"
#include "routing/home_note.h"
#include "routing/reply.h"
#include "storage/key.h"
#include "storage/partition.h"

namespace eris::routing {

enum class StepOutcome : uint8_t {
  kUnderWay = 0,
  kInstalled = 1,  // the target owns `covers`
  kRefused = 2,    // by the source, which has changed nothing
  kReturned = 3,   // by the target: the source takes it back at the conclusion
};

class TransferStep : public Reply {
 public:
  virtual ~TransferStep() = default;

  // Set by the engine, before kGive.
  AeuId source;
  AeuId target;
  TransferKind kind = TransferKind::kCopy;
  // kLink, kLeap: the leaving range, inside one range of the source; of a heap table whole
  // segments. kCopy: the part still to leave, an end of one range of the source or all of it.
  storage::Range leaving;
  storage::Partition::End from = storage::Partition::End::kLow;  // kCopy: which end goes first
  // kCopy: the limit of this chunk (storage::ChunkLimit). Of a heap table's segments: their rows.
  uint32_t rows_max = 0;
  uint64_t bytes_max = kBatchValueBytesMax;
  // The object's next table version: by it the target will own the leaving range, or the source the
  // returned one. 0 for heap tables.
  uint64_t version = 0;
  uint64_t turn_cpu_ns_max = 0;  // the time that a turn may spend on work after it
  // For kinds that do not copy: where the target notes what follows. nullptr: it need not.
  std::shared_ptr<HomeNote> home;
  // Nothing leaves: the rows that the source prepared for earlier steps stay. Ends at once, as
  // refused with OK; the rows are taken back piece by piece.
  bool release = false;

  // Shared: set by the engine at any time, read by the source, which then refuses the step unless
  // the rows have left. relaxed: a request, no data.
  std::atomic<bool> give_up{false};
  // Shared: written by the source, read by the engine at any time. Turns that have worked on the
  // step, and whether the rows have left. relaxed: figures for operators, no data.
  std::atomic<uint32_t> turns{0};
  std::atomic<bool> left{false};

  // Set by the source. The moving content: a partition, segments, or rows.
  std::unique_ptr<storage::Partition> partition;
  storage::SegmentsOut segments;
  storage::ExchangeChunk chunk;
  storage::Range covers;  // of segments: all keys
  uint64_t rows = 0;
  uint64_t bytes = 0;  // copied
  // Some memory of the partition may lie on another NumaNode than the target.
  bool memory_follows = false;
  // kCopy, with keys: more was to leave, so the limit has ended the chunk.
  bool filled = false;
  // The cost of the step in its turn: CPU time of the thread, and wall-clock time.
  uint64_t source_cpu_ns = 0;
  uint64_t source_wall_ns = 0;
  // kConclude: the most expensive turn that has forgotten rows of the source's transfers since the
  // last conclusion.
  uint64_t forget_cpu_ns = 0;
  uint64_t forget_wall_ns = 0;

  // Set by the target.
  uint64_t born = 0;  // the epoch of the turn that installed it
  uint64_t target_cpu_ns = 0;
  uint64_t target_wall_ns = 0;

  // Set by the AEU that ends it.
  StepOutcome outcome = StepOutcome::kUnderWay;
  absl::Status status;  // reason, if not installed
};

// The data segment of kGive, kHandOver and kConclude. `context` and `complete` of the header get
// the notification of the command's end; the target completes what the source has begun.
struct TransferSegment {
  TransferStep* step = nullptr;
  uint32_t position = 0;  // kConclude: of the answer in the context's states
  uint32_t padding = 0;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_TRANSFER_STEP_H_
