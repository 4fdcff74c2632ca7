// Groups that several AEUs make: each of the rows that it has, then all of the groups. Pure
// functions. Not from the papers.
#ifndef ERIS_ENGINE_QUERY_GROUPS_TWO_PHASE_GROUPS_H_
#define ERIS_ENGINE_QUERY_GROUPS_TWO_PHASE_GROUPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "eris/query.h"

namespace eris::engine {

// Whether it makes groups of rows; without keys one group of all.
inline bool MakesGroups(const Query& query) {
  return !query.aggregates.empty() || !query.group_by.empty();
}

// Three queries that make, one after the other, what one query makes at once: the first over its
// rows, the others over the columns that the one before hands out, by number. Averages become sums
// and counts, counts are added up.
struct TwoPhaseGroups {
  uint32_t keys = 0;     // the first columns of `partial`
  uint16_t carried = 0;  // of these: in `partial` and `merge` (TablePlan::Create)
  Query partial{};
  Query merge{};
  std::optional<Query> finish{};  // none: `merge` hands out the answer
};

// REQUIRES: `query` has aggregates or groups, and they need not be whole (whole_groups.h).
// `carried`: of its group_by, as TablePlan::Create has it.
TwoPhaseGroups TwoPhases(const Query& query, uint16_t carried = 0);
// The keys by which groups are told apart: those that are not carried.
std::vector<uint32_t> ComparedKeys(uint32_t keys, uint16_t carried);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_GROUPS_TWO_PHASE_GROUPS_H_
