// The values of a block that are whole quotients, or what those leave. They are computed row by
// row.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "storage/table/kernels/exact_number.h"
#include "storage/table/plan/literal_interval.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {
namespace {

using Op = ValueNode::Op;

struct Range {
  Int128 lo = 0, hi = 0;
};

// The numbers of `from` times a power of ten. False: they do not fit, or one has no negative.
bool Scaled(const BlockValues::Bounds& from, uint8_t power, Range& out) {
  return !__builtin_mul_overflow(from.lo, Int128{kPowersOfTen[power]}, &out.lo) &&
         !__builtin_mul_overflow(from.hi, Int128{kPowersOfTen[power]}, &out.hi) &&
         out.lo != kInt128Min && out.hi != kInt128Min;
}

// How far from 0 numbers of the range may be.
Int128 FarthestOf(const Range& range) { return std::max(-range.lo, range.hi); }

// Quotients of such numbers, with any divisor but 0: none is farther from 0 than its dividend.
Range Quotients(const Range& dividends, const Range& divisors) {
  if (divisors.lo > 0) {
    return {std::min<Int128>(dividends.lo, 0), std::max<Int128>(dividends.hi, 0)};
  }
  const Int128 farthest = std::max<Int128>(FarthestOf(dividends), 0);
  return {-farthest, farthest};
}

// What the quotients leave: it has the sign of the dividend, and is nearer to 0 than the divisor.
Range Remainders(const Range& dividends, const Range& divisors) {
  const Int128 most = std::max<Int128>(FarthestOf(divisors) - 1, 0);
  return {std::max(std::min<Int128>(dividends.lo, 0), -most),
          std::min(std::max<Int128>(dividends.hi, 0), most)};
}

}  // namespace

void BlockValues::DivisionBounds(const ValueNode& node, Bounds& out) const {
  const Bounds& left = bounds_[node.left];
  const Bounds& right = bounds_[node.right];
  out.nulls = left.nulls || right.nulls;
  out.all_null = left.all_null || right.all_null;
  out.checked = left.checked || right.checked;
  if (node.value_class == ValueClass::kDouble) return;
  const RangeOfValues limits = RangeOf(node);
  Range dividends, divisors;
  out.known = true;
  out.leaves = !Scaled(left, node.left_power, dividends) ||
               !Scaled(right, node.right_power, divisors) || (divisors.lo <= 0 && divisors.hi >= 0);
  if (!out.leaves) {
    const Range made =
        node.op == Op::kQuotient ? Quotients(dividends, divisors) : Remainders(dividends, divisors);
    out.lo = made.lo;
    out.hi = made.hi;
    out.leaves = out.lo < limits.min || out.hi > limits.max;
  }
  if (out.leaves) {
    out.lo = limits.min;
    out.hi = limits.max;
  }
  out.leaves = out.leaves && !out.all_null;  // without a value there is no result
  out.checked = out.checked || out.leaves;
}

bool BlockValues::Divide(uint32_t value, const uint64_t* needed, BlockVector& out) {
  const ValueNode& node = plan_.values[value];
  const BlockVector* const left = RequestWide(node.left, needed);
  const BlockVector* const right = RequestWide(node.right, needed);
  if (left == nullptr || right == nullptr) return false;
  out = {.kind = KindOf(node), .data = Room(value)};
  out.validity = BothValid(value, left->validity, right->validity);
  uint64_t* const room = Room(value);
  if (node.value_class == ValueClass::kDouble) {
    auto* const real_room = reinterpret_cast<double*>(room);
    for (uint32_t i = 0; i < rows_; ++i) real_room[i] = std::fmod(left->f64()[i], right->f64()[i]);
    return true;
  }
  const RangeOfValues limits = RangeOf(node);
  const Int128 left_power = kPowersOfTen[node.left_power];
  const Int128 right_power = kPowersOfTen[node.right_power];
  const bool rest = node.op == Op::kRemainder;
  const bool wide = node.value_class == ValueClass::kInt128;
  auto* const wide_room = reinterpret_cast<Int128*>(room);
  std::fill_n(room, rows_ * (wide ? 2 : 1), 0);  // the value of null rows in the output
  bool fits = true;
  bool by_zero = false;
  // Without a check all rows are made, since others may look at them. Those that nobody needs may
  // hold numbers outside the bounds: that does not count.
  ForNeeded(bounds_[value].checked ? needed : nullptr, out.validity, [&](uint32_t i) {
    Int128 x = 0;
    Int128 y = 0;
    Int128 result = 0;
    const bool made = !__builtin_mul_overflow(left->Integer(i), left_power, &x) &&
                      !__builtin_mul_overflow(right->Integer(i), right_power, &y) &&
                      DivideExactly(x, y, rest, result) && result >= limits.min &&
                      result <= limits.max;
    if (!made) {
      by_zero |= right->Integer(i) == 0;
      fits = false;
    } else if (wide) {
      wide_room[i] = result;
    } else {
      room[i] = static_cast<uint64_t>(result);
    }
  });
  if (fits || !bounds_[value].leaves) return true;
  if (!by_zero) return OutsideType(node);
  status_ = absl::OutOfRangeError(absl::StrCat(node.text, " is a division by 0"));
  return false;
}

}  // namespace eris::storage
