// Conditions of plans as lists of parts that must all be true: what they name, whether they can
// fail, and what follows from them. Pure functions.
#ifndef ERIS_ENGINE_QUERY_PLANNER_CONDITIONS_H_
#define ERIS_ENGINE_QUERY_PLANNER_CONDITIONS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "eris/expression.h"
#include "eris/schema.h"

namespace eris::engine {

using Conditions = std::vector<Expression>;
using OfSide = absl::FunctionRef<bool(uint32_t)>;  // whether a field is of the side in question

// Whether both are the same, or compute it. Unlike ==, doubles are compared by their bits: 1 / 0.0
// is not 1 / -0.0, and a NaN is the same as itself.
bool SameValue(const Value& left, const Value& right);
bool SameExpression(const Expression& left, const Expression& right);

// Whether one of the parts is the same.
bool Holds(const Conditions& parts, const Expression& part);

// Adds the parts of an `and`, of nested ones too. What all alternatives of an `or` have in common
// becomes a part of its own: (a and x) or (a and y) has the parts a and (x or y).
void AddParts(const Expression& condition, const std::vector<ColumnSchema>& columns,
              Conditions& parts);
// REQUIRES: at least one part.
Expression Conjunction(Conditions parts);

// Whether computing the expression can end the query with an error, for some values of `columns`:
// integers and decimals leave their type or are divided by 0, casts find values that do not fit.
// Comparisons, tests and doubles never fail. A subquery does, but it is computed once, wherever it
// is named.
bool CanFail(const Expression& expression, const std::vector<ColumnSchema>& columns);

// Whether all fields that it names are of the side; also if it names none.
bool NamesOnly(const Expression& expression, OfSide of_side);
// Whether its value may depend on the sign of a zero. Groups do not tell zeros apart.
bool SeesSignOfZero(const Expression& expression);

// What a part says of one side alone: of ((n = 1 and m = 2) or (n = 2 and m = 1)), with n on the
// side, (n = 1 or n = 2). nullopt: nothing, or the part is no `or`.
std::optional<Expression> ImpliedFor(const Expression& part, OfSide of_side);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLANNER_CONDITIONS_H_
