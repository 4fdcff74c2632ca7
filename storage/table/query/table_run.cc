#include "storage/table/query/table_run.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/lean_status.h"
#include "base/prefetch.h"
#include "storage/table/groups/group_pages.h"
#include "storage/table/groups/group_table.h"
#include "storage/table/kernels/kernels.h"
#include "storage/table/plan/plan_body.h"
#include "storage/table/query/block_aggregator.h"
#include "storage/table/query/block_filter.h"
#include "storage/table/query/block_groups.h"
#include "storage/table/query/block_values.h"
#include "storage/table/query/group_results.h"
#include "storage/table/query/median_results.h"
#include "storage/table/query/range_pass.h"
#include "storage/table/query/row_output.h"
#include "storage/table/rows/row_source.h"
#include "storage/table/rows/string_dictionary.h"

namespace eris::storage {
namespace {

// What conditions on strings and groups keep of a segment's codes at most, and the scan's mask.
uint64_t CodesBytesMax(const PlanBody& plan) {
  constexpr uint64_t kCodesMax = kDictionaryStringsMax + kPieceRows;  // it is left after a piece
  const auto of_strings = std::count_if(
      plan.predicates.begin(), plan.predicates.end(),
      [](const PredicateNode& node) { return node.kind == PredicateNode::Kind::kString; });
  uint64_t bytes = kSegmentRows / 8 + static_cast<uint64_t>(of_strings) * kCodesMax;
  if (!plan.group_columns.empty()) {
    bytes += (kCodesMax * plan.group_columns.size() + BlockGroups::kDirectMax) * sizeof(uint32_t);
  }
  return bytes;
}

}  // namespace

class TableRun::Body {
 public:
  Body(const TablePlan& plan, RunMemory* memory, const GroupLimits& limits, PageSource* pages)
      : plan_(plan),
        body_(plan.body()),
        filter_(body_),
        values_(body_, filter_),
        heap_(memory),
        table_(body_, body_.group_types, pages != nullptr ? *pages : heap_, limits),
        range_pass_(body_, values_, filter_, table_),
        aggregator_(body_, values_, table_, picks_),
        medians_(body_, table_),
        results_(body_, table_) {}

  void FilterBy(std::vector<ColumnFilter> filters) { key_filters_.Set(std::move(filters)); }

  bool BeginSegment(const SegmentView& segment) {
    // Kept by value: the view's own columns live as long as it does.
    segment_ = segment;
    values_.BeginSegment(segment_);
    if (!filter_.BeginSegment(values_) || !key_filters_.BeginSegment(segment_)) return false;
    if (!plan_.aggregates()) return true;
    aggregator_.BeginSegment(segment_);
    by_range_pass_ = key_filters_.empty() && range_pass_.Fits();
    sums_all_ = key_filters_.empty() && body_.group_columns.empty() && segment_.kept == nullptr &&
                filter_.active().empty();
    return true;
  }

  Outcome RunBlock(uint32_t& at, ResultRows* out, absl::Status& status) {
    const uint32_t base = at / block_rows_ * block_rows_;
    const uint32_t end = std::min(base + block_rows_, segment_.rows);
    const uint32_t rows = end - base;
    if (ride_of_ > 1) PrefetchShare(base + block_rows_);
    if (by_range_pass_ && at == base) {
      range_pass_.Run(base, rows);
      at = end;
      return Outcome::kDone;
    }
    values_.BeginBlock(base, rows);
    if (sums_all_ && at == base) {
      at = end;
      status = aggregator_.Add(nullptr, rows, rows);
      return status.ok() ? Outcome::kDone : Outcome::kError;
    }
    alignas(64) uint64_t mask[kBlockWords];
    FirstMask(base, rows, at - base, mask);
    if (!filter_.Keep(values_, mask)) {
      status = values_.status();
      return Outcome::kError;
    }
    uint32_t count = kernels::CountRows(mask, rows);
    if (!key_filters_.empty()) count = key_filters_.Keep(segment_, base, rows, mask, count);
    if (count == 0) {
      at = end;
      return Outcome::kDone;
    }
    if (!plan_.aggregates()) return Project(mask, rows, base, end, at, *out, status);
    at = end;
    status = aggregator_.Add(mask, rows, count);
    return status.ok() ? Outcome::kDone : Outcome::kError;
  }

  void SetBlockRows(uint32_t rows) { block_rows_ = rows; }

  void Ride(uint32_t index, uint32_t of) {
    ride_index_ = index;
    ride_of_ = of;
  }

  absl::Status Merge(Body& other) {
    const bool fits = table_.Merge(other.table_);
    while (other.FreeSome()) continue;
    return fits ? absl::OkStatus() : table_.status();
  }

  uint64_t groups() const { return table_.size(); }

  bool FinishSome(uint32_t rows) { return medians_.Advance(rows); }
  uint64_t Finish(bool ordered) { return results_.Finish(ordered); }
  void Take(uint64_t& first, ResultRows& out) const { results_.Take(first, out); }
  bool FreeSome() { return table_.FreeSome(); }

 private:
  // This run's share of the lines of the next block.
  void PrefetchShare(uint32_t base) const {
    if (base >= segment_.rows) return;
    const uint32_t rows = std::min(kBlockRows, segment_.rows - base);
    for (const ValueNode& node : body_.values) {
      if (!node.IsColumn() || node.value_class == ValueClass::kString) continue;
      const size_t width = ColumnValueBytes(node.type);
      const size_t bytes = rows * width;
      const char* const begin =
          static_cast<const char*>(segment_.columns[node.column].values) + base * width;
      for (size_t at = bytes * ride_index_ / ride_of_ / 64 * 64;
           at < bytes * (ride_index_ + 1) / ride_of_; at += 64) {
        base::Prefetch(begin + at);
      }
    }
  }

  // Rows that count at all, from `from` on.
  void FirstMask(uint32_t base, uint32_t rows, uint32_t from, uint64_t* mask) const {
    const uint32_t words = (rows + 63) / 64;
    if (segment_.kept != nullptr) {
      std::copy_n(segment_.kept + base / 64, words, mask);
    } else {
      std::fill_n(mask, words, ~uint64_t{0});
    }
    if (rows % 64 != 0) mask[words - 1] &= (uint64_t{1} << rows % 64) - 1;
    std::fill_n(mask, from / 64, 0);
    if (from % 64 != 0) mask[from / 64] &= ~uint64_t{0} << from % 64;
  }

  Outcome Project(const uint64_t* mask, uint32_t rows, uint32_t base, uint32_t end, uint32_t& at,
                  ResultRows& out, absl::Status& status) {
    const uint32_t picked = PickRows(mask, rows, picks_);
    uint32_t count = std::min(picked, out.capacity - out.rows);
    values_.Pick(picks_, count);
    for (size_t i = 0; i < body_.outputs.size(); ++i) {
      const ValueNode& value = body_.values[body_.outputs[i]];
      if (value.value_class != ValueClass::kString) continue;
      if (value.IsColumn()) {
        count = StringsThatFit(values_.column(body_.outputs[i]), base, picks_, count,
                               out.columns[i], out.rows);
        continue;
      }
      const BlockVector* const made = values_.Evaluate(body_.outputs[i], nullptr);
      if (made == nullptr) {
        status = values_.status();
        return Outcome::kError;
      }
      count = StringsThatFit(*made, count, out.columns[i], out.rows);
    }
    for (size_t i = 0; i < body_.outputs.size() && count > 0; ++i) {
      const uint32_t value = body_.outputs[i];
      if (body_.values[value].IsColumn()) {
        AppendColumn(values_.column(value), base, picks_, count, out.columns[i], out.rows);
        continue;
      }
      const BlockVector* const made = values_.Evaluate(value, nullptr);
      if (made == nullptr) {
        status = values_.status();
        return Outcome::kError;
      }
      AppendVector(*made, count, out.columns[i], out.rows);
    }
    out.rows += count;
    at = count < picked ? base + picks_[count] : end;
    return count < picked ? Outcome::kFull : Outcome::kDone;
  }

  const TablePlan& plan_;
  const PlanBody& body_;
  SegmentView segment_{};
  BlockFilter filter_;
  ColumnFilters key_filters_;
  BlockValues values_;
  CountedPages heap_;
  GroupTable table_;
  RangePass range_pass_;
  BlockAggregator aggregator_;
  MedianResults medians_;
  GroupResults results_;
  // State of the segment that BeginSegment has chosen.
  bool by_range_pass_ = false;
  bool sums_all_ = false;  // every row counts
  // This run's place among the runs that share one pass, and how many these are.
  uint32_t ride_index_ = 0;
  uint32_t ride_of_ = 1;
  uint32_t block_rows_ = kBlockRows;
  uint16_t picks_[kBlockRows];
};

TableRun::TableRun(std::shared_ptr<const TablePlan> plan, RunMemory* memory)
    : plan_(std::move(plan)), share_(memory) {}
TableRun::~TableRun() = default;

absl::StatusOr<std::unique_ptr<TableRun>> TableRun::Create(std::shared_ptr<const TablePlan> plan,
                                                           RunMemory* memory,
                                                           const GroupLimits& limits,
                                                           PageSource* pages) {
  try {
    std::unique_ptr<TableRun> run(new TableRun(std::move(plan), memory));
    const PlanBody& body = run->plan_->body();
    const uint64_t bytes = sizeof(Body) + BlockValues::BytesOf(body) + CodesBytesMax(body) +
                           MedianResults::BytesOf(body);
    if (!run->share_.Take(bytes)) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a run of a query takes ", bytes, " bytes, and the ",
                       run->share_.bytes_max(), " bytes for all queries have not so many left"));
    }
    run->body_ = std::make_unique<Body>(*run->plan_, memory, limits, pages);
    return run;
  } catch (const std::bad_alloc&) {
    return base::NoMemory("no memory for the run of a query");
  }
}

void TableRun::FilterBy(std::vector<ColumnFilter> filters) { body_->FilterBy(std::move(filters)); }

bool TableRun::BeginSegment(const SegmentView& segment) {
  try {
    return body_->BeginSegment(segment);
  } catch (const std::bad_alloc&) {
    status_ = base::NoMemory("no memory for the run of a query");
    return true;  // the first block tells
  }
}

TableRun::Outcome TableRun::RunBlock(uint32_t& at, ResultRows* out) {
  if (!status_.ok()) return Outcome::kError;
  try {
    return body_->RunBlock(at, out, status_);
  } catch (const std::bad_alloc&) {
    status_ = base::NoMemory("no memory for the groups of a query");
    return Outcome::kError;
  }
}

void TableRun::SetBlockRows(uint32_t rows) {
  ERIS_DCHECK(rows % 64 == 0 && rows <= kBlockRows && kBlockRows % rows == 0);
  body_->SetBlockRows(rows);
}

void TableRun::Ride(uint32_t index, uint32_t of) {
  ERIS_DCHECK(index < of);
  body_->Ride(index, of);
}

absl::Status TableRun::Merge(TableRun& other) {
  ERIS_DCHECK(plan_->aggregates());
  if (!other.status_.ok()) return other.status_;
  try {
    return body_->Merge(*other.body_);
  } catch (const std::bad_alloc&) {
    return base::NoMemory("no memory for the groups of a query");
  }
}

uint64_t TableRun::groups() const { return body_->groups(); }

bool TableRun::FinishSome(uint32_t rows) { return status_.ok() && body_->FinishSome(rows); }

absl::StatusOr<uint64_t> TableRun::FinishGroups(Order order) {
  if (!status_.ok()) return status_;
  while (body_->FinishSome(kBlockRows)) continue;
  try {
    return body_->Finish(order == Order::kKeys);
  } catch (const std::bad_alloc&) {
    return base::NoMemory("no memory for the groups of a query");
  }
}

void TableRun::TakeGroups(uint64_t& first, ResultRows& out) { body_->Take(first, out); }

bool TableRun::FreeSome() { return body_->FreeSome(); }

}  // namespace eris::storage
