#include "tests/support/plan/expression_value.h"

#include <cmath>
#include <limits>
#include <optional>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "base/check.h"

namespace eris::test {
namespace {

using Kind = Expression::Kind;
using Truth = Verdict::Truth;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

Int128 PowerOfTen(int exponent) {
  Int128 power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

// more * 10^digits + less, without steps that overflow where the result does not.
std::optional<Int128> ShiftedSum(Int128 more, int digits, Int128 less) {
  const Int128 power = PowerOfTen(digits);
  Int128 upper = 0;
  if (__builtin_add_overflow(more, less / power, &upper)) return std::nullopt;
  Int128 rest = less % power;
  // With the sign of `upper`, `rest` only leads away from zero: what overflows before, does after.
  if (upper > 0 && rest < 0) {
    upper -= 1;
    rest += power;
  } else if (upper < 0 && rest > 0) {
    upper += 1;
    rest -= power;
  }
  Int128 sum = 0;
  if (__builtin_mul_overflow(upper, power, &sum)) return std::nullopt;
  if (__builtin_add_overflow(sum, rest, &sum)) return std::nullopt;
  return sum;
}

std::optional<Int128> ExactSum(const Cell& left, const Cell& right) {
  const int digits = left.type.scale - right.type.scale;
  return digits < 0 ? ShiftedSum(left.number, -digits, right.number)
                    : ShiftedSum(right.number, digits, left.number);
}

// x / y, or what is left of x, both with as many digits behind the point.
std::optional<Int128> Divided(Kind kind, const Cell& left, const Cell& right) {
  const int digits = std::max(left.type.scale, right.type.scale);
  Int128 x = 0;
  Int128 y = 0;
  if (__builtin_mul_overflow(left.number, PowerOfTen(digits - left.type.scale), &x) ||
      __builtin_mul_overflow(right.number, PowerOfTen(digits - right.type.scale), &y) || y == 0) {
    return std::nullopt;
  }
  if (kind == Kind::kRemainder) return y == -1 ? Int128{0} : x % y;
  Int128 quotient = 0;
  if (y == -1) {
    if (__builtin_sub_overflow(Int128{0}, x, &quotient)) return std::nullopt;
    return quotient;
  }
  return x / y;
}

std::optional<Int128> ExactResult(Kind kind, const Cell& left, const Cell& right) {
  if (kind == Kind::kAdd) return ExactSum(left, right);
  if (kind == Kind::kQuotient || kind == Kind::kRemainder) return Divided(kind, left, right);
  if (kind == Kind::kSubtract) {
    Cell negative = right;
    // The smallest number alone has no negative.
    if (__builtin_sub_overflow(Int128{0}, right.number, &negative.number)) {
      Cell one_more = left;
      if (__builtin_add_overflow(left.number, Int128{1}, &one_more.number)) return std::nullopt;
      negative.number = kInt128Largest;
      return left.type.scale == right.type.scale ? ExactSum(one_more, negative) : std::nullopt;
    }
    return ExactSum(left, negative);
  }
  Int128 product = 0;
  if (__builtin_mul_overflow(left.number, right.number, &product)) return std::nullopt;
  return product;
}

double RealResult(Kind kind, double left, double right) {
  switch (kind) {
    case Kind::kAdd:
      return left + right;
    case Kind::kSubtract:
      return left - right;
    case Kind::kMultiply:
      return left * right;
    case Kind::kRemainder:
      return std::fmod(left, right);
    default:
      return left / right;
  }
}

// How far the result of doubles that are not exact may be away.
double SlackOf(Kind kind, const Cell& left, const Cell& right, double result) {
  if (kind == Kind::kDivide && right.any_zero) return kUnbounded;
  if (left.slack == 0 && right.slack == 0) return 0;
  if (kind == Kind::kRemainder) return kUnbounded;
  const double x = std::abs(RealOf(left));
  const double y = std::abs(RealOf(right));
  double slack = left.slack + right.slack;
  if (kind == Kind::kMultiply) {
    slack = x * right.slack + y * left.slack + left.slack * right.slack;
  } else if (kind == Kind::kDivide) {
    if (!(y > right.slack)) return kUnbounded;
    slack = (left.slack + std::abs(result) * right.slack) / (y - right.slack);
  }
  slack += 4 * std::numeric_limits<double>::epsilon() * std::abs(result);
  return std::isfinite(slack) ? slack : kUnbounded;
}

Cell RealArithmetic(Kind kind, const Cell& left, const Cell& right) {
  Cell out = RealCell(RealResult(kind, RealOf(left), RealOf(right)));
  out.slack = SlackOf(kind, left, right, out.real);
  out.any_zero = out.real == 0 && (left.any_zero || right.any_zero);
  return out;
}

absl::CivilSecond CivilOf(const Cell& time) {
  const auto number = static_cast<int64_t>(time.number);
  if (IsDate(time.type)) return absl::CivilSecond(absl::CivilDay(1970, 1, 1) + number);
  return absl::ToCivilSecond(absl::FromUnixMicros(number), absl::UTCTimeZone());
}

Int128 PartOfTime(DatePart part, const Cell& time) {
  const absl::CivilSecond civil = CivilOf(time);
  switch (part) {
    case DatePart::kYear:
      return civil.year();
    case DatePart::kQuarter:
      return (civil.month() - 1) / 3 + 1;
    case DatePart::kMonth:
      return civil.month();
    case DatePart::kDay:
      return civil.day();
    case DatePart::kHour:
      return civil.hour();
    case DatePart::kMinute:
      return civil.minute();
    case DatePart::kSecond:
      return civil.second();
  }
  return 0;
}

// A pattern that _ matches byte by byte: a planted fault.
bool IsLikeOfBytes(const std::string& text, const LikePieces& pattern, size_t at, size_t piece) {
  using PieceKind = PatternPiece::Kind;
  if (piece == pattern.size()) return at == text.size();
  if (pattern[piece].kind == PieceKind::kAnyText) {
    return IsLikeOfBytes(text, pattern, at, piece + 1) ||
           (at < text.size() && IsLikeOfBytes(text, pattern, at + 1, piece));
  }
  const std::string& character = pattern[piece].character;
  const bool any = pattern[piece].kind == PieceKind::kAnyCharacter;
  const size_t bytes = any ? 1 : character.size();
  if (at + bytes > text.size() || (!any && text.compare(at, bytes, character) != 0)) return false;
  return IsLikeOfBytes(text, pattern, at + bytes, piece + 1);
}

Verdict VerdictOf(bool holds) { return {holds ? Truth::kTrue : Truth::kFalse}; }
Verdict FailedVerdict(absl::StatusCode error) { return {Truth::kUnknown, error}; }

bool HoldsFor(Kind kind, std::partial_ordering order) {
  switch (kind) {
    case Kind::kNotEqual:
      return order != 0;
    case Kind::kLess:
      return order < 0;
    case Kind::kLessEqual:
      return order <= 0;
    case Kind::kGreater:
      return order > 0;
    case Kind::kGreaterEqual:
      return order >= 0;
    default:
      return order == 0;
  }
}

}  // namespace

Cell ExpressionValue::Failed(CellType type, absl::StatusCode error) {
  (out_of_order_ > 0 ? notes_.out_of_order : notes_.possible).insert(error);
  return FailedCell(type, error);
}

Cell ExpressionValue::Checked(CellType type, Int128 number) {
  if (number >= SmallestOf(type.type) && number <= LargestOf(type.type)) {
    return NumberCell(type, number);
  }
  if (fault_ != PlanFault::kOverflowWraps) return Failed(type, absl::StatusCode::kOutOfRange);
  const auto bits = static_cast<uint64_t>(number);
  return NumberCell(type, type.type == ColumnType::kUint64  ? Int128{bits}
                          : type.type == ColumnType::kInt32 ? Int128{static_cast<int32_t>(bits)}
                                                            : Int128{static_cast<int64_t>(bits)});
}

namespace {

bool IsNull(const Cell& cell) { return cell.null && !cell.failed(); }

}  // namespace

Cell ExpressionValue::Arithmetic(const BoundExpression& expression, const Cells& row) {
  const Cell left = Of(expression.arguments[0], row);
  const Cell right = Of(expression.arguments[1], row);
  // With a null nothing is computed.
  if (IsNull(left) || IsNull(right)) return NullCell(expression.type);
  if (left.failed()) return FailedCell(expression.type, left.error);
  if (right.failed()) return FailedCell(expression.type, right.error);
  if (IsReal(expression.type)) return RealArithmetic(expression.kind, left, right);
  const std::optional<Int128> result = ExactResult(expression.kind, left, right);
  if (!result.has_value()) return Failed(expression.type, absl::StatusCode::kOutOfRange);
  return Checked(expression.type, *result);
}

// Doubles that are not exact are tried at both ends of what they may be.
Cell ExpressionValue::CastReal(const Cell& from, CellType type) {
  const bool integer = type.scale == 0;
  const auto rounded = [&](double real) -> std::optional<Int128> {
    if (!std::isfinite(real)) return std::nullopt;
    return Rounded(DigitsOf(real), type.scale, integer ? Halves::kToEven : Halves::kAwayFromZero);
  };
  if (std::isinf(from.slack)) notes_.determined = false;
  if (from.slack > 0 && rounded(from.real - from.slack) != rounded(from.real + from.slack)) {
    notes_.determined = false;
  }
  std::optional<Int128> number = rounded(from.real);
  if (fault_ == PlanFault::kCastCutsOff && number.has_value() && integer) {
    number = rounded(std::trunc(from.real));
  }
  if (!number.has_value()) return Failed(type, absl::StatusCode::kOutOfRange);
  return Checked(type, *number);
}

Cell ExpressionValue::Converted(const Cell& from, CellType type) {
  if (from.failed()) return FailedCell(type, from.error);
  if (from.null) return NullCell(type);
  if (from.type == type) return from;
  if (type.type == ColumnType::kTimestamp) return Checked(type, MicrosOf(from));
  if (IsDate(type)) {
    return DateCell(
        static_cast<int32_t>(absl::CivilDay(CivilOf(from)) - absl::CivilDay(1970, 1, 1)));
  }
  if (!IsNumber(type)) return from;
  if (IsReal(type)) return RealCell(RealOf(from));
  if (IsReal(from.type)) return CastReal(from, type);
  const ExactDigits digits = DigitsOf(from.number, from.type.scale);
  std::optional<Int128> number = Rounded(digits, type.scale, Halves::kAwayFromZero);
  if (fault_ == PlanFault::kCastCutsOff && type.scale < from.type.scale) {
    number = from.number / PowerOfTen(from.type.scale - type.scale);
  }
  if (!number.has_value()) return Failed(type, absl::StatusCode::kOutOfRange);
  return Checked(type, *number);
}

Cell ExpressionValue::Case(const BoundExpression& expression, const Cells& row) {
  const auto& arguments = expression.arguments;
  const size_t pairs = arguments.size() / 2;
  const bool has_last = arguments.size() % 2 != 0;
  size_t taken = pairs;
  absl::StatusCode error = absl::StatusCode::kOk;
  for (size_t i = 0; i < pairs; ++i) {
    const Verdict verdict = Holds(arguments[2 * i], row);
    const bool decided = taken < pairs && fault_ != PlanFault::kCaseTakesLastTrue;
    if (decided || error != absl::StatusCode::kOk) continue;
    if (verdict.failed()) error = verdict.error;
    if (verdict.IsTrue()) taken = i;
  }
  Cell out = NullCell(expression.type);
  for (size_t i = 0; i < pairs + (has_last ? 1 : 0); ++i) {
    const bool takes = i == taken && error == absl::StatusCode::kOk;
    if (!takes) ++out_of_order_;
    const BoundExpression& value = i < pairs ? arguments[2 * i + 1] : arguments.back();
    const Cell cell = Converted(Of(value, row), expression.type);
    if (takes) {
      out = cell;
    } else {
      --out_of_order_;
    }
  }
  return error == absl::StatusCode::kOk ? out : FailedCell(expression.type, error);
}

Cell ExpressionValue::Of(const BoundExpression& expression, const Cells& row) {
  switch (expression.kind) {
    case Kind::kLiteral:
      return expression.literal;
    case Kind::kField:
      return row[expression.number];
    case Kind::kSubquery: {
      const Cell cell = subquery_(expression.number);
      if (cell.null && !cell.failed() && fault_ == PlanFault::kEmptySubqueryIsZero) {
        return IsReal(cell.type)    ? RealCell(0)
               : IsBytes(cell.type) ? BytesCell("")
               : IsText(cell.type)  ? TextCell("")
                                    : NumberCell(cell.type, 0);
      }
      return cell;
    }
    case Kind::kCase:
      return Case(expression, row);
    case Kind::kCast:
      return Converted(Of(expression.arguments[0], row), expression.type);
    case Kind::kDatePart:
    case Kind::kSubstring: {
      const Cell cell = Of(expression.arguments[0], row);
      if (cell.failed()) return FailedCell(expression.type, cell.error);
      if (cell.null) return NullCell(expression.type);
      if (expression.kind == Kind::kDatePart) {
        return NumberCell(expression.type, PartOfTime(expression.part, cell));
      }
      return TextCell(PartOfText(cell.text, expression.first, expression.length));
    }
    default:
      return Arithmetic(expression, row);
  }
}

namespace {

// Whether a number is outside a type of 64 bits: then it compares in the same way with each of the
// type's numbers, which need not be computed.
bool IsBeyond(const Cell& number, CellType type) {
  if (number.failed() || number.null || !IsNumber(number.type)) return false;
  if (!IsNumber(type) || IsReal(type) || type.type == ColumnType::kInt128) return false;
  const bool is_unsigned = type.type == ColumnType::kUint64;
  const Cell min = NumberCell(type, is_unsigned ? 0 : std::numeric_limits<int64_t>::min());
  const Cell max = NumberCell(type, is_unsigned ? Int128{std::numeric_limits<uint64_t>::max()}
                                                : std::numeric_limits<int64_t>::max());
  return !(CompareCells(min, number) <= 0 && CompareCells(number, max) <= 0);
}

// Whether a number has more digits than those of a type of 64 bits.
bool IsNoneOf(const Cell& number, CellType type) {
  if (number.failed() || number.null || !IsNumber(number.type)) return false;
  if (!IsNumber(type) || IsReal(type) || type.type == ColumnType::kInt128) return false;
  if (IsReal(number.type) && !std::isfinite(number.real)) return true;
  const std::optional<Int128> rounded = Rounded(
      IsReal(number.type) ? DigitsOf(number.real) : DigitsOf(number.number, number.type.scale),
      type.scale, Halves::kAwayFromZero);
  return !rounded.has_value() ||
         CompareCells(NumberCell({ColumnType::kInt128, type.scale}, *rounded), number) != 0;
}

}  // namespace

Verdict ExpressionValue::Compared(Kind kind, const Cell& left, const Cell& right) {
  if (IsNull(left) || IsNull(right)) return {Truth::kUnknown};
  if (left.failed() || right.failed()) {
    const Cell& failed = left.failed() ? left : right;
    const Cell& other = left.failed() ? right : left;
    const bool equality = kind == Kind::kEqual || kind == Kind::kNotEqual;
    const bool none = equality && IsNoneOf(other, failed.type);
    if (!none && !IsBeyond(other, failed.type)) return FailedVerdict(failed.error);
    // As any number of the type compares: with one that has more digits, none is equal.
    const Cell any = NumberCell(failed.type, 0);
    return VerdictOf(
        HoldsFor(kind, left.failed() ? CompareCells(any, other) : CompareCells(other, any)));
  }
  if (out_of_order_ == 0 && IsNumber(left.type) && MayCompareOtherwise(left, right)) {
    notes_.determined = false;
  }
  return VerdictOf(HoldsFor(kind, CompareCells(left, right)));
}

Verdict ExpressionValue::Equal(const Cell& left, const Cell& right) {
  return Compared(Kind::kEqual, left, right);
}

Verdict ExpressionValue::In(const BoundExpression& condition, const Cells& row) {
  const Cell value = Of(condition.arguments[0], row);
  Verdict result = VerdictOf(false);
  for (size_t i = 1; i < condition.arguments.size(); ++i) {
    const Verdict one = Equal(value, Of(condition.arguments[i], row));
    if (one.failed() || one.IsTrue()) return one;
    const bool ignored = fault_ == PlanFault::kNullInListIgnored && !value.null;
    if (one.truth == Truth::kUnknown && !ignored) result = one;
  }
  return result;
}

Verdict ExpressionValue::Connective(const BoundExpression& condition, const Cells& row) {
  const bool conjunction = condition.kind == Kind::kAnd;
  const Truth decides = conjunction ? Truth::kFalse : Truth::kTrue;
  Verdict result = VerdictOf(conjunction);
  uint32_t dropped = 0;
  for (const BoundExpression& argument : condition.arguments) {
    const Verdict one = Holds(argument, row);
    const bool decided = !result.failed() && result.truth == decides;
    if (decided) continue;
    if (!one.failed() && one.truth == decides) {
      result = one;
      if (conjunction) dropped = 1;
      out_of_order_ += dropped;
    } else if (!result.failed() && (one.failed() || one.truth == Truth::kUnknown)) {
      result = one;
    }
  }
  out_of_order_ -= dropped;
  return result;
}

Verdict ExpressionValue::Holds(const BoundExpression& condition, const Cells& row) {
  switch (condition.kind) {
    case Kind::kAnd:
    case Kind::kOr:
      return Connective(condition, row);
    case Kind::kNot: {
      Verdict verdict = Holds(condition.arguments[0], row);
      if (verdict.failed()) return verdict;
      if (verdict.truth == Truth::kUnknown) {
        return fault_ == PlanFault::kUnknownIsFalse ? VerdictOf(true) : verdict;
      }
      return VerdictOf(verdict.truth == Truth::kFalse);
    }
    case Kind::kIsNull: {
      const Cell cell = Of(condition.arguments[0], row);
      return cell.failed() ? FailedVerdict(cell.error) : VerdictOf(cell.null);
    }
    case Kind::kBetween: {
      BoundExpression both{.kind = Kind::kAnd, .condition = true};
      for (const size_t end : {1, 2}) {
        BoundExpression side{.kind = end == 1 ? Kind::kGreaterEqual : Kind::kLessEqual,
                             .condition = true};
        side.arguments = {condition.arguments[0], condition.arguments[end]};
        both.arguments.push_back(std::move(side));
      }
      return Connective(both, row);
    }
    case Kind::kIn:
      return In(condition, row);
    case Kind::kLike: {
      const Cell cell = Of(condition.arguments[0], row);
      if (cell.failed()) return FailedVerdict(cell.error);
      if (cell.null || condition.null_pattern) return {Truth::kUnknown};
      return VerdictOf(fault_ == PlanFault::kLikeCountsBytes
                           ? IsLikeOfBytes(cell.text, condition.pattern, 0, 0)
                           : IsLike(cell.text, condition.pattern));
    }
    default:
      return Compared(condition.kind, Of(condition.arguments[0], row),
                      Of(condition.arguments[1], row));
  }
}

}  // namespace eris::test
