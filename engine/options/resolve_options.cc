#include "engine/options/resolve_options.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/cache_line.h"
#include "base/status_macros.h"
#include "engine/core/table_chunk_pool.h"
#include "engine/options/balancer_limits.h"
#include "engine/options/memory_plan.h"
#include "routing/scan_part.h"

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
  // The last kind never runs out while there is any memory.
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

std::string MemoryLimitSource(const Options& options, const MemoryPlan& plan) {
  if (options.memory_limit_bytes > 0) return "option memory_limit_bytes, --memory-limit";
  return absl::StrCat("a share of the process's ", plan.process_bytes >> 20, " MiB, ",
                      plan.process_source,
                      "; options memory_limit_bytes, --memory-limit, and process_memory_bytes, "
                      "--process-memory, set others");
}

// Both pools of chunks: that of table scans has half as many pieces.
constexpr uint64_t kBytesPerScanChunk =
    2 * sizeof(uint64_t) * routing::kScanChunkRows + kTableChunkBytes / 2;
constexpr uint32_t kScanChunksMax = 128;
constexpr uint64_t kKeptBytesMin = uint64_t{64} << 20;

uint32_t NumaNodesWithMemory(const topology::Topology& topology) {
  return static_cast<uint32_t>(std::ranges::count_if(
      topology.numa_nodes(), [](const topology::NumaNode& one) { return one.memory_bytes > 0; }));
}

absl::StatusOr<MemoryWishes> WishesOf(const Options& options, const topology::Topology& topology) {
  const uint64_t there = topology.memory_bytes();
  MemoryWishes wishes{.process_bytes = there,
                      .process_source = topology.limits().memory_source,
                      .data_bytes = options.memory_limit_bytes,
                      .caller_bytes = options.caller_bytes,
                      .scan_bytes = options.scan_chunks_max * kBytesPerScanChunk,
                      .aeu_buffer_bytes = base::RoundUp(2 * options.incoming_buffer_bytes,
                                                        options.superblock_bytes),
                      .superblock_bytes = options.superblock_bytes};
  wishes.numa_nodes = NumaNodesWithMemory(topology);
  if (there < topology.limits().memory_bytes) {
    wishes.process_source = "memory of the NumaNodes that the process may use";
  }
  const auto above = [&](absl::string_view name, uint64_t bytes) {
    return absl::InvalidArgumentError(absl::StrCat(name, " of ", bytes, " is above the machine's ",
                                                   there, " (", wishes.process_source, ")"));
  };
  if (options.process_memory_bytes > there) {
    return above("process_memory_bytes", options.process_memory_bytes);
  }
  if (options.memory_limit_bytes > there) {
    return above("memory_limit_bytes", options.memory_limit_bytes);
  }
  if (options.caller_bytes > there) return above("in_flight_bytes_max", options.caller_bytes);
  if (options.process_memory_bytes > 0) {
    wishes.process_bytes = options.process_memory_bytes;
    wishes.process_source = "process_memory_bytes";
  }
  return wishes;
}

// Divides the memory; if the number of AEUs is not set, it may be reduced.
absl::StatusOr<MemoryPlan> PlanMemory(const Options& options, const topology::Topology& topology,
                                      topology::PlacementPlan& placement) {
  ERIS_ASSIGN_OR_RETURN(MemoryWishes wishes, WishesOf(options, topology));
  wishes.aeus = static_cast<uint32_t>(placement.aeus.size());
  if (options.aeu_count == 0 && options.aeu_cpus.empty()) {
    const uint32_t fitting = AeusThatFit(wishes);
    if (fitting > 0 && fitting < wishes.aeus) {
      Options fewer = options;
      fewer.aeu_count = fitting;
      ERIS_ASSIGN_OR_RETURN(placement, topology::PlanPlacement(topology, fewer));
      placement.notes.push_back(absl::StrCat("The process may have ", wishes.process_bytes >> 20,
                                             " MiB (", wishes.process_source, "): ", fitting,
                                             " of ", wishes.aeus, " possible AEUs."));
      wishes.aeus = fitting;
    }
  }
  return DivideMemory(wishes);
}

// A Port's buffers: for a session at most an eighth of the share of all sessions; for an AEU a part
// of its reserve.
size_t PortBuffersBytes(const Options& options, const MemoryPlan& plan) {
  return std::clamp<uint64_t>(
      plan.port_bytes / 8, 2 * options.outgoing_buffer_bytes,
      std::max<uint64_t>(options.port_buffers_bytes_max, 2 * options.outgoing_buffer_bytes));
}

}  // namespace

absl::Status CheckTaskScheduling(TaskScheduling scheduling) {
  const auto number = static_cast<size_t>(scheduling);
  if (number < kTaskSchedulingNames.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("task_scheduling is ", number, ", must be own (0), las (1) or nls (2)"));
}

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
  ERIS_RETURN_IF_ERROR(CheckWithin("scan_chunks_max", options.scan_chunks_max, 0, 1 << 16));
  ERIS_RETURN_IF_ERROR(
      CheckWithin("snapshot_age_ms_max", options.snapshot_age_ms_max, 1, 86'400'000));
  ERIS_RETURN_IF_ERROR(CheckWithin("scan_slice_us", options.scan_slice_us, 1, 1'000'000));
  ERIS_RETURN_IF_ERROR(CheckTaskScheduling(options.task_scheduling));
  ERIS_RETURN_IF_ERROR(CheckBalancerOptions(options.balancer));

  absl::StatusOr<topology::Topology> topology =
      options.topology.empty() ? topology::Topology::Discover()
                               : topology::Topology::Synthetic(options.topology);
  if (!topology.ok()) return topology.status();
  ERIS_ASSIGN_OR_RETURN(topology::PlacementPlan plan, topology::PlanPlacement(*topology, options));

  // Check it before the planning, which uses it.
  ERIS_RETURN_IF_ERROR(ResolveMemory(options, *topology).status());
  ERIS_ASSIGN_OR_RETURN(MemoryPlan memory_plan, PlanMemory(options, *topology, plan));

  Options resolved = options;
  resolved.aeu_count = static_cast<uint32_t>(plan.aeus.size());
  resolved.incoming_buffer_bytes &= ~size_t{63};
  resolved.outgoing_buffer_bytes &= ~size_t{63};
  resolved.process_memory_bytes = memory_plan.process_bytes;
  resolved.memory_limit_bytes = memory_plan.data_bytes;
  resolved.caller_bytes = memory_plan.caller_bytes;
  if (options.scan_chunks_max == 0) {
    resolved.scan_chunks_max = static_cast<uint32_t>(
        std::clamp<uint64_t>(memory_plan.scan_bytes / kBytesPerScanChunk, 1, kScanChunksMax));
  }
  resolved.port_buffers_bytes_max = PortBuffersBytes(resolved, memory_plan);
  if (options.version_bytes_max == 0) {
    resolved.version_bytes_max = std::max<uint64_t>(resolved.memory_limit_bytes / 8, 1);
  }
  if (options.memory_kept_bytes_max == 0) {
    resolved.memory_kept_bytes_max = std::max<uint64_t>(
        kKeptBytesMin, resolved.memory_limit_bytes / 16 / NumaNodesWithMemory(*topology));
  }
  if (options.query_bytes_max == 0) {
    resolved.query_bytes_max = std::max<uint64_t>(resolved.memory_limit_bytes / 4, 1);
  }
  ERIS_ASSIGN_OR_RETURN(memory::MemoryOptions memory, ResolveMemory(resolved, *topology));
  std::string source = MemoryLimitSource(options, memory_plan);
  return ResolvedOptions{std::move(resolved),  std::move(source), std::move(memory_plan),
                         *std::move(topology), std::move(plan),   std::move(memory)};
}

}  // namespace eris::engine
