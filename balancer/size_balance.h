// Balancing only by rows, for heap tables: a scan runs on all AEUs that have a part, and ends with
// the AEU that has the most. A pure function; it moves nothing. Paper: ERIS 3.3 (scenario 1).
#ifndef ERIS_BALANCER_SIZE_BALANCE_H_
#define ERIS_BALANCER_SIZE_BALANCE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "balancer/plan_world.h"
#include "eris/types.h"

namespace eris::balancer {

struct RowMove {
  AeuId from;
  AeuId to;
  uint64_t rows = 0;
  friend bool operator==(const RowMove&, const RowMove&) = default;
};

// Which AEU gives how many rows to which, so that no two AEUs differ by more than a row and as few
// rows as possible move: inside a NumaNode first, then between the nearest ones. `rows` by AeuId.
// O(n log n + NumaNodes squared).
std::vector<RowMove> SizeBalance(absl::Span<const uint64_t> rows, const PlanWorld& world);

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_SIZE_BALANCE_H_
