#include "storage/table/query/table_run.h"

#include <algorithm>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/lean_status.h"
#include "base/prefetch.h"
#include "storage/table/kernels/kernels.h"
#include "storage/table/query/block_filter.h"
#include "storage/table/query/block_groups.h"
#include "storage/table/query/block_values.h"
#include "storage/table/query/group_table.h"
#include "storage/table/query/plan_body.h"
#include "storage/table/query/row_output.h"
#include "storage/table/rows/row_source.h"
#include "storage/table/rows/string_dictionary.h"

namespace eris::storage {
namespace {

// Few groups are added up group by group through bitmaps: no store waits for the one before it.
constexpr uint32_t kGroupsByMaskMax = 16;
// Where fewer rows than one in so many are left, they are picked out and computed alone.
constexpr uint32_t kPickBelow = 16;

std::vector<ColumnType> GroupTypes(const TablePlan& plan) {
  std::vector<ColumnType> types;
  for (const uint32_t column : plan.body().group_columns) {
    types.push_back(plan.layout().column(column).type);
  }
  return types;
}

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

void Add(const Accumulator& accumulator, const BlockVector& vector, uint32_t rows,
         const uint64_t* mask, bool narrow, GroupTable::Cell& cell) {
  if (accumulator.kind == Accumulator::Kind::kCount) {
    cell.count += mask != nullptr ? kernels::CountRows(mask, rows) : rows;
    return;
  }
  if (accumulator.kind == Accumulator::Kind::kSum) {
    switch (vector.kind) {
      case BlockVector::Kind::kInt32:
        cell.sum += kernels::Sum(vector.i32(), rows, mask);
        break;
      case BlockVector::Kind::kInt64:
        cell.sum += kernels::Sum(vector.i64(), rows, mask, narrow);
        break;
      case BlockVector::Kind::kUint64:
        cell.sum += kernels::Sum(vector.u64(), rows, mask, narrow);
        break;
      case BlockVector::Kind::kDouble:
        cell.real += kernels::Sum(vector.f64(), rows, mask);
        break;
    }
    return;
  }
  kernels::Extremes found{};
  switch (vector.kind) {
    case BlockVector::Kind::kInt32:
      kernels::FindExtremes(vector.i32(), rows, mask, found);
      break;
    case BlockVector::Kind::kInt64:
      kernels::FindExtremes(vector.i64(), rows, mask, found);
      break;
    case BlockVector::Kind::kUint64:
      kernels::FindExtremes(vector.u64(), rows, mask, found);
      break;
    case BlockVector::Kind::kDouble:
      kernels::FindExtremes(vector.f64(), rows, mask, found);
      break;
  }
  if (accumulator.kind == Accumulator::Kind::kMin) {
    cell.key = std::min(cell.key, found.min);
  } else {
    cell.key = std::max(cell.key, found.max);
  }
}

// One row after the other, each into its group's cell.
template <class Read, class Combine>
void AddRows(const uint64_t* validity, const uint32_t* ids, uint32_t rows, GroupTable::Cell* cells,
             uint32_t stride, Read read, Combine combine) {
  if (validity == nullptr) {
    for (uint32_t i = 0; i < rows; ++i) combine(cells[size_t{ids[i]} * stride], read(i));
  } else {
    for (uint32_t i = 0; i < rows; ++i) {
      if (BitAt(validity, i)) combine(cells[size_t{ids[i]} * stride], read(i));
    }
  }
}

void AddGrouped(const Accumulator& accumulator, const BlockVector& vector, const uint32_t* ids,
                uint32_t rows, GroupTable::Cell* cells, uint32_t stride) {
  const auto add = [&](auto read) {
    const auto rows_of = [&](auto combine) {
      AddRows(vector.validity, ids, rows, cells, stride, read, combine);
    };
    switch (accumulator.kind) {
      case Accumulator::Kind::kCount:
        rows_of([](GroupTable::Cell& cell, auto) { ++cell.count; });
        break;
      case Accumulator::Kind::kSum:
        rows_of([](GroupTable::Cell& cell, auto value) {
          if constexpr (std::is_same_v<decltype(value), double>) {
            cell.real += value;
          } else {
            cell.sum += value;
          }
        });
        break;
      case Accumulator::Kind::kMin:
        rows_of([](GroupTable::Cell& cell, auto value) {
          cell.key = std::min(cell.key, kernels::OrderKey(value));
        });
        break;
      case Accumulator::Kind::kMax:
        rows_of([](GroupTable::Cell& cell, auto value) {
          cell.key = std::max(cell.key, kernels::OrderKey(value));
        });
        break;
    }
  };
  switch (vector.kind) {
    case BlockVector::Kind::kInt32:  // vectors of picked rows are wide
    case BlockVector::Kind::kInt64:
      add([data = vector.i64()](uint32_t i) { return data[i]; });
      break;
    case BlockVector::Kind::kUint64:
      add([data = vector.u64()](uint32_t i) { return data[i]; });
      break;
    case BlockVector::Kind::kDouble:
      add([data = vector.f64()](uint32_t i) { return data[i]; });
      break;
  }
}

}  // namespace

class TableRun::Body {
 public:
  Body(const TablePlan& plan, RunMemory* memory)
      : plan_(plan),
        body_(plan.body()),
        values_(body_),
        filter_(body_),
        groups_(body_),
        table_(body_, GroupTypes(plan), memory) {}

  bool BeginSegment(const SegmentView& segment) {
    // Kept by value: the view's own columns live as long as it does.
    segment_ = segment;
    values_.BeginSegment(segment_);
    if (!filter_.BeginSegment(values_)) return false;
    if (plan_.aggregates()) {
      checked_ = false;
      for (const Accumulator& accumulator : body_.accumulators) {
        checked_ |= values_.bounds(accumulator.value).checked;
      }
      if (!body_.group_columns.empty()) groups_.BeginSegment(segment_);
    }
    shortcut_ = FindShortcut();
    sums_all_ = plan_.aggregates() && body_.group_columns.empty() && segment_.kept == nullptr &&
                filter_.active().empty() && !counts_strings_;
    return true;
  }

  Outcome RunBlock(uint32_t& at, ResultRows* out, absl::Status& status) {
    const uint32_t base = at / kBlockRows * kBlockRows;
    const uint32_t end = std::min(base + kBlockRows, segment_.rows);
    const uint32_t rows = end - base;
    if (ride_of_ > 1) PrefetchShare(base + kBlockRows);
    if (shortcut_ != Shortcut::kNone && at == base) {
      shortcut_ == Shortcut::kCount ? CountOneRange(base, rows) : SumOneRange(base, rows);
      at = end;
      return Outcome::kDone;
    }
    values_.BeginBlock(base, rows);
    if (sums_all_ && at == base) {
      at = end;
      table_.rows(0) += rows;
      return AddAll(nullptr, rows, 0, status) ? Outcome::kDone : Outcome::kError;
    }
    alignas(64) uint64_t mask[kBlockWords];
    FirstMask(base, rows, at - base, mask);
    if (!filter_.Keep(values_, mask)) {
      status = values_.status();
      return Outcome::kError;
    }
    const uint32_t count = kernels::CountRows(mask, rows);
    if (count == 0) {
      at = end;
      return Outcome::kDone;
    }
    if (!plan_.aggregates()) return Project(mask, rows, base, end, at, *out, status);
    at = end;
    const bool fits = body_.group_columns.empty() ? Aggregate(mask, rows, count, status)
                                                  : AggregateGroups(mask, rows, count, status);
    return fits ? Outcome::kDone : Outcome::kError;
  }

  void Ride(uint32_t index, uint32_t of) {
    ride_index_ = index;
    ride_of_ = of;
  }

  absl::Status Merge(Body& other) {
    const bool fits = table_.Merge(other.table_);
    other.table_.Clear();
    return fits ? absl::OkStatus() : table_.status();
  }

  uint64_t groups() const { return table_.size(); }

  uint64_t Finish() {
    table_.Sort(order_);
    return order_.size();
  }

  void Take(uint64_t& first, ResultRows& out) {
    while (first < order_.size() && out.rows < out.capacity) {
      if (!TakeOne(order_[first], out)) return;
      ++out.rows;
      ++first;
    }
  }

 private:
  using Kind = Accumulator::Kind;

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

  // Nothing but the rows of one column's range is counted, or one column added up of them: a single
  // pass does that without a bitmap.
  enum class Shortcut : uint8_t { kNone, kCount, kSum };
  Shortcut FindShortcut() const {
    if (!plan_.aggregates() || !body_.group_columns.empty() || body_.accumulators.size() > 1 ||
        segment_.kept != nullptr || filter_.active().size() != 1) {
      return Shortcut::kNone;
    }
    const PredicateNode& node = body_.predicates[filter_.active()[0]];
    const ValueNode& tested = body_.values[node.value];
    if (node.kind != PredicateNode::Kind::kRange || node.negated || !tested.IsColumn() ||
        values_.bounds(node.value).nulls) {
      return Shortcut::kNone;
    }
    if (body_.accumulators.empty()) return Shortcut::kCount;
    const Accumulator& accumulator = body_.accumulators[0];
    const ValueNode& summed = body_.values[accumulator.value];
    const bool integers = tested.value_class != ValueClass::kDouble &&
                          summed.value_class != ValueClass::kDouble &&
                          ColumnValueBytes(tested.type) <= ColumnValueBytes(summed.type);
    return accumulator.kind == Kind::kSum && summed.IsColumn() && integers &&
                   !values_.bounds(accumulator.value).nulls
               ? Shortcut::kSum
               : Shortcut::kNone;
  }

  template <class T>
  static const T* ColumnAt(const SegmentColumn& column, uint32_t base) {
    return static_cast<const T*>(column.values) + base;
  }

  void CountOneRange(uint32_t base, uint32_t rows) {
    const PredicateNode& node = body_.predicates[filter_.active()[0]];
    const SegmentColumn& column = values_.column(node.value);
    uint64_t& count = table_.rows(0);
    if (ColumnValueBytes(column.type) == 4) {
      count += kernels::CountInRange(ColumnAt<int32_t>(column, base), rows,
                                     static_cast<int32_t>(node.lo.i64),
                                     static_cast<int32_t>(node.hi.i64));
    } else if (column.type == ColumnType::kFloat64) {
      count +=
          kernels::CountInRange(ColumnAt<double>(column, base), rows, node.lo.f64, node.hi.f64);
    } else {
      count +=
          kernels::CountInRange(ColumnAt<uint64_t>(column, base), rows, node.lo.u64, node.hi.u64);
    }
  }

  void SumOneRange(uint32_t base, uint32_t rows) {
    const PredicateNode& node = body_.predicates[filter_.active()[0]];
    const SegmentColumn& column = values_.column(node.value);
    const uint32_t value = body_.accumulators[0].value;
    const SegmentColumn& summed = values_.column(value);
    Int128& sum = table_.cells(0)[0].sum;
    uint64_t& count = table_.rows(0);
    if (ColumnValueBytes(column.type) == 4) {
      const auto sum_of = [&]<class T>(const T* values) {
        count +=
            kernels::SumInRange(ColumnAt<int32_t>(column, base), static_cast<int32_t>(node.lo.i64),
                                static_cast<int32_t>(node.hi.i64), values, rows, sum);
      };
      if (ColumnValueBytes(summed.type) == 4) {
        sum_of(ColumnAt<int32_t>(summed, base));
      } else if (body_.values[value].value_class == ValueClass::kUnsigned) {
        sum_of(ColumnAt<uint64_t>(summed, base));
      } else {
        sum_of(ColumnAt<int64_t>(summed, base));
      }
    } else if (body_.values[value].value_class == ValueClass::kUnsigned) {
      count += kernels::SumInRange(ColumnAt<uint64_t>(column, base), node.lo.u64, node.hi.u64,
                                   ColumnAt<uint64_t>(summed, base), rows, sum);
    } else {
      count += kernels::SumInRange(ColumnAt<uint64_t>(column, base), node.lo.u64, node.hi.u64,
                                   ColumnAt<int64_t>(summed, base), rows, sum);
    }
  }

  uint32_t PickRows(const uint64_t* mask, uint32_t rows) {
    uint32_t count = 0;
    ForRows(mask, rows, [&](uint32_t row) { picks_[count++] = static_cast<uint16_t>(row); });
    return count;
  }

  bool CountsStrings() const {
    return std::any_of(body_.accumulators.begin(), body_.accumulators.end(),
                       [&](const Accumulator& accumulator) { return OfStrings(accumulator); });
  }
  bool OfStrings(const Accumulator& accumulator) const {
    return body_.values[accumulator.value].value_class == ValueClass::kString;
  }

  // Strings are counted alone, and where they stand: they have no vectors.
  void CountStrings(const uint64_t* mask, uint32_t rows, uint32_t group) {
    for (size_t i = 0; i < body_.accumulators.size(); ++i) {
      if (!OfStrings(body_.accumulators[i])) continue;
      const uint64_t* const validity = values_.Validity(body_.accumulators[i].value);
      uint64_t valid[kBlockWords];
      const uint32_t words = (rows + 63) / 64;
      for (uint32_t w = 0; w < words; ++w) {
        valid[w] = mask[w] & (validity != nullptr ? validity[w] : ~uint64_t{0});
      }
      table_.cells(group)[i].count += kernels::CountRows(valid, rows);
    }
  }

  bool Aggregate(const uint64_t* mask, uint32_t rows, uint32_t count, absl::Status& status) {
    table_.rows(0) += count;
    if (body_.accumulators.empty()) return true;
    CountStrings(mask, rows, 0);
    if (checked_ || count * kPickBelow < rows) {
      values_.Pick(picks_, PickRows(mask, rows));
      return AddAll(nullptr, count, 0, status);
    }
    return AddAll(count == rows ? nullptr : mask, rows, 0, status);
  }

  // Adds the rows of `mask` to a group.
  bool AddAll(const uint64_t* mask, uint32_t rows, uint32_t group, absl::Status& status) {
    GroupTable::Cell* const cells = table_.cells(group);
    for (size_t i = 0; i < body_.accumulators.size(); ++i) {
      const Accumulator& accumulator = body_.accumulators[i];
      if (OfStrings(accumulator)) continue;
      const BlockVector* const made = values_.Evaluate(accumulator.value, mask);
      if (made == nullptr) {
        status = values_.status();
        return false;
      }
      const BlockVector& vector = *made;
      const uint64_t* counting = mask;
      alignas(64) uint64_t valid[kBlockWords];
      if (vector.validity != nullptr) {
        const uint32_t words = (rows + 63) / 64;
        for (uint32_t w = 0; w < words; ++w) {
          valid[w] = vector.validity[w] & (mask != nullptr ? mask[w] : ~uint64_t{0});
        }
        if (rows % 64 != 0) valid[words - 1] &= (uint64_t{1} << rows % 64) - 1;
        counting = valid;
      }
      Add(accumulator, vector, rows, counting, values_.Narrow(accumulator.value), cells[i]);
    }
    return true;
  }

  bool AggregateGroups(const uint64_t* mask, uint32_t rows, uint32_t count, absl::Status& status) {
    if (!groups_.Find(segment_, values_.base(), rows, mask, table_, ids_)) {
      status = table_.status();
      return false;
    }
    if (!checked_ && table_.size() <= kGroupsByMaskMax && count * kPickBelow >= rows) {
      return AddByMask(mask, rows, status);
    }
    return AddByRow(mask, rows, status);
  }

  bool AddByMask(const uint64_t* mask, uint32_t rows, absl::Status& status) {
    alignas(64) uint64_t of_group[kBlockWords];
    for (uint32_t group = 0; group < table_.size(); ++group) {
      std::copy_n(mask, (rows + 63) / 64, of_group);
      const auto id = static_cast<int32_t>(group);
      kernels::KeepInRange(reinterpret_cast<const int32_t*>(ids_), rows, id, id, false, of_group);
      const uint32_t count = kernels::CountRows(of_group, rows);
      if (count == 0) continue;
      table_.rows(group) += count;
      CountStrings(of_group, rows, group);
      if (!AddAll(count == rows ? nullptr : of_group, rows, group, status)) return false;
    }
    return true;
  }

  bool AddByRow(const uint64_t* mask, uint32_t rows, absl::Status& status) {
    const uint32_t stride = table_.accumulators();
    // Counts of strings look at the block's own rows, the others at picked ones.
    for (size_t i = 0; i < stride; ++i) {
      const Accumulator& accumulator = body_.accumulators[i];
      if (!OfStrings(accumulator)) continue;
      const uint64_t* const validity = values_.Validity(accumulator.value);
      GroupTable::Cell* const cells = table_.all_cells() + i;
      ForRows(mask, rows, [&](uint32_t row) {
        cells[size_t{ids_[row]} * stride].count += validity == nullptr || BitAt(validity, row);
      });
    }
    const uint32_t count = PickRows(mask, rows);
    values_.Pick(picks_, count);
    uint64_t* const rows_of = table_.all_rows();
    for (uint32_t i = 0; i < count; ++i) {
      ids_[i] = ids_[picks_[i]];  // never behind what is still to be read
      ++rows_of[ids_[i]];
    }
    for (size_t i = 0; i < stride; ++i) {
      const Accumulator& accumulator = body_.accumulators[i];
      if (OfStrings(accumulator)) continue;
      const BlockVector* const made = values_.Evaluate(accumulator.value, nullptr);
      if (made == nullptr) {
        status = values_.status();
        return false;
      }
      AddGrouped(accumulator, *made, ids_, count, table_.all_cells() + i, stride);
    }
    return true;
  }

  Outcome Project(const uint64_t* mask, uint32_t rows, uint32_t base, uint32_t end, uint32_t& at,
                  ResultRows& out, absl::Status& status) {
    const uint32_t picked = PickRows(mask, rows);
    uint32_t count = std::min(picked, out.capacity - out.rows);
    for (size_t i = 0; i < body_.outputs.size(); ++i) {
      if (body_.values[body_.outputs[i]].value_class != ValueClass::kString) continue;
      count = StringsThatFit(values_.column(body_.outputs[i]), base, picks_, count, out.columns[i],
                             out.rows);
    }
    values_.Pick(picks_, count);
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

  bool TakeOne(uint32_t group, ResultRows& out) {
    const GroupKey& key = table_.key(group);
    const size_t keys = body_.group_columns.size();
    for (size_t i = 0; i < keys; ++i) {
      ResultColumn& column = out.columns[i];
      const bool valid = (key.nulls >> i & 1) == 0;
      if (column.type == ColumnType::kString) {
        const std::string_view text = valid ? table_.Text(key.words[i]) : std::string_view();
        if (!PutString(text, valid, column, out.rows)) return false;
      } else {
        PutValue(&key.words[i], valid, column, out.rows);  // little-endian: also of 32 bits
      }
    }
    for (size_t i = 0; i < body_.results.size(); ++i) {
      TakeAggregate(body_.results[i], group, out.columns[keys + i], out.rows);
    }
    return true;
  }

  void TakeAggregate(const AggregateResult& result, uint32_t group, ResultColumn& column,
                     uint32_t row) {
    const GroupTable::Cell* const cells = table_.cells(group);
    const uint64_t count = result.count == AggregateResult::kNoAccumulator
                               ? table_.rows(group)
                               : cells[result.count].count;
    if (result.function == AggregateFunction::kCount) {
      PutValue(&count, true, column, row);
      return;
    }
    const GroupTable::Cell& cell = cells[result.accumulator];
    const bool is_double = result.value_class == ValueClass::kDouble;
    GroupTable::Cell value{.sum = 0};
    if (count == 0) {
      // Null; zeros stand there.
    } else if (result.function == AggregateFunction::kSum) {
      value = cell;
    } else if (result.function == AggregateFunction::kAverage) {
      // The double nearest to the exact sum, by the count: what others do too.
      const double sum = is_double ? cell.real : NearestDouble(cell.sum, result.scale);
      value.real = sum / static_cast<double>(count);
    } else if (is_double) {
      value.real = kernels::DoubleOfKey(cell.key);
    } else if (result.value_class == ValueClass::kUnsigned) {
      value.count = kernels::UnsignedOfKey(cell.key);
    } else {
      value.key = cell.key;
    }
    PutValue(&value, count > 0, column, row);
  }

  const TablePlan& plan_;
  const PlanBody& body_;
  SegmentView segment_{};
  BlockValues values_;
  BlockFilter filter_;
  BlockGroups groups_;
  GroupTable table_;
  const bool counts_strings_ = CountsStrings();
  // Of the segment begun.
  bool checked_ = false;  // accumulators may leave their type
  Shortcut shortcut_ = Shortcut::kNone;
  bool sums_all_ = false;  // every row counts
  // Of the runs that ride one pass.
  uint32_t ride_index_ = 0;
  uint32_t ride_of_ = 1;
  std::vector<uint32_t> order_;
  uint16_t picks_[kBlockRows];
  alignas(64) uint32_t ids_[kBlockRows];
};

TableRun::TableRun(std::shared_ptr<const TablePlan> plan, RunMemory* memory)
    : plan_(std::move(plan)), share_(memory) {}
TableRun::~TableRun() = default;

absl::StatusOr<std::unique_ptr<TableRun>> TableRun::Create(std::shared_ptr<const TablePlan> plan,
                                                           RunMemory* memory) {
  try {
    std::unique_ptr<TableRun> run(new TableRun(std::move(plan), memory));
    const PlanBody& body = run->plan_->body();
    const uint64_t bytes = sizeof(Body) + BlockValues::BytesOf(body) + CodesBytesMax(body);
    if (!run->share_.Take(bytes)) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a run of a query takes ", bytes, " bytes, of which the ",
                       run->share_.bytes_max(), " bytes for all queries have not so many left"));
    }
    run->body_ = std::make_unique<Body>(*run->plan_, memory);
    return run;
  } catch (const std::bad_alloc&) {
    return base::NoMemory("no memory for the run of a query");
  }
}

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

absl::StatusOr<uint64_t> TableRun::FinishGroups() {
  if (!status_.ok()) return status_;
  try {
    return body_->Finish();
  } catch (const std::bad_alloc&) {
    return base::NoMemory("no memory for the groups of a query");
  }
}

void TableRun::TakeGroups(uint64_t& first, ResultRows& out) { body_->Take(first, out); }

}  // namespace eris::storage
