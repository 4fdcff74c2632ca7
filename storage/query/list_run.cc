// A step for the envelopes of a list, one after the other.
#include <utility>

#include "base/status_macros.h"
#include "storage/query/envelope_step.h"

namespace eris::storage {
namespace {

class ListRun final : public StepRun {
 public:
  ListRun(std::unique_ptr<EnvelopeStep> step, const EnvelopeList* input, const JoinBuild* build)
      : step_(std::move(step)), input_(input), build_(build) {}

  absl::StatusOr<bool> Advance() override {
    step_->SetPieceRows(piece_rows());
    if (input_ == nullptr || next_ == input_->size()) return step_->Finish();
    if (!within_) ERIS_RETURN_IF_ERROR(step_->Begin((*input_)[next_], build_));
    ERIS_ASSIGN_OR_RETURN(within_, step_->Advance());
    if (!within_) ++next_;
    return true;
  }

 private:
  const std::unique_ptr<EnvelopeStep> step_;
  const EnvelopeList* const input_;
  const JoinBuild* const build_;
  uint32_t next_ = 0;    // envelope
  bool within_ = false;  // it has begun
};

}  // namespace

std::unique_ptr<StepRun> NewListRun(std::unique_ptr<EnvelopeStep> step, const EnvelopeList* input,
                                    const JoinBuild* build) {
  return std::make_unique<ListRun>(std::move(step), input, build);
}

}  // namespace eris::storage
