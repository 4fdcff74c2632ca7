// How one kind of transfer does its work at source and target. TransferRunner has the protocol that
// all kinds share: who is asked, when it may be, what is sent and answered. A new kind is a class
// here and a line in TransferRunner::MethodOf. Owned by the AEU. Paper: ERIS 3.3.2.
#ifndef ERIS_AEU_TRANSFER_METHOD_H_
#define ERIS_AEU_TRANSFER_METHOD_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aeu/state/clock.h"
#include "aeu/state/object_slot.h"
#include "routing/transfer_step.h"
#include "storage/key.h"
#include "storage/partition.h"

namespace eris::aeu {

// What a turn spends on transfers, and may.
struct TransferTurn {
  static constexpr uint64_t kCpuNsMax = 200'000;  // where no step has said

  bool stepped = false;             // it has done a piece of a step: nothing else is added
  uint64_t cpu_ns_max = kCpuNsMax;  // as the last step said
  WorkClock clock = ThreadCpuNs;    // by which what follows a step is paced
};

class TransferMethod {
 public:
  virtual ~TransferMethod() = default;

  // Whether the object's ranges can move so. Errors: InvalidArgument.
  virtual absl::Status Check(const ObjectSlot& slot) const = 0;
  // Which end of what is to leave goes first.
  virtual storage::Partition::End NearEnd(const routing::TransferStep& step) const = 0;

  // The source, in each turn until it says true: the range may be cut off in this turn. Errors:
  // ResourceExhausted; the rows are served as before.
  virtual absl::StatusOr<bool> Prepare(ObjectSlot& slot, storage::Partition& partition,
                                       const storage::Range& given,
                                       const routing::TransferStep& step) = 0;
  // The source: takes `given`, or a part of it, off `owned` and puts it into the step. Room for the
  // ranges that this adds has been made. `lender`: the partition whose rows stay until the
  // conclusion; nullptr: none do. Errors: ResourceExhausted, and those of the partition; every row
  // is where it was then, perhaps in more ranges. May throw std::bad_alloc, with nothing changed.
  virtual absl::Status CutOff(ObjectSlot& slot, OwnedRange& owned, const storage::Range& given,
                              routing::TransferStep& step, storage::Partition*& lender) = 0;
  // The target: takes in what the step has. Errors: as CutOff; nothing has changed then.
  virtual absl::Status TakeIn(ObjectSlot& slot, routing::TransferStep& step) = 0;
  // The source hears how it ended: the target has the range, or it comes back. Never fails.
  virtual void Conclude(ObjectSlot& slot, routing::TransferStep& step, storage::Partition* lender,
                        bool installed) = 0;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_TRANSFER_METHOD_H_
