// What the tests share that compare runs over random segments with the oracle.
#ifndef ERIS_TESTS_UNIT_TABLE_RANDOM_RUNS_H_
#define ERIS_TESTS_UNIT_TABLE_RANDOM_RUNS_H_

#include <gtest/gtest.h>

#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "storage/table/plan/plan_compiler.h"
#include "storage/table/plan/table_plan.h"
#include "storage/table/rows/table_layout.h"
#include "tests/unit/table/query_oracle.h"
#include "tests/unit/table/query_world.h"

namespace eris::storage {

inline std::shared_ptr<const TableLayout> QueryLayout() {
  static const auto layout = TableLayout::Create(QuerySchema());
  EXPECT_TRUE(layout.ok()) << layout.status();
  return *layout;
}

using Segments = std::vector<std::unique_ptr<QuerySegment>>;

inline Segments SomeSegments(QueryRandom& random) {
  constexpr uint32_t kLengths[] = {0,   1,   2,   7,    63,   64,   65,  127,
                                   128, 129, 200, 2047, 2048, 2049, 4100};
  Segments segments;
  const Spread spread = static_cast<Spread>(random() % 3);
  const uint64_t count = 1 + random() % 3;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t rows = random() % 4 == 0 ? kLengths[random() % std::size(kLengths)]
                                            : static_cast<uint32_t>(random() % 200);
    segments.push_back(
        std::make_unique<QuerySegment>(random, rows, spread, random() % 2 == 0, random() % 2 == 0));
  }
  return segments;
}

inline std::string TextOf(const OracleValue& value) {
  if (value.null) return "null";
  if (value.IsText()) return "'" + value.text + "'";
  if (value.IsReal()) {
    if (std::isnan(value.real)) return "nan";
    char text[64];
    std::snprintf(text, sizeof text, "%a", value.real);
    return text;
  }
  return DecimalText(value.number, value.scale);
}
inline std::string TextOf(const QueryOracle::Row& row) {
  std::string text;
  for (const OracleValue& value : row) text += TextOf(value) + " ";
  return text;
}
inline std::string TextOf(const Query& query) {
  std::string text = "where " + (query.filter ? ExpressionText(*query.filter) : "");
  for (const auto& column : query.columns) text += "\n  " + ExpressionText(column.expression);
  for (const std::string& name : query.group_by) text += "\n  by " + name;
  for (const AggregateColumn& aggregate : query.aggregates) {
    text += "\n  " + std::string(AggregateFunctionName(aggregate.function)) + " ";
    if (aggregate.argument) text += ExpressionText(*aggregate.argument);
  }
  return text;
}

inline std::vector<uint32_t> PassingRows(QueryOracle& oracle, const Query& query,
                                         const QuerySegment& segment) {
  std::vector<uint32_t> passing;
  for (uint32_t i = 0; i < segment.rows(); ++i) {
    if (!segment.counts(i)) continue;
    if (!query.filter || oracle.TruthOf(*query.filter, segment.row(i)) == Truth::kTrue) {
      passing.push_back(i);
    }
  }
  return passing;
}

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_TABLE_RANDOM_RUNS_H_
