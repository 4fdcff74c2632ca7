// Copies the rows of envelopes, one envelope after the other: from the memory of other NumaNodes.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "storage/query/rows/gather.h"
#include "storage/query/rows/row_sink.h"
#include "storage/query/step_run.h"

namespace eris::storage {
namespace {

class CopyRun final : public StepRun {
 public:
  CopyRun(const StepWorld& world, std::vector<const Envelope*> envelopes, EnvelopeList& rows)
      : envelopes_(std::move(envelopes)), sink_(world.memory, rows, "exchange") {}

  absl::StatusOr<bool> Advance() override {
    if (envelope_ == envelopes_.size()) {
      ERIS_RETURN_IF_ERROR(sink_.Flush());
      return false;
    }
    const SegmentView& view = envelopes_[envelope_]->view();
    const uint32_t count = std::min(piece_rows(), view.rows - row_);
    ERIS_RETURN_IF_ERROR(sink_.AddAll(count, [&](uint32_t done, ResultRows& out) {
      AppendRange(view.columns, row_ + done, count - done, out);
    }));
    row_ += count;
    if (row_ == view.rows) {
      ++envelope_;
      row_ = 0;
    }
    return true;
  }

 private:
  const std::vector<const Envelope*> envelopes_;
  RowSink sink_;
  // The row that comes next.
  size_t envelope_ = 0;
  uint32_t row_ = 0;
};

}  // namespace

std::unique_ptr<StepRun> NewCopyRun(const StepWorld& world, std::vector<const Envelope*> envelopes,
                                    EnvelopeList& rows) {
  return std::make_unique<CopyRun>(world, std::move(envelopes), rows);
}

}  // namespace eris::storage
