// A running index join. One multicast goes to every AEU that owns outer rows of the range, by one
// version of the outer table. Each AEU is a part: it answers the pieces that this version assigns
// to it, and sends their values as lookups. Blocks of rows circulate (circulation.h): reader ->
// part's AEU -> inner AEUs -> reader. Ranges that a part's AEU has given away meanwhile are
// requested from their owner by the current table. The join is complete when the widths of the
// answered ranges, which are disjoint, add up to the whole range. Paper: ERIS 3.1, 3.2.
#ifndef ERIS_ENGINE_READS_JOIN_STATE_H_
#define ERIS_ENGINE_READS_JOIN_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/core/core.h"
#include "engine/core/handover_stack.h"
#include "engine/core/reader_state.h"
#include "engine/objects/object_entry.h"
#include "engine/reads/circulation.h"
#include "engine/reads/ended_part.h"
#include "eris/query.h"
#include "routing/data_command.h"
#include "routing/join_part.h"

namespace eris::engine {

// Blocks that fit in one chunk of the pool: three columns of words and one of bytes each.
inline constexpr size_t kJoinRowBytes = 3 * sizeof(uint64_t) + 1;
inline constexpr uint32_t kJoinBlocksOfChunk =
    2 * sizeof(uint64_t) * routing::kScanChunkRows / (kJoinRowBytes * routing::kJoinBlockRows);

// Smaller ones are for tests.
struct JoinSizes {
  uint32_t block_rows = routing::kJoinBlockRows;  // at most this; a multiple of 8
  uint32_t blocks_max = UINT32_MAX;
};

class JoinState final : public ReaderState {
 public:
  struct Part;
  struct Block final : CirculatingBlock<routing::JoinBlock, Block, Part> {};
  struct Part final : CirculatingPart<routing::JoinPart> {
    JoinState* join = nullptr;
    Part* next = nullptr;  // in a list of ended ones

    // Guarded by the join's mu_. Ranges still to be requested: first the moved one, by the current
    // table, then the rest, by the pinned one.
    std::optional<storage::Range> moved;
    std::optional<storage::Range> rest;
  };

  // Begins a join and sends it. The result has the caller's reference. May block for the control
  // Port's time limit. Errors: ResourceExhausted (no chunk free), Unavailable.
  static absl::StatusOr<JoinState*> Create(Core& core, SessionNode& node, ObjectRef outer,
                                           ObjectRef inner, const JoinOptions& options,
                                           const JoinSizes& sizes = {});

  // outer_key, with the type of the outer object's keys; join_key and value, of kUint64.
  const Schema& schema() const override { return schema_; }
  uint32_t keepable() const override { return keepable_; }
  void ReturnBuffer(ReaderBuffer& buffer) override;

 private:
  JoinState(Core& core, SessionNode& node, ObjectRef outer, ObjectRef inner,
            const JoinOptions& options);
  ~JoinState();

  // The completion function of join commands; called by AEUs.
  static void PartEnded(routing::Reply* reply, uint32_t ended) noexcept;

  // Before the first command.
  absl::Status MakeBlocks(const JoinSizes& sizes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::optional<NextResult> TryNext() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CancelParts() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { circulation_.CancelAll(); }
  // Processes a part's end and sends what comes next.
  void EndPart(Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendPart(Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Ends the part as its AEU would have done.
  static void Refuse(routing::JoinPart& part);
  routing::CommandHeader HeaderOf(const routing::RangeTable& table) const;
  routing::JoinSegment SegmentOf(routing::JoinParts parts, const routing::RangeTable* table,
                                 const storage::Range& range) const;
  routing::LookupQuery QueryOrNone() const { return query_.value_or(routing::LookupQuery{}); }
  // Processes a block whose keys all have answers: a chunk for the reader, if it has any row.
  std::optional<NextResult> TakeBlock(Block& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // For a block with moved keys (they are sent again), or after the join has failed.
  void SendAgainOrFail(Block& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Immutable after construction.
  const ObjectRef outer_;
  const ObjectRef inner_;
  // of outer_, the same version for the whole join
  const std::shared_ptr<const routing::RangeTable> table_;
  const storage::Range range_;
  const std::optional<routing::LookupQuery> query_;
  const std::shared_ptr<ScanChunkPool> pool_;
  const Schema schema_;
  std::vector<AeuId> targets_;  // the owners of outer rows of the range; ascending

  // Immutable once the first command is out.
  std::vector<routing::ScanChunkBuffer*> chunks_;  // the blocks' memory

  // Guarded by mu_, which no AEU takes.
  Circulation<Block, Part> circulation_ ABSL_GUARDED_BY(mu_);
  uint32_t keepable_ = 0;  // immutable once the first command is out
  uint32_t parts_left_ ABSL_GUARDED_BY(mu_) = 0;
  Part* ended_list_ ABSL_GUARDED_BY(mu_) = nullptr;
  routing::RangeWidth answered_ ABSL_GUARDED_BY(mu_) = 0;
  MovedCount moved_ ABSL_GUARDED_BY(mu_);

  // Shared: written by AEUs, taken by the reader.
  HandoverStack<Part> ended_;
  AnsweredBlocks<Block> answered_blocks_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_JOIN_STATE_H_
