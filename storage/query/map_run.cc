// Filters, computed columns and groups of the rows of a set, by the kernels that do the same
// for tables.
#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "storage/query/envelope_step.h"
#include "storage/query/rows/row_sink.h"
#include "storage/query/step_run.h"
#include "storage/table/query/table_run.h"

namespace eris::storage {
namespace {

// Groups that are handed out at once.
constexpr uint32_t kGroupsAtOnce = 256;

class MapEnvelopes final : public EnvelopeStep {
 public:
  MapEnvelopes(const StepWorld& world, std::unique_ptr<TableRun> run, bool groups,
               EnvelopeList& rows)
      : run_(std::move(run)),
        groups_(groups),
        sink_(world.memory, rows, groups ? "grouping" : "projection") {}

  absl::Status Begin(const Envelope& envelope, const JoinBuild*) override {
    view_ = &envelope.view();
    at_ = 0;
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Advance() override {
    const SegmentView& view = *view_;
    const bool wanted = at_ > 0 || run_->BeginSegment(view);
    if (wanted && view.rows > 0) {
      Envelope* const out = groups_ ? nullptr : sink_.Open();
      if (!groups_ && out == nullptr) return sink_.Refusal();
      run_->SetBlockRows(piece_rows());
      switch (run_->RunBlock(at_, groups_ ? nullptr : &out->out())) {
        case TableRun::Outcome::kError:
          return run_->status();
        case TableRun::Outcome::kFull:
          ERIS_RETURN_IF_ERROR(sink_.Full());
          break;
        case TableRun::Outcome::kDone:
          if (!groups_) out->Count();
          break;
      }
    }
    return wanted && at_ < view.rows;
  }

  absl::StatusOr<bool> Finish() override {
    if (groups_) return FinishGroups();
    ERIS_RETURN_IF_ERROR(sink_.Flush());
    return false;
  }

 private:
  absl::StatusOr<bool> FinishGroups() {
    if (!finished_) {
      if (run_->FinishSome(piece_rows())) return true;
      ERIS_ASSIGN_OR_RETURN(group_count_, run_->FinishGroups(TableRun::Order::kAny));
      finished_ = true;
      return true;
    }
    if (next_group_ == group_count_) {
      if (run_->FreeSome()) return true;
      ERIS_RETURN_IF_ERROR(sink_.Flush());
      return false;
    }
    Envelope* const out = sink_.Open();
    if (out == nullptr) return sink_.Refusal();
    ResultRows& rows = out->out();
    const uint32_t capacity = rows.capacity;
    rows.capacity = std::min(capacity, rows.rows + kGroupsAtOnce);
    run_->TakeGroups(next_group_, rows);
    const bool full = next_group_ < group_count_ && rows.rows < rows.capacity;  // of strings
    rows.capacity = capacity;
    out->Count();
    if (full || (rows.rows == capacity && next_group_ < group_count_)) {
      ERIS_RETURN_IF_ERROR(sink_.Full());
    }
    return true;
  }

  const std::unique_ptr<TableRun> run_;
  const bool groups_;
  RowSink sink_;
  const SegmentView* view_ = nullptr;  // of the envelope
  uint32_t at_ = 0;                    // its row that comes next
  bool finished_ = false;
  uint64_t group_count_ = 0;
  uint64_t next_group_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EnvelopeStep>> NewEnvelopeStep(const StepWorld& world,
                                                              const MapTask& task,
                                                              EnvelopeList& rows) {
  ERIS_ASSIGN_OR_RETURN(
      auto run, TableRun::Create(task.plan, world.run_memory, kNoGroupLimits, &world.group_pages));
  return std::make_unique<MapEnvelopes>(world, std::move(run), task.plan->aggregates(), rows);
}

std::unique_ptr<StepRun> NewGroupsRun(const StepWorld& world, std::unique_ptr<TableRun> run,
                                      EnvelopeList& rows) {
  // The run has had its rows.
  return NewListRun(std::make_unique<MapEnvelopes>(world, std::move(run), /*groups=*/true, rows),
                    nullptr);
}

}  // namespace eris::storage
