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

// The rows of the step, by number, from the one behind `offset` on.
class OrderedRun : public StepRun {
 public:
  OrderedRun(const StepWorld& world, const SortStep& step, const EnvelopeList& input,
             EnvelopeList& rows)
      : input_(input),
        skip_(step.offset),
        left_(step.count),
        sink_(world.memory, rows, step.keys.empty() ? "limit" : "sort") {}

 protected:
  // The next rows in order; 0: there are no more.
  virtual uint32_t Next(RowNumber* numbers, uint32_t max) = 0;

  absl::StatusOr<bool> Gather() {
    const uint32_t next = left_ > 0 ? Next(numbers_.data(), kRowsAtOnce) : 0;
    if (next == 0) {
      ERIS_RETURN_IF_ERROR(sink_.Flush());
      return false;
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
  RowSink& sink() { return sink_; }

 private:
  uint64_t skip_;
  uint64_t left_;
  RowSink sink_;
  std::array<RowNumber, kRowsAtOnce> numbers_{};
};

class SortRun final : public OrderedRun {
 public:
  SortRun(const StepWorld& world, const SortStep& step, const EnvelopeList& input,
          EnvelopeList& rows)
      : OrderedRun(world, step, input, rows),
        sorted_(world.memory, input, step.keys, LimitOf(step)) {}

  absl::StatusOr<bool> Advance() override {
    if (ready_) return Gather();
    switch (sorted_.Step()) {
      case StepResult::kNoMemory:
        return sink().Refusal();
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
  uint32_t Next(RowNumber* numbers, uint32_t max) override { return sorted_.Read(numbers, max); }

  SortedRows sorted_;
  bool ready_ = false;
};

class LimitRun final : public OrderedRun {
 public:
  using OrderedRun::OrderedRun;
  absl::StatusOr<bool> Advance() override { return Gather(); }

 private:
  uint32_t Next(RowNumber* numbers, uint32_t max) override {
    while (envelope_ < input_.size() && row_ == input_[envelope_].rows()) {
      ++envelope_;
      row_ = 0;
    }
    if (envelope_ == input_.size()) return 0;
    const uint32_t count = std::min(max, input_[envelope_].rows() - row_);
    for (uint32_t i = 0; i < count; ++i) numbers[i] = RowNumberOf(envelope_, row_ + i);
    row_ += count;
    return count;
  }

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
