// Expressions of table queries as text: on the eris program's command line, and in the commands of
// Arrow Flight.
// Pure functions; any thread.
//
//   l_shipdate >= 1994-01-01 and l_discount between 0.05 and 0.07 and l_quantity < 24
//   not (l_shipmode in ('AIR', 'AIR REG') or l_comment is null)
//   sum(l_extendedprice * (1 - l_discount)) as revenue, count(*)
//   p_name like '%green%' and date_part('year', o_orderdate) = 1995
//   sum(case when l_shipmode = 'AIR' then l_extendedprice else 0 end)
//   cast(l_quantity as int64) = 7 or substring(l_comment, 1, 3) in ('a b', 'the')
//
// From weakest to strongest: or; and; not; = != <> < <= > >= between in is like; + -; * / % div;
// a leading '-'. Keywords are case-insensitive. A column is an identifier. Other names, and the
// keywords and, or, not, in, is, null, between, as, like, case, must be in double quotes ("" is a
// quote there). Behind a pattern of `like` may be the word escape and a character in single quotes.
// `case when CONDITION then VALUE`, any number of further such pairs, maybe `else VALUE`, `end`.
// `cast(X as TYPE)`: int32, int64, uint64, float64, decimal(SCALE), int128(SCALE), date or
// timestamp; SQL's decimal(DIGITS, SCALE) is an int128 if its digits are more than
// kDecimalScaleMax, else a decimal. `substring(X, FIRST, COUNT)`, also without COUNT, and as
// `substring(X from FIRST for COUNT)`. Literals: 24 is an i64 (a u64 above 2^63-1), 0.05 and 5. are
// decimals with exactly these digits; with more digits than these types hold, up to 38, a number is
// a WideDecimal. 1e3 is a double, 'text' a string ('' is a quote), x'00ff' bytes, 1994-01-01 and
// date '1994-01-01' dates (write 1994 - 01 - 01 for the number), timestamp '2024-01-02 03:04:05.25'
// a timestamp, null. `x is not null`, `x not in`, `x not between` and `x not like` are short for
// `not (x is null)` and so on.
#ifndef ERIS_TEXT_EXPRESSION_TEXT_H_
#define ERIS_TEXT_EXPRESSION_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/expression.h"
#include "eris/query.h"

namespace eris::text {

// Limit of a text; a longer one is refused.
inline constexpr size_t kExpressionTextBytesMax = 256 << 10;

// Errors of all: InvalidArgument, with the position (from 1) in the text, the expected and the
// found token; more than kExpressionSizeMax TreeNodes or kExpressionDepthMax levels of one
// expression, or of parentheses.
absl::StatusOr<Expression> ParseExpression(absl::string_view text);

// "a, b * 2 as c": at least one. Without `as` a column keeps its name, and another expression is
// named by its text.
absl::StatusOr<std::vector<NamedExpression>> ParseColumns(absl::string_view text);

// "count(*), sum(a * b) as s": at least one of count, sum, min, max, avg, median. Names as above.
absl::StatusOr<std::vector<AggregateColumn>> ParseAggregates(absl::string_view text);

// "a, b": only column names.
absl::StatusOr<std::vector<std::string>> ParseNames(absl::string_view text);

// Text that ParseExpression reads as the same expression. Exceptions: a u64 that fits in an i64
// comes back as one, and a WideDecimal that fits in a Decimal as that. Infinities, NaN, a `like`,
// `in` or `substring` of what is no literal, WideDecimals of more than 38 digits, casts to strings
// and bytes, and what only plans have cannot be read. REQUIRES: the number of arguments
// that each kind takes.
std::string ExpressionText(const Expression& expression);

// For example "-0.05" for -5 and scale 2.
void AppendDecimal(int64_t unscaled, uint8_t scale, std::string* text);
void AppendDecimal(const Int128Halves& unscaled, uint8_t scale, std::string* text);

}  // namespace eris::text

#endif  // ERIS_TEXT_EXPRESSION_TEXT_H_
