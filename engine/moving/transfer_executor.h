// Moves a range of an object from one AEU to another: reserve, then steps, each of which ends
// published, until nothing is left to move or something stops it at the border of a chunk. Blocks;
// on a client's thread or the balancer's. Paper: ERIS 3.3.2; docs/internals/balancing.md.
//
//   per step:  kGive -> source .. kHandOver .. target -> installed -> publish -> kConclude ->
//   source
#ifndef ERIS_ENGINE_MOVING_TRANSFER_EXECUTOR_H_
#define ERIS_ENGINE_MOVING_TRANSFER_EXECUTOR_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "engine/core/core.h"
#include "engine/core/transfer_stop.h"
#include "engine/moving/step_sender.h"
#include "engine/moving/transfer_history.h"
#include "engine/objects/object_entry.h"
#include "engine/objects/transfer_pacing.h"
#include "eris/balancer.h"

namespace eris::engine {

class TransferExecutor {
 public:
  TransferExecutor(Core& core, StepSender& sender) : core_(core), sender_(sender) {}

  struct Result {
    TransferRecord record;
    // Why it has not moved everything. FailedPrecondition (paused), Unavailable (closing),
    // DeadlineExceeded, NotFound (dropped), ResourceExhausted (no memory, no room); else what the
    // source said.
    absl::Status status;
  };
  // What has moved when it stops stays moved. REQUIRES: core.in_flight has been entered; no other
  // call moves anything from or to these AEUs.
  Result Run(ObjectEntry& object, const PlannedTransfer& transfer,
             const TransferStop::Ticket& ticket);

  // From the next chunk on. Any thread.
  void SetBudget(uint32_t max_pause_us, uint64_t max_bytes_per_s);
  TransferHistory& history() { return history_; }

 private:
  friend class TransferRun;

  // Errors: what stops the transfer.
  absl::Status MayGoOn(const ObjectEntry& object, const TransferStop::Ticket& ticket) const;
  // Blocks for a moment: the source gives another object's range away. Errors: as MayGoOn.
  absl::Status AwaitSource(const ObjectEntry& object, const TransferStop::Ticket& ticket);
  // Blocks while copies have run ahead of their rate. Errors: as MayGoOn.
  absl::Status AwaitTurn(const ObjectEntry& object, const TransferStop::Ticket& ticket,
                         TransferKind kind);
  void Account(const routing::TransferStep& step);

  // Immutable after construction.
  Core& core_;
  StepSender& sender_;

  // Shared: written by SetBudget, read between chunks. relaxed: a chunk may go by the old one.
  std::atomic<uint32_t> max_pause_us_{BalancerOptions{}.max_pause_us};

  base::Mutex mu_;
  ByteRate rate_ ABSL_GUARDED_BY(mu_);

  TransferHistory history_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_TRANSFER_EXECUTOR_H_
