#include "engine/moving/load_reading.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "balancer/load/hot_ranges.h"
#include "balancer/load/imbalance.h"
#include "routing/ranges/range_table.h"

namespace eris::engine {
namespace {

// The partition that contains an AEU's range. A moving range is for a moment at one AEU but in the
// table another's: its rows then count for this AEU's next partition.
std::optional<size_t> PartitionFor(const routing::RangeTable& table, AeuId owner, uint64_t lo) {
  const std::span<const uint32_t> owned = table.PartitionsOf(owner);
  if (owned.empty()) return std::nullopt;
  const auto at = std::lower_bound(owned.begin(), owned.end(), table.PartitionOf(lo));
  return at == owned.end() ? owned.back() : *at;
}

}  // namespace

LoadReading ReadLoads(const ObjectEntry& object,
                      const std::vector<std::unique_ptr<aeu::Aeu>>& aeus) {
  LoadReading reading;
  const bool heap = object.kind == ObjectKind::kHeapTable;
  const std::shared_ptr<const routing::RangeTable> table = object.route.Pin();
  for (size_t i = 0; i < (heap ? aeus.size() : table->size()); ++i) {
    balancer::SampledPartition partition;
    if (heap) {
      partition.range = {storage::Key::FromU64(i), storage::Key::FromU64(i + 1)};
      partition.owner = aeus[i]->id();
    } else {
      partition.range = table->RangeOf(i);
      partition.owner = table->owners()[i];
    }
    reading.partitions.push_back(partition);
  }
  for (const auto& aeu : aeus) {
    const std::optional<aeu::ObjectLoad> load = aeu->loads().Of(object.route.object());
    if (!load) continue;
    reading.aeus.push_back({.aeu = aeu->id(), .accesses = load->accesses});
    for (const auto& range : load->partitions) {
      const std::optional<size_t> partition = heap ? std::optional<size_t>(aeu->id().value)
                                                   : PartitionFor(*table, aeu->id(), range->lo());
      if (partition) reading.partitions[*partition].rows += range->rows();
    }
  }
  return reading;
}

HotRanges HotRangesOf(const balancer::LoadSample& sample, bool heap, uint32_t ranges_max) {
  HotRanges result{.loads = balancer::PartitionLoads(sample)};
  for (double& load : result.loads) {
    load = sample.window_ns == 0 ? 0 : load / static_cast<double>(sample.window_ns);
    result.load += load;
  }
  for (const balancer::PartitionSample& partition : sample.partitions) {
    if (!heap) result.starts.push_back(partition.range.lo.head);
    result.owners.push_back(partition.owner);
    result.rows.push_back(partition.size);
  }
  if (!heap) result.hottest = balancer::HottestRanges(sample, ranges_max);
  return result;
}

}  // namespace eris::engine
