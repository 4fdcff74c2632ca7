// A running aggregate of a key range. Every AEU that owns a part of the range aggregates its rows
// by itself, slice by slice. Ranges that come back as moved are sent again by the current tables; a
// key is in one part at a time, so no row counts twice. The completion thread merges the results of
// the parts and calls the callback. Paper: ERIS 3.1 (scans), 3.2 (callbacks).
#ifndef ERIS_ENGINE_READS_AGGREGATE_CALL_H_
#define ERIS_ENGINE_READS_AGGREGATE_CALL_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "engine/completion/call.h"
#include "engine/core/core.h"
#include "engine/core/session_credit.h"
#include "engine/objects/object_entry.h"
#include "engine/reads/ended_part.h"
#include "eris/query.h"
#include "eris/session.h"
#include "routing/scan_part.h"

namespace eris::engine {

class AggregateCall final : public Call<absl::StatusOr<RangeAggregate>> {
 public:
  // Bytes in flight of the session per partition of the object, while the call is running.
  static constexpr int64_t kBytesPerPartition = 512;

  // REQUIRES: node.in_flight has been entered, and `bytes` have been taken from `credit` (nullptr:
  // none); the call returns both at its end.
  // `snapshot`: taken before; released when all parts have been answered.
  AggregateCall(Core& core, SessionNode& node, ObjectRef object, const AggregateOptions& options,
                std::shared_ptr<Snapshot> snapshot, SessionCredit credit, int64_t bytes,
                Session::AggregateCallback done);

  // Sends the parts; from here on the callback is owed. May block while AEUs accept nothing, up to
  // the time limit of the engine's Port. The caller must hold a reference.
  void Start();
  void Complete() override;  // all parts of a round have ended; on the completion thread

 private:
  struct Part final : routing::ScanPart {
    AggregateCall* call = nullptr;
    storage::Range asked;
  };
  void StopWork() override;
  absl::StatusOr<RangeAggregate> CancelledResult(absl::Status status) const override {
    return status;
  }
  // The completion function of the parts' commands.
  static void PartEnded(routing::Reply* reply, uint32_t ended) noexcept;
  static_assert(sizeof(Part) <= kBytesPerPartition);
  // Cuts the ranges at the partitions of the current table and sends each to its AEU. Without
  // memory for the parts it sends none, and the call ends with status_.
  void SendRound(std::span<const storage::Range> ranges);
  void MakeParts(std::span<const storage::Range> ranges, const routing::RangeTable& table)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendPart(Part& part, uint64_t table_version);
  // Merges the round's results. Returns the moved ranges; sets status_ if a part has failed, or if
  // there is no memory for the result.
  std::vector<storage::Range> MergeRound();

  // Immutable after construction.
  Core& core_;
  SessionNode& node_;  // the session's
  const ObjectRef object_;
  const storage::Range range_;
  const storage::ScanQuery query_;
  const uint64_t snapshot_epoch_;
  const SessionCredit credit_;
  const int64_t bytes_;

  // Owned by the completion thread, after Start.
  std::shared_ptr<Snapshot> snapshot_;
  MovedCount moved_;
  RangeAggregate total_;
  absl::Status status_;

  // Guarded by mu_, which no AEU takes.
  base::Mutex mu_;
  std::deque<Part> parts_ ABSL_GUARDED_BY(mu_);  // of the round; each AEU writes into its own
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;

  // Shared: AEUs count it down, each after its last write (acq_rel: the last one sees what the
  // others did). It includes one for the sender, so that the round does not end while it sends.
  std::atomic<uint32_t> running_{0};
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_AGGREGATE_CALL_H_
