#include "engine/query/groups/whole_groups.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "storage/query/plans/expression_tools.h"

namespace eris::engine {

bool HasParts(AggregateFunction function) { return function != AggregateFunction::kMedian; }

bool NeedsWholeGroups(const Query& query) {
  return !std::all_of(query.aggregates.begin(), query.aggregates.end(),
                      [](const AggregateColumn& column) { return HasParts(column.function); });
}

WholeGroups WholeGroupsOf(const Query& query, uint16_t carried) {
  WholeGroups whole{.keys = static_cast<uint32_t>(query.group_by.size()), .carried = carried};
  whole.rows.filter = query.filter;
  for (const std::string& key : query.group_by) {
    whole.groups.group_by.push_back(
        storage::FieldName(static_cast<uint32_t>(whole.rows.columns.size())));
    whole.rows.columns.push_back({expressions::Column(key), ""});
  }
  for (const AggregateColumn& column : query.aggregates) {
    AggregateColumn of_rows{.function = column.function, .name = {}};
    if (column.argument) {
      auto& columns = whole.rows.columns;
      const auto found = std::find_if(
          columns.begin() + whole.keys, columns.end(),
          [&](const NamedExpression& one) { return one.expression == *column.argument; });
      of_rows.argument = expressions::Field(static_cast<uint32_t>(found - columns.begin()));
      if (found == columns.end()) columns.push_back({*column.argument, ""});
    }
    whole.groups.aggregates.push_back(std::move(of_rows));
  }
  return whole;
}

}  // namespace eris::engine
