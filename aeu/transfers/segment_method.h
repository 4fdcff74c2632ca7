// Segments of a heap table change hands whole, and no row is touched. It is how its parts are
// linked inside a NumaNode, and how they leap to another one: then their memory follows
// (homecoming.h). Refused while a snapshot is held, and where no segment has as few rows as are to
// leave: such rows are copied. Owned by the AEU. Paper: ERIS 3.3.2; docs/internals/tables.md.
#ifndef ERIS_AEU_SEGMENT_METHOD_H_
#define ERIS_AEU_SEGMENT_METHOD_H_

#include "aeu/transfers/slot_ranges.h"
#include "aeu/transfers/transfer_host.h"
#include "aeu/transfers/transfer_method.h"
#include "storage/snapshot_view.h"

namespace eris::aeu {

class SegmentMethod final : public TransferMethod {
 public:
  // All outlive it. `snapshots` is the turn's view.
  SegmentMethod(TransferHost& host, const storage::SnapshotView& snapshots)
      : host_(host), snapshots_(snapshots) {}

  absl::Status Check(const ObjectSlot&) const override { return absl::OkStatus(); }
  absl::Status CutOff(ObjectSlot& slot, OwnedRange& owned, const storage::Range& given,
                      routing::TransferStep& step, storage::Partition*& lender) override;
  absl::Status TakeIn(ObjectSlot& slot, routing::TransferStep& step) override;
  void Conclude(ObjectSlot& slot, routing::TransferStep& step, storage::Partition* lender,
                bool installed) override;

 private:
  // Its rows have changed.
  void Settle(OwnedRange& owned);

  TransferHost& host_;
  const storage::SnapshotView& snapshots_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_SEGMENT_METHOD_H_
