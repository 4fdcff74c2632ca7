// In which order the steps of a query are made, and which scans are filtered by keys that are there
// already. Pure functions. Not from the papers: query processing is ERIS's next step (6).
//
// The side of an inner or a semi join with fewer rows is made first, of another join the left one:
// its keys can filter the other side. Rows without a partner there are of no use in an inner or a
// semi join, and the right side of any join needs no rows but partners of the left one. Its keys go
// down the other side to the scan that the column comes from: through filters, columns, groups by
// that column, sorts and joins, as long as nobody else reads the rows on the way.
#ifndef ERIS_ENGINE_QUERY_KEY_FILTER_PLAN_H_
#define ERIS_ENGINE_QUERY_KEY_FILTER_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "eris/schema.h"
#include "storage/query/plans/query_steps.h"

namespace eris::engine {

// A scan needs only rows whose value in a column is one that a step made before has.
struct KeyFilterPlan {
  uint32_t scan = 0;         // step
  uint32_t scan_column = 0;  // of its rows
  uint32_t made = 0;         // step
  uint32_t made_column = 0;
  // Each value must be dropped everywhere or nowhere: something that can fail is computed of groups
  // by it, also of those that the join drops, and of a part of a group it may fail where it does
  // not of the whole.
  bool whole_groups = false;
  friend bool operator==(const KeyFilterPlan&, const KeyFilterPlan&) = default;
};

struct StepOrder {
  // All steps that the last one needs, each behind those that it needs.
  std::vector<uint32_t> steps{};
  std::vector<KeyFilterPlan> filters{};
};

StepOrder OrderSteps(const std::vector<storage::QueryStep>& steps);

// The column of the table, by number, that is a column of the scan's rows as it is, or a key of its
// groups; nullopt: none is.
std::optional<uint32_t> TableColumnOf(const storage::ScanStep& scan, uint32_t column,
                                      const std::vector<ColumnSchema>& table);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_KEY_FILTER_PLAN_H_
