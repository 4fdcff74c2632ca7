// An aggregate of a key range under way. Every AEU that owns a part of the range adds its rows up
// by itself, slice by slice; what comes back as moved is sent again by the tables in force then,
// and a key is in one part at a time, so no row counts twice. The parts' figures are merged, and
// the callback is called, on the completion thread. Paper: ERIS 3.1 (scans), 3.2 (callbacks).
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
#include "engine/core/call.h"
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
  // What a partition of the object takes of a session's bytes in flight while the call is under
  // way.
  static constexpr int64_t kBytesPerPartition = 512;

  // REQUIRES: core.in_flight has been entered, and `bytes` have been taken from `credit` (nullptr:
  // none); the call gives both back at its end.
  // `snapshot`: taken before; let go when all parts have been answered.
  AggregateCall(Core& core, ObjectRef object, const AggregateOptions& options,
                std::shared_ptr<Snapshot> snapshot, SessionCredit credit, int64_t bytes,
                Session::AggregateCallback done);

  // Sends the parts out; from here on the callback is owed. May block while AEUs take nothing, up
  // to the bound of the engine's Port. The caller has a reference meanwhile.
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
  // Cuts the ranges at the partitions of the table in force and sends each to its AEU. Without
  // memory for the parts it sends none, and the call ends with status_.
  void SendRound(std::span<const storage::Range> ranges);
  void MakeParts(std::span<const storage::Range> ranges, const routing::RangeTable& table)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendPart(Part& part, uint64_t table_version);
  // Merges the round's figures. Returns what has moved; sets status_ where a part has failed, or
  // where there is no memory for what it would return.
  std::vector<storage::Range> MergeRound();

  // Immutable after construction.
  Core& core_;
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
  std::deque<Part> parts_ ABSL_GUARDED_BY(mu_);  // of the round; AEUs write inside each
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;

  // Shared: counted down by AEUs, each after its last write (acq_rel: the last one to come sees
  // what the others did). One is the sender's own, so that the round does not end under it.
  std::atomic<uint32_t> running_{0};
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_AGGREGATE_CALL_H_
