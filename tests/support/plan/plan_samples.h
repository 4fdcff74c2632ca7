// Random well-typed plans over tables: reads, filters, projections, joins, aggregates, unions,
// sorts and limits, up to six deep, with nodes that several others share, repeated ones, trees of
// inner joins and subqueries of one value. The same seed makes the same plan.
//
// The oracle runs each plan while it grows. A node is left out again if it makes more than
// kSampleResultMax rows, leaves a choice of which later nodes depend, and mostly if it fails or has
// no row.
#ifndef ERIS_TESTS_SUPPORT_PLAN_PLAN_SAMPLES_H_
#define ERIS_TESTS_SUPPORT_PLAN_PLAN_SAMPLES_H_

#include <cstdint>

#include "eris/query_plan.h"
#include "tests/support/plan/expression_samples.h"
#include "tests/support/plan/plan_types.h"
#include "tests/support/plan/table_samples.h"

namespace eris::test {

inline constexpr int kSampleDepthMax = 6;
inline constexpr uint64_t kSampleResultMax = 1500;  // rows of a node

class PlanSamples {
 public:
  PlanSamples(PlanRandom& random, const PlanTables& tables) : random_(random), tables_(tables) {}

  QueryPlan Plan();

 private:
  // Add nodes, and return the number of the last one.
  uint32_t Node(int depth);
  uint32_t Read();
  uint32_t Values();
  uint32_t Filter(int depth);
  uint32_t Project(int depth);
  uint32_t ProjectOf(uint32_t input, int depth);
  uint32_t Join(int depth);
  // Inner joins of several inputs, with semi and anti joins, filters and projections of columns
  // between them: orders of joins differ in cost alone.
  uint32_t JoinTree(int depth);
  // Joins by random columns of the same kind. Returns `left` if that is no good; the plan has the
  // size that it had, `size`.
  uint32_t JoinOf(uint32_t left, uint32_t right, JoinType type, size_t size);
  uint32_t SomeColumns(uint32_t input);
  // A copy of a node, and of what it needs.
  uint32_t Repeated(uint32_t node);
  uint32_t Aggregate(int depth);
  uint32_t TopRows(int depth);
  uint32_t Union(int depth);
  uint32_t OneValue(int depth);  // a row with a column

  // Adds a node. If it is no good, the plan gets back the size that it had, `size`, and the node
  // `instead` is returned.
  uint32_t Add(PlanNode node, size_t size, uint32_t instead);
  bool IsGood();

  CellTypes TypesOfNode(uint32_t node) const;
  ExpressionScope ScopeOf(CellTypes fields) const;
  AggregateNode AggregateOf(uint32_t input, uint64_t keys, uint64_t measures);
  // A condition, often one of those that planners take apart.
  Expression SampleCondition(ExpressionSamples& expressions, int depth);
  Measure SampleMeasure(ExpressionSamples& expressions, const CellTypes& types);
  SortKey SampleSortKey(uint32_t column);
  uint32_t SortedByAny(uint32_t input);

  PlanRandom& random_;
  const PlanTables& tables_;
  QueryPlan plan_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_PLAN_SAMPLES_H_
