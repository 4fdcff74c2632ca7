#include "storage/table/query/block_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "storage/table/kernels/civil_date.h"
#include "storage/table/kernels/kernels.h"
#include "storage/table/plan/literal_interval.h"
#include "storage/table/plan/plan_compiler.h"

namespace eris::storage {
namespace {

using Op = ValueNode::Op;

kernels::Operation OperationOf(Op op) {
  return op == Op::kAdd        ? kernels::Operation::kAdd
         : op == Op::kSubtract ? kernels::Operation::kSubtract
         : op == Op::kMultiply ? kernels::Operation::kMultiply
                               : kernels::Operation::kDivide;
}

// Operands are x * x_power and y * y_power. False: the result does not fit in 128 bits.
bool Apply(Op op, Int128 x, Int128 x_power, Int128 y, Int128 y_power, Int128& out) {
  if (__builtin_mul_overflow(x, x_power, &x) || __builtin_mul_overflow(y, y_power, &y))
    return false;
  switch (op) {
    case Op::kAdd:
      return !__builtin_add_overflow(x, y, &out);
    case Op::kSubtract:
      return !__builtin_sub_overflow(x, y, &out);
    default:
      return !__builtin_mul_overflow(x, y, &out);
  }
}

// Bytes of a value in the scratch memory, with its validity.
size_t RoomBytes(const ValueNode& node) {
  const bool wide =
      node.value_class == ValueClass::kInt128 || node.value_class == ValueClass::kString;
  return kBlockRows * (wide ? sizeof(Int128) : sizeof(uint64_t)) + kBlockWords * sizeof(uint64_t);
}
static_assert(sizeof(Int128) == sizeof(std::string_view));

}  // namespace

size_t BlockValues::BytesOf(const PlanBody& plan) {
  size_t bytes = 0;
  for (const ValueNode& node : plan.values) bytes += RoomBytes(node);
  return bytes;
}

BlockValues::BlockValues(const PlanBody& plan, BlockFilter& conditions)
    : plan_(plan),
      conditions_(conditions),
      memory_(BytesOf(plan)),
      slots_(plan.values.size()),
      bounds_(plan.values.size()) {
  size_t room = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].room = room + kBlockWords * sizeof(uint64_t);
    room += RoomBytes(plan.values[i]);
  }
}

void BlockValues::BeginSegment(const SegmentView& segment) {
  segment_ = &segment;
  for (uint32_t value = 0; value < plan_.values.size(); ++value) BoundsOf(value);
}

void BlockValues::BoundsOf(uint32_t value) {
  const ValueNode& node = plan_.values[value];
  Bounds& out = bounds_[value];
  out = {};
  switch (node.op) {
    case Op::kColumn:
      ColumnBounds(node, out);
      return;
    case Op::kConstant:
      out.known =
          node.value_class != ValueClass::kDouble && node.value_class != ValueClass::kString;
      if (out.known) out.lo = out.hi = IntegerOf(node);
      return;
    case Op::kNull:
      out.nulls = out.all_null = true;
      return;
    case Op::kToDouble:
      out.nulls = bounds_[node.left].nulls;
      out.all_null = bounds_[node.left].all_null;
      out.checked = bounds_[node.left].checked;
      return;
    case Op::kSubstring:
      out.nulls = bounds_[node.left].nulls;
      out.all_null = bounds_[node.left].all_null;
      out.checked = bounds_[node.left].checked;
      return;
    case Op::kDatePart:
      DatePartBounds(node, out);
      return;
    case Op::kCase:
      CaseBounds(node, out);
      return;
    case Op::kCast:
      CastBounds(node, out);
      return;
    case Op::kQuotient:
    case Op::kRemainder:
      DivisionBounds(node, out);
      return;
    default:
      ArithmeticBounds(node, out);
      return;
  }
}

void BlockValues::ColumnBounds(const ValueNode& node, Bounds& out) const {
  const SegmentColumn& column = segment_->columns[node.column];
  out.nulls = column.validity != nullptr && (segment_->ever == 0 || column.nulls > 0);
  out.all_null = out.nulls && segment_->ever > 0 && column.nulls == segment_->ever;
  if (node.value_class == ValueClass::kString) return;
  const SegmentColumn::Bounds* const bounds = column.bounds;
  if (node.value_class == ValueClass::kDouble) {
    out.known = bounds != nullptr && bounds->min.f64 <= bounds->max.f64;
    if (out.known) {
      out.real_lo = bounds->min.f64;
      out.real_hi = bounds->max.f64;
    }
    return;
  }
  const RangeOfValues limits = RangeOf(node);
  out.known = true;
  out.lo = limits.min;
  out.hi = limits.max;
  if (bounds == nullptr || node.value_class == ValueClass::kInt128) return;
  const bool is_unsigned = node.value_class == ValueClass::kUnsigned;
  const Int128 lo = is_unsigned ? Int128{bounds->min.u64} : Int128{bounds->min.i64};
  const Int128 hi = is_unsigned ? Int128{bounds->max.u64} : Int128{bounds->max.i64};
  if (lo > hi) return;  // of no value so far
  out.lo = lo;
  out.hi = hi;
}

void BlockValues::DatePartBounds(const ValueNode& node, Bounds& out) const {
  const Bounds& times = bounds_[node.left];
  out = times;
  const auto year = [type = plan_.values[node.left].type](Int128 time) {
    return Int128{PartOfTime(type, DatePart::kYear, static_cast<int64_t>(time))};
  };
  out.lo = IsTimePart(node.part) ? 0 : 1;
  switch (node.part) {
    case DatePart::kYear:
      out.lo = year(times.lo);
      out.hi = year(times.hi);
      return;
    case DatePart::kQuarter:
      out.hi = 4;
      break;
    case DatePart::kMonth:
      out.hi = 12;
      break;
    case DatePart::kDay:
      out.hi = 31;
      break;
    case DatePart::kHour:
      out.hi = 23;
      break;
    case DatePart::kMinute:
    case DatePart::kSecond:
      out.hi = 59;
      break;
  }
}

void BlockValues::ArithmeticBounds(const ValueNode& node, Bounds& out) const {
  const RangeOfValues limits = RangeOf(node);
  const Bounds& a = bounds_[node.left];
  const Bounds& b = bounds_[node.right];
  out.nulls = a.nulls || b.nulls;
  out.all_null = a.all_null || b.all_null;
  out.checked = a.checked || b.checked;
  if (node.value_class == ValueClass::kDouble) return;
  const Int128 left_power = kPowersOfTen[node.left_power];
  const Int128 right_power = kPowersOfTen[node.right_power];
  bool fits = true;
  bool first = true;
  for (const Int128 x : {a.lo, a.hi}) {
    for (const Int128 y : {b.lo, b.hi}) {
      Int128 result = 0;
      fits &= Apply(node.op, x, left_power, y, right_power, result);
      out.lo = first ? result : std::min(out.lo, result);
      out.hi = first ? result : std::max(out.hi, result);
      first = false;
    }
  }
  out.known = true;
  out.leaves = !fits || out.lo < limits.min || out.hi > limits.max;
  if (out.leaves) {
    out.lo = limits.min;
    out.hi = limits.max;
  }
  out.leaves = out.leaves && !out.all_null;  // without a value there is no result
  out.checked = out.checked || out.leaves;
}

bool BlockValues::Narrow(uint32_t value) const {
  const Bounds& bounds = bounds_[value];
  constexpr Int128 kMax = std::numeric_limits<int64_t>::max() / kBlockRows;
  return bounds.known && bounds.lo >= -kMax && bounds.hi <= kMax;
}

void BlockValues::BeginBlock(uint32_t base, uint32_t rows) {
  base_ = base;
  rows_ = rows;
  picks_ = nullptr;
  block_ = request_ = ++stamps_;
}

void BlockValues::Pick(const uint16_t* picks, uint32_t count) {
  picks_ = picks;
  rows_ = count;
  block_ = request_ = ++stamps_;
}

const uint64_t* BlockValues::Validity(uint32_t value) const {
  // If nothing is null, the bitmap is ignored even if there is one.
  return bounds_[value].nulls ? column(value).validity + base_ / 64 : nullptr;
}

const BlockVector* BlockValues::Evaluate(uint32_t value, const uint64_t* needed) {
  if (picks_ == nullptr || needed != nullptr) request_ = ++stamps_;
  return Request(value, needed);
}

const BlockVector* BlockValues::EvaluateWide(uint32_t value, const uint64_t* needed) {
  if (picks_ == nullptr || needed != nullptr) request_ = ++stamps_;
  return RequestWide(value, needed);
}

const BlockVector* BlockValues::Request(uint32_t value, const uint64_t* needed) {
  Slot& slot = slots_[value];
  const uint64_t stamp = bounds_[value].checked ? request_ : block_;
  if (slot.stamp != stamp) {
    if (!Make(value, needed, slot.vector)) return nullptr;
    slot.stamp = stamp;
  }
  return &slot.vector;
}

const BlockVector* BlockValues::RequestWide(uint32_t value, const uint64_t* needed) {
  const BlockVector* const made = Request(value, needed);
  if (made == nullptr || made->kind != BlockVector::Kind::kInt32) return made;
  Slot& slot = slots_[value];  // of a column: nothing to check
  if (slot.wide_stamp != block_) {
    auto* const room = reinterpret_cast<int64_t*>(Room(value));
    kernels::Widen(static_cast<const int32_t*>(made->data), rows_, room);
    slot.wide = {.kind = BlockVector::Kind::kInt64, .data = room, .validity = made->validity};
    slot.wide_stamp = block_;
  }
  return &slot.wide;
}

bool BlockValues::Make(uint32_t value, const uint64_t* needed, BlockVector& out) {
  const ValueNode& node = plan_.values[value];
  switch (node.op) {
    case Op::kColumn: {
      if (node.value_class == ValueClass::kString) {
        Strings(value, out);
        return true;
      }
      if (picks_ != nullptr) {
        PickColumn(value, out);
        return true;
      }
      VisitColumnType(node.type, [&]<class T>(ColumnTraits<T>) {
        if constexpr (std::is_arithmetic_v<T>) {
          out.kind = BlockVector::KindOf<T>();
          out.data = static_cast<const T*>(column(value).values) + base_;
        } else if constexpr (std::is_same_v<T, Int128Halves>) {
          out.kind = BlockVector::Kind::kInt128;
          out.data = static_cast<const Int128*>(column(value).values) + base_;
        }
      });
      out.validity = Validity(value);
      return true;
    }
    case Op::kConstant:
    case Op::kNull:
      Fill(value, out);
      return true;
    case Op::kToDouble: {
      const BlockVector* const from = RequestWide(node.left, needed);
      if (from == nullptr) return false;
      ToDouble(value, *from, out);
      return true;
    }
    case Op::kDatePart: {
      const BlockVector* const from = RequestWide(node.left, needed);
      if (from == nullptr) return false;
      auto* const room = reinterpret_cast<int64_t*>(Room(value));
      const ColumnType type = plan_.values[node.left].type;
      for (uint32_t i = 0; i < rows_; ++i) room[i] = PartOfTime(type, node.part, from->i64()[i]);
      out = {.kind = BlockVector::Kind::kInt64, .data = room, .validity = from->validity};
      return true;
    }
    case Op::kCase:
      return Case(value, needed, out);
    case Op::kCast:
      return Cast(value, needed, out);
    case Op::kSubstring:
      return Substring(value, needed, out);
    case Op::kQuotient:
    case Op::kRemainder:
      return Divide(value, needed, out);
    default:
      return Arithmetic(value, needed, out);
  }
}

void BlockValues::Fill(uint32_t value, BlockVector& out) {
  const ValueNode& node = plan_.values[value];
  uint64_t* const room = Room(value);
  if (node.value_class == ValueClass::kString) {
    std::fill_n(reinterpret_cast<std::string_view*>(room), rows_, std::string_view(node.string));
  } else if (node.value_class == ValueClass::kInt128) {
    std::fill_n(reinterpret_cast<Int128*>(room), rows_, node.wide);
  } else {
    std::fill_n(room, rows_, node.constant.u64);
  }
  out = {.kind = KindOf(node), .data = room};
  if (node.op == Op::kNull) {
    std::fill_n(ValidityRoom(value), kBlockWords, 0);
    out.validity = ValidityRoom(value);
  }
}

void BlockValues::PickColumn(uint32_t value, BlockVector& out) {
  const ValueNode& node = plan_.values[value];
  const SegmentColumn& from = column(value);
  uint64_t* const room = Room(value);
  VisitColumnType(node.type, [&]<class T>(ColumnTraits<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      using Bits = std::conditional_t<sizeof(T) == sizeof(uint64_t), uint64_t, T>;
      const auto* const values = static_cast<const Bits*>(from.values) + base_;
      for (uint32_t i = 0; i < rows_; ++i) room[i] = static_cast<uint64_t>(values[picks_[i]]);
    } else if constexpr (std::is_same_v<T, Int128Halves>) {
      const auto* const values = static_cast<const Int128*>(from.values) + base_;
      auto* const wide = reinterpret_cast<Int128*>(room);
      for (uint32_t i = 0; i < rows_; ++i) wide[i] = values[picks_[i]];
    }
  });
  out = {.kind = KindOf(node), .data = room};
  PickValidity(value, out);
}

void BlockValues::PickValidity(uint32_t value, BlockVector& out) {
  if (const uint64_t* const validity = Validity(value); validity != nullptr) {
    uint64_t* const bits = ValidityRoom(value);
    std::fill_n(bits, (rows_ + 63) / 64, 0);
    for (uint32_t i = 0; i < rows_; ++i) {
      bits[i / 64] |= uint64_t{BitAt(validity, picks_[i])} << i % 64;
    }
    out.validity = bits;
  }
}

void BlockValues::ToDouble(uint32_t value, const BlockVector& from, BlockVector& out) {
  const uint8_t scale = plan_.values[plan_.values[value].left].scale;
  auto* const room = reinterpret_cast<double*>(Room(value));
  if (from.kind == BlockVector::Kind::kInt128) {
    for (uint32_t i = 0; i < rows_; ++i) room[i] = NearestDouble(from.i128()[i], scale);
  } else if (from.kind == BlockVector::Kind::kUint64) {
    for (uint32_t i = 0; i < rows_; ++i) room[i] = static_cast<double>(from.u64()[i]);
  } else if (scale == 0) {
    for (uint32_t i = 0; i < rows_; ++i) room[i] = static_cast<double>(from.i64()[i]);
  } else {
    constexpr uint64_t kExact = uint64_t{1} << 53;
    const auto power = static_cast<double>(kPowersOfTen[scale]);
    for (uint32_t i = 0; i < rows_; ++i) {
      const int64_t unscaled = from.i64()[i];
      const bool exact = static_cast<uint64_t>(unscaled) + kExact <= 2 * kExact;
      room[i] = exact ? static_cast<double>(unscaled) / power : NearestDouble(unscaled, scale);
    }
  }
  out = {.kind = BlockVector::Kind::kDouble, .data = room, .validity = from.validity};
}

const uint64_t* BlockValues::BothValid(uint32_t value, const uint64_t* left,
                                       const uint64_t* right) {
  if (left == nullptr || right == nullptr || left == right) return left != nullptr ? left : right;
  uint64_t* const room = ValidityRoom(value);
  for (uint32_t w = 0; w * 64 < rows_; ++w) room[w] = left[w] & right[w];
  return room;
}

bool BlockValues::Arithmetic(uint32_t value, const uint64_t* needed, BlockVector& out) {
  const ValueNode& node = plan_.values[value];
  const ValueNode& left_node = plan_.values[node.left];
  const ValueNode& right_node = plan_.values[node.right];
  const bool leaves = bounds_[value].leaves;
  const bool by_row = leaves || node.value_class == ValueClass::kInt128;
  // Constants need no vector, unless rows are computed one by one.
  const bool left_constant = left_node.op == Op::kConstant && !by_row;
  const bool right_constant = right_node.op == Op::kConstant && !by_row;
  static constexpr BlockVector kNone{};
  const BlockVector* const of_left = left_constant ? &kNone : RequestWide(node.left, needed);
  const BlockVector* const of_right = right_constant ? &kNone : RequestWide(node.right, needed);
  if (of_left == nullptr || of_right == nullptr) return false;
  const BlockVector& left = *of_left;
  const BlockVector& right = *of_right;
  out = {.kind = KindOf(node), .data = Room(value)};
  out.validity = BothValid(value, left.validity, right.validity);
  if (by_row) return CheckedArithmetic(value, needed, left, right, out);
  const kernels::Operation operation = OperationOf(node.op);
  if (node.value_class == ValueClass::kDouble) {
    auto* const room = reinterpret_cast<double*>(Room(value));
    if (left_constant) {
      kernels::ComputeWith(operation, right.f64(), left_node.constant.f64, true, rows_, room);
    } else if (right_constant) {
      kernels::ComputeWith(operation, left.f64(), right_node.constant.f64, false, rows_, room);
    } else {
      kernels::Compute(operation, left.f64(), right.f64(), rows_, room);
    }
    return true;
  }
  uint64_t* const room = Room(value);
  // At most one side has another scale than the result.
  const auto scaled = [&](const BlockVector& side, uint8_t power) -> const uint64_t* {
    if (power == 0) return side.u64();
    kernels::ComputeWith(kernels::Operation::kMultiply, side.u64(),
                         static_cast<uint64_t>(kPowersOfTen[power]), false, rows_, room);
    return room;
  };
  const auto constant = [](const ValueNode& side, uint8_t power) {
    return side.constant.u64 * static_cast<uint64_t>(kPowersOfTen[power]);
  };
  if (left_constant) {
    kernels::ComputeWith(operation, scaled(right, node.right_power),
                         constant(left_node, node.left_power), true, rows_, room);
  } else if (right_constant) {
    kernels::ComputeWith(operation, scaled(left, node.left_power),
                         constant(right_node, node.right_power), false, rows_, room);
  } else {
    const uint64_t* const a = scaled(left, node.left_power);
    const uint64_t* const b = scaled(right, node.right_power);
    kernels::Compute(operation, a, b, rows_, room);
  }
  return true;
}

bool BlockValues::CheckedArithmetic(uint32_t value, const uint64_t* needed, const BlockVector& left,
                                    const BlockVector& right, BlockVector& out) {
  const ValueNode& node = plan_.values[value];
  const RangeOfValues limits = RangeOf(node);
  const Int128 left_power = kPowersOfTen[node.left_power];
  const Int128 right_power = kPowersOfTen[node.right_power];
  const bool wide = node.value_class == ValueClass::kInt128;
  uint64_t* const room = Room(value);
  auto* const wide_room = reinterpret_cast<Int128*>(room);
  std::fill_n(room, rows_ * (wide ? 2 : 1), 0);  // the value of null rows in the output
  bool fits = true;
  // Numbers of 128 bits that need no check are made for all rows, since others may look at them.
  const bool all = !bounds_[value].checked;
  ForNeeded(all ? nullptr : needed, out.validity, [&](uint32_t i) {
    Int128 result = 0;
    fits &= Apply(node.op, left.Integer(i), left_power, right.Integer(i), right_power, result) &&
            result >= limits.min && result <= limits.max;
    if (wide) {
      wide_room[i] = result;
    } else {
      room[i] = static_cast<uint64_t>(result);
    }
  });
  return fits || OutsideType(node);
}

// Always false.
bool BlockValues::OutsideType(const ValueNode& node) {
  status_ = absl::OutOfRangeError(
      absl::StrCat(node.text, " is outside its type, ", ColumnTypeName(node.type)));
  return false;
}

}  // namespace eris::storage
