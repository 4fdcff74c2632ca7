// A running ordered scan of an index. The range is cut at partition boundaries. Up to two
// partitions (lanes) work ahead in parallel, each with its own chunks, and the reader takes the
// lanes in the scan's direction. So memory is bounded by the chunks, and the front lane can always
// continue. Paper: ERIS 3.1, 4.2.2.
#ifndef ERIS_ENGINE_READS_SCAN_STATE_H_
#define ERIS_ENGINE_READS_SCAN_STATE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/core/core.h"
#include "engine/core/reader_state.h"
#include "engine/objects/object_entry.h"
#include "engine/reads/ended_part.h"
#include "engine/reads/resume_token.h"
#include "eris/query.h"
#include "routing/scan_part.h"
#include "storage/scan.h"

namespace eris::engine {

// Chunks that one scan holds at most: two lanes of two.
inline constexpr uint32_t kScanLanes = 2;
inline constexpr uint32_t kScanChunksWanted = 4;

class ScanState final : public ReaderState {
 public:
  struct Request {
    ObjectRef object;
    Schema schema;  // of the chunks
    KeyRange range;
    storage::ScanQuery query;
    uint64_t limit = 0;                    // 0: none
    std::shared_ptr<Snapshot> snapshot{};  // nullptr: one is taken
    uint64_t fingerprint = 0;
  };
  // Takes the scan's snapshot first, before it reads a partition table. The result has the caller's
  // reference. Errors: ResourceExhausted (no chunk free, no snapshot), Aborted (the given one).
  static absl::StatusOr<ScanState*> Create(Core& core, SessionNode& node, Request request);

  const Schema& schema() const override { return request_.schema; }
  std::shared_ptr<Snapshot> snapshot() override;
  uint32_t keepable() const override { return keepable_; }
  void ReturnBuffer(ReaderBuffer& buffer) override;
  void ReleaseBuffers() override;

 private:
  // A chunk of the pool.
  struct Buffer final : ReaderBuffer {
    routing::ScanChunkBuffer* chunk = nullptr;
    uint32_t lane = 0;
  };
  struct Lane final : routing::ScanPart {
    ScanState* scan = nullptr;
    std::atomic<bool> ended{false};  // written by the AEU (release), read by the reader (acquire)

    // Guarded by the scan's mu_.
    bool assigned = false;  // has a range to answer
    bool out = false;       // an AEU has a part of it
    storage::Range todo;    // rest of the assigned range
    storage::Range asked;   // range of the part that is out
    storage::Range behind;  // the part of todo after `asked`; may be empty
    std::vector<routing::ScanChunkBuffer*> spare;
    uint32_t chunks = 0;
    uint32_t with_reader = 0;
  };

  ScanState(Core& core, SessionNode& node, Request request,
            const std::vector<routing::ScanChunkBuffer*>& chunks);
  ~ScanState();

  // The completion function of scan commands.
  static void PartAnswered(routing::Reply* reply, uint32_t ended) noexcept;

  std::optional<NextResult> TryNext() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CancelParts() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  NextResult HandOut(Lane& lane, routing::ScanChunkBuffer* chunk)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Shows the first `rows` of the buffer's chunk, in their own types. Throws std::bad_alloc.
  void ShowColumns(Buffer& buffer, uint32_t rows) const;
  // Processes the end of the front lane's part and sends what comes next.
  void PartEnded(Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AssignLanes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendPart(Lane& lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Releases the snapshot when the scan has ended and every part has been answered.
  void ReleaseSnapshot() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool NothingBehind(const Lane& lane) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The first part of the key that the scan reaches first in `range`; it determines the owner.
  // REQUIRES: not empty.
  uint64_t NearFirstPartOf(const storage::Range& range) const;
  // Ends `range` at the end of `partition`, if that comes first; `rest` gets what is after it,
  // perhaps nothing. REQUIRES: the partition contains the first key of the range.
  void CutAt(const storage::Range& partition, storage::Range& range, storage::Range& rest) const;
  // What a reader of rows up to `key` must still get; nullopt: nothing.
  std::optional<KeyRange> RestBehind(const storage::Key& key) const;

  // Immutable after construction.
  Request request_;  // without the snapshot
  const storage::Range range_;
  const bool strings_;  // values are words whose strings must be gathered
  const std::shared_ptr<ScanChunkPool> pool_;
  std::vector<routing::ScanChunkBuffer*> chunks_;  // except for their return, under mu_
  std::vector<Buffer> buffers_;                    // in the order of chunks_

  // Guarded by mu_, which no AEU takes.
  std::array<Lane, kScanLanes> lanes_;
  uint32_t lane_count_ = 0;
  uint32_t keepable_ = 0;  // immutable after construction
  const uint64_t snapshot_epoch_;
  std::shared_ptr<Snapshot> snapshot_ ABSL_GUARDED_BY(mu_);
  uint32_t front_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<storage::Range> unassigned_ ABSL_GUARDED_BY(mu_);
  uint64_t rows_left_ ABSL_GUARDED_BY(mu_);
  MovedCount moved_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_SCAN_STATE_H_
