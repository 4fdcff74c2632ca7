// The transfers that run and those that have ended, for operators to look at. Any thread.
#ifndef ERIS_ENGINE_TRANSFER_HISTORY_H_
#define ERIS_ENGINE_TRANSFER_HISTORY_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "eris/balancer.h"
#include "routing/transfer_step.h"

namespace eris::engine {

class TransferHistory {
 public:
  struct Totals {
    uint64_t links = 0;  // done
    uint64_t copies = 0;
    uint64_t rows_moved = 0;
    uint64_t bytes_copied = 0;
  };

  // A transfer begins; its id.
  uint64_t Begin(absl::string_view object, const PlannedTransfer& transfer);
  // A step of it has been published.
  void Add(uint64_t id, const routing::TransferStep& step);
  // It has ended. REQUIRES: it runs.
  TransferRecord End(uint64_t id, TransferOutcome outcome, std::string reason);

  std::optional<TransferRecord> Running() const;  // the oldest
  std::vector<TransferRecord> Newest() const;     // those that have ended, newest first
  Totals totals() const;

 private:
  struct Run {
    TransferRecord record;
    uint64_t begun_ns = 0;
  };
  static TransferRecord RecordOf(const Run& run);

  mutable base::Mutex mu_;
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, Run> running_ ABSL_GUARDED_BY(mu_);
  std::deque<TransferRecord> ended_ ABSL_GUARDED_BY(mu_);  // at most kTransferHistoryMax
  Totals totals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_TRANSFER_HISTORY_H_
