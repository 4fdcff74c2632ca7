// Chooses the order of a graph's joins, and where its semi and anti joins go. Pure functions.
#ifndef ERIS_ENGINE_QUERY_PLANNER_JOIN_CHOICE_H_
#define ERIS_ENGINE_QUERY_PLANNER_JOIN_CHOICE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/query/planner/join_graph.h"
#include "engine/query/planner/join_search.h"
#include "engine/query/planner/plan_sizes.h"

namespace eris::engine {

struct TestPlace {
  enum class Kind : uint8_t {
    kInput,  // at an input, before all joins
    kEarly,  // as soon as its inputs are together
    kAtEnd,  // after all joins
  };
  Kind kind = Kind::kAtEnd;
  uint32_t input = 0;                 // kInput
  std::vector<JoinNode::Key> keys{};  // the test's, `left` a column of the input if it is at one
};

struct JoinChoice {
  JoinOrder order{};
  std::vector<TestPlace> places{};  // by JoinGraph::late; nothing for conditions
};

// `sizes`: by node of the plan. `one_row`: as in JoinGraphOf.
JoinChoice ChooseJoins(const JoinGraph& graph, const std::vector<NodeSize>& sizes,
                       const std::vector<bool>& one_row);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_PLANNER_JOIN_CHOICE_H_
