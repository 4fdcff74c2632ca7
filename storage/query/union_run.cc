// The rows of several inputs, one input after the other.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "storage/query/rows/gather.h"
#include "storage/query/rows/row_sink.h"
#include "storage/query/step_run.h"

namespace eris::storage {
namespace {

constexpr uint32_t kUnionRowsAtOnce = 2048;

class UnionRun final : public StepRun {
 public:
  UnionRun(const StepWorld& world, const UnionStep& step, std::vector<const EnvelopeList*> inputs,
           EnvelopeList& rows)
      : inputs_(std::move(inputs)), sink_(world.memory, rows, "union") {
    for (const UnionStep::Input& input : step.inputs) picks_.push_back(input.columns);
  }

  absl::StatusOr<bool> Advance() override {
    while (input_ < inputs_.size() && envelope_ == inputs_[input_]->size()) {
      ++input_;
      envelope_ = 0;
    }
    if (input_ == inputs_.size()) {
      ERIS_RETURN_IF_ERROR(sink_.Flush());
      return false;
    }
    const SegmentView& view = (*inputs_[input_])[envelope_].view();
    columns_.clear();
    for (const uint32_t column : picks_[input_]) columns_.push_back(view.columns[column]);
    const uint32_t count = std::min(kUnionRowsAtOnce, view.rows - row_);
    ERIS_RETURN_IF_ERROR(sink_.AddAll(count, [&](uint32_t done, ResultRows& out) {
      AppendRange(columns_, row_ + done, count - done, out);
    }));
    row_ += count;
    if (row_ == view.rows) {
      ++envelope_;
      row_ = 0;
    }
    return true;
  }

 private:
  const std::vector<const EnvelopeList*> inputs_;
  std::vector<std::vector<uint32_t>> picks_;  // the columns of each input
  RowSink sink_;
  std::vector<SegmentColumn> columns_;  // those of the envelope
  // The row that comes next.
  size_t input_ = 0;
  uint32_t envelope_ = 0;
  uint32_t row_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StepRun>> NewUnionRun(const StepWorld& world, const UnionStep& step,
                                                     std::vector<const EnvelopeList*> inputs,
                                                     EnvelopeList& rows) {
  return std::make_unique<UnionRun>(world, step, std::move(inputs), rows);
}

}  // namespace eris::storage
