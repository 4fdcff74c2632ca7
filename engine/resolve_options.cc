#include "engine/resolve_options.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/balancer_limits.h"

namespace eris::engine {
namespace {

absl::Status CheckWithin(absl::string_view name, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must lie between ", least, " and ", most, ", got ", value));
}

std::vector<memory::PageKind> PageKinds(HugePages wanted) {
  using memory::PageKind;
  const memory::PageOffer offer = memory::FindPageOffer();
  // The last one never runs out while there is memory at all.
  switch (wanted) {
    case HugePages::kNone:
      return {PageKind::kAnonymous};
    case HugePages::kAdvised:
      return {PageKind::kAnonymousHuge};
    case HugePages::kShared:
      return {PageKind::kSharedHuge};
    case HugePages::kReserved:
      return {PageKind::kReservedHuge, PageKind::kAnonymousHuge};
    case HugePages::kAuto:
      break;
  }
  std::vector<PageKind> kinds;
  if (offer.reserved_huge) kinds.push_back(PageKind::kReservedHuge);
  kinds.push_back(offer.shared_huge ? PageKind::kSharedHuge : PageKind::kAnonymousHuge);
  return kinds;
}

absl::StatusOr<memory::MemoryOptions> ResolveMemory(const Options& options,
                                                    const topology::Topology& topology) {
  using Placement = memory::MemoryOptions::Placement;
  ERIS_RETURN_IF_ERROR(CheckWithin("superblock_bytes", options.superblock_bytes,
                                   memory::kSuperblockBytesMin, memory::kSuperblockBytesMax));
  if (!std::has_single_bit(options.superblock_bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("superblock_bytes must be a power of two, got ", options.superblock_bytes));
  }
  ERIS_RETURN_IF_ERROR(CheckWithin("memory_decay_ms", options.memory_decay_ms, 8, 3'600'000));
  memory::MemoryOptions memory;
  memory.limit_bytes = options.memory_limit_bytes;
  memory.spill = options.memory_spill;
  memory.pool.superblock_bytes = options.superblock_bytes;
  memory.pool.pages = PageKinds(options.huge_pages);
  memory.pool.kept_bytes_max = options.memory_kept_bytes_max;
  memory.pool.ready_superblocks_max =
      static_cast<uint32_t>(std::min<uint64_t>(options.memory_ready_bytes_max, uint64_t{1} << 40) /
                            options.superblock_bytes);
  memory.tick = absl::Milliseconds(options.memory_decay_ms) / memory.pool.decay_ticks;
  switch (options.memory_placement) {
    case MemoryPlacement::kLocal:
      memory.placement = Placement::kLocal;
      break;
    case MemoryPlacement::kInterleaved:
      memory.placement = Placement::kInterleaved;
      break;
    case MemoryPlacement::kOneNumaNode:
      memory.placement = Placement::kOneNumaNode;
      memory.one_numa_node = NumaNodeId{options.memory_numa_node};
      ERIS_RETURN_IF_ERROR(CheckWithin("memory_numa_node", options.memory_numa_node, 0,
                                       topology.numa_nodes().size() - 1));
      if (topology.numa_nodes()[options.memory_numa_node].memory_bytes == 0) {
        return absl::InvalidArgumentError(absl::StrCat("memory_numa_node: NumaNode ",
                                                       options.memory_numa_node, " has no memory"));
      }
      break;
  }
  return memory;
}

}  // namespace

absl::StatusOr<ResolvedOptions> ResolveOptions(const Options& options) {
  ERIS_RETURN_IF_ERROR(
      CheckWithin("incoming_buffer_bytes", options.incoming_buffer_bytes, 64 << 10, 1 << 30));
  ERIS_RETURN_IF_ERROR(CheckWithin("outgoing_buffer_bytes", options.outgoing_buffer_bytes, 4 << 10,
                                   options.incoming_buffer_bytes / 2));
  ERIS_RETURN_IF_ERROR(CheckWithin("port_buffers_bytes_max", options.port_buffers_bytes_max,
                                   2 * options.outgoing_buffer_bytes, 1 << 30));
  ERIS_RETURN_IF_ERROR(CheckWithin("session_in_flight_bytes_max",
                                   options.session_in_flight_bytes_max, 1 << 10,
                                   uint64_t{1} << 40));
  ERIS_RETURN_IF_ERROR(CheckWithin("send_wait_ms_max", options.send_wait_ms_max, 1, 600'000));
  ERIS_RETURN_IF_ERROR(CheckWithin("scan_chunks_max", options.scan_chunks_max, 1, 1 << 16));
  ERIS_RETURN_IF_ERROR(
      CheckWithin("snapshot_age_ms_max", options.snapshot_age_ms_max, 1, 86'400'000));
  ERIS_RETURN_IF_ERROR(CheckWithin("scan_slice_us", options.scan_slice_us, 1, 1'000'000));
  ERIS_RETURN_IF_ERROR(CheckBalancerOptions(options.balancer));

  absl::StatusOr<topology::Topology> topology =
      options.topology.empty() ? topology::Topology::Discover()
                               : topology::Topology::Synthetic(options.topology);
  if (!topology.ok()) return topology.status();
  ERIS_ASSIGN_OR_RETURN(topology::PlacementPlan plan, topology::PlanPlacement(*topology, options));

  Options resolved = options;
  resolved.aeu_count = static_cast<uint32_t>(plan.aeus.size());
  resolved.incoming_buffer_bytes &= ~size_t{63};
  resolved.outgoing_buffer_bytes &= ~size_t{63};
  if (options.memory_limit_bytes > topology->memory_bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory_limit_bytes of ", options.memory_limit_bytes,
                     " is above the machine's ", topology->memory_bytes()));
  }
  if (options.memory_limit_bytes == 0) {
    resolved.memory_limit_bytes = topology->memory_bytes() / 10 * 8;
  }
  if (options.version_bytes_max == 0) {
    resolved.version_bytes_max = std::max<uint64_t>(resolved.memory_limit_bytes / 8, 1);
  }
  ERIS_ASSIGN_OR_RETURN(memory::MemoryOptions memory, ResolveMemory(resolved, *topology));
  return ResolvedOptions{std::move(resolved), *std::move(topology), std::move(plan),
                         std::move(memory)};
}

}  // namespace eris::engine
