// A divided step at one AEU: makes tasks of what the AEU has, waits for the end of all tasks of all
// AEUs, and then hands out what the AEU's own step of them still has.
#include <algorithm>
#include <array>
#include <utility>

#include "base/status_macros.h"
#include "storage/query/divided_run.h"
#include "storage/query/part_tasks.h"

namespace eris::storage {
namespace {

class DividedRun final : public StepRun {
 public:
  DividedRun(QueryPart& part, StageTasks& all, size_t step, const EnvelopeList* input,
             std::unique_ptr<JoinBuild> build)
      : part_(part), all_(all), step_(step), input_(input), build_(std::move(build)) {}

  absl::StatusOr<bool> Advance() override {
    switch (phase_) {
      case Phase::kBuild:
        if (build_ == nullptr) {
          phase_ = Phase::kAdd;
          return true;
        }
        {
          ERIS_ASSIGN_OR_RETURN(const bool more, build_->Advance());
          if (more) return true;
        }
        part_.tasks().SetBuilt(step_, build_.get());
        phase_ = Phase::kAdd;
        return true;
      case Phase::kAdd:
        return AddSome();
      case Phase::kWait:
        if (!all_.HasEnded(step_)) return true;
        ERIS_RETURN_IF_ERROR(part_.tasks().error());
        phase_ = Phase::kFinish;
        return true;
      case Phase::kFinish:
        return Finish();
      case Phase::kFree:
        return build_ != nullptr && build_->FreeSome();
    }
    return false;
  }

  bool Waits() const override { return phase_ == Phase::kWait && !all_.HasEnded(step_); }

 private:
  enum class Phase : uint8_t { kBuild, kAdd, kWait, kFinish, kFree };
  static constexpr uint32_t kAddedAtOnce = 16;

  absl::StatusOr<bool> AddSome() {
    const bool whole = DivisionOf(all_.stage().tasks[step_]) == Division::kParts;
    const uint32_t count = input_ == nullptr ? 0 : whole ? 1 : input_->size();
    const uint32_t end = std::min(count, next_ + kAddedAtOnce);
    std::array<StepTask*, kAddedAtOnce> made{};
    uint32_t added = 0;
    for (uint32_t next = next_; next < end; ++next) {
      StepTask* const task = part_.tasks().New(all_, part_, step_);
      if (task == nullptr) return part_.memory().Refusal("tasks");
      if (whole) {
        task->SetList(input_);
      } else {
        task->SetEnvelope(&(*input_)[next], build_.get());
      }
      made[added++] = task;
    }
    next_ = end;
    all_.Add(step_, added);
    for (uint32_t i = 0; i < added; ++i) {
      all_.scheduler().Push(part_.self(), tasks::TaskKind::kDeferred, made[i]);
    }
    if (next_ < count) return true;
    part_.tasks().Arrive(all_, step_);
    phase_ = Phase::kWait;
    return true;
  }

  absl::StatusOr<bool> Finish() {
    PartTasks& tasks = part_.tasks();
    if (DivisionOf(all_.stage().tasks[step_]) != Division::kParts) {
      // Also if it has had no task: some steps hand out a row for none.
      ERIS_ASSIGN_OR_RETURN(EnvelopeStep* const step, tasks.StepOf(all_, part_, step_));
      ERIS_ASSIGN_OR_RETURN(const bool more, step->Finish());
      ERIS_RETURN_IF_ERROR(tasks.AddFollowers(all_, part_, step_));
      if (more) return true;
    }
    tasks.EndStep(step_);
    tasks.SetBuilt(step_, nullptr);
    phase_ = Phase::kFree;
    return true;
  }

  QueryPart& part_;
  StageTasks& all_;
  const size_t step_;
  const EnvelopeList* const input_;
  const std::unique_ptr<JoinBuild> build_;  // nullptr: no join
  Phase phase_ = Phase::kBuild;
  uint32_t next_ = 0;  // the task that is added next
};

}  // namespace

std::unique_ptr<StepRun> NewDividedRun(QueryPart& part, StageTasks& all, size_t step,
                                       const EnvelopeList* input,
                                       std::unique_ptr<JoinBuild> build) {
  return std::make_unique<DividedRun>(part, all, step, input, std::move(build));
}

}  // namespace eris::storage
