// Plans, tables and expressions as text, for the messages of failed tests.
#ifndef ERIS_TESTS_SUPPORT_PLAN_PLAN_TEXT_H_
#define ERIS_TESTS_SUPPORT_PLAN_PLAN_TEXT_H_

#include <string>

#include "eris/query_plan.h"
#include "tests/support/plan/plan_interpreter.h"
#include "tests/support/plan/plan_types.h"

namespace eris::test {

// For example "(#0 + 1) < subquery(3)".
std::string TextOf(const Expression& expression);
// A line per node, for example "2: join inner of 0 and 1 on #0 = #1".
std::string TextOf(const QueryPlan& plan);
// Schemas, and all rows.
std::string TextOf(const PlanTables& tables);
std::string TextOf(const PlanAnswer& answer);

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_PLAN_TEXT_H_
