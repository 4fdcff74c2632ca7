// Plans of queries over several objects, made node by node, and the queries.
#include "eris/c/plan.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "capi/columns.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/plan_literals.h"
#include "capi/queries.h"
#include "eris/query_plan.h"
#include "text/expression_text.h"

struct eris_plan {
  eris::QueryPlan plan;
};

namespace eris::capi {
namespace {

// In place of names: c0, c1, ... are fields, v0, v1, ... values of other nodes.
absl::Status NumberColumns(Expression& expression) {
  for (Expression& argument : expression.arguments) {
    ERIS_RETURN_IF_ERROR(NumberColumns(argument));
  }
  if (expression.kind != Expression::Kind::kColumn) return absl::OkStatus();
  const absl::string_view name = expression.column;
  uint32_t number = 0;
  const bool numbered = name.size() > 1 && name.find_first_not_of("0123456789", 1) == name.npos &&
                        absl::SimpleAtoi(name.substr(1), &number);
  if (!numbered || (name[0] != 'c' && name[0] != 'v')) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name,
                     "\" is no column of a plan: those are c0, c1, ..., and the values "
                     "of other nodes v0, v1, ..."));
  }
  expression = {.kind = name[0] == 'c' ? Expression::Kind::kField : Expression::Kind::kSubquery,
                .number = number};
  return absl::OkStatus();
}

absl::StatusOr<Expression> ExpressionFrom(const char* member, const char* given) {
  ERIS_RETURN_IF_ERROR(Need({{member, given}}));
  absl::StatusOr<Expression> read = text::ParseExpression(given);
  if (!read.ok()) return Within(member, read.status());
  if (const absl::Status named = NumberColumns(*read); !named.ok()) return Within(member, named);
  return read;
}

absl::StatusOr<std::vector<Measure>> MeasuresFrom(const char* given, const uint8_t* distinct,
                                                  size_t distinct_count) {
  std::vector<Measure> measures;
  if (given != nullptr) {
    absl::StatusOr<std::vector<AggregateColumn>> read = text::ParseAggregates(given);
    if (!read.ok()) return Within("measures", read.status());
    for (AggregateColumn& column : *read) {
      if (column.argument) {
        const absl::Status named = NumberColumns(*column.argument);
        if (!named.ok()) return Within("measures", named);
      }
      measures.push_back({.function = column.function, .argument = std::move(column.argument)});
    }
  }
  if (distinct_count == 0) return measures;
  ERIS_RETURN_IF_ERROR(Need({{"distinct", distinct}}));
  if (distinct_count != measures.size()) {
    return absl::InvalidArgumentError(absl::StrCat("`distinct_count` is ", distinct_count, ", and ",
                                                   measures.size(), " measures are given"));
  }
  for (size_t i = 0; i < distinct_count; ++i) measures[i].distinct = distinct[i] != 0;
  return measures;
}

absl::StatusOr<std::vector<uint32_t>> NumbersFrom(const char* name, const uint32_t* numbers,
                                                  size_t count, size_t max) {
  ERIS_RETURN_IF_ERROR(
      CheckNumber("count", static_cast<int64_t>(count), 0, static_cast<int64_t>(max)));
  if (count > 0) ERIS_RETURN_IF_ERROR(Need({{name, numbers}}));
  return std::vector<uint32_t>(numbers, numbers + count);
}

absl::Status CheckInput(const eris_plan& plan, uint32_t input) {
  if (input < plan.plan.nodes.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("there is no node ", input, ": the plan has ",
                                                 plan.plan.nodes.size(), " nodes"));
}

absl::Status Add(eris_plan& plan, PlanNode node, uint32_t* out) {
  if (plan.plan.nodes.size() >= kPlanNodesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a plan has at most ", kPlanNodesMax, " nodes"));
  }
  plan.plan.nodes.push_back(std::move(node));
  if (out != nullptr) *out = static_cast<uint32_t>(plan.plan.nodes.size() - 1);
  return absl::OkStatus();
}

QueryOptions OptionsOf(const eris_snapshot* snapshot) {
  if (snapshot == nullptr) return {};
  return {.snapshot = snapshot->snapshot};
}

}  // namespace
}  // namespace eris::capi

using eris::capi::Guard;
using eris::capi::Need;

eris_code eris_plan_new(eris_plan** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"out", out}}));
    *out = new eris_plan;
    return absl::OkStatus();
  });
}
void eris_plan_free(eris_plan* plan) { delete plan; }

eris_code eris_plan_read(eris_plan* plan, const char* object, const uint32_t* columns, size_t count,
                         uint32_t* out, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"plan", plan}, {"object", object}}));
    ERIS_ASSIGN_OR_RETURN(
        std::vector<uint32_t> numbers,
        eris::capi::NumbersFrom("columns", columns, count, eris::kTableColumnsMax));
    return eris::capi::Add(*plan, eris::ReadNode{.object = object, .columns = std::move(numbers)},
                           out);
  });
}

eris_code eris_plan_filter(eris_plan* plan, uint32_t input, const char* condition, uint32_t* out,
                           eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"plan", plan}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckInput(*plan, input));
    ERIS_ASSIGN_OR_RETURN(eris::Expression its, eris::capi::ExpressionFrom("condition", condition));
    return eris::capi::Add(*plan, eris::FilterNode{.input = input, .condition = std::move(its)},
                           out);
  });
}

eris_code eris_plan_project(eris_plan* plan, uint32_t input, const char* columns, uint32_t* out,
                            eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"plan", plan}, {"columns", columns}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckInput(*plan, input));
    auto read = eris::text::ParseColumns(columns);
    if (!read.ok()) return eris::capi::Within("columns", read.status());
    eris::ProjectNode node{.input = input};
    for (eris::NamedExpression& column : *read) {
      const absl::Status named = eris::capi::NumberColumns(column.expression);
      if (!named.ok()) return eris::capi::Within("columns", named);
      node.columns.push_back(std::move(column.expression));
    }
    return eris::capi::Add(*plan, std::move(node), out);
  });
}

eris_code eris_plan_join(eris_plan* plan, uint32_t left, uint32_t right, int32_t type,
                         const uint32_t* left_keys, const uint32_t* right_keys, size_t key_count,
                         const char* condition, uint32_t* out, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"plan", plan}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckInput(*plan, left));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckInput(*plan, right));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckNumber("type", type, ERIS_JOIN_INNER, ERIS_JOIN_ANTI));
    eris::JoinNode node{.left = left, .right = right, .type = static_cast<eris::JoinType>(type)};
    ERIS_ASSIGN_OR_RETURN(
        const std::vector<uint32_t> lefts,
        eris::capi::NumbersFrom("left_keys", left_keys, key_count, eris::kTableColumnsMax));
    ERIS_ASSIGN_OR_RETURN(
        const std::vector<uint32_t> rights,
        eris::capi::NumbersFrom("right_keys", right_keys, key_count, eris::kTableColumnsMax));
    for (size_t i = 0; i < key_count; ++i) node.keys.push_back({lefts[i], rights[i]});
    if (condition != nullptr) {
      ERIS_ASSIGN_OR_RETURN(node.condition, eris::capi::ExpressionFrom("condition", condition));
    }
    return eris::capi::Add(*plan, std::move(node), out);
  });
}

eris_code eris_plan_aggregate(eris_plan* plan, uint32_t input, const uint32_t* keys,
                              size_t key_count, const char* measures, const uint8_t* distinct,
                              size_t distinct_count, uint32_t* out, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"plan", plan}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckInput(*plan, input));
    eris::AggregateNode node{.input = input};
    ERIS_ASSIGN_OR_RETURN(
        node.keys, eris::capi::NumbersFrom("keys", keys, key_count, eris::kPlanGroupKeysMax));
    ERIS_ASSIGN_OR_RETURN(node.measures,
                          eris::capi::MeasuresFrom(measures, distinct, distinct_count));
    return eris::capi::Add(*plan, std::move(node), out);
  });
}

eris_code eris_plan_sort(eris_plan* plan, uint32_t input, const eris_sort_key* keys,
                         size_t key_count, uint32_t* out, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"plan", plan}, {"keys", keys}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckInput(*plan, input));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckNumber("key_count", static_cast<int64_t>(key_count), 1,
                                                 eris::kTableColumnsMax));
    eris::SortNode node{.input = input};
    for (size_t i = 0; i < key_count; ++i) {
      node.keys.push_back({.column = keys[i].column,
                           .descending = keys[i].descending != 0,
                           .nulls_first = keys[i].nulls_first != 0});
    }
    return eris::capi::Add(*plan, std::move(node), out);
  });
}

eris_code eris_plan_limit(eris_plan* plan, uint32_t input, uint64_t offset, uint64_t count,
                          uint32_t* out, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"plan", plan}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckInput(*plan, input));
    return eris::capi::Add(*plan, eris::LimitNode{.input = input, .offset = offset, .count = count},
                           out);
  });
}

eris_code eris_plan_union(eris_plan* plan, const uint32_t* inputs, size_t count, uint32_t* out,
                          eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"plan", plan}}));
    eris::UnionNode node;
    ERIS_ASSIGN_OR_RETURN(node.inputs,
                          eris::capi::NumbersFrom("inputs", inputs, count, eris::kPlanNodesMax));
    for (const uint32_t input : node.inputs) {
      ERIS_RETURN_IF_ERROR(eris::capi::CheckInput(*plan, input));
    }
    return eris::capi::Add(*plan, std::move(node), out);
  });
}

eris_code eris_plan_values(eris_plan* plan, const eris_column_schema* columns, size_t column_count,
                           const char* const* literals, uint64_t rows, uint32_t* out,
                           eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"plan", plan}}));
    ERIS_RETURN_IF_ERROR(
        eris::capi::CheckNumber("rows", static_cast<int64_t>(rows), 0, eris::kPlanValueRowsMax));
    eris::ValuesNode node;
    ERIS_ASSIGN_OR_RETURN(node.columns, eris::capi::ColumnsFrom(columns, column_count));
    if (rows > 0 && column_count > 0) ERIS_RETURN_IF_ERROR(Need({{"literals", literals}}));
    for (uint64_t row = 0; row < rows; ++row) {
      std::vector<eris::Value>& values = node.rows.emplace_back();
      for (size_t i = 0; i < column_count; ++i) {
        ERIS_ASSIGN_OR_RETURN(
            values.emplace_back(),
            eris::capi::LiteralFrom(node.columns[i], literals[row * column_count + i]));
      }
    }
    return eris::capi::Add(*plan, std::move(node), out);
  });
}

eris_code eris_plan_names(eris_plan* plan, const char* const* names, size_t count,
                          eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"plan", plan}}));
    ERIS_ASSIGN_OR_RETURN(plan->plan.names, eris::capi::NamesFrom("names", names, count));
    return absl::OkStatus();
  });
}

eris_code eris_query_open(eris_session* session, const eris_plan* plan,
                          const eris_snapshot* snapshot, eris_scan** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"plan", plan}, {"out", out}}));
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    ERIS_ASSIGN_OR_RETURN(std::unique_ptr<eris::Scan> scan,
                          session->session->OpenQuery(plan->plan, eris::capi::OptionsOf(snapshot)));
    *out = new eris_scan(session->engine, std::move(scan));
    return absl::OkStatus();
  });
}

eris_code eris_query_explain(eris_session* session, const eris_plan* plan, char** out,
                             eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"plan", plan}, {"out", out}}));
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    ERIS_ASSIGN_OR_RETURN(const std::string text, session->session->ExplainQuery(plan->plan));
    *out = eris::capi::CopyText(text);
    return absl::OkStatus();
  });
}

eris_code eris_query_analyze(eris_session* session, const eris_plan* plan,
                             const eris_snapshot* snapshot, int64_t timeout_us, char** out,
                             eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"session", session}, {"plan", plan}, {"out", out}}));
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    const eris::capi::OneCaller caller(session->busy);
    ERIS_RETURN_IF_ERROR(caller.status());
    ERIS_ASSIGN_OR_RETURN(
        const std::string text,
        session->session->AnalyzeQuery(plan->plan, eris::capi::OptionsOf(snapshot), deadline));
    *out = eris::capi::CopyText(text);
    return absl::OkStatus();
  });
}
