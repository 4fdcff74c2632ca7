// Link: the subtree moves to another AEU, and no row is touched. A leap is one to another NumaNode,
// after which the memory follows (homecoming.h). For indexes. Owned by the AEU. Paper: ERIS 3.3.2.
#ifndef ERIS_AEU_LINK_METHOD_H_
#define ERIS_AEU_LINK_METHOD_H_

#include "aeu/transfers/slot_ranges.h"
#include "aeu/transfers/transfer_host.h"
#include "aeu/transfers/transfer_method.h"

namespace eris::aeu {

class LinkMethod final : public TransferMethod {
 public:
  LinkMethod(TransferHost& host, SlotRanges& ranges) : host_(host), ranges_(ranges) {}

  absl::Status Check(const ObjectSlot& slot) const override;
  storage::Partition::End NearEnd(const routing::TransferStep&) const override {
    return storage::Partition::End::kLow;
  }
  absl::StatusOr<bool> Prepare(ObjectSlot&, storage::Partition&, const storage::Range&,
                               const routing::TransferStep&) override {
    return true;
  }
  absl::Status CutOff(ObjectSlot& slot, OwnedRange& owned, const storage::Range& given,
                      routing::TransferStep& step, storage::Partition*& lender) override;
  absl::Status TakeIn(ObjectSlot& slot, routing::TransferStep& step) override;
  void Conclude(ObjectSlot& slot, routing::TransferStep& step, storage::Partition* lender,
                bool installed) override;

 private:
  TransferHost& host_;
  SlotRanges& ranges_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_LINK_METHOD_H_
