// The running and ended transfers, for operators. Any thread.
#ifndef ERIS_ENGINE_MOVING_TRANSFER_HISTORY_H_
#define ERIS_ENGINE_MOVING_TRANSFER_HISTORY_H_

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "aeu/state/clock.h"
#include "base/mutex.h"
#include "eris/balancer.h"
#include "routing/home_note.h"
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

  // A transfer begins; returns its id. `home`: what its target notes; nullptr: it copies. Throws
  // std::bad_alloc, with nothing begun.
  uint64_t Begin(absl::string_view object, const PlannedTransfer& transfer,
                 std::shared_ptr<const routing::HomeNote> home = nullptr);
  // It is of another kind than was planned.
  void SetKind(uint64_t id, TransferKind kind);
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
  // The share that came by remapping pages of what followed the object's last leap; nullopt: no
  // leap is known whose memory has come home.
  std::optional<double> RemappedShare(absl::string_view object) const;

 private:
  struct Entry {
    TransferRecord record{};
    uint64_t begun_ns = 0;
    std::shared_ptr<const routing::HomeNote> home;
  };
  struct Run {
    // Its list node for ended_, so that its end needs no memory.
    std::list<Entry> place;
    TransferRecord& record() { return place.front().record; }
    const TransferRecord& record() const { return place.front().record; }
    uint64_t begun_ns() const { return place.front().begun_ns; }
    uint64_t progress_ns = 0;  // when an AEU last worked on it, or when it began to wait
    uint32_t turns = 0;        // turns of the step at the last check
    bool stalled = false;      // stalled, and counted
  };
  TransferRecord RecordOf(const Entry& entry) const;
  TransferRecord RecordOf(const Run& run) const;
  static bool Stalled(const Run& run, uint64_t now_ns);
  // It has made progress: a stall before it has ended.
  void NoteProgress(Run& run) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountStall(Run& run, uint64_t now_ns) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const aeu::WorkClock clock_;

  mutable base::Mutex mu_;
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Run> running_ ABSL_GUARDED_BY(mu_);
  std::list<Entry> ended_ ABSL_GUARDED_BY(mu_);  // at most kTransferHistoryMax
  Totals totals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_TRANSFER_HISTORY_H_
