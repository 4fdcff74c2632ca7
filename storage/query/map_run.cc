// Filters, computed columns and groups of the rows of a set, by the kernels that do the same
// for tables.
#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "storage/query/rows/row_sink.h"
#include "storage/query/step_run.h"
#include "storage/table/query/table_run.h"

namespace eris::storage {
namespace {

// Groups that are handed out at once.
constexpr uint32_t kGroupsAtOnce = 256;

class MapRun final : public StepRun {
 public:
  MapRun(const StepWorld& world, std::unique_ptr<TableRun> run, bool groups,
         const EnvelopeList* input, EnvelopeList& rows)
      : run_(std::move(run)),
        groups_(groups),
        input_(input),
        sink_(world.memory, rows, groups ? "grouping" : "projection") {}

  absl::StatusOr<bool> Advance() override {
    if (input_ != nullptr && envelope_ < input_->size()) return AdvanceBlock();
    if (!groups_) {
      ERIS_RETURN_IF_ERROR(sink_.Flush());
      return false;
    }
    return AdvanceGroups();
  }

 private:
  absl::StatusOr<bool> AdvanceBlock() {
    const SegmentView& view = (*input_)[envelope_].view();
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
    if (!wanted || at_ >= view.rows) {
      ++envelope_;
      at_ = 0;
    }
    return true;
  }

  absl::StatusOr<bool> AdvanceGroups() {
    if (!finished_) {
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
  const EnvelopeList* const input_;  // nullptr: the run has had its rows
  RowSink sink_;
  // The row that comes next.
  uint32_t envelope_ = 0;
  uint32_t at_ = 0;
  bool finished_ = false;
  uint64_t group_count_ = 0;
  uint64_t next_group_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StepRun>> NewMapRun(const StepWorld& world,
                                                   std::shared_ptr<const TablePlan> plan,
                                                   const EnvelopeList& input, EnvelopeList& rows) {
  const bool groups = plan->aggregates();
  ERIS_ASSIGN_OR_RETURN(auto run, TableRun::Create(std::move(plan), world.run_memory,
                                                   kNoGroupLimits, &world.group_pages));
  return std::make_unique<MapRun>(world, std::move(run), groups, &input, rows);
}

std::unique_ptr<StepRun> NewGroupsRun(const StepWorld& world, std::unique_ptr<TableRun> run,
                                      EnvelopeList& rows) {
  return std::make_unique<MapRun>(world, std::move(run), /*groups=*/true, nullptr, rows);
}

}  // namespace eris::storage
