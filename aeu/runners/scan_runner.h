// The scans and aggregates that one AEU is running, advanced in slices so that point commands never
// wait longer than a slice. A part without an empty chunk pauses and costs nothing. So does a part
// at a range that is moving to another AEU, until its new owner is known. Owned by the AEU. Paper:
// ERIS 3.1.
#ifndef ERIS_AEU_SCAN_RUNNER_H_
#define ERIS_AEU_SCAN_RUNNER_H_

#include <cstdint>
#include <vector>

#include "aeu/runners/runner.h"
#include "aeu/state/acknowledgements.h"
#include "aeu/state/load_counters.h"
#include "aeu/state/object_slot.h"
#include "routing/data_command.h"
#include "routing/scan_part.h"
#include "routing/snapshot_registry.h"
#include "storage/scan.h"

namespace eris::aeu {

class ScanRunner final : public Runner {
 public:
  ScanRunner(Acknowledgements& acknowledgements, LoadCounters& counters,
             routing::SnapshotRegistry& snapshots)
      : acknowledgements_(acknowledgements), counters_(counters), snapshots_(snapshots) {}

  void Begin(const routing::CommandHeader* command, ObjectSlot* slot) override;
  void EndAll(const ObjectSlot* slot) override;
  bool Advance(uint64_t deadline_ns) override;
  bool Runnable() const override;
  size_t running() const override { return scans_.size(); }

 private:
  struct RunningScan {
    ObjectSlot* slot = nullptr;
    storage::Range asked;
    uint64_t rows_asked = 0;
    storage::ScanCursor cursor;
    bool aggregate = false;
    routing::ScanPart* part = nullptr;
    routing::ScanChunkBuffer* chunk = nullptr;  // the one being filled
    routing::CompletionFunction complete = nullptr;
    routing::Reply* context = nullptr;
  };
  // Whether the scan's next row is in a range that is moving.
  static bool Waits(const RunningScan& scan);
  // True if the scan has ended.
  bool AdvanceOne(RunningScan& scan, uint64_t deadline_ns, bool& moved);
  // One slice in a range that contains the near end of the scan's rest; advances the rest.
  void RunSlice(OwnedRange& owned, uint64_t deadline_ns, RunningScan& scan);
  void Deliver(RunningScan& scan);
  void Finish(RunningScan& scan, routing::PartOutcome outcome,
              std::optional<storage::Range> rest = std::nullopt);

  Acknowledgements& acknowledgements_;
  LoadCounters& counters_;
  routing::SnapshotRegistry& snapshots_;
  std::vector<RunningScan> scans_;
  size_t next_ = 0;  // index of the next one to advance
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_SCAN_RUNNER_H_
