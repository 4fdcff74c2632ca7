// Groups that several AEUs make: each of the rows that it has, then all of the groups. Pure
// functions. Not from the papers.
#ifndef ERIS_ENGINE_QUERY_TWO_PHASE_GROUPS_H_
#define ERIS_ENGINE_QUERY_TWO_PHASE_GROUPS_H_

#include <cstdint>
#include <optional>

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
  uint32_t keys = 0;  // the first columns of `partial`
  Query partial{};
  Query merge{};
  std::optional<Query> finish{};  // none: `merge` hands out the answer
};

// `query` has aggregates or groups.
TwoPhaseGroups TwoPhases(const Query& query);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_TWO_PHASE_GROUPS_H_
