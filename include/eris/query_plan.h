// Plans: queries over several objects, as nodes by number. A plan says what is asked for; how it is
// computed (order of joins, places, stages) the engine decides.
//
//   using namespace eris::expressions;
//   QueryPlan plan;
//   plan.nodes = {ReadNode{.object = "orders"},
//                 ReadNode{.object = "lineitem"},
//                 JoinNode{.left = 0, .right = 1, .keys = {{0, 0}}},
//                 AggregateNode{.input = 2, .keys = {4}, .measures = {Measure{}}}};
//
// Inputs come before the nodes that use them; the last node is the answer. Columns have numbers,
// from 0 on, in the order in which the input hands them out: expressions name them by
// Field(number). A node may be an input of several.
//
// Rows are a bag: only a sort at the end of a plan, or with nothing but limits and projections
// above it, gives them an order, and equal rows come in any. What a sort orders by may be left out
// above it. A limit takes the first rows of an order, if there is one, else any. Nulls are SQL's: a
// null key joins nothing, nulls are one group, and aggregates other than a count of rows pass them
// over. Types follow from expression.h's rules; of an aggregate from AggregateFunction's.
#ifndef ERIS_QUERY_PLAN_H_
#define ERIS_QUERY_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "eris/expression.h"
#include "eris/query.h"

namespace eris {

// The columns of an object: of a table those of its schema, of an index or a hash its key and
// value.
struct ReadNode {
  std::string object;
  std::vector<uint32_t> columns{};  // numbers in the object's schema; empty: all of them
};

// The rows for which `condition` is true.
struct FilterNode {
  uint32_t input = 0;
  Expression condition{};
};

// One column per expression.
struct ProjectNode {
  uint32_t input = 0;
  std::vector<Expression> columns{};  // at least one
};

enum class JoinType : uint8_t {
  kInner = 1,
  kLeft = 2,  // and the rows of `left` without a partner, with nulls for the columns of `right`
  kSemi = 3,  // the rows of `left` with a partner, once each
  kAnti = 4,  // the rows of `left` without a partner: "not exists"
};

// Hands out the columns of `left`, then, unless it is kSemi or kAnti, those of `right`.
struct JoinNode {
  struct Key {
    uint32_t left = 0;   // a column of `left`
    uint32_t right = 0;  // a column of `right`, comparable with it
    friend bool operator==(const Key&, const Key&) = default;
  };
  uint32_t left = 0;
  uint32_t right = 0;
  JoinType type = JoinType::kInner;
  // Rows are partners if all keys are equal, as expressions compare them, and the condition is
  // true. Without keys all of `right` are candidates: then it has one row at most, else the query
  // ends with InvalidArgument.
  std::vector<Key> keys{};
  // Over the columns of `left`, followed by those of `right`, for each type.
  std::optional<Expression> condition{};
};

struct Measure {
  AggregateFunction function = AggregateFunction::kCount;
  std::optional<Expression> argument{};  // required except for kCount
  bool distinct = false;                 // each value of the argument once
};

// One row per distinct combination of the keys' values; without keys one row in all, even if there
// is no row. Hands out the keys, then the measures.
struct AggregateNode {
  uint32_t input = 0;
  std::vector<uint32_t> keys{};  // columns of the input, at most kPlanGroupKeysMax
  std::vector<Measure> measures{};
};

struct SortKey {
  uint32_t column = 0;
  bool descending = false;
  bool nulls_first = false;
  friend bool operator==(const SortKey&, const SortKey&) = default;
};

// Strings are ordered by their bytes, doubles as groups are (expression.h).
struct SortNode {
  uint32_t input = 0;
  std::vector<SortKey> keys{};  // the first one first
};

// At most `count` rows, after the first `offset`.
struct LimitNode {
  uint32_t input = 0;
  uint64_t offset = 0;
  uint64_t count = 0;
};

// The rows of all inputs, equal ones as often as they come: "union all". The inputs have as many
// columns as the first one, of the same types and scales.
struct UnionNode {
  std::vector<uint32_t> inputs{};  // at least one; a node may be there twice
};

// Rows that the plan itself has: SQL's "values". One row of any column is the input of a select
// without "from".
struct ValuesNode {
  // At least one. One without a name is called "value".
  std::vector<ColumnSchema> columns{};
  // A value for each column: an int64_t for a kInt32, else what its type is in Value, of the
  // column's scale; for a kInt128 a WideDecimal. Null only where the column is nullable.
  std::vector<std::vector<Value>> rows{};
};

using PlanNode = std::variant<ReadNode, FilterNode, ProjectNode, JoinNode, AggregateNode, SortNode,
                              LimitNode, UnionNode, ValuesNode>;

struct QueryPlan {
  std::vector<PlanNode> nodes{};
  // The answer's columns; empty: the names that the objects' columns have, or made ones.
  std::vector<std::string> names{};
};

// Limits of a plan; beyond them it is InvalidArgument. An expression's are in expression.h, and a
// node hands out at most kTableColumnsMax columns.
inline constexpr uint32_t kPlanNodesMax = 1000;
inline constexpr uint32_t kPlanGroupKeysMax = 16;
inline constexpr uint32_t kPlanValueRowsMax =
    1024;  // of a ValuesNode; a string of it: as in a table

struct QueryOptions {
  // nullptr: one is taken after the call begins. All reads of a query see the same.
  std::shared_ptr<Snapshot> snapshot{};
};

}  // namespace eris

#endif  // ERIS_QUERY_PLAN_H_
