#include "storage/table/query/median_results.h"

#include <algorithm>
#include <numeric>

#include "storage/table/kernels/exact_number.h"
#include "storage/table/kernels/kernels.h"

namespace eris::storage {
namespace {

// Partitioning a value takes about as long as grouping it does; going through it far less.
constexpr uint32_t kFarPerRow = 8;
// Besides its values, a group costs as much as so many of them.
constexpr uint32_t kValuesPerGroup = 8;

// Half of low + high, cut off towards 0. `odd`: something was cut off.
Int128 Middle(Int128 low, Int128 high, bool& odd) {
  odd = ((low ^ high) & 1) != 0;
  if ((low < 0) != (high < 0)) return (low + high) / 2;
  return low < 0 ? high - (high - low) / 2 : low + (high - low) / 2;
}

// The double nearest to half of low + high.
double RealMiddle(Int128 low, Int128 high) {
  Int128 sum = 0;
  if (!__builtin_add_overflow(low, high, &sum)) return NearestDouble(sum, 0) / 2;
  // Larger than 2^126: its last bit says on which side of the middle of two doubles it is.
  bool odd = false;
  const Int128 middle = Middle(low, high, odd);
  return middle < 0 ? NearestDouble(-(-middle | Int128{odd}), 0)
                    : NearestDouble(middle | Int128{odd}, 0);
}

}  // namespace

MedianResults::MedianResults(const PlanBody& plan, GroupTable& table) : table_(table) {
  for (const AggregateResult& result : plan.results) {
    if (result.function != AggregateFunction::kMedian) continue;
    const auto same = [&](const Median& one) { return one.accumulator == result.accumulator; };
    if (std::any_of(medians_.begin(), medians_.end(), same)) continue;
    medians_.push_back({.accumulator = result.accumulator,
                        .count = result.count,
                        .value_class = result.value_class,
                        .real = result.real_median});
  }
  if (!medians_.empty()) scratch_ = std::make_unique<MiddleScratch>();
}

bool MedianResults::HasMedians(const PlanBody& plan) {
  return std::any_of(plan.results.begin(), plan.results.end(), [](const AggregateResult& result) {
    return result.function == AggregateFunction::kMedian;
  });
}

void MedianResults::FetchBehind(uint32_t group) {
  for (uint32_t ahead = kFetchDistance; ahead < kFetchedAhead; ahead += kFetchDistance) {
    const uint64_t*& next = fetched_[(group + ahead) % kFetchedAhead];
    if (ahead + kFetchDistance < kFetchedAhead) {
      next = GroupValues::FetchNext(next);
    } else if (group + ahead < table_.size()) {
      next = GroupValues::FetchLast(table_.cells(group + ahead)[medians_[0].accumulator].values);
    } else {
      next = nullptr;
    }
  }
}

bool MedianResults::Begin() {
  const Median& median = medians_[next_];
  const uint64_t count = median.count == AggregateResult::kNoAccumulator
                             ? table_.rows(group_)
                             : table_.cells(group_)[median.count].count;
  if (count == 0) return false;
  if (median.value_class == ValueClass::kInt128) {
    pick_.emplace<MiddlePick<Int128>>(*scratch_).Begin(cell().values, count);
  } else {
    pick_.emplace<MiddlePick<int64_t>>(*scratch_).Begin(cell().values, count);
  }
  return true;
}

void MedianResults::GoOn() {
  if (++next_ < medians_.size()) return;
  next_ = 0;
  FetchBehind(++group_);
}

bool MedianResults::Advance(uint32_t rows) {
  if (medians_.empty()) return false;
  for (uint64_t left = rows; left > 0;) {
    if (group_ == table_.size()) return false;
    if (!under_way_ && !Begin()) {
      GoOn();
      --left;
      continue;
    }
    const auto advance = [&]<class Value>(MiddlePick<Value>& pick) {
      under_way_ = pick.Advance(left * kFarPerRow);
      left -= std::min(left, under_way_ ? left : pick.near_values() + kValuesPerGroup);
      if (under_way_) return;
      Put(pick.low(), pick.high());
      GoOn();
    };
    if (auto* const narrow = std::get_if<MiddlePick<int64_t>>(&pick_)) {
      advance(*narrow);
    } else if (auto* const wide = std::get_if<MiddlePick<Int128>>(&pick_)) {
      advance(*wide);
    }
  }
  return true;
}

void MedianResults::Put(Int128 low, Int128 high) {
  const Median& median = medians_[next_];
  GroupTable::Cell made{.sum = 0};
  if (median.value_class == ValueClass::kDouble) {
    made.real = std::midpoint(kernels::DoubleOfKey(static_cast<int64_t>(low)),
                              kernels::DoubleOfKey(static_cast<int64_t>(high)));
  } else {
    if (median.value_class == ValueClass::kUnsigned) {
      low = kernels::UnsignedOfKey(static_cast<int64_t>(low));
      high = kernels::UnsignedOfKey(static_cast<int64_t>(high));
    }
    bool odd = false;
    if (median.real) {
      made.real = RealMiddle(low, high);
    } else {
      made.sum = Middle(low, high, odd);  // little-endian: also one of 64 bits
    }
  }
  cell() = made;
}

}  // namespace eris::storage
