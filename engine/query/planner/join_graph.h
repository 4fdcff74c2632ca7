// A tree of inner joins, with semi and anti joins, filters and projections of plain columns between
// them, as a set: inputs, columns that are equal, and what else drops rows. Pure functions.
//
// The columns of the inputs are numbered one input after the other; conditions name them by these
// numbers. Subqueries and inputs are nodes of the plan.
#ifndef ERIS_ENGINE_QUERY_PLANNER_JOIN_GRAPH_H_
#define ERIS_ENGINE_QUERY_PLANNER_JOIN_GRAPH_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "engine/query/planner/conditions.h"
#include "engine/query/planner/join_search.h"
#include "eris/query_plan.h"
#include "eris/schema.h"

namespace eris::engine {

struct JoinGraph {
  struct Input {
    uint32_t node = 0;
    uint32_t first = 0;    // the number of its first column
    uint32_t columns = 0;  // how many it has
  };
  // A semi or anti join with the node `right`, whose column i has the number kRightColumns + i.
  static constexpr uint32_t kRightColumns = uint32_t{1} << 24;
  struct PartnerTest {
    uint32_t right = 0;
    JoinType type = JoinType::kSemi;
    std::vector<JoinNode::Key> keys{};  // `left`: a number of the graph
    std::optional<Expression> condition{};
    bool can_fail = false;
    bool last = true;  // the plan has no inner join of other inputs above it
  };
  // What has to come after all joins, in this order: it can fail, or it is a test of partners.
  using Late = std::variant<Expression, PartnerTest>;

  std::vector<Input> inputs{};
  std::vector<uint32_t> input_of{};              // by column
  std::vector<ColumnSchema> columns{};           // by column
  std::vector<std::vector<uint32_t>> classes{};  // columns that are equal: two or more each
  Conditions conditions{};                       // the other ones, none of which can fail
  std::vector<Late> late{};
  JoinOrder text{};                // in which the plan joins the inputs
  std::vector<uint32_t> output{};  // the columns that the tree hands out

  // The inputs whose columns an expression names, without those of a right side.
  InputSet InputsOf(const Expression& expression) const;
  InputSet InputsOf(const PartnerTest& test) const;
};

// Whether the node is a join that can be part of a graph.
bool IsGraphJoin(const QueryPlan& plan, uint32_t node, const std::vector<bool>& one_row);

// The tree below a node for which IsGraphJoin is true; other nodes that several use are inputs.
// nullopt: it is too large, or has one input. `uses`, `one_row`: see plan_facts.h.
std::optional<JoinGraph> JoinGraphOf(const QueryPlan& plan, const std::vector<Schema>& schemas,
                                     uint32_t root, const std::vector<uint32_t>& uses,
                                     const std::vector<bool>& one_row);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLANNER_JOIN_GRAPH_H_
