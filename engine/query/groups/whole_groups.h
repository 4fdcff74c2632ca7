// Groups that must be made at once, of all of their rows: those with a median, for which partial
// results do not help. Then AEUs exchange rows before anything is grouped. Pure functions. Not from
// the papers.
#ifndef ERIS_ENGINE_QUERY_GROUPS_WHOLE_GROUPS_H_
#define ERIS_ENGINE_QUERY_GROUPS_WHOLE_GROUPS_H_

#include <cstdint>

#include "eris/query.h"

namespace eris::engine {

// Whether partial results of the function, of parts of a group, make up its result.
bool HasParts(AggregateFunction function);

// Two queries that make, one after the other, what one query makes at once: the first one hands out
// a row for each of its rows, with the keys and what is aggregated. The second one groups those
// rows, whose columns it names by number.
struct WholeGroups {
  uint32_t keys = 0;     // the first columns of `rows`
  uint16_t carried = 0;  // of these: in `groups` (TablePlan::Create)
  Query rows{};
  Query groups{};
};

// Whether the query makes groups that must be made at once.
bool NeedsWholeGroups(const Query& query);
// REQUIRES: NeedsWholeGroups. `carried`: of its group_by, as TablePlan::Create has it.
WholeGroups WholeGroupsOf(const Query& query, uint16_t carried = 0);
}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_GROUPS_WHOLE_GROUPS_H_
