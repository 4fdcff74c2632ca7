// The running and ended transfers, for operators. Any thread.
#ifndef ERIS_ENGINE_MOVING_TRANSFER_HISTORY_H_
#define ERIS_ENGINE_MOVING_TRANSFER_HISTORY_H_

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "aeu/state/clock.h"
#include "base/mutex.h"
#include "eris/balancer.h"
#include "routing/transfer_step.h"

namespace eris::engine {

class TransferHistory {
 public:
  struct Totals {
    TransferCounts transfers;  // done
    uint64_t rows_moved = 0;
    uint64_t bytes_copied = 0;
    uint64_t stalls = 0;
  };

  explicit TransferHistory(aeu::WorkClock clock = aeu::NowNs) : clock_(clock) {}

  // A transfer begins; returns its id. Throws std::bad_alloc, with nothing begun.
  uint64_t Begin(absl::string_view object, const PlannedTransfer& transfer);
  // From now on it is in another phase.
  void SetPhase(uint64_t id, TransferPhase phase);
  // Called now and then while a step of it is with the source or the target.
  void Look(uint64_t id, const routing::TransferStep& step);
  // A step of it has ended.
  void Add(uint64_t id, const routing::TransferStep& step);
  // It has ended. Returns the record that Newest will show; empty without memory. REQUIRES: it
  // runs.
  TransferRecord End(uint64_t id, TransferOutcome outcome, std::string reason);

  std::vector<TransferRecord> Running() const;  // the oldest first
  std::vector<TransferRecord> Newest() const;   // ended ones, newest first
  Totals totals() const;

 private:
  struct Run {
    // Its list node for ended_, so that its end needs no memory.
    std::list<TransferRecord> place;
    TransferRecord& Place() { return place.emplace_back(); }
    TransferRecord& record() { return place.front(); }
    const TransferRecord& record() const { return place.front(); }
    uint64_t begun_ns = 0;
    uint64_t progress_ns = 0;  // when an AEU last worked on it, or when it began to wait
    uint32_t turns = 0;        // turns of the step at the last check
    bool stalled = false;      // stalled, and counted
  };
  TransferRecord RecordOf(const Run& run) const;
  static bool Stalled(const Run& run, uint64_t now_ns);
  // It has made progress: a stall before it has ended.
  void NoteProgress(Run& run) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountStall(Run& run, uint64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const aeu::WorkClock clock_;

  mutable base::Mutex mu_;
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Run> running_ ABSL_GUARDED_BY(mu_);
  std::list<TransferRecord> ended_ ABSL_GUARDED_BY(mu_);  // at most kTransferHistoryMax
  Totals totals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_TRANSFER_HISTORY_H_
