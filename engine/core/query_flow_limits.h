// When rows of a query stay at one AEU, and when all AEUs share them. Plain data; tests make them
// small. Not from the papers.
#ifndef ERIS_ENGINE_CORE_QUERY_FLOW_LIMITS_H_
#define ERIS_ENGINE_CORE_QUERY_FLOW_LIMITS_H_

#include <cstdint>

namespace eris::engine {

struct QueryFlowLimits {
  // Up to so many groups are merged at home.
  uint64_t merged_at_home = 8192;
  // Up to so many rows stay at home.
  uint64_t stay_at_home = 16384;
  // All AEUs make a table of a join's smaller side if they put, beyond what one AEU would, at most
  // so many rows into it for each row of the join. 0: rows of both sides are always sent.
  uint64_t built_per_row = 1;
  // Rows that AEUs of other NumaNodes read are copied once for each NumaNode if there are at least
  // this many. Fewer stay in a core's cache.
  uint64_t copied_rows = 1024;
  // Up to so many rows of a join's one side make a filter for the scan of the other. One AEU of
  // each NumaNode makes it, while the others wait.
  uint64_t filter_keys = uint64_t{4} << 20;
  // A step over at least so many rows is divided into free tasks, which any AEU may do.
  uint64_t divided_rows = 16384;
  // Rows whose keys are not at two AEUs stay where they are, unless one AEU has so many quarters of
  // its even share: then they are divided, too.
  uint64_t uneven_quarters = 6;
  // A filter or a grouping of a join's rows takes them while the join makes them.
  bool follows = true;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_QUERY_FLOW_LIMITS_H_
