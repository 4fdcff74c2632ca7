// Turns the relations of a plan into nodes of a QueryPlan, inputs first. A relation that only picks
// or reorders columns makes no node: what it hands out is kept as a list of its input's columns,
// and expressions above it name those. One translator per plan, used by one thread.
#ifndef ERIS_SERVER_SUBSTRAIT_PLAN_TRANSLATOR_H_
#define ERIS_SERVER_SUBSTRAIT_PLAN_TRANSLATOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/query_plan.h"
#include "server/substrait/part.h"
#include "server/substrait/place.h"
#include "server/substrait/plan_reader.h"
#include "substrait/algebra.pb.h"

namespace eris::server::plans {

// A field of a relation: the column of its node that has the values.
struct RelationField {
  uint32_t column = 0;
  ValueType type{};
};
using RelationFields = std::vector<RelationField>;

struct Relation {
  uint32_t node = 0;  // number of its node in the plan
  RelationFields fields{};
};

// The sides of a join node and which of its rows it hands out. `swapped`: the plan's right side is
// the node's left one, and the plan's fields keep their order.
struct JoinSides {
  JoinType type = JoinType::kInner;
  bool swapped = false;
  Relation left{};
  Relation right{};
};

// What distinguishes the producers' dialects.
struct Dialect {
  // A project without a mapping hands out its expressions alone (DuckDB), not its input's fields
  // and then the expressions (Substrait).
  bool projects_replace = false;
};

class PlanTranslator {
 public:
  // Names of functions by the numbers that the plan calls them by, without signatures.
  using FunctionNames = std::unordered_map<uint32_t, std::string>;

  // `catalogue` must outlive the translator.
  PlanTranslator(const Catalogue& catalogue, FunctionNames functions, Dialect dialect)
      : catalogue_(catalogue), functions_(std::move(functions)), dialect_(dialect) {}

  // Appends the nodes of a relation and its inputs. Errors, here and below: as PlanFromSubstrait.
  absl::StatusOr<Relation> TakeRelation(const ::substrait::Rel& rel, const Place& place);
  // The plan whose answer is `relation`, the last one taken. The translator is empty then.
  absl::StatusOr<QueryPlan> Finish(const Relation& relation, const Place& place);

 private:
  // Relations (relations.cc, reads.cc, virtual_tables.cc, joins.cc, aggregates.cc, sets.cc).
  absl::StatusOr<Relation> TakeInput(bool present, const ::substrait::Rel& rel, const Place& place);
  absl::StatusOr<Relation> TakeRead(const ::substrait::ReadRel& read, const Place& place);
  absl::StatusOr<Relation> TakeObject(const ::substrait::ReadRel& read, const Place& place);
  // The declared columns of rows that the plan has itself.
  absl::StatusOr<Relation> TakeVirtualTable(const ::substrait::ReadRel& read, const Place& place);
  absl::StatusOr<Relation> AppendValues(const RelationFields& columns,
                                        const std::vector<std::vector<Part>>& rows,
                                        const Place& place);
  absl::StatusOr<Relation> TakeFilter(const ::substrait::FilterRel& filter, const Place& place);
  absl::StatusOr<Relation> TakeProject(const ::substrait::ProjectRel& project, const Place& place);
  absl::StatusOr<Relation> TakeJoin(const ::substrait::JoinRel& join, const Place& place);
  absl::StatusOr<Relation> TakeCross(const ::substrait::CrossRel& cross, const Place& place);
  // `condition`: over the plan's fields of both sides; nullptr for none.
  absl::StatusOr<Relation> AppendJoin(JoinSides sides, const ::substrait::Expression* condition,
                                      const Place& place);
  absl::StatusOr<Relation> TakeAggregate(const ::substrait::AggregateRel& aggregate,
                                         const Place& place);
  absl::StatusOr<Relation> TakeSet(const ::substrait::SetRel& set, const Place& place);
  // REQUIRES: at least one input, and all with as many fields.
  absl::StatusOr<Relation> AppendUnion(const std::vector<Relation>& inputs, const Place& place);
  absl::StatusOr<Relation> TakeSort(const ::substrait::SortRel& sort, const Place& place);
  absl::StatusOr<Relation> TakeFetch(const ::substrait::FetchRel& fetch, const Place& place);

  absl::StatusOr<std::vector<Part>> TakeKeys(const ::substrait::AggregateRel& aggregate,
                                             const RelationFields& input, const Place& place);
  absl::StatusOr<std::pair<Measure, ValueType>> TakeMeasure(
      const ::substrait::AggregateRel::Measure& message, const RelationFields& input,
      const Place& place);
  // Appends a filter, unless the condition is true for all rows.
  absl::StatusOr<uint32_t> AppendFilter(uint32_t input, Expression condition, const Place& place);
  // The mapping of `common`, applied. The limit of columns holds for the result.
  absl::StatusOr<Relation> Emit(const ::substrait::RelCommon& common, Relation relation,
                                const Place& place) const;

  // Expressions (expressions.cc). Fields are those of `input`. The first three are for whole
  // expressions and count their parts for kPlanPartsMax; TakeValue hands out no condition.
  absl::StatusOr<Part> TakeWhole(bool present, const ::substrait::Expression& expression,
                                 const RelationFields& input, const Place& place);
  absl::StatusOr<Part> TakeValue(bool present, const ::substrait::Expression& expression,
                                 const RelationFields& input, const Place& place);
  absl::StatusOr<Expression> TakeCondition(bool present, const ::substrait::Expression& expression,
                                           const RelationFields& input, const Place& place);
  absl::StatusOr<Part> TakeExpression(const ::substrait::Expression& expression,
                                      const RelationFields& input, const Place& place);
  absl::StatusOr<Part> TakeFunction(const ::substrait::Expression::ScalarFunction& function,
                                    const RelationFields& input, const Place& place);
  absl::StatusOr<std::vector<Part>> TakeArguments(
      const google::protobuf::RepeatedPtrField<::substrait::FunctionArgument>& arguments,
      const RelationFields& input, const Place& place);
  absl::StatusOr<Part> TakeCast(const ::substrait::Expression::Cast& cast,
                                const RelationFields& input, const Place& place);
  absl::StatusOr<Part> TakeIfThen(const ::substrait::Expression::IfThen& if_then,
                                  const RelationFields& input, const Place& place);
  absl::StatusOr<Part> TakeOrList(const ::substrait::Expression::SingularOrList& list,
                                  const RelationFields& input, const Place& place);
  absl::StatusOr<Part> TakeSubquery(const ::substrait::Expression::Subquery& subquery,
                                    const Place& place);
  absl::StatusOr<absl::string_view> FunctionName(uint32_t reference, const Place& place) const;

  // Nodes (nodes.cc). `width`: how many columns the node hands out.
  absl::StatusOr<uint32_t> Append(PlanNode node, size_t width, const Place& place);
  // Appends a project with all columns of `node`, followed by the values of `extra`; without any
  // the node stays.
  absl::StatusOr<uint32_t> AppendColumns(uint32_t node, std::vector<Expression> extra,
                                         const Place& place);
  // The columns that have the parts' values, which are no conditions. Fields are there already; for
  // others `node` is replaced by a project that computes them, in which the old columns keep their
  // numbers.
  absl::StatusOr<std::vector<uint32_t>> AsColumns(uint32_t& node, std::vector<Part> parts,
                                                  const Place& place);
  // A node that hands out the fields of `relation` and nothing else: its own, or a project.
  absl::StatusOr<uint32_t> AsNode(const Relation& relation, const Place& place);
  // The same, with the fields in the types of `fields`.
  absl::StatusOr<uint32_t> AsNode(const Relation& input, const RelationFields& fields,
                                  const Place& place);
  // Makes it so that the node of `relation` hands out its fields and nothing else.
  absl::Status Narrow(Relation& relation, const Place& place);
  absl::Status CountParts(uint32_t parts, const Place& place);

  // Immutable after construction.
  const Catalogue& catalogue_;
  const FunctionNames functions_;
  const Dialect dialect_;

  QueryPlan plan_;
  std::vector<uint32_t> widths_;  // per node
  uint32_t parts_ = 0;            // of all expressions
};

}  // namespace eris::server::plans

#endif  // ERIS_SERVER_SUBSTRAIT_PLAN_TRANSLATOR_H_
