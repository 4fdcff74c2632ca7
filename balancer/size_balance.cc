#include "balancer/size_balance.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>

#include "base/check.h"

namespace eris::balancer {
namespace {

struct Part {
  AeuId aeu;
  uint64_t rows;  // surplus, or deficit
};
struct Side {
  std::vector<Part> parts{};
  size_t next = 0;
};

// Until one side has nothing left.
void Match(Side& givers, Side& takers, std::vector<RowMove>& moves) {
  while (givers.next < givers.parts.size() && takers.next < takers.parts.size()) {
    Part& from = givers.parts[givers.next];
    Part& to = takers.parts[takers.next];
    const uint64_t rows = std::min(from.rows, to.rows);
    moves.push_back({from.aeu, to.aeu, rows});
    from.rows -= rows;
    to.rows -= rows;
    givers.next += from.rows == 0;
    takers.next += to.rows == 0;
  }
}

}  // namespace

std::vector<RowMove> SizeBalance(absl::Span<const uint64_t> rows, const PlanWorld& world) {
  ERIS_CHECK(rows.size() <= world.aeu_count());
  std::vector<RowMove> moves;
  if (rows.empty()) return moves;
  const uint64_t sum = std::accumulate(rows.begin(), rows.end(), uint64_t{0});
  // The AEUs with the most rows keep one each of the rows that cannot be divided.
  std::vector<uint32_t> by_rows(rows.size());
  std::iota(by_rows.begin(), by_rows.end(), 0u);
  std::stable_sort(by_rows.begin(), by_rows.end(),
                   [&](uint32_t a, uint32_t b) { return rows[a] > rows[b]; });
  std::map<NumaNodeId, Side> givers;
  std::map<NumaNodeId, Side> takers;
  for (size_t i = 0; i < by_rows.size(); ++i) {
    const uint32_t aeu = by_rows[i];
    const uint64_t target = sum / rows.size() + (i < sum % rows.size());
    if (rows[aeu] > target) {
      givers[world.numa_nodes[aeu]].parts.push_back({AeuId{aeu}, rows[aeu] - target});
    } else if (rows[aeu] < target) {
      takers[world.numa_nodes[aeu]].parts.push_back({AeuId{aeu}, target - rows[aeu]});
    }
  }
  std::vector<std::tuple<uint32_t, NumaNodeId, NumaNodeId>> pairs;
  for (const auto& [from, giving] : givers) {
    for (const auto& [to, taking] : takers) {
      pairs.emplace_back(world.Distance(giving.parts.front().aeu, taking.parts.front().aeu), from,
                         to);
    }
  }
  std::sort(pairs.begin(), pairs.end());
  for (const auto& [distance, from, to] : pairs) Match(givers[from], takers[to], moves);
  return moves;
}

}  // namespace eris::balancer
