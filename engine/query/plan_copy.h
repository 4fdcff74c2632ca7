// Copies a plan node by node, with some nodes replaced by several others. Inputs and subqueries
// keep meaning the same rows.
#ifndef ERIS_ENGINE_QUERY_PLAN_COPY_H_
#define ERIS_ENGINE_QUERY_PLAN_COPY_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "eris/query_plan.h"

namespace eris::engine {

// The node with number(node) in place of each input and subquery.
PlanNode Renumbered(const PlanNode& node, absl::FunctionRef<uint32_t(uint32_t)> number);
Expression Renumbered(const Expression& expression, absl::FunctionRef<uint32_t(uint32_t)> number);

class PlanCopy {
 public:
  // A node of the original, with the numbers that its inputs have in the copy.
  PlanNode Renumbered(const PlanNode& node) const {
    return engine::Renumbered(node, [this](uint32_t number) { return numbers_[number]; });
  }
  // Adds a node to the copy; its number.
  uint32_t Add(PlanNode node) {
    out_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(out_.nodes.size() - 1);
  }
  // The node that was added last is in place of the next one of the original.
  void EndNode() { numbers_.push_back(static_cast<uint32_t>(out_.nodes.size() - 1)); }
  QueryPlan Take(const QueryPlan& original) {
    out_.names = original.names;
    return std::move(out_);
  }

 private:
  QueryPlan out_;
  std::vector<uint32_t> numbers_;  // in the copy, by node of the original
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLAN_COPY_H_
