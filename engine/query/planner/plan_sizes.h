// How many rows the nodes of a plan will hand out, guessed before it runs. Pure functions. Guesses
// choose among orders that all give the same answer: a wrong one costs time, nothing else.
//
// Known are the rows of objects and their keys, which are unique. The rest are the usual constants:
// of a column of which nothing is known a tenth of the rows are distinct, an equality with a value
// keeps a row per distinct value or a tenth, a range a third.
#ifndef ERIS_ENGINE_QUERY_PLANNER_PLAN_SIZES_H_
#define ERIS_ENGINE_QUERY_PLANNER_PLAN_SIZES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "eris/query_plan.h"
#include "eris/schema.h"
#include "storage/query/plans/plan_schemas.h"

namespace eris::engine {

// The rows that an object has now, about.
using ObjectRows = absl::FunctionRef<uint64_t(absl::string_view)>;

// The share of rows that a condition keeps of which nothing better is known.
inline constexpr double kEqualShare = 0.1;
inline constexpr double kRangeShare = 0.3;
inline constexpr double kLikeShare = 0.1;
inline constexpr double kNullShare = 0.05;
inline constexpr double kOtherShare = 0.3;
// The share of a column's rows that are distinct, if nothing is known.
inline constexpr double kDistinctShare = 0.1;

struct NodeSize {
  // Columns that together have no value twice. `values`: how many there are, rows that filters
  // have dropped included.
  struct UniqueKey {
    std::vector<uint32_t> columns{};
    double values = 0;
  };
  double rows = 0;
  // The rows of the objects that the columns come from, before any filter.
  double object_rows = 0;
  // By column, its distinct values; nullopt: unknown. Filters leave it as it is.
  std::vector<std::optional<double>> distinct{};
  std::vector<UniqueKey> unique{};

  double DistinctOr(uint32_t column) const {
    return distinct[column].value_or(object_rows * kDistinctShare);
  }
};

// The share of `input`'s rows for which the condition is true, between 0 and 1.
double ShareOf(const Expression& condition, const NodeSize& input);

// The share of `left`'s rows that have a partner by these keys; at least a hundredth.
double PartnerShare(const std::vector<JoinNode::Key>& keys, const NodeSize& left,
                    const NodeSize& right);

// By node. Errors: those of `schema_of`.
absl::StatusOr<std::vector<NodeSize>> PlanSizes(const QueryPlan& plan,
                                                const std::vector<Schema>& schemas,
                                                storage::SchemaOf schema_of, ObjectRows rows_of);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLANNER_PLAN_SIZES_H_
