#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "tests/support/plan/relation.h"

namespace eris::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
// Sums of doubles that are multiples of this, with magnitudes of less than 2^32 in all, are exact
// in any order.
constexpr double kExactUnit = 0x1p-20;
constexpr double kExactSum = 0x1p32;

// A sum of numbers of 128 bits, itself of more: upper * 2^64 + lower.
class WideSum {
 public:
  void Add(Int128 number) {
    upper_ += number >> 64;
    lower_ += static_cast<uint64_t>(number);
  }
  std::optional<Int128> Get() const {
    const Int128 upper = upper_ + (lower_ >> 64);
    if (upper != static_cast<int64_t>(upper)) return std::nullopt;
    const Uint128 bits = static_cast<Uint128>(upper) << 64 | static_cast<uint64_t>(lower_);
    return static_cast<Int128>(bits);
  }

 private:
  Int128 upper_ = 0;
  Int128 lower_ = 0;
};

Cell SumOfReals(const std::vector<Cell>& cells) {
  double sum = 0;
  double magnitude = 0;
  double slack = 0;
  bool exact = true;
  for (const Cell& cell : cells) {
    sum += cell.real;
    slack += cell.slack;
    if (!std::isfinite(cell.real)) continue;
    magnitude += std::abs(cell.real);
    exact &= std::remainder(cell.real, kExactUnit) == 0;
  }
  Cell out = RealCell(sum);
  out.any_zero = sum == 0;
  if (cells.size() == 1) exact = true;
  if (!exact || (cells.size() > 1 && magnitude >= kExactSum)) {
    slack += magnitude * kEpsilon * static_cast<double>(cells.size());
  }
  out.slack = slack;
  if (std::isinf(magnitude) || !(slack < kInfinity)) out.slack = kInfinity;
  return out;
}

class Measuring {
 public:
  Measuring(ExpressionValue& values, PlanNotes& notes, PlanFault fault)
      : values_(values), notes_(notes), fault_(fault) {}

  Cell Of(const Measure& measure, const BoundExpression* argument, CellType type,
          const std::vector<const PlanRow*>& rows) {
    std::vector<Cell> cells;
    uint64_t nulls = 0;
    absl::StatusCode error = absl::StatusCode::kOk;
    // A count needs to know of a value only that there is one.
    const bool counts = measure.function == AggregateFunction::kCount && !measure.distinct;
    for (const PlanRow* row : rows) {
      Cell cell = argument == nullptr ? IntegerCell(1) : values_.Of(*argument, row->cells);
      if (row->error != absl::StatusCode::kOk) error = row->error;
      if (cell.failed() && !counts) error = cell.error;
      if (cell.null && !cell.failed()) {
        ++nulls;
      } else {
        cells.push_back(std::move(cell));
      }
    }
    if (error != absl::StatusCode::kOk) return FailedCell(type, error);
    if (measure.distinct && argument != nullptr && fault_ != PlanFault::kDistinctIgnored) {
      KeepDistinct(cells);
    }
    return Measured(measure.function, type, cells, nulls);
  }

 private:
  void KeepDistinct(std::vector<Cell>& cells) {
    std::stable_sort(cells.begin(), cells.end(),
                     [](const Cell& a, const Cell& b) { return CompareGroups(a, b) < 0; });
    std::vector<Cell> kept;
    for (Cell& cell : cells) {
      if (!kept.empty() && MayCompareOtherwise(kept.back(), cell)) notes_.determined = false;
      if (kept.empty() || CompareGroups(kept.back(), cell) != 0) kept.push_back(std::move(cell));
    }
    for (Cell& cell : kept) cell.any_zero |= IsReal(cell.type) && cell.real == 0;
    cells = std::move(kept);
  }

  Cell Measured(AggregateFunction function, CellType type, const std::vector<Cell>& cells,
                uint64_t nulls) {
    if (function == AggregateFunction::kCount) {
      return NumberCell(
          type, cells.size() + (fault_ == PlanFault::kCountCountsNulls ? nulls : uint64_t{0}));
    }
    if (cells.empty()) return NullCell(type);
    if (function == AggregateFunction::kMin || function == AggregateFunction::kMax) {
      return Extreme(function, cells);
    }
    if (function == AggregateFunction::kMedian) return Median(type, cells);
    const Cell sum = IsReal(cells[0].type) ? SumOfReals(cells) : SumOfNumbers(cells);
    if (function == AggregateFunction::kSum || sum.failed()) {
      return sum.failed() ? FailedCell(type, sum.error) : sum;
    }
    const uint64_t count =
        cells.size() + (fault_ == PlanFault::kAverageCountsNulls ? nulls : uint64_t{0});
    return Average(sum, static_cast<double>(count));
  }

  Cell SumOfNumbers(const std::vector<Cell>& cells) {
    WideSum sum;
    for (const Cell& cell : cells) sum.Add(cell.number);
    const CellType type{ColumnType::kInt128, cells[0].type.scale};
    const std::optional<Int128> number = sum.Get();
    if (number.has_value()) return NumberCell(type, *number);
    notes_.possible.insert(absl::StatusCode::kOutOfRange);
    return FailedCell(type, absl::StatusCode::kOutOfRange);
  }

  // An engine may round the sum before it divides.
  static Cell Average(const Cell& sum, double count) {
    Cell out = RealCell(RealOf(sum) / count);
    out.any_zero = sum.any_zero;
    const bool exact = IsReal(sum.type)
                           ? sum.slack == 0
                           : sum.type.scale == 0 && std::abs(RealOf(sum)) < 1 / kEpsilon;
    if (!exact) out.slack = sum.slack / count + 2 * kEpsilon * std::abs(out.real);
    if (std::isinf(sum.slack)) out.slack = kInfinity;
    return out;
  }

  Cell Extreme(AggregateFunction function, const std::vector<Cell>& cells) {
    const bool largest = function == AggregateFunction::kMax;
    const Cell* found = nullptr;
    double slack = 0;
    bool any_zero = false;
    for (const Cell& cell : cells) {
      slack = std::max(slack, cell.slack);
      any_zero |= cell.any_zero;
      if (fault_ == PlanFault::kNanNeverLargest && cells.size() > 1 && std::isnan(cell.real)) {
        continue;
      }
      const bool better = found == nullptr || (largest ? CompareTotally(cell, *found) > 0
                                                       : CompareTotally(cell, *found) < 0);
      if (better) found = &cell;
    }
    Cell out = found == nullptr ? cells[0] : *found;
    out.slack = slack;
    out.any_zero |= any_zero && out.real == 0;
    return out;
  }

  Cell Median(CellType type, std::vector<Cell> cells) {
    std::stable_sort(cells.begin(), cells.end(),
                     [](const Cell& a, const Cell& b) { return CompareTotally(a, b) < 0; });
    const Cell& low = cells[(cells.size() - 1) / 2];
    const Cell& high = fault_ == PlanFault::kMedianIsLower ? low : cells[cells.size() / 2];
    if (IsReal(cells[0].type)) return RealMedian(low, high, cells);
    // Halves of the sum, of which the last digits may be beyond 128 bits.
    Int128 sum = 0;
    const bool fits = !__builtin_add_overflow(low.number, high.number, &sum) &&
                      sum <= kInt128Largest / 5 && sum >= kInt128Smallest / 5;
    if (IsReal(type)) {
      if (fits) return RealCell(NearestReal(DigitsOf(sum * 5, 1)));
      Cell out = RealCell(RealOf(low) / 2 + RealOf(high) / 2);
      out.slack = 2 * kEpsilon * std::abs(out.real);
      return out;
    }
    if (fits) return NumberCell(type, sum / 2);
    Int128 half = low.number / 2 + high.number / 2;
    const auto rest = low.number % 2 + high.number % 2;  // two halves, or one that is cut off
    half += rest / 2;
    if (rest == 1 && half < 0) ++half;
    if (rest == -1 && half > 0) --half;
    return NumberCell(type, half);
  }

  // Values that may be elsewhere move the middle by as much as the one that moves most.
  static Cell RealMedian(const Cell& low, const Cell& high, const std::vector<Cell>& cells) {
    Cell out = RealCell(low.real == high.real ? low.real : low.real / 2 + high.real / 2);
    for (const Cell& cell : cells) {
      out.slack = std::max(out.slack, cell.slack);
      out.any_zero |= cell.any_zero;
    }
    out.any_zero =
        out.real == 0 &&
        (out.any_zero || std::signbit(low.real) != std::signbit(high.real) || out.slack > 0);
    if (out.slack > 0) out.slack += kEpsilon * std::abs(out.real);
    return out;
  }

  ExpressionValue& values_;
  PlanNotes& notes_;
  const PlanFault fault_;
};

struct GroupLess {
  PlanFault fault;
  bool operator()(const Cells& left, const Cells& right) const {
    for (size_t i = 0; i < left.size(); ++i) {
      std::weak_ordering order = CompareGroups(left[i], right[i]);
      if (fault == PlanFault::kZerosAreTwoGroups && !left[i].null && !right[i].null) {
        order = CompareTotally(left[i], right[i]);
      }
      if (order != 0) return order < 0;
    }
    return false;
  }
};
using Groups = std::map<Cells, std::vector<const PlanRow*>, GroupLess>;

// Keys that are not exact may be one group here and two in the engine.
void NoteNearKeys(const Groups& groups, PlanNotes& notes) {
  for (auto left = groups.begin(); left != groups.end(); ++left) {
    for (size_t i = 0; i < left->first.size(); ++i) {
      const Cell& cell = left->first[i];
      if (cell.null || cell.slack == 0) continue;
      for (auto right = groups.begin(); right != groups.end(); ++right) {
        const Cell& other = right->first[i];
        if (left == right ? left->second.size() > 1
                          : !other.null && MayCompareOtherwise(cell, other)) {
          notes.determined = false;
        }
      }
    }
  }
}

}  // namespace

Relation Aggregated(const AggregateInput& input, ExpressionValue& values, PlanNotes& notes,
                    PlanFault fault) {
  Relation out;
  out.error = input.rows.error;
  if (out.failed()) return out;
  const auto& keys = input.node.keys;
  Groups groups(GroupLess{fault});
  if (keys.empty() && fault != PlanFault::kNoRowWithoutInput) groups[{}] = {};
  for (const PlanRow& row : input.rows.rows) {
    Cells key;
    bool null = false;
    for (const uint32_t column : keys) {
      key.push_back(row.cells[column]);
      null |= key.back().null;
      // Which group it is in is not known, so none is.
      if (key.back().failed()) {
        out.error = key.back().error;
        return out;
      }
      key.back().any_zero |= IsReal(key.back().type) && key.back().real == 0;
    }
    if (null && fault == PlanFault::kNullGroupDropped) continue;
    groups[key].push_back(&row);
  }
  NoteNearKeys(groups, notes);
  Measuring measuring(values, notes, fault);
  for (const auto& [key, rows] : groups) {
    PlanRow row{.cells = key};
    const auto sure = [](const PlanRow* one) { return one->error == absl::StatusCode::kOk; };
    if (!rows.empty() && !keys.empty() && std::none_of(rows.begin(), rows.end(), sure)) {
      row.error = rows[0]->error;
    }
    for (size_t i = 0; i < input.node.measures.size(); ++i) {
      row.cells.push_back(measuring.Of(input.node.measures[i], input.arguments[i],
                                       input.types[keys.size() + i], rows));
    }
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace eris::test
