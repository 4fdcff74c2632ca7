// Sorted rows, and limits.
#include <algorithm>
#include <array>
#include <utility>

#include "base/status_macros.h"
#include "storage/query/operators/sorted_rows.h"
#include "storage/query/rows/gather.h"
#include "storage/query/rows/row_sink.h"
#include "storage/query/step_run.h"

namespace eris::storage {
namespace {

constexpr uint32_t kRowsAtOnce = 2048;

class SortRun final : public StepRun {
 public:
  SortRun(const StepWorld& world, const SortStep& step, const EnvelopeList& input,
          EnvelopeList& rows)
      : input_(input),
        skip_(step.offset),
        left_(step.count),
        sink_(world.memory, rows, "sort"),
        sorted_(world.memory, input, step.keys, LimitOf(step)) {}

  absl::StatusOr<bool> Advance() override {
    if (freeing_) return sorted_.FreeSome();
    if (ready_) return Gather();
    switch (sorted_.Step()) {
      case StepResult::kNoMemory:
        return sink_.Refusal();
      case StepResult::kDone:
        ready_ = true;
        break;
      case StepResult::kMore:
        break;
    }
    return true;
  }

 private:
  static uint64_t LimitOf(const SortStep& step) {
    const uint64_t all = step.offset + step.count;
    return all < step.count ? kNoLimit : all;
  }

  // The next rows in order, from the one behind the offset on.
  absl::StatusOr<bool> Gather() {
    const uint32_t next = left_ > 0 ? sorted_.Read(numbers_.data(), kRowsAtOnce) : 0;
    if (next == 0) {
      ERIS_RETURN_IF_ERROR(sink_.Flush());
      freeing_ = true;
      return true;
    }
    const auto skipped = static_cast<uint32_t>(std::min<uint64_t>(skip_, next));
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(left_, next - skipped));
    skip_ -= skipped;
    left_ -= count;
    const RowNumber* const numbers = numbers_.data() + skipped;
    ERIS_RETURN_IF_ERROR(sink_.AddAll(count, [&](uint32_t done, ResultRows& out) {
      GatherRows(input_, numbers + done, count - done, out);
    }));
    return true;
  }

  const EnvelopeList& input_;
  uint64_t skip_;
  uint64_t left_;
  RowSink sink_;
  SortedRows sorted_;
  bool ready_ = false;
  bool freeing_ = false;
  std::array<RowNumber, kRowsAtOnce> numbers_{};
};

class LimitRun final : public StepRun {
 public:
  LimitRun(const StepWorld& world, const SortStep& step, const EnvelopeList& input,
           EnvelopeList& rows)
      : input_(input), skip_(step.offset), left_(step.count), sink_(world.memory, rows, "limit") {}

  absl::StatusOr<bool> Advance() override {
    if (left_ == 0 || envelope_ == input_.size()) {
      ERIS_RETURN_IF_ERROR(sink_.Flush());
      return false;
    }
    const SegmentView& view = input_[envelope_].view();
    const auto skipped = static_cast<uint32_t>(std::min<uint64_t>(skip_, view.rows - row_));
    skip_ -= skipped;
    row_ += skipped;
    const auto count =
        static_cast<uint32_t>(std::min<uint64_t>(left_, std::min(kRowsAtOnce, view.rows - row_)));
    ERIS_RETURN_IF_ERROR(sink_.AddAll(count, [&](uint32_t done, ResultRows& out) {
      AppendRange(view.columns, row_ + done, count - done, out);
    }));
    left_ -= count;
    row_ += count;
    if (row_ == view.rows) {
      ++envelope_;
      row_ = 0;
    }
    return true;
  }

 private:
  const EnvelopeList& input_;
  uint64_t skip_;
  uint64_t left_;
  RowSink sink_;
  // The row that comes next.
  uint32_t envelope_ = 0;
  uint32_t row_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StepRun>> NewSortRun(const StepWorld& world, const SortStep& step,
                                                    const EnvelopeList& input, EnvelopeList& rows) {
  if (step.keys.empty()) return std::make_unique<LimitRun>(world, step, input, rows);
  ERIS_RETURN_IF_ERROR(SortKeys::Check(input.columns(), step.keys));
  return std::make_unique<SortRun>(world, step, input, rows);
}

}  // namespace eris::storage
