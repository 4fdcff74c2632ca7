// Expressions of table queries as text: what the eris program reads from its command line and
// clients may take from their users. Pure functions; any thread.
//
//   l_shipdate >= 1994-01-01 and l_discount between 0.05 and 0.07 and l_quantity < 24
//   not (l_shipmode in ('AIR', 'AIR REG') or l_comment is null)
//   sum(l_extendedprice * (1 - l_discount)) as revenue, count(*)
//
// From weakest to strongest: or; and; not; = != <> < <= > >= between in is; + -; *; a leading '-'.
// Words are read in any case. Columns are identifiers, or stand in double quotes where they are
// none ("" is a quote there), or are one of the words and, or, not, in, is, null, between, as.
// Literals: 24 is an i64 (a u64 above 2^63-1), 0.05 and 5. are decimals with the digits that stand
// there, 1e3 a double, 'text' a string ('' is a quote), 1994-01-01 and date '1994-01-01' dates
// (write 1994 - 01 - 01 for the number), null. `x is not null`, `x not in` and `x not between` are
// short for `not (x is null)` and so on.
#ifndef ERIS_CLIENTS_EXPRESSION_TEXT_H_
#define ERIS_CLIENTS_EXPRESSION_TEXT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/expression.h"
#include "eris/query.h"

namespace eris::client {

// Of a text; a longer one is refused.
inline constexpr size_t kExpressionTextBytesMax = 256 << 10;

// Errors of all: InvalidArgument, with the position (from 1) in the text, what was expected there
// and what was found; above kExpressionSizeMax TreeNodes or kExpressionDepthMax levels of one
// expression, or of parentheses.
absl::StatusOr<Expression> ParseExpression(absl::string_view text);

// "a, b * 2 as c": at least one. Without `as` a column keeps its name, and another expression has
// its text for one.
absl::StatusOr<std::vector<NamedExpression>> ParseColumns(absl::string_view text);

// "count(*), sum(a * b) as s": at least one of count, sum, min, max, avg. Names as above.
absl::StatusOr<std::vector<AggregateColumn>> ParseAggregates(absl::string_view text);

// "a, b": column names alone.
absl::StatusOr<std::vector<std::string>> ParseNames(absl::string_view text);

// Text that ParseExpression reads as the same expression again; but a u64 that is an i64, too,
// comes back as one, and infinities and NaN do not come back. REQUIRES: as many arguments as the
// kinds take.
std::string ExpressionText(const Expression& expression);

// "-0.05" of -5 and scale 2.
void AppendDecimal(int64_t unscaled, uint8_t scale, std::string* text);

}  // namespace eris::client

#endif  // ERIS_CLIENTS_EXPRESSION_TEXT_H_
