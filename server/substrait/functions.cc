#include "server/substrait/functions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace eris::server::plans {
namespace {

using Kind = Expression::Kind;
using Parts = std::vector<Part>;

constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

// One call: `kind` is the table's, for functions that differ in nothing else.
struct Call {
  absl::string_view name;
  Kind kind;
  Parts arguments;
  const Place& place;
};
using Result = absl::StatusOr<Part>;

absl::Status Takes(const Call& call, absl::string_view what, const Part& got) {
  return Malformed(call.place, "the function \"", call.name, "\" takes ", what, ", not ",
                   KindText(got.type.kind));
}
absl::Status CheckKind(const Call& call, const Part& part, ValueKind kind) {
  if (part.type.kind == kind || part.type.kind == ValueKind::kNull) return absl::OkStatus();
  return Takes(call, KindText(kind), part);
}
absl::Status CheckTime(const Call& call, const Part& part) {
  if (IsTime(part.type.kind) || part.type.kind == ValueKind::kNull) return absl::OkStatus();
  return Takes(call, "a date or a timestamp", part);
}
absl::Status CheckNumber(const Call& call, const Part& part) {
  if (IsNumber(part.type.kind) || part.type.kind == ValueKind::kNull) return absl::OkStatus();
  if (IsTime(part.type.kind)) {
    return Unsupported(call.place, "the function \"", call.name,
                       "\" of dates and timestamps is not supported");
  }
  return Takes(call, "numbers", part);
}
absl::Status OnlyLiterals(const Call& call, absl::string_view what) {
  return Unsupported(call.place, "the function \"", call.name, "\" with a ", what,
                     " that is no literal is not supported");
}

// The text or number of a literal; nullptr for others.
template <class T>
const T* LiteralOf(const Part& part) {
  const Value* value = part.literal();
  return value == nullptr ? nullptr : std::get_if<T>(value);
}

Result Compare(Call call) {
  ERIS_RETURN_IF_ERROR(MakeComparable(call.arguments[0], call.arguments[1], call.place));
  return Compose(call.kind, std::move(call.arguments), kConditionType, call.place);
}

Result BetweenBounds(Call call) {
  for (const size_t bound : {1, 2}) {
    ERIS_RETURN_IF_ERROR(MakeComparable(call.arguments[0], call.arguments[bound], call.place));
  }
  return Compose(Kind::kBetween, std::move(call.arguments), kConditionType, call.place);
}

Result ConnectAll(Call call) { return Connect(call.kind, std::move(call.arguments), call.place); }

Result Negation(Part condition, const Place& place) {
  ERIS_ASSIGN_OR_RETURN(condition, AsCondition(std::move(condition), place));
  return Compose(Kind::kNot, std::move(condition), kConditionType, place);
}
Result Not(Call call) { return Negation(std::move(call.arguments[0]), call.place); }

Result IsNullValue(Call call) {
  if (call.arguments[0].type.kind == ValueKind::kCondition) {
    ERIS_ASSIGN_OR_RETURN(call.arguments[0], AsValue(std::move(call.arguments[0]), call.place));
  }
  return Compose(Kind::kIsNull, std::move(call.arguments), kConditionType, call.place);
}
Result IsNotNullValue(Call call) {
  const Place& place = call.place;
  ERIS_ASSIGN_OR_RETURN(Part null, IsNullValue(std::move(call)));
  return Negation(std::move(null), place);
}

// The first value that is no null: a case with a test of each but the last.
Result Coalesce(Call call) {
  if (call.arguments.size() == 1) return std::move(call.arguments[0]);
  Parts parts;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    Part& value = call.arguments[i];
    if (i + 1 < call.arguments.size()) {
      ERIS_ASSIGN_OR_RETURN(Part test, IsNotNullValue({call.name, call.kind, {value}, call.place}));
      parts.push_back(std::move(test));
    }
    parts.push_back(std::move(value));
  }
  return ComposeCase(std::move(parts), call.place);
}

// A value of the part's type; which one does not matter.
Part AnyValueLike(const Part& part) {
  switch (part.type.kind) {
    case ValueKind::kDouble:
      return LiteralPart(0.0);
    case ValueKind::kDate:
      return LiteralPart(Date());
    case ValueKind::kTimestamp:
      return LiteralPart(Timestamp());
    case ValueKind::kString:
      return LiteralPart(std::string());
    case ValueKind::kBytes:
      return LiteralPart(Bytes());
    default:
      return LiteralPart(int64_t{0});
  }
}

// As equal, and two nulls are equal, too. It is two equalities, so that a join has both as keys:
// whether each is null, and what it is if it is not.
Result NotDistinct(Call call) {
  ERIS_RETURN_IF_ERROR(MakeComparable(call.arguments[0], call.arguments[1], call.place));
  for (const size_t null : {0, 1}) {
    if (call.arguments[null].type.kind != ValueKind::kNull) continue;
    return IsNullValue({call.name, call.kind, {call.arguments[1 - null]}, call.place});
  }
  Parts nulls, values;
  for (Part& value : call.arguments) {
    ERIS_ASSIGN_OR_RETURN(Part null, IsNullValue({call.name, call.kind, {value}, call.place}));
    ERIS_ASSIGN_OR_RETURN(
        null, ComposeCase({std::move(null), LiteralPart(int64_t{1}), LiteralPart(int64_t{0})},
                          call.place));
    nulls.push_back(std::move(null));
    Part other = AnyValueLike(value);
    ERIS_ASSIGN_OR_RETURN(
        value, Coalesce({call.name, call.kind, {std::move(value), std::move(other)}, call.place}));
    values.push_back(std::move(value));
  }
  Parts both;
  for (Parts* each : {&nulls, &values}) {
    ERIS_ASSIGN_OR_RETURN(Part equal,
                          Compose(Kind::kEqual, std::move(*each), kConditionType, call.place));
    both.push_back(std::move(equal));
  }
  return Connect(Kind::kAnd, std::move(both), call.place);
}
Result Distinct(Call call) {
  const Place& place = call.place;
  ERIS_ASSIGN_OR_RETURN(Part same, NotDistinct(std::move(call)));
  return Negation(std::move(same), place);
}

// The first value, or null if it is equal to the second.
Result NullIf(Call call) {
  ERIS_RETURN_IF_ERROR(MakeComparable(call.arguments[0], call.arguments[1], call.place));
  Parts parts{{}, LiteralPart(std::monostate()), call.arguments[0]};
  ERIS_ASSIGN_OR_RETURN(
      parts[0], Compose(Kind::kEqual, std::move(call.arguments), kConditionType, call.place));
  return ComposeCase(std::move(parts), call.place);
}

// Makes numbers of the arguments.
absl::Status TakeNumbers(Call& call) {
  for (Part& argument : call.arguments) {
    ERIS_RETURN_IF_ERROR(CheckNumber(call, argument));
    ERIS_ASSIGN_OR_RETURN(argument, AsNumber(std::move(argument), call.place));
  }
  return absl::OkStatus();
}

Result Arithmetic(Call call) {
  ERIS_RETURN_IF_ERROR(TakeNumbers(call));
  const ValueType type{.kind = std::max(call.arguments[0].type.kind, call.arguments[1].type.kind)};
  return Compose(call.kind, std::move(call.arguments), type, call.place);
}

// Quotients of integers are integers, others doubles: of decimals those are the same numbers.
Result Divide(Call call) {
  ERIS_RETURN_IF_ERROR(TakeNumbers(call));
  const auto integer = [](const Part& part) { return part.type.kind == ValueKind::kInteger; };
  if (std::all_of(call.arguments.begin(), call.arguments.end(), integer)) {
    return Compose(Kind::kQuotient, std::move(call.arguments), {.kind = ValueKind::kInteger},
                   call.place);
  }
  return Compose(Kind::kDivide, std::move(call.arguments), TypeOfColumn(ColumnType::kFloat64, 0),
                 call.place);
}

// A product, since 0 less a u64 would be outside its type.
Result Negate(Call call) {
  ERIS_RETURN_IF_ERROR(TakeNumbers(call));
  const ValueType type{.kind = call.arguments[0].type.kind};
  return Compose(Kind::kMultiply, std::move(call.arguments[0]), LiteralPart(int64_t{-1}), type,
                 call.place);
}

// A null or empty escape character is none.
Result LikePattern(Call call) {
  ERIS_RETURN_IF_ERROR(CheckKind(call, call.arguments[0], ValueKind::kString));
  if (LiteralOf<std::string>(call.arguments[1]) == nullptr) return OnlyLiterals(call, "pattern");
  if (call.arguments.size() > 2) {
    const Part& escape = call.arguments[2];
    const auto* text = LiteralOf<std::string>(escape);
    const bool null = escape.literal() != nullptr && escape.type.kind == ValueKind::kNull;
    if (text == nullptr && !null) return OnlyLiterals(call, "escape character");
    if (null || text->empty()) call.arguments.pop_back();
  }
  return Compose(Kind::kLike, std::move(call.arguments), kConditionType, call.place);
}

// A pattern for strings that begin or end with the text, or contain it.
Result LikeText(Call call) {
  constexpr char kEscape = '\\';
  ERIS_RETURN_IF_ERROR(CheckKind(call, call.arguments[0], ValueKind::kString));
  const auto* text = LiteralOf<std::string>(call.arguments[1]);
  if (text == nullptr) return OnlyLiterals(call, "text");
  std::string pattern;
  bool escaped = false;
  if (call.name != "starts_with") pattern += '%';
  for (const char c : *text) {
    if (c == '%' || c == '_' || c == kEscape) {
      pattern += kEscape;
      escaped = true;
    }
    pattern += c;
  }
  if (call.name != "ends_with") pattern += '%';
  Parts parts;
  parts.push_back(std::move(call.arguments[0]));
  // Without an escape character in force a backslash is a text like any other.
  parts.push_back(LiteralPart(std::move(pattern)));
  if (escaped) parts.push_back(LiteralPart(std::string(1, kEscape)));
  return Compose(Kind::kLike, std::move(parts), kConditionType, call.place);
}

Result Substring(Call call) {
  ERIS_RETURN_IF_ERROR(CheckKind(call, call.arguments[0], ValueKind::kString));
  for (size_t i = 1; i < call.arguments.size(); ++i) {
    if (LiteralOf<int64_t>(call.arguments[i]) == nullptr) return OnlyLiterals(call, "position");
  }
  return Compose(Kind::kSubstring, std::move(call.arguments), {.kind = ValueKind::kString},
                 call.place);
}

// Arguments: the part, maybe whether it counts from 1, and the date.
Result PartOfDate(Call call) {
  const auto* text = LiteralOf<std::string>(call.arguments[0]);
  if (text == nullptr) return OnlyLiterals(call, "part");
  const std::string name = absl::AsciiStrToLower(*text);
  if (std::find(std::begin(kDatePartNames), std::end(kDatePartNames), name) ==
      std::end(kDatePartNames)) {
    return Unsupported(call.place, "the part \"", *text, "\" of a date is not supported");
  }
  if (call.arguments.size() > 2) {
    const auto* first = LiteralOf<std::string>(call.arguments[1]);
    if (first == nullptr || *first != "ONE") {
      return Unsupported(call.place, "parts of a date that do not count from 1 are not supported");
    }
  }
  ERIS_RETURN_IF_ERROR(CheckTime(call, call.arguments.back()));
  return Compose(Kind::kDatePart, LiteralPart(name), std::move(call.arguments.back()),
                 {.kind = ValueKind::kInteger}, call.place);
}

// year(x) and its like: the function's name is the part.
Result NamedPartOfDate(Call call) {
  ERIS_RETURN_IF_ERROR(CheckTime(call, call.arguments[0]));
  return Compose(Kind::kDatePart, LiteralPart(std::string(call.name)), std::move(call.arguments[0]),
                 {.kind = ValueKind::kInteger}, call.place);
}

struct Function {
  absl::string_view name;
  size_t arguments_min;
  size_t arguments_max;
  Result (*call)(Call);
  Kind kind = Kind::kLiteral;  // unused where the function needs none
};

constexpr Function kFunctions[] = {
    {"equal", 2, 2, Compare, Kind::kEqual},
    {"not_equal", 2, 2, Compare, Kind::kNotEqual},
    {"lt", 2, 2, Compare, Kind::kLess},
    {"lte", 2, 2, Compare, Kind::kLessEqual},
    {"gt", 2, 2, Compare, Kind::kGreater},
    {"gte", 2, 2, Compare, Kind::kGreaterEqual},
    {"between", 3, 3, BetweenBounds},
    {"and", 1, kAnyNumber, ConnectAll, Kind::kAnd},
    {"or", 1, kAnyNumber, ConnectAll, Kind::kOr},
    {"not", 1, 1, Not},
    {"is_null", 1, 1, IsNullValue},
    {"is_not_null", 1, 1, IsNotNullValue},
    {"is_not_distinct_from", 2, 2, NotDistinct},
    {"is_distinct_from", 2, 2, Distinct},
    {"coalesce", 1, kAnyNumber, Coalesce},
    {"nullif", 2, 2, NullIf},
    {"add", 2, 2, Arithmetic, Kind::kAdd},
    {"subtract", 2, 2, Arithmetic, Kind::kSubtract},
    {"multiply", 2, 2, Arithmetic, Kind::kMultiply},
    {"divide", 2, 2, Divide},
    {"modulus", 2, 2, Arithmetic, Kind::kRemainder},
    {"negate", 1, 1, Negate},
    {"like", 2, 3, LikePattern},
    {"starts_with", 2, 2, LikeText},
    {"ends_with", 2, 2, LikeText},
    {"contains", 2, 2, LikeText},
    {"substring", 2, 3, Substring},
    {"date_part", 2, 2, PartOfDate},
    {"extract", 2, 3, PartOfDate},
    {"year", 1, 1, NamedPartOfDate},
    {"quarter", 1, 1, NamedPartOfDate},
    {"month", 1, 1, NamedPartOfDate},
    {"day", 1, 1, NamedPartOfDate},
    {"hour", 1, 1, NamedPartOfDate},
    {"minute", 1, 1, NamedPartOfDate},
    {"second", 1, 1, NamedPartOfDate},
};

const Function* FunctionOf(absl::string_view name) {
  const auto* found = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                   [&](const Function& function) { return function.name == name; });
  return found == std::end(kFunctions) ? nullptr : found;
}

// What ERIS does where Substrait leaves a choice. By 0, doubles are divided as IEEE 754 says, and
// other numbers are an error.
enum class Results : uint8_t { kAll, kDoubles, kOthers };
struct Option {
  absl::string_view name;
  absl::string_view preference;
  Results results = Results::kAll;
};
constexpr Option kOptions[] = {
    {"overflow", "ERROR"},
    {"rounding", "TIE_TO_EVEN"},
    {"division_type", "TRUNCATE"},
    {"on_domain_error", "NAN", Results::kDoubles},
    {"on_domain_error", "ERROR", Results::kOthers},
    {"on_division_by_zero", "IEEE", Results::kDoubles},
    {"on_division_by_zero", "LIMIT", Results::kDoubles},
    {"on_division_by_zero", "ERROR", Results::kOthers},
    {"case_sensitivity", "CASE_SENSITIVE"},
    {"ignore_nulls", "TRUE"},
};

bool IsDone(absl::string_view name, absl::string_view preference, ValueKind result) {
  const Results results = result == ValueKind::kDouble ? Results::kDoubles : Results::kOthers;
  return std::any_of(std::begin(kOptions), std::end(kOptions), [&](const Option& option) {
    return option.name == name && option.preference == preference &&
           (option.results == Results::kAll || option.results == results);
  });
}

}  // namespace

bool IsFunction(absl::string_view name) { return FunctionOf(name) != nullptr; }

absl::StatusOr<Part> CallFunction(absl::string_view name, std::vector<Part> arguments,
                                  const Place& place) {
  const Function& function = *FunctionOf(name);
  const size_t min = function.arguments_min;
  const size_t max = function.arguments_max;
  if (arguments.size() < min || arguments.size() > max) {
    const std::string limit = max == kAnyNumber ? absl::StrCat("at least ", min)
                              : min == max      ? absl::StrCat(min)
                                                : absl::StrCat(min, " to ", max);
    return Malformed(place, "the function \"", name, "\" has ", arguments.size(),
                     " arguments, must have ", limit);
  }
  return function.call({name, function.kind, std::move(arguments), place});
}

absl::Status CheckOptions(
    const google::protobuf::RepeatedPtrField<::substrait::FunctionOption>& options,
    ValueKind result, const Place& place) {
  for (const ::substrait::FunctionOption& option : options) {
    const auto& preferences = option.preference();
    const bool done = std::any_of(
        preferences.begin(), preferences.end(),
        [&](const std::string& preference) { return IsDone(option.name(), preference, result); });
    if (done || preferences.empty()) continue;
    return Unsupported(place, "the option \"", option.name(), "\" with the preference \"",
                       option.preference(0), "\" is not supported");
  }
  return absl::OkStatus();
}

}  // namespace eris::server::plans
