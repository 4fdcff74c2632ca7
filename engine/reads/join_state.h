// An index join under way. One multicast asks every AEU that owns outer rows of the range, by one
// version of the outer table; each is a part, answers the pieces which that version gives it, and
// sends their values out as look-ups. Blocks of rows circulate: reader -> part's AEU -> inner AEUs
// -> reader; they are the join's whole memory, and parts without one pause. What a part's AEU has
// given away meanwhile is asked of its owner by the table then in force. The join is complete when
// the widths of the answered ranges, which are disjoint, add up. Paper: ERIS 3.1, 3.2.
//
// Reference counted: the reader's handle, its chunks, each part that is out, and each block whose
// look-ups are under way. AEUs only push to lists and notify.
#ifndef ERIS_ENGINE_READS_JOIN_STATE_H_
#define ERIS_ENGINE_READS_JOIN_STATE_H_

#include <atomic>
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
#include "eris/engine.h"
#include "routing/data_command.h"
#include "routing/join_part.h"

namespace eris::engine {

// Blocks that stand in one chunk of the pool: three columns of words and one of bytes each.
inline constexpr size_t kJoinRowBytes = 3 * sizeof(uint64_t) + 1;
inline constexpr uint32_t kJoinBlocksOfChunk =
    2 * sizeof(uint64_t) * routing::kScanChunkRows / (kJoinRowBytes * routing::kJoinBlockRows);

// Smaller ones are for tests.
struct JoinSizes {
  uint32_t block_rows = routing::kJoinBlockRows;  // at most that; a multiple of 8
  uint32_t blocks_max = UINT32_MAX;
};

class JoinState final : public ReaderState<absl::StatusOr<std::optional<JoinChunk>>> {
 public:
  struct Part;

  // Rows on their way to the reader and in its hands.
  struct Block final : routing::JoinBlock {
    JoinState* join = nullptr;
    Block* next = nullptr;  // in a list of answered ones
    // Shared: written by whoever sends its keys and by the AEUs that answer them.
    std::atomic<uint32_t> owed{0};

    // Guarded by the join's mu_.
    Part* part = nullptr;  // that it has been given to
    uint32_t resends = 0;  // of this filling
  };

  // Takes a join on and sends it out. The caller's reference is in the result. May block for the
  // control Port's bound. Errors: ResourceExhausted (no chunk free), Unavailable.
  static absl::StatusOr<JoinState*> Create(Core& core, ObjectRef outer, ObjectRef inner,
                                           const JoinOptions& options, const JoinSizes& sizes = {});

  // The first reason stays. Any thread.
  void Cancel(absl::Status reason);

  // A block that the reader is done with. Any thread.
  void ReturnBlock(Block* block);

  struct Part final : routing::JoinPart {
    JoinState* join = nullptr;
    Part* next = nullptr;  // in a list of ended ones

    // Guarded by the join's mu_.
    bool out = false;  // a command for it is with an AEU
    AeuId aeu;         // with this one
    // What no command has asked for yet: first the moved range, by the table in force, then the
    // rest, by the pinned one.
    std::optional<storage::Range> moved;
    std::optional<storage::Range> rest;
    uint32_t given = 0;  // blocks that have not come back
  };

 private:
  JoinState(Core& core, ObjectRef outer, ObjectRef inner, const JoinOptions& options);
  ~JoinState();

  // The functions of join commands; on AEUs.
  static void PartEnded(routing::Reply* reply, uint32_t ended) noexcept;
  static void BeginBlock(routing::JoinBlock* block, uint32_t keys) noexcept;
  static void BlockAnswered(routing::Reply* reply, uint32_t keys) noexcept;

  // Before the first command.
  absl::Status MakeBlocks(const JoinSizes& sizes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::optional<NextResult> TryNext() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Takes note of a part's end and sends out what comes next.
  void EndPart(Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendPart(Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PartIsOut(Part& part, AeuId aeu) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // As its AEU would have ended it.
  static void Refuse(routing::JoinPart& part);
  routing::CommandHeader HeaderOf(const routing::RangeTable& table) const;
  routing::JoinSegment SegmentOf(routing::JoinParts parts, const routing::RangeTable* table,
                                 const storage::Range& range) const;
  routing::LookupQuery QueryOrNone() const { return query_.value_or(routing::LookupQuery{}); }
  // A block whose keys all have answers: a chunk for the reader, if it has any row.
  std::optional<NextResult> TakeBlock(Block& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Some of its keys have been moved (they are sent again), or the join has failed.
  void SendAgainOrFail(Block& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Where an empty block goes: to its own part, another one, or the spare ones.
  void PassOn(Block& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Give(Block& block, Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveSpare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeBack(Part& part, routing::JoinBlock* block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status NoRoom() const;
  void Fail(absl::Status reason) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Immutable after construction.
  const ObjectRef outer_;
  const ObjectRef inner_;
  const std::shared_ptr<const routing::RangeTable> table_;  // of outer_, for the whole join
  const storage::Range range_;
  const std::optional<routing::LookupQuery> query_;
  const std::shared_ptr<ScanChunkPool> pool_;

  // Immutable once the first command is out.
  std::vector<routing::ScanChunkBuffer*> chunks_;  // the blocks' memory
  std::unique_ptr<Block[]> blocks_;
  uint32_t block_count_ = 0;
  std::unique_ptr<Part[]> parts_;
  std::vector<routing::JoinPart*> part_list_;  // by owner
  std::vector<AeuId> targets_;                 // their owners

  // Guarded by mu_, which no AEU takes.
  std::vector<Block*> spare_ ABSL_GUARDED_BY(mu_);
  size_t next_part_ ABSL_GUARDED_BY(mu_) = 0;  // where GiveSpare looks first
  uint32_t parts_left_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t blocks_away_ ABSL_GUARDED_BY(mu_) = 0;  // given to parts, and not taken back
  Part* ended_list_ ABSL_GUARDED_BY(mu_) = nullptr;
  Block* answered_list_ ABSL_GUARDED_BY(mu_) = nullptr;
  routing::RangeWidth answered_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t moved_ ABSL_GUARDED_BY(mu_) = 0;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mu_);

  // Shared: written by AEUs, taken by the reader.
  HandoverStack<Part> ended_;
  HandoverStack<Block> answered_blocks_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_JOIN_STATE_H_
