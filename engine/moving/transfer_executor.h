// Moves a range of an object from one AEU to another: first reserves, then runs steps, each of
// which ends with a published table, until nothing is left to move or it is stopped at a chunk
// boundary. Blocks; on a client's thread or the balancer's. Paper: ERIS 3.3.2;
// docs/internals/balancing.md.
//
//   per step:  kGive -> source .. kHandOver .. target -> installed -> publish -> kConclude ->
//   source
#ifndef ERIS_ENGINE_MOVING_TRANSFER_EXECUTOR_H_
#define ERIS_ENGINE_MOVING_TRANSFER_EXECUTOR_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
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
    // DeadlineExceeded, NotFound (dropped), ResourceExhausted (no memory, no room); otherwise the
    // source's status.
    absl::Status status;
  };
  // What has moved when it stops stays moved. REQUIRES: core.administration has been entered; no
  // other call moves ranges from or to these AEUs.
  Result Run(ObjectEntry& object, const PlannedTransfer& transfer,
             const TransferStop::Ticket& ticket);

  // Takes effect at the next chunk. One thread at a time.
  void SetBudget(uint32_t max_pause_us, uint64_t max_bytes_per_s);
  TransferHistory& history() { return history_; }

 private:
  friend class TransferRun;

  // Errors: the reason that stops the transfer.
  absl::Status MayGoOn(const ObjectEntry& object, const TransferStop::Ticket& ticket) const;
  // Blocks for a moment while the source moves another object's range. Errors: as MayGoOn.
  absl::Status AwaitSource(const ObjectEntry& object, const TransferStop::Ticket& ticket);
  // Blocks while copies exceed their rate. Errors: as MayGoOn.
  absl::Status AwaitTurn(const ObjectEntry& object, const TransferStop::Ticket& ticket,
                         TransferKind kind);
  void Account(const routing::TransferStep& step);

  // Immutable after construction.
  Core& core_;
  StepSender& sender_;

  // Shared: written by SetBudget, read between chunks. relaxed: a chunk may still use the old
  // value.
  std::atomic<uint32_t> max_pause_us_{BalancerOptions{}.max_pause_us};

  TransferHistory history_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_MOVING_TRANSFER_EXECUTOR_H_
