// Link: the subtree moves to another AEU, and no row is touched. A leap is one to another NumaNode,
// after which the memory follows (homecoming.h). For indexes. Owned by the AEU. Paper: ERIS 3.3.2.
#ifndef ERIS_AEU_LINK_METHOD_H_
#define ERIS_AEU_LINK_METHOD_H_

#include "aeu/transfers/slot_ranges.h"
#include "aeu/transfers/transfer_host.h"
#include "aeu/transfers/transfer_method.h"
#include "storage/snapshot_view.h"

namespace eris::aeu {

class LinkMethod final : public TransferMethod {
 public:
  // All outlive it. `snapshots` is the turn's view.
  LinkMethod(TransferHost& host, SlotRanges& ranges, const storage::SnapshotView& snapshots)
      : host_(host), ranges_(ranges), snapshots_(snapshots) {}

  absl::Status Check(const ObjectSlot& slot) const override;
  absl::Status CutOff(ObjectSlot& slot, OwnedRange& owned, const storage::Range& given,
                      routing::TransferStep& step, storage::Partition*& lender) override;
  absl::Status TakeIn(ObjectSlot& slot, routing::TransferStep& step) override;
  void Conclude(ObjectSlot& slot, routing::TransferStep& step, storage::Partition* lender,
                bool installed) override;

 private:
  // The partition's own fields lie where the source's thread has allocated them: another object, of
  // this thread's memory, takes everything over.
  void MoveObject(ObjectSlot& slot, routing::TransferStep& step);

  TransferHost& host_;
  SlotRanges& ranges_;
  const storage::SnapshotView& snapshots_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_LINK_METHOD_H_
