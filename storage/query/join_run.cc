// A join: puts one side into a table, then reads the other one block by block.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/query/envelope_step.h"
#include "storage/query/join_build.h"
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

// The keys as the two sides of the table have them.
std::vector<JoinKey> KeysOf(const JoinTask& task) {
  std::vector<JoinKey> keys;
  for (const JoinNode::Key& key : task.step.keys) {
    keys.push_back(task.builds_left ? JoinKey{.build = key.left, .probe = key.right}
                                    : JoinKey{.build = key.right, .probe = key.left});
  }
  return keys;
}

class ProbeStep final : public EnvelopeStep {
 public:
  ProbeStep(const StepWorld& world, JoinType type, std::vector<PairColumn> columns,
            std::unique_ptr<PairFilter> filter, EnvelopeList& rows)
      : memory_(world.memory),
        type_(type),
        columns_(std::move(columns)),
        filter_(std::move(filter)),
        sink_(world.memory, rows, "join") {}

  absl::Status Begin(const Envelope& envelope, const JoinBuild* build) override {
    view_ = &envelope.view();
    base_ = 0;
    within_ = false;
    if (build == of_) return absl::OkStatus();
    of_ = build;
    probe_.reset();
    if (build->table() == nullptr) return absl::OkStatus();
    probe_.emplace(*build->table(), memory_);
    if (probe_->Prepare()) return absl::OkStatus();
    of_ = nullptr;
    return sink_.Refusal();
  }

  absl::StatusOr<bool> Advance() override {
    const SegmentView& view = *view_;
    if (base_ >= view.rows) return false;
    if (!within_) rows_ = std::min(piece_rows(), view.rows - base_);
    ERIS_ASSIGN_OR_RETURN(const bool done, AdvanceBlock(view));
    if (!done) return true;
    within_ = false;
    base_ += rows_;
    return base_ < view.rows;
  }

  absl::StatusOr<bool> Finish() override {
    probe_.reset();
    of_ = nullptr;
    ERIS_RETURN_IF_ERROR(sink_.Flush());
    return false;
  }

 private:
  const EnvelopeList& build() const { return of_->rows(); }
  bool OnlyProbe() const { return type_ == JoinType::kSemi || type_ == JoinType::kAnti; }

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
    } else if ((build().rows() > 0) != with) {
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
    if (build().rows() == 0 && !PairsOfAll()) return true;
    const RowNumber partner = build().rows() == 0 ? kNoRow : FirstRow();
    for (uint32_t i = 0; i < rows_; ++i) {
      pairs.probe[i] = static_cast<uint16_t>(i);
      pairs.build[i] = partner;
    }
    pairs.count = rows_;
    return true;
  }
  RowNumber FirstRow() const {
    uint32_t envelope = 0;
    while (build()[envelope].rows() == 0) ++envelope;
    return RowNumberOf(envelope, 0);
  }

  // Leaves the pairs for which the condition is true, and notes whose they are.
  absl::Status Filter(const SegmentView& view, RowPairs& pairs) {
    const PairRows all{view, base_, build(), pairs.probe, pairs.build, pairs.count};
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
      const PairRows rest{view, base_, build(), picks + done, numbers + done, count - done};
      out.rows += AppendPairs(rest, columns_, out);
    });
  }

  QueryMemory& memory_;
  const JoinType type_;
  const std::vector<PairColumn> columns_;
  const std::unique_ptr<PairFilter> filter_;  // nullptr: no condition
  RowSink sink_;
  const JoinBuild* of_ = nullptr;      // what is probed
  std::optional<JoinProbe> probe_;     // none: no keys
  const SegmentView* view_ = nullptr;  // of the envelope
  // Its block that comes next, and whether some of the block's pairs have been read.
  uint32_t base_ = 0;
  uint32_t rows_ = 0;
  bool within_ = false;
  std::array<uint64_t, kBlockWords> matched_{};
  std::array<uint64_t, kBlockWords> kept_{};
  std::array<uint16_t, kBlockRows> picks_;
  std::array<uint16_t, kBlockRows> passed_;
  std::array<RowNumber, kBlockRows> numbers_;
};

// Both sides, one after the other.
class JoinRun final : public StepRun {
 public:
  JoinRun(std::unique_ptr<JoinBuild> build, std::unique_ptr<EnvelopeStep> step,
          const EnvelopeList& input)
      : build_(std::move(build)), probe_(NewListRun(std::move(step), &input, build_.get())) {}

  absl::StatusOr<bool> Advance() override {
    if (building_) {
      ERIS_ASSIGN_OR_RETURN(building_, build_->Advance());
      return true;
    }
    if (probe_ == nullptr) return build_->FreeSome();
    probe_->SetPieceRows(piece_rows());
    ERIS_ASSIGN_OR_RETURN(const bool more, probe_->Advance());
    if (!more) probe_.reset();
    return true;
  }

 private:
  const std::unique_ptr<JoinBuild> build_;
  std::unique_ptr<StepRun> probe_;
  bool building_ = true;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JoinBuild>> JoinBuild::Create(
    QueryMemory& memory, const JoinTask& task, const EnvelopeList& build,
    std::span<const EnvelopeColumn> other) {
  std::unique_ptr<JoinBuild> made(new JoinBuild(memory, build));
  const std::vector<JoinKey> keys = KeysOf(task);
  if (keys.empty()) return made;
  ERIS_RETURN_IF_ERROR(JoinKeys::Check(build.columns(), other, keys));
  made->table_.emplace(memory, build, keys, kHashSeed);
  return made;
}

absl::StatusOr<bool> JoinBuild::Advance() {
  if (!table_) {
    if (build_.rows() <= 1) return false;
    return absl::InvalidArgumentError(
        absl::StrCat("a join without keys has ", build_.rows(),
                     " rows on its right side, at most one: give it keys that are equal"));
  }
  const StepResult built = table_->Build();
  if (built == StepResult::kNoMemory) return memory_.Refusal("join");
  return built == StepResult::kMore;
}

absl::StatusOr<std::unique_ptr<EnvelopeStep>> NewEnvelopeStep(const StepWorld& world,
                                                              const JoinTask& task,
                                                              EnvelopeList& rows) {
  const auto left_columns = static_cast<uint32_t>(task.left_schema.columns.size());
  std::vector<PairColumn> both;
  std::vector<ColumnSchema> schemas = task.left_schema.columns;
  schemas.insert(schemas.end(), task.right_schema.columns.begin(), task.right_schema.columns.end());
  for (uint32_t i = 0; i < schemas.size(); ++i) {
    const bool of_left = i < left_columns;
    both.push_back({of_left == task.builds_left, of_left ? i : i - left_columns});
  }
  std::vector<PairColumn> columns;
  for (const uint32_t column : task.step.columns) columns.push_back(both[column]);
  std::unique_ptr<PairFilter> filter;
  if (task.step.condition) {
    ERIS_ASSIGN_OR_RETURN(filter, PairFilter::Create(world, *task.step.condition, both, schemas));
  }
  return std::make_unique<ProbeStep>(world, task.step.type, std::move(columns), std::move(filter),
                                     rows);
}

absl::StatusOr<std::unique_ptr<StepRun>> NewJoinRun(const StepWorld& world, const JoinTask& task,
                                                    const EnvelopeList& left,
                                                    const EnvelopeList& right, EnvelopeList& rows) {
  const EnvelopeList& built = task.builds_left ? left : right;
  const EnvelopeList& probed = task.builds_left ? right : left;
  ERIS_ASSIGN_OR_RETURN(auto build, JoinBuild::Create(world.memory, task, built, probed.columns()));
  ERIS_ASSIGN_OR_RETURN(auto step, NewEnvelopeStep(world, task, rows));
  return std::make_unique<JoinRun>(std::move(build), std::move(step), probed);
}

}  // namespace eris::storage
