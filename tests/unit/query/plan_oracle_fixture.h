// Short forms of tables, and of what the oracle of plans says, for its own tests.
#ifndef ERIS_TESTS_UNIT_QUERY_PLAN_ORACLE_FIXTURE_H_
#define ERIS_TESTS_UNIT_QUERY_PLAN_ORACLE_FIXTURE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eris/query_plan.h"
#include "tests/support/plan/plan_interpreter.h"

namespace eris::test {

inline constexpr CellType kI64{ColumnType::kInt64};
inline constexpr CellType kU64{ColumnType::kUint64};
inline constexpr CellType kF64{ColumnType::kFloat64};
inline constexpr CellType kText{ColumnType::kString};

inline Cell Int(int64_t number) { return IntegerCell(number); }
inline Cell Unsigned(uint64_t number) { return NumberCell(kU64, number); }
inline Cell NullInt() { return NullCell(kI64); }

inline PlanTable TableOf(const CellTypes& types, std::vector<Cells> rows) {
  PlanTable table;
  for (const CellType& type : types) {
    table.schema.columns.push_back(
        {absl::StrCat("c", table.schema.columns.size()), type.type, type.scale, true});
  }
  table.rows = std::move(rows);
  return table;
}
// With a column of i64.
inline PlanTable TableOfInts(const std::vector<Cell>& cells) {
  std::vector<Cells> rows;
  for (const Cell& cell : cells) rows.push_back({cell});
  return TableOf({kI64}, std::move(rows));
}

// The text of each row, in the order in which the oracle has them; or one line that says what else
// there is.
inline std::vector<std::string> Answered(const QueryPlan& plan, const PlanTables& tables) {
  const absl::StatusOr<PlanAnswer> answer = Interpret(plan, tables);
  if (!answer.ok()) return {std::string(absl::StatusCodeToString(answer.status().code()))};
  if (answer->fails) return {"fails"};
  std::vector<std::string> texts;
  for (const Cells& row : answer->rows) texts.push_back(CellsText(row));
  return texts;
}

// The value of an expression over one row.
inline std::string ValueFor(const Expression& expression, const Cells& row) {
  CellTypes types;
  for (const Cell& cell : row) types.push_back(cell.type);
  QueryPlan plan;
  plan.nodes = {ReadNode{.object = "t"}, ProjectNode{0, {expression}}};
  return Answered(plan, {{"t", TableOf(types, {row})}}).at(0);
}
// "true", "false" or "unknown".
inline std::string TruthFor(const Expression& condition, const Cells& row) {
  using namespace expressions;
  const Expression expression =
      Case({condition, Literal(Value(std::string("true"))), !condition,
            Literal(Value(std::string("false"))), IsNull(Field(0)) || !IsNull(Field(0)),
            Literal(Value(std::string("unknown")))});
  const std::string text = ValueFor(expression, row);
  return text[0] == '\'' ? text.substr(1, text.size() - 2) : text;
}

}  // namespace eris::test

#endif  // ERIS_TESTS_UNIT_QUERY_PLAN_ORACLE_FIXTURE_H_
