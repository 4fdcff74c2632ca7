// Copy: rows are lent to the target chunk by chunk, and forgotten here, piece by piece, once the
// target has them. For every kind of object. A hash prepares the rows of a chunk over several
// turns; prepared rows that are not requested stay, and are taken back in the same way. Owned by
// the AEU. Paper: ERIS 3.3.2; docs/internals/balancing.md.
#ifndef ERIS_AEU_COPY_METHOD_H_
#define ERIS_AEU_COPY_METHOD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "aeu/transfers/slot_ranges.h"
#include "aeu/transfers/transfer_host.h"
#include "aeu/transfers/transfer_method.h"
#include "storage/snapshot_view.h"

namespace eris::aeu {

class CopyMethod final : public TransferMethod {
 public:
  // Rows that a turn forgets, with and without other work: mostly whole blocks.
  static constexpr uint32_t kForgottenPerTurn = 1024;
  static constexpr uint32_t kForgottenPerIdleTurn = 8192;
  // The most rows that a turn walks over while a hash prepares rows to leave.
  static constexpr uint32_t kWalkedPerTurn = 8192;

  // All outlive it. `snapshots` is the turn's view.
  CopyMethod(TransferHost& host, SlotRanges& ranges, const storage::SnapshotView& snapshots,
             TransferTurn& turn)
      : host_(host), ranges_(ranges), snapshots_(snapshots), turn_(turn) {}

  absl::Status Check(const ObjectSlot&) const override { return absl::OkStatus(); }
  storage::Partition::End NearEnd(const routing::TransferStep& step) const override {
    return step.from;
  }
  absl::StatusOr<bool> Prepare(ObjectSlot& slot, storage::Partition& partition,
                               const storage::Range& given,
                               const routing::TransferStep& step) override;
  absl::Status CutOff(ObjectSlot& slot, OwnedRange& owned, const storage::Range& given,
                      routing::TransferStep& step, storage::Partition*& lender) override;
  absl::Status TakeIn(ObjectSlot& slot, routing::TransferStep& step) override;
  void Conclude(ObjectSlot& slot, routing::TransferStep& step, storage::Partition* lender,
                bool installed) override;

  // The object is being dropped: stops forgetting its rows or taking them back.
  void EndAll(const ObjectSlot* slot);
  // So that no conclusion needs memory. Throws std::bad_alloc.
  void Reserve();

  // Frees a piece of the rows that have been given away, bounded in rows and in time.
  void Forget(uint32_t rows_max);
  // Whether there are such rows. A range that lends has none: chunks wait for that.
  bool forgets() const { return !forgetting_.empty(); }
  // Moves the most expensive slice of forgetting since the last call to the step's figures.
  void TakeForgetCost(routing::TransferStep& step);

  // From now on prepared rows are served as before. Errors: ResourceExhausted.
  absl::Status BeginReleasing(ObjectSlot& slot);
  // Takes back a bounded piece of them.
  void Release();
  bool releases() const { return !releasing_.empty(); }

 private:
  struct Forgetting {
    ObjectSlot* slot;
    storage::Partition* partition;
  };

  // Ingests into an existing range; returns its index. nullopt: none touches the chunk.
  absl::StatusOr<std::optional<size_t>> IngestBeside(ObjectSlot& slot,
                                                     const storage::ExchangeChunk& chunk);
  void BeginForgetting(ObjectSlot& slot, OwnedRange& owned);
  void EndForgetting(ObjectSlot& slot, OwnedRange& owned);

  TransferHost& host_;
  SlotRanges& ranges_;
  const storage::SnapshotView& snapshots_;
  TransferTurn& turn_;
  std::vector<Forgetting> forgetting_;  // oldest first
  std::vector<ObjectSlot*> releasing_;  // likewise
  uint64_t forget_cpu_ns_ = 0;
  uint64_t forget_wall_ns_ = 0;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_COPY_METHOD_H_
