// The types of the columns that a plan's nodes hand out, as the comments of eris/query_plan.h say,
// and the tables that plans read.
#ifndef ERIS_TESTS_SUPPORT_PLAN_PLAN_TYPES_H_
#define ERIS_TESTS_SUPPORT_PLAN_PLAN_TYPES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/query_plan.h"
#include "eris/schema.h"
#include "tests/support/plan/bound_expression.h"
#include "tests/support/plan/cell.h"

namespace eris::test {

// REQUIRES: each row has the columns of the schema, in their types.
struct PlanTable {
  Schema schema{};
  std::vector<Cells> rows{};
};
using PlanTables = std::map<std::string, PlanTable>;

CellTypes TypesOf(const Schema& schema);

// The types of node `node` from those of the nodes before it. Errors: InvalidArgument, for what the
// headers do not allow.
absl::StatusOr<CellTypes> NodeTypes(const QueryPlan& plan, uint32_t node,
                                    const std::vector<CellTypes>& before, const PlanTables& tables);
// The same for all nodes; names are made up.
absl::StatusOr<std::vector<Schema>> SchemasOf(const QueryPlan& plan, const PlanTables& tables);

// The columns of `left`, then those of `right`.
CellTypes Together(const CellTypes& left, const CellTypes& right);
CellType MeasureType(AggregateFunction function, CellType argument);

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_PLAN_TYPES_H_
