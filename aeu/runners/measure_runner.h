// What the rows of an object take at this AEU, and how much of it lies on other NumaNodes: a walk
// over its ranges for operators, in slices. It trusts no account, so it tells whether everything
// that was to come home has done so. Owned by the AEU.
#ifndef ERIS_AEU_MEASURE_RUNNER_H_
#define ERIS_AEU_MEASURE_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aeu/runners/runner.h"
#include "aeu/state/acknowledgements.h"
#include "aeu/state/object_slot.h"
#include "aeu/state/range_walk.h"
#include "routing/data_command.h"
#include "storage/home_work.h"
#include "storage/key.h"

namespace eris::aeu {

class MeasureRunner final : public Runner {
 public:
  explicit MeasureRunner(Acknowledgements& acknowledgements)
      : acknowledgements_(acknowledgements) {}

  void Begin(const routing::CommandHeader* command, ObjectSlot* slot) override;
  void EndAll(const ObjectSlot* slot) override;
  bool Advance(uint64_t deadline_ns) override;
  bool Runnable() const override { return !running_.empty(); }
  size_t running() const override { return running_.size(); }

 private:
  // Blocks that a step visits. The deadline is looked at after each step.
  static constexpr int64_t kBlocksPerStep = 1024;

  struct Measurement {
    ObjectSlot* slot;
    routing::MeasureSegment segment;
    routing::CompletionFunction complete;
    routing::Reply* context;
    RangeWalk walk{};
  };

  void Answer(const Measurement& measurement, storage::KeyState state);

  Acknowledgements& acknowledgements_;
  std::vector<Measurement> running_;  // the first one advances
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_MEASURE_RUNNER_H_
