// Makes Substrait plans for tests of the reader, part by part, over TPC-H's tables.
#ifndef ERIS_TESTS_UNIT_SERVER_SUBSTRAIT_PLANS_H_
#define ERIS_TESTS_UNIT_SERVER_SUBSTRAIT_PLANS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "eris/query_plan.h"
#include "server/substrait/plan_reader.h"
#include "substrait/plan.pb.h"
#include "tests/support/query_plan_check.h"
#include "tests/support/query_plan_text.h"
#include "tests/support/tpch_tables.h"

namespace eris::server::substrait_plans {

using SExpression = ::substrait::Expression;
using SExpressions = std::vector<SExpression>;
using SRel = ::substrait::Rel;
using SJoin = ::substrait::JoinRel;

inline SExpression Field(int number) {
  SExpression out;
  out.mutable_selection()->mutable_direct_reference()->mutable_struct_field()->set_field(number);
  out.mutable_selection()->mutable_root_reference();
  return out;
}
inline SExpression Int(int64_t number) {
  SExpression out;
  out.mutable_literal()->set_i64(number);
  return out;
}
inline SExpression Real(double number) {
  SExpression out;
  out.mutable_literal()->set_fp64(number);
  return out;
}
inline SExpression Text(std::string text) {
  SExpression out;
  out.mutable_literal()->set_string(std::move(text));
  return out;
}
inline SExpression Boolean(bool value) {
  SExpression out;
  out.mutable_literal()->set_boolean(value);
  return out;
}
inline SExpression DateOf(int32_t days) {
  SExpression out;
  out.mutable_literal()->set_date(days);
  return out;
}
inline SExpression NullText() {
  SExpression out;
  out.mutable_literal()->mutable_null()->mutable_string();
  return out;
}
// `low` and `high`: halves of the 128 bits.
inline SExpression DecimalOf(uint64_t low, uint64_t high, int scale) {
  std::string bytes;
  for (const uint64_t half : {low, high}) {
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(half >> (8 * i));
  }
  SExpression out;
  out.mutable_literal()->mutable_decimal()->set_value(bytes);
  out.mutable_literal()->mutable_decimal()->set_scale(scale);
  return out;
}

// One plan: the relation, and the functions that its expressions call.
class PlanMaker {
 public:
  uint32_t Function(const std::string& name) {
    return functions_.try_emplace(name, static_cast<uint32_t>(functions_.size() + 1)).first->second;
  }
  SExpression Call(const std::string& name, const SExpressions& arguments) {
    SExpression out;
    out.mutable_scalar_function()->set_function_reference(Function(name));
    for (const SExpression& argument : arguments) {
      *out.mutable_scalar_function()->add_arguments()->mutable_value() = argument;
    }
    return out;
  }
  ::substrait::AggregateRel::Measure Measure(const std::string& name,
                                             const SExpressions& arguments) {
    ::substrait::AggregateRel::Measure out;
    out.mutable_measure()->set_function_reference(Function(name));
    for (const SExpression& argument : arguments) {
      *out.mutable_measure()->add_arguments()->mutable_value() = argument;
    }
    return out;
  }

  // Without names it is a relation by itself, else a root with them.
  std::string Bytes(const SRel& rel, const std::vector<std::string>& names = {}) const {
    ::substrait::Plan plan;
    plan.mutable_version()->set_producer(producer);
    for (const auto& [name, number] : functions_) {
      auto* function = plan.add_extensions()->mutable_extension_function();
      function->set_name(name);
      function->set_function_anchor(number);
    }
    auto* relation = plan.add_relations();
    if (names.empty()) {
      *relation->mutable_rel() = rel;
    } else {
      *relation->mutable_root()->mutable_input() = rel;
      for (const std::string& name : names) relation->mutable_root()->add_names(name);
    }
    return plan.SerializeAsString();
  }
  absl::StatusOr<QueryPlan> Read(const SRel& rel,
                                 const std::vector<std::string>& names = {}) const {
    return PlanFromSubstrait(Bytes(rel, names), test::TpchSchema);
  }
  // The plan as text, or the error; a plan that breaks a rule is an error too.
  std::string Answer(const SRel& rel, const std::vector<std::string>& names = {}) const {
    const absl::StatusOr<QueryPlan> plan = Read(rel, names);
    if (!plan.ok()) return plan.status().ToString();
    const absl::Status check = test::QueryPlanCheck::Run(*plan, test::TpchSchema);
    return check.ok() ? test::TextOf(*plan) : check.ToString();
  }

  std::string producer = "test";

 private:
  std::map<std::string, uint32_t> functions_;
};

// All columns of a table.
inline SRel ReadOf(const std::string& table) {
  SRel out;
  auto* read = out.mutable_read();
  read->mutable_named_table()->add_names(table);
  for (const ColumnSchema& column : test::TpchTables().at(table).columns) {
    read->mutable_base_schema()->add_names(column.name);
    auto* type = read->mutable_base_schema()->mutable_struct_()->add_types();
    if (column.type == ColumnType::kInt32) type->mutable_i32();
    if (column.type == ColumnType::kInt64) type->mutable_i64();
    if (column.type == ColumnType::kDecimal) type->mutable_decimal()->set_precision(15);
    if (column.type == ColumnType::kDate) type->mutable_date();
    if (IsByteString(column.type)) type->mutable_string();
  }
  return out;
}
inline SRel ReadOf(const std::string& table, const std::vector<int>& fields) {
  SRel out = ReadOf(table);
  auto* select = out.mutable_read()->mutable_projection()->mutable_select();
  for (const int field : fields) select->add_struct_items()->set_field(field);
  return out;
}
inline SRel FilterOf(SRel input, SExpression condition) {
  SRel out;
  *out.mutable_filter()->mutable_input() = std::move(input);
  *out.mutable_filter()->mutable_condition() = std::move(condition);
  return out;
}
inline void SetEmit(::substrait::RelCommon& common, const std::vector<int>& mapping) {
  common.mutable_emit();
  for (const int number : mapping) common.mutable_emit()->add_output_mapping(number);
}
inline SRel ProjectOf(SRel input, const SExpressions& expressions) {
  SRel out;
  *out.mutable_project()->mutable_input() = std::move(input);
  for (const SExpression& expression : expressions) {
    *out.mutable_project()->add_expressions() = expression;
  }
  return out;
}
inline SRel ProjectOf(SRel input, const SExpressions& expressions,
                      const std::vector<int>& mapping) {
  SRel out = ProjectOf(std::move(input), expressions);
  SetEmit(*out.mutable_project()->mutable_common(), mapping);
  return out;
}
inline SRel JoinOf(SJoin::JoinType type, SRel left, SRel right, SExpression condition) {
  SRel out;
  out.mutable_join()->set_type(type);
  *out.mutable_join()->mutable_left() = std::move(left);
  *out.mutable_join()->mutable_right() = std::move(right);
  *out.mutable_join()->mutable_expression() = std::move(condition);
  return out;
}
inline SRel AggregateOf(SRel input, const SExpressions& keys,
                        const std::vector<::substrait::AggregateRel::Measure>& measures) {
  SRel out;
  auto* aggregate = out.mutable_aggregate();
  *aggregate->mutable_input() = std::move(input);
  auto* grouping = aggregate->add_groupings();
  for (const SExpression& key : keys) {
    grouping->add_expression_references(
        static_cast<uint32_t>(aggregate->grouping_expressions_size()));
    *aggregate->add_grouping_expressions() = key;
  }
  for (const auto& measure : measures) *aggregate->add_measures() = measure;
  return out;
}
inline SRel SortOf(SRel input, const SExpressions& keys) {
  SRel out;
  *out.mutable_sort()->mutable_input() = std::move(input);
  for (const SExpression& key : keys) {
    auto* sort = out.mutable_sort()->add_sorts();
    *sort->mutable_expr() = key;
    sort->set_direction(::substrait::SortField::SORT_DIRECTION_ASC_NULLS_LAST);
  }
  return out;
}
inline SRel FetchOf(SRel input, int64_t count) {
  SRel out;
  *out.mutable_fetch()->mutable_input() = std::move(input);
  *out.mutable_fetch()->mutable_count_expr() = Int(count);
  return out;
}
inline SExpression SubqueryOf(SRel input) {
  SExpression out;
  *out.mutable_subquery()->mutable_scalar()->mutable_input() = std::move(input);
  return out;
}

}  // namespace eris::server::substrait_plans

#endif  // ERIS_TESTS_UNIT_SERVER_SUBSTRAIT_PLANS_H_
