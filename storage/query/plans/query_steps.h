// A plan as it is run: steps, each of which makes rows of earlier ones. Made by the planner
// (engine/query/plan_steps.h). Plain data. Not from the papers: query processing is ERIS's next
// step (6).
//
// Steps hand out only columns that later ones need. Expressions name the columns of a step's input
// by Field(number), and the value of another step by Subquery(number).
#ifndef ERIS_STORAGE_QUERY_QUERY_STEPS_H_
#define ERIS_STORAGE_QUERY_QUERY_STEPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "eris/query.h"
#include "eris/query_plan.h"

namespace eris::storage {

inline constexpr uint64_t kAllRows = ~uint64_t{0};

// Rows or groups of an object, found where they lie.
struct ScanStep {
  std::string object;
  Query query{};         // filter, columns, group_by and aggregates
  uint16_t carried = 0;  // bit i: the others of group_by determine column i (TablePlan::Create)
};

// The same of the rows of another step, whose columns are called as FieldName (plan_schemas.h)
// says.
struct MapStep {
  uint32_t input = 0;
  Query query{};
  uint16_t carried = 0;  // as above
};

// The left side is read row by row, the right one is put into a table first.
struct JoinStep {
  uint32_t left = 0;
  uint32_t right = 0;
  JoinType type = JoinType::kInner;
  std::vector<JoinNode::Key> keys{};
  std::optional<Expression> condition{};  // over the columns of both, those of `left` first
  std::vector<uint32_t> columns{};  // of both, as they are numbered there, that are handed out
};

// Without keys the rows stay as they come.
struct SortStep {
  uint32_t input = 0;
  std::vector<SortKey> keys{};
  uint64_t offset = 0;
  uint64_t count = kAllRows;
};

// The rows of several steps, those of the first one first.
struct UnionStep {
  struct Input {
    uint32_t step = 0;
    std::vector<uint32_t> columns{};  // of the step, that are handed out
  };
  std::vector<Input> inputs{};
};

// Rows that the plan has, each with a value for every column of the step's schema.
struct ValuesStep {
  std::vector<std::vector<Value>> rows{};
};

struct QueryStep {
  std::variant<ScanStep, MapStep, JoinStep, SortStep, UnionStep, ValuesStep> what{};
  Schema schema{};                       // of its rows
  uint32_t uses = 0;                     // by later steps: after the last one its rows can go
  std::optional<uint64_t> rows_about{};  // as many rows as the planner expects
};

// The last step makes the answer.
struct QuerySteps {
  std::vector<QueryStep> steps{};
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_QUERY_STEPS_H_
