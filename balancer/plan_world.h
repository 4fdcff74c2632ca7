// The locations of the AEUs, and the moves that the kind of the planned object allows. Plain data.
#ifndef ERIS_BALANCER_PLAN_WORLD_H_
#define ERIS_BALANCER_PLAN_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "eris/balancer.h"
#include "eris/types.h"

namespace eris::balancer {

struct PlanWorld {
  // Rows of a heap table's segment, once it is full.
  static constexpr uint64_t kSegmentRows = 1u << 16;

  std::vector<NumaNodeId> numa_nodes{};  // by AeuId
  // distances[a][b] from the NumaNode of AEU a to that of AEU b, as in the topology; empty: all
  // equal.
  std::vector<std::vector<uint32_t>> distances{};
  bool relinks = true;      // an index or a heap table: parts of it may change hands without a copy
  bool cuts_inside = true;  // a range may be taken out of the middle of another; else from its ends
  bool by_size = false;     // a heap table: no ranges, rows alone
  uint64_t row_bytes = 16;  // for estimates
  // Boundaries are placed at multiples of this power of two. Above 1: objects beside each other
  // have only the upper part of their keys' first words in common.
  uint64_t grain = 1;
  // How much of what followed the object's last leap came by remapping pages; nullopt: none has.
  std::optional<double> remapped_share{};

  size_t aeu_count() const { return numa_nodes.size(); }
  bool SameNumaNode(AeuId a, AeuId b) const { return numa_nodes[a.value] == numa_nodes[b.value]; }
  bool CanMoveBy(TransferKind kind) const { return relinks || !TraitsOf(kind).relinks; }
  bool CanMoveBetween(AeuId a, AeuId b, TransferKind kind) const {
    return CanMoveBy(kind) && (TraitsOf(kind).between_numa_nodes || SameNumaNode(a, b));
  }
  // The cheapest possible kind for so many rows. A copy is always possible, and the only way for a
  // part of a heap table that has no whole segment.
  TransferKind KindBetween(AeuId a, AeuId b, uint64_t rows) const {
    TransferKind best = TransferKind::kCopy;
    if (by_size && rows < kSegmentRows) return best;
    for (const TransferKind kind : kTransferKinds) {
      const bool cheaper = TraitsOf(kind).CostUs(rows) < TraitsOf(best).CostUs(rows);
      if (CanMoveBetween(a, b, kind) && cheaper) best = kind;
    }
    return best;
  }
  // 0 inside a NumaNode, else as in the topology.
  uint32_t Distance(AeuId a, AeuId b) const {
    if (SameNumaNode(a, b)) return 0;
    return distances.empty() ? 1 : distances[a.value][b.value];
  }
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_PLAN_WORLD_H_
