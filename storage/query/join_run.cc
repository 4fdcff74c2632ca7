// A join: puts one side into a table, then reads the other one block by block.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/query/operators/join_probe.h"
#include "storage/query/operators/join_table.h"
#include "storage/query/pair_columns.h"
#include "storage/query/pair_filter.h"
#include "storage/query/rows/row_sink.h"
#include "storage/query/step_run.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {
namespace {

constexpr uint64_t kHashSeed = 0x5851'f42d'4c95'7f2d;

class JoinRun final : public StepRun {
 public:
  JoinRun(const StepWorld& world, const JoinStep& step, const EnvelopeList& build,
          const EnvelopeList& probe, std::vector<JoinKey> keys, std::vector<PairColumn> columns,
          std::unique_ptr<PairFilter> filter, EnvelopeList& rows)
      : memory_(world.memory),
        type_(step.type),
        build_(build),
        input_(probe),
        keys_(std::move(keys)),
        columns_(std::move(columns)),
        filter_(std::move(filter)),
        sink_(world.memory, rows, "join") {
    if (!keys_.empty()) table_.emplace(memory_, build_, keys_, kHashSeed);
  }

  absl::StatusOr<bool> Advance() override {
    if (!built_) return AdvanceBuild();
    if (envelope_ == input_.size()) {
      ERIS_RETURN_IF_ERROR(sink_.Flush());
      probe_.reset();
      return table_ && table_->FreeSome();
    }
    const SegmentView& view = input_[envelope_].view();
    if (!within_) rows_ = std::min(piece_rows(), view.rows - base_);
    ERIS_ASSIGN_OR_RETURN(const bool done, AdvanceBlock(view));
    if (!done) return true;
    within_ = false;
    base_ += rows_;
    if (base_ >= view.rows) {
      ++envelope_;
      base_ = 0;
    }
    return true;
  }

 private:
  bool OnlyProbe() const { return type_ == JoinType::kSemi || type_ == JoinType::kAnti; }

  absl::StatusOr<bool> AdvanceBuild() {
    if (!table_) {
      if (build_.rows() > 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("a join without keys has ", build_.rows(),
                         " rows on its right side, at most one: give it keys that are equal"));
      }
      built_ = true;
      return true;
    }
    switch (table_->Build()) {
      case StepResult::kNoMemory:
        return sink_.Refusal();
      case StepResult::kMore:
        return true;
      case StepResult::kDone:
        break;
    }
    probe_.emplace(*table_, memory_);
    if (!probe_->Prepare()) return sink_.Refusal();
    built_ = true;
    return true;
  }

  // True: the block has been read.
  absl::StatusOr<bool> AdvanceBlock(const SegmentView& view) {
    if (OnlyProbe() && filter_ == nullptr) {
      SetAll(kept_.data());
      Keep(view);
      ERIS_RETURN_IF_ERROR(AddKept(view));
      return true;
    }
    if (!within_) {
      BeginPairs(view);
      matched_.fill(0);
      within_ = true;
    }
    RowPairs pairs{.probe = picks_.data(),
                   .build = numbers_.data(),
                   .capacity = std::max(piece_rows(), rows_)};
    const bool last = NextPairs(pairs);
    if (filter_ != nullptr) ERIS_RETURN_IF_ERROR(Filter(view, pairs));
    if (!OnlyProbe())
      ERIS_RETURN_IF_ERROR(AddPairs(view, picks_.data(), numbers_.data(), pairs.count));
    if (!last) return false;
    if (filter_ == nullptr || type_ == JoinType::kInner) return true;
    // The rows without a partner, or for a semi join those with one.
    const bool with = type_ == JoinType::kSemi;
    SetAll(kept_.data());
    for (uint32_t w = 0; w < kBlockWords; ++w) kept_[w] &= with ? matched_[w] : ~matched_[w];
    ERIS_RETURN_IF_ERROR(AddKept(view));
    return true;
  }

  void SetAll(uint64_t* mask) const {
    std::fill_n(mask, kBlockWords, 0);
    for (uint32_t w = 0; w * 64 < rows_; ++w) {
      const uint32_t rest = rows_ - w * 64;
      mask[w] = rest >= 64 ? ~uint64_t{0} : (uint64_t{1} << rest) - 1;
    }
  }

  void Keep(const SegmentView& view) {
    const bool with = type_ == JoinType::kSemi;
    if (probe_) {
      probe_->Keep(view, base_, rows_, kept_.data(), with);
    } else if ((build_.rows() > 0) != with) {
      kept_.fill(0);
    }
  }

  // Whether rows without a partner come as pairs, too.
  bool PairsOfAll() const { return type_ == JoinType::kLeft && filter_ == nullptr; }
  void BeginPairs(const SegmentView& view) {
    if (!probe_) return;
    probe_->Begin(view, base_, rows_,
                  PairsOfAll() ? JoinProbe::Rows::kAllOfProbe : JoinProbe::Rows::kPartners);
  }
  bool NextPairs(RowPairs& pairs) {
    if (probe_ && OnlyProbe()) return probe_->NextOfUnmatched(matched_.data(), pairs);
    if (probe_) return probe_->Next(pairs);
    // Without keys the only row of the other side, if there is one, is everybody's partner.
    if (build_.rows() == 0 && !PairsOfAll()) return true;
    const RowNumber partner = build_.rows() == 0 ? kNoRow : FirstRow();
    for (uint32_t i = 0; i < rows_; ++i) {
      pairs.probe[i] = static_cast<uint16_t>(i);
      pairs.build[i] = partner;
    }
    pairs.count = rows_;
    return true;
  }
  RowNumber FirstRow() const {
    uint32_t envelope = 0;
    while (build_[envelope].rows() == 0) ++envelope;
    return RowNumberOf(envelope, 0);
  }

  // Leaves the pairs for which the condition is true, and notes whose they are.
  absl::Status Filter(const SegmentView& view, RowPairs& pairs) {
    const PairRows all{view, base_, build_, pairs.probe, pairs.build, pairs.count};
    uint32_t count = 0;
    ERIS_RETURN_IF_ERROR(filter_->Run(all, passed_.data(), count));
    for (uint32_t i = 0; i < count; ++i) {
      const uint16_t pick = pairs.probe[passed_[i]];
      pairs.probe[i] = pick;
      pairs.build[i] = pairs.build[passed_[i]];
      matched_[pick / 64] |= uint64_t{1} << pick % 64;
    }
    pairs.count = count;
    return absl::OkStatus();
  }

  // Adds the rows of kept_, without a partner.
  absl::Status AddKept(const SegmentView& view) {
    const uint32_t count = PickRows(kept_.data(), rows_, picks_.data());
    numbers_.fill(kNoRow);
    return AddPairs(view, picks_.data(), numbers_.data(), count);
  }

  absl::Status AddPairs(const SegmentView& view, const uint16_t* picks, const RowNumber* numbers,
                        uint32_t count) {
    return sink_.AddAll(count, [&](uint32_t done, ResultRows& out) {
      const PairRows rest{view, base_, build_, picks + done, numbers + done, count - done};
      out.rows += AppendPairs(rest, columns_, out);
    });
  }

  QueryMemory& memory_;
  const JoinType type_;
  const EnvelopeList& build_;
  const EnvelopeList& input_;
  const std::vector<JoinKey> keys_;
  const std::vector<PairColumn> columns_;
  const std::unique_ptr<PairFilter> filter_;  // nullptr: no condition
  RowSink sink_;
  std::optional<JoinTable> table_;  // none: no keys
  std::optional<JoinProbe> probe_;
  bool built_ = false;
  // The block that comes next, and whether some of its pairs have been read.
  uint32_t envelope_ = 0;
  uint32_t base_ = 0;
  uint32_t rows_ = 0;
  bool within_ = false;
  std::array<uint64_t, kBlockWords> matched_{};
  std::array<uint64_t, kBlockWords> kept_{};
  std::array<uint16_t, kBlockRows> picks_;
  std::array<uint16_t, kBlockRows> passed_;
  std::array<RowNumber, kBlockRows> numbers_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StepRun>> NewJoinRun(const StepWorld& world, const JoinTask& task,
                                                    const EnvelopeList& left,
                                                    const EnvelopeList& right, EnvelopeList& rows) {
  const JoinStep& step = task.step;
  const bool swapped = task.builds_left;
  const auto left_columns = static_cast<uint32_t>(task.left_schema.columns.size());
  std::vector<PairColumn> both;
  std::vector<ColumnSchema> schemas = task.left_schema.columns;
  schemas.insert(schemas.end(), task.right_schema.columns.begin(), task.right_schema.columns.end());
  for (uint32_t i = 0; i < schemas.size(); ++i) {
    const bool of_left = i < left_columns;
    both.push_back({of_left == swapped, of_left ? i : i - left_columns});
  }
  std::vector<JoinKey> keys;
  for (const JoinNode::Key& key : step.keys) {
    keys.push_back(swapped ? JoinKey{.build = key.left, .probe = key.right}
                           : JoinKey{.build = key.right, .probe = key.left});
  }
  const EnvelopeList& build = swapped ? left : right;
  const EnvelopeList& probe = swapped ? right : left;
  if (!keys.empty()) {
    ERIS_RETURN_IF_ERROR(JoinKeys::Check(build.columns(), probe.columns(), keys));
  }
  std::vector<PairColumn> columns;
  for (const uint32_t column : step.columns) columns.push_back(both[column]);
  std::unique_ptr<PairFilter> filter;
  if (step.condition) {
    ERIS_ASSIGN_OR_RETURN(filter, PairFilter::Create(world, *step.condition, both, schemas));
  }
  return std::make_unique<JoinRun>(world, step, build, probe, std::move(keys), std::move(columns),
                                   std::move(filter), rows);
}

}  // namespace eris::storage
