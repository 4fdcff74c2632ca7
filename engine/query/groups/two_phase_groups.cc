#include "engine/query/groups/two_phase_groups.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "storage/query/plans/expression_tools.h"

namespace eris::engine {
namespace {

using expressions::Field;

class PhaseMaker {
 public:
  PhaseMaker(const Query& query, uint16_t carried) {
    made_.carried = carried;
    made_.keys = static_cast<uint32_t>(query.group_by.size());
    made_.partial.filter = query.filter;
    made_.partial.group_by = query.group_by;
    for (uint32_t key = 0; key < made_.keys; ++key) {
      made_.merge.group_by.push_back(storage::FieldName(key));
      columns_.push_back(Field(key));
    }
  }

  void Add(const AggregateColumn& column) {
    switch (column.function) {
      case AggregateFunction::kCount: {
        finish_ = true;
        Expression count = Merged(column, AggregateFunction::kCount, AggregateFunction::kSum);
        columns_.push_back(expressions::Cast(std::move(count), ColumnType::kUint64));
        break;
      }
      case AggregateFunction::kAverage: {
        finish_ = true;
        Expression sum = Merged(column, AggregateFunction::kSum, AggregateFunction::kSum);
        Expression count = Merged(column, AggregateFunction::kCount, AggregateFunction::kSum);
        columns_.push_back(expressions::operator/(std::move(sum), std::move(count)));
        break;
      }
      case AggregateFunction::kSum:
      case AggregateFunction::kMin:
      case AggregateFunction::kMax:
        columns_.push_back(Merged(column, column.function, column.function));
        break;
      case AggregateFunction::kMedian:
        ERIS_CHECK(false);  // it has no parts
    }
  }

  TwoPhaseGroups Take() {
    if (finish_) {
      Query& finish = made_.finish.emplace();
      for (Expression& column : columns_) finish.columns.push_back({std::move(column), ""});
    }
    return std::move(made_);
  }

 private:
  // The column of `merge` that has the aggregate of the aggregates.
  Expression Merged(const AggregateColumn& column, AggregateFunction of_rows,
                    AggregateFunction of_groups) {
    const auto at = static_cast<uint32_t>(made_.keys + made_.partial.aggregates.size());
    made_.partial.aggregates.push_back(
        {.function = of_rows, .argument = column.argument, .name = {}});
    made_.merge.aggregates.push_back({.function = of_groups, .argument = Field(at), .name = {}});
    return Field(at);
  }

  TwoPhaseGroups made_;
  std::vector<Expression> columns_;  // of the answer, over those of `merge`
  bool finish_ = false;
};

}  // namespace

TwoPhaseGroups TwoPhases(const Query& query, uint16_t carried) {
  PhaseMaker maker(query, carried);
  for (const AggregateColumn& column : query.aggregates) maker.Add(column);
  return maker.Take();
}

std::vector<uint32_t> ComparedKeys(uint32_t keys, uint16_t carried) {
  std::vector<uint32_t> compared;
  for (uint32_t key = 0; key < keys; ++key) {
    if ((carried >> key & 1) == 0) compared.push_back(key);
  }
  return compared;
}

}  // namespace eris::engine
