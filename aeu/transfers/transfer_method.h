// How one kind of transfer works at source and target. TransferRunner has the protocol that all
// kinds share: requests, permissions, messages and answers. A new kind is a class here and a line
// in TransferRunner::MethodOf. Owned by the AEU. Paper: ERIS 3.3.2.
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

// The time that a turn spends, and may spend, on transfers.
struct TransferTurn {
  static constexpr uint64_t kCpuNsMax = 200'000;  // if no step has set it

  bool stepped = false;             // it has done a piece of a step: no other work is added
  uint64_t cpu_ns_max = kCpuNsMax;  // set by the last step
  WorkClock clock = ThreadCpuNs;    // paces the work after a step
};

class TransferMethod {
 public:
  virtual ~TransferMethod() = default;

  // Whether the object's ranges can move in this way. Errors: InvalidArgument.
  virtual absl::Status Check(const ObjectSlot& slot) const = 0;
  // Which end of the leaving range goes first. The default is for kinds whose range goes at once.
  virtual storage::Partition::End NearEnd(const routing::TransferStep&) const {
    return storage::Partition::End::kLow;
  }

  // For the source, called in each turn until it returns true: the range may be cut off in this
  // turn. Errors: ResourceExhausted; the rows are served as before. The default is for kinds that
  // make nothing ready.
  virtual absl::StatusOr<bool> Prepare(ObjectSlot&, storage::Partition&, const storage::Range&,
                                       const routing::TransferStep&) {
    return true;
  }
  // For the source: cuts `given`, or a part of it, off `owned` and puts it into the step. Room for
  // the additional ranges has been reserved. `lender`: the partition whose rows stay until the
  // conclusion; nullptr: none. Errors: ResourceExhausted, and those of the partition; then every
  // row is in its place, perhaps in more ranges. May throw std::bad_alloc, with nothing changed.
  virtual absl::Status CutOff(ObjectSlot& slot, OwnedRange& owned, const storage::Range& given,
                              routing::TransferStep& step, storage::Partition*& lender) = 0;
  // For the target: takes in the content of the step. Errors: as CutOff; then nothing has changed.
  virtual absl::Status TakeIn(ObjectSlot& slot, routing::TransferStep& step) = 0;
  // Tells the source how it ended: the target has the range, or it comes back. Never fails.
  virtual void Conclude(ObjectSlot& slot, routing::TransferStep& step, storage::Partition* lender,
                        bool installed) = 0;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_TRANSFER_METHOD_H_
