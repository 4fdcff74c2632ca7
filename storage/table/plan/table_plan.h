// A table query, checked against the table's schema and compiled: names are resolved to columns,
// literals have the type of their comparison, and each TreeNode of an expression has a type.
// Immutable; shared by the engine and all AEUs that run it. Paper: ERIS 3.1 (filters of a scan).
#ifndef ERIS_STORAGE_TABLE_TABLE_PLAN_H_
#define ERIS_STORAGE_TABLE_TABLE_PLAN_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/query.h"

namespace eris::storage {

class PlanBody;  // the compiled expressions

class TablePlan {
 public:
  // Uses filter, columns, group_by and aggregates of the query, over rows of `columns`.
  // `subqueries`: the types of the values that expressions may name, by number; a plan with such
  // expressions tells only its types, and cannot be run. `carried`: bit i: rows with the same
  // values of the other columns of group_by have the same value of column i, which is taken from a
  // group's first row. At least one column has no bit. Errors: InvalidArgument (an
  // unknown column, incompatible types, an expression too large or too deep, duplicate names, too
  // many columns), with the cause and the limit.
  static absl::StatusOr<std::shared_ptr<const TablePlan>> Create(
      std::span<const ColumnSchema> columns, const Query& query,
      std::span<const ColumnSchema> subqueries = {}, uint16_t carried = 0);
  ~TablePlan();

  // The schema of the answer. For aggregates: the group columns, then the aggregates.
  const Schema& result() const { return result_; }
  bool aggregates() const { return aggregates_; }
  const PlanBody& body() const { return *body_; }

 private:
  TablePlan(Schema result, bool aggregates, std::unique_ptr<const PlanBody> body);

  // Immutable after construction.
  const Schema result_;
  const bool aggregates_;
  const std::unique_ptr<const PlanBody> body_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_TABLE_PLAN_H_
