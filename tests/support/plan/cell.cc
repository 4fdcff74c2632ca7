#include "tests/support/plan/cell.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"

namespace eris::test {
namespace {

// Integers up to here are doubles without rounding.
constexpr Int128 kExactInteger = Int128{1} << 53;

std::weak_ordering OrderOfTexts(const std::string& left, const std::string& right) {
  return left.compare(right) <=> 0;
}

std::partial_ordering CompareWithReal(const Cell& number, double real) {
  if (std::isnan(real)) return std::partial_ordering::unordered;
  if (std::isinf(real)) {
    return real > 0 ? std::partial_ordering::less : std::partial_ordering::greater;
  }
  if (number.type.scale == 0 && number.number <= kExactInteger && number.number >= -kExactInteger) {
    return static_cast<double>(number.number) <=> real;
  }
  return CompareDigits(DigitsOf(number.number, number.type.scale), DigitsOf(real));
}

std::string RealText(double real) {
  return std::isnan(real) ? "NaN" : absl::StrFormat("%.17g", real);
}

}  // namespace

Cell NullCell(CellType type) { return {.type = type}; }
Cell NumberCell(CellType type, Int128 number) {
  return {.type = type, .null = false, .number = number};
}
Cell IntegerCell(int64_t number) { return NumberCell({ColumnType::kInt64}, number); }
Cell RealCell(double real) { return {.type = {ColumnType::kFloat64}, .null = false, .real = real}; }
Cell DecimalCell(int64_t unscaled, uint8_t scale) {
  return NumberCell({ColumnType::kDecimal, scale}, unscaled);
}
Cell DateCell(int32_t days) { return NumberCell({ColumnType::kDate}, days); }
Cell TimestampCell(int64_t micros) { return NumberCell({ColumnType::kTimestamp}, micros); }
Cell TextCell(std::string text) {
  return {.type = {ColumnType::kString}, .null = false, .text = std::move(text)};
}
Cell BytesCell(std::string bytes) {
  return {.type = {ColumnType::kBytes}, .null = false, .text = std::move(bytes)};
}
Cell FailedCell(CellType type, absl::StatusCode error) {
  Cell cell = NullCell(type);
  cell.error = error;
  return cell;
}

Cell CellOf(const Value& value, CellType null_type) {
  return std::visit(
      [&](const auto& one) -> Cell {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return NullCell(null_type);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          return IntegerCell(one);
        } else if constexpr (std::is_same_v<T, uint64_t>) {
          return NumberCell({ColumnType::kUint64}, one);
        } else if constexpr (std::is_same_v<T, double>) {
          return RealCell(one);
        } else if constexpr (std::is_same_v<T, Decimal>) {
          return DecimalCell(one.unscaled, one.scale);
        } else if constexpr (std::is_same_v<T, Date>) {
          return DateCell(one.days);
        } else if constexpr (std::is_same_v<T, Timestamp>) {
          return TimestampCell(one.micros);
        } else if constexpr (std::is_same_v<T, WideDecimal>) {
          const Uint128 bits = Uint128{one.unscaled.high} << 64 | one.unscaled.low;
          return NumberCell({ColumnType::kInt128, one.scale}, static_cast<Int128>(bits));
        } else if constexpr (std::is_same_v<T, Bytes>) {
          return BytesCell(one.bytes);
        } else {
          return TextCell(one);
        }
      },
      value);
}

Value ValueOf(const Cell& cell) {
  if (cell.null) return {};
  switch (cell.type.type) {
    case ColumnType::kUint64:
      return static_cast<uint64_t>(cell.number);
    case ColumnType::kFloat64:
      return cell.real;
    case ColumnType::kDate:
      return Date{static_cast<int32_t>(cell.number)};
    case ColumnType::kTimestamp:
      return Timestamp{static_cast<int64_t>(cell.number)};
    case ColumnType::kDecimal:
      return Decimal{static_cast<int64_t>(cell.number), cell.type.scale};
    case ColumnType::kString:
      return cell.text;
    case ColumnType::kBytes:
      return Bytes{cell.text};
    default:
      return static_cast<int64_t>(cell.number);
  }
}

Int128 SmallestOf(ColumnType type) {
  if (type == ColumnType::kInt128) return kInt128Smallest;
  if (type == ColumnType::kUint64) return 0;
  const bool narrow = ColumnValueBytes(type) == sizeof(int32_t);
  return narrow ? Int128{std::numeric_limits<int32_t>::min()}
                : Int128{std::numeric_limits<int64_t>::min()};
}
Int128 LargestOf(ColumnType type) {
  if (type == ColumnType::kInt128) return kInt128Largest;
  if (type == ColumnType::kUint64) return std::numeric_limits<uint64_t>::max();
  return -(SmallestOf(type) + 1);
}

Int128 MicrosOf(const Cell& cell) {
  return IsDate(cell.type) ? cell.number * 24 * 60 * 60 * 1'000'000 : cell.number;
}

double RealOf(const Cell& cell) {
  if (IsReal(cell.type)) return cell.real;
  if (cell.type.scale == 0 && cell.number <= kExactInteger && cell.number >= -kExactInteger) {
    return static_cast<double>(cell.number);
  }
  return NearestReal(DigitsOf(cell.number, cell.type.scale));
}

std::partial_ordering CompareCells(const Cell& left, const Cell& right) {
  if (HasText(left.type)) return OrderOfTexts(left.text, right.text);
  if (IsTime(left.type)) return MicrosOf(left) <=> MicrosOf(right);
  if (IsReal(left.type) && IsReal(right.type)) return left.real <=> right.real;
  if (IsReal(right.type)) return CompareWithReal(left, right.real);
  if (IsReal(left.type)) return 0 <=> CompareWithReal(right, left.real);
  if (left.type.scale == right.type.scale) return left.number <=> right.number;
  return CompareDigits(DigitsOf(left.number, left.type.scale),
                       DigitsOf(right.number, right.type.scale));
}

bool MayCompareOtherwise(const Cell& left, const Cell& right) {
  const double slack = left.slack + right.slack;
  if (!(slack > 0)) return false;
  const double x = RealOf(left);
  const double y = RealOf(right);
  if ((std::isnan(x) && left.slack == 0) || (std::isnan(y) && right.slack == 0)) return false;
  return !(std::abs(x - y) > slack);
}

std::weak_ordering CompareTotally(const Cell& left, const Cell& right) {
  if (HasText(left.type)) return OrderOfTexts(left.text, right.text);
  if (!IsReal(left.type)) return left.number <=> right.number;
  const bool left_nan = std::isnan(left.real);
  const bool right_nan = std::isnan(right.real);
  if (left_nan || right_nan) return left_nan <=> right_nan;
  if (left.real < right.real) return std::weak_ordering::less;
  if (left.real > right.real) return std::weak_ordering::greater;
  return std::signbit(right.real) <=> std::signbit(left.real);
}

std::weak_ordering CompareGroups(const Cell& left, const Cell& right) {
  if (left.null || right.null) return right.null <=> left.null;
  if (IsReal(left.type) && left.real == right.real) return std::weak_ordering::equivalent;
  return CompareTotally(left, right);
}

bool SameCell(const Cell& left, const Cell& right) {
  if (left.failed() || right.failed()) return false;
  if (left.type != right.type || left.null != right.null) return false;
  return left.null || CompareTotally(left, right) == 0;
}
bool SameCells(const Cells& left, const Cells& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), SameCell);
}

std::string CellText(const Cell& cell) {
  if (cell.failed()) return "error";
  if (cell.null) return "null";
  if (IsBytes(cell.type)) return absl::StrCat("x'", absl::BytesToHexString(cell.text), "'");
  if (IsText(cell.type)) return absl::StrCat("'", absl::CHexEscape(cell.text), "'");
  if (IsDate(cell.type)) {
    return absl::FormatCivilTime(absl::CivilDay(1970, 1, 1) + static_cast<int64_t>(cell.number));
  }
  if (IsTime(cell.type)) {
    return absl::FormatTime("%Y-%m-%d %H:%M:%E6S",
                            absl::FromUnixMicros(static_cast<int64_t>(cell.number)),
                            absl::UTCTimeZone());
  }
  if (!IsReal(cell.type)) return DigitsText(DigitsOf(cell.number, cell.type.scale));
  std::string text = RealText(cell.real);
  if (cell.slack > 0) absl::StrAppend(&text, "~");
  return text;
}

std::string CellsText(const Cells& cells) {
  std::string text;
  for (const Cell& cell : cells) absl::StrAppend(&text, text.empty() ? "" : " | ", CellText(cell));
  return text;
}

std::string TypeText(CellType type) {
  const bool scaled = type.type == ColumnType::kDecimal || type.type == ColumnType::kInt128;
  return absl::StrCat(ColumnTypeName(type.type), scaled ? absl::StrCat("(", type.scale, ")") : "");
}

}  // namespace eris::test
