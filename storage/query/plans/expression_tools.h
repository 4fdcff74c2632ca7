// Looks at expressions of plans, and changes them. Pure functions.
#ifndef ERIS_STORAGE_QUERY_EXPRESSION_TOOLS_H_
#define ERIS_STORAGE_QUERY_EXPRESSION_TOOLS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "eris/expression.h"
#include "eris/query_plan.h"
#include "eris/schema.h"

namespace eris::storage {

// What the columns of a node are called where their numbers say which is meant: "f0", "f1".
std::string FieldName(uint32_t field);
std::vector<ColumnSchema> NamedByField(const std::vector<ColumnSchema>& columns);

// Calls visit(number) for each field, or node of a subquery, that the expression names.
void ForFields(const Expression& expression, absl::FunctionRef<void(uint32_t)> visit);
void ForSubqueries(const Expression& expression, absl::FunctionRef<void(uint32_t)> visit);
// Calls visit(expression) for each expression of a node, by itself.
void ForExpressions(const PlanNode& node, absl::FunctionRef<void(const Expression&)> visit);

// Whether it is as small as an expression must be.
bool Fits(const Expression& expression);
// The expression with `field(number)` in place of each field, and `subquery(number)` in place of
// each subquery. nullopt: it would be larger than an expression may be.
std::optional<Expression> Replaced(const Expression& expression,
                                   absl::FunctionRef<Expression(uint32_t)> field,
                                   absl::FunctionRef<Expression(uint32_t)> subquery);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_EXPRESSION_TOOLS_H_
