#include "engine/memory_report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "engine/options/memory_plan.h"
#include "memory/huge_pages.h"
#include "memory/placement_check.h"
#include "memory/size_class.h"
#include "memory/system/system_memory.h"

namespace eris::engine {
namespace {

// The NumaNodes with a pool, by id.
std::vector<const memory::NumaNodePool*> PoolsOf(const ResolvedOptions& resolved,
                                                 const memory::MemorySystem& memory) {
  std::vector<const memory::NumaNodePool*> pools;
  for (const topology::NumaNode& numa_node : resolved.topology.numa_nodes()) {
    if (memory.has_own_pool(numa_node.id)) pools.push_back(&memory.pool(numa_node.id));
  }
  return pools;
}

std::vector<std::string> PageNames(const ResolvedOptions& resolved) {
  std::vector<std::string> names;
  for (const memory::PageKind kind : resolved.memory.pool.pages) {
    names.emplace_back(memory::PageKindName(kind));
  }
  return names;
}

// For a figure that changed while it was computed: it may be negative, modulo 2^64.
uint64_t Clamped(uint64_t blocks, uint64_t most) {
  return static_cast<int64_t>(blocks) < 0 ? 0 : std::min(blocks, most);
}

ObjectMemory CommittedOf(const ObjectEntry& object, const memory::MemoryManager& manager) {
  return {.object = object.name,
          .id = object.route.object(),
          .numa_node = manager.numa_node(),
          .committed_bytes = manager.reserved_bytes(),
          .spilled_bytes = manager.spilled_bytes()};
}

ObjectMemory AccountOf(const ObjectEntry& object, const memory::MemoryManager& manager) {
  const memory::ObjectAccount account = manager.Account();
  ObjectMemory result = CommittedOf(object, manager);
  result.committed_bytes = account.committed_bytes;  // as of the same moment as its parts
  result.spare_bytes = account.spare_bytes;
  result.header_bytes = account.header_bytes;
  result.extent_bytes = account.extent_bytes;
  for (size_t i = 0; i < memory::kSizeClasses; ++i) {
    const memory::ClassAccount& one = account.classes[i];
    const uint64_t blocks = one.used_blocks + one.cached_blocks;
    if (blocks == 0) continue;
    const uint64_t bytes = memory::SizeClassBytes(i);
    const uint64_t used = Clamped(one.used_blocks, blocks);
    result.classes.push_back(
        {.block_bytes = bytes, .used_blocks = used, .cached_blocks = blocks - used});
    result.used_bytes += used * bytes;
    result.cached_bytes += (blocks - used) * bytes;
  }
  return result;
}

NumaNodePlacement PlacementOf(const memory::NumaNodePool& pool,
                              const memory::PlacementCheck& check) {
  NumaNodePlacement result{.id = pool.id(),
                           .os_numa_nodes = pool.allowed_os_nodes(),
                           .pages_asked = check.asked,
                           .pages_absent = check.absent};
  result.bound = !result.os_numa_nodes.empty();
  if (result.bound) {
    result.pages_local = check.allowed_pages();
    result.pages_elsewhere = check.other_pages();
  }
  for (const memory::LocatedPages& from : check.located) {
    LocatedMemory to{.os_numa_node = from.os_node, .pages = from.pages, .local = from.allowed};
    for (const std::byte* address : from.examples) {
      if (result.bound) to.addresses.push_back(reinterpret_cast<uintptr_t>(address));
    }
    result.located.push_back(std::move(to));
  }
  return result;
}

std::string PlacementText(const Options& options) {
  switch (options.memory_placement) {
    case MemoryPlacement::kLocal:
      return "each AEU's on its own NumaNode";
    case MemoryPlacement::kInterleaved:
      return "on all NumaNodes in turn";
    case MemoryPlacement::kOneNumaNode:
      return absl::StrCat("all on NumaNode ", options.memory_numa_node);
  }
  return "";
}

}  // namespace

MemoryStats ReportMemory(const ResolvedOptions& resolved, const memory::MemorySystem& memory,
                         const std::vector<ObjectRef>& objects, const MemoryStatsOptions& options) {
  MemoryStats stats{.plan = resolved.memory_plan,
                    .limit_bytes = memory.limit_bytes(),
                    .reserved_bytes = memory.reserved_bytes(),
                    .superblock_bytes = resolved.memory.pool.superblock_bytes,
                    .pages = PageNames(resolved)};
  for (const memory::NumaNodePool* pool : PoolsOf(resolved, memory)) {
    const memory::PoolFigures figures = pool->figures();
    NumaNodeMemory one{.id = pool->id(),
                       .bound = !pool->allowed_os_nodes().empty(),
                       .reserved_bytes = figures.reserved_bytes,
                       .in_use_bytes = figures.in_use_bytes,
                       .kept_bytes = figures.kept_bytes,
                       .ready_bytes = figures.ready_bytes,
                       .reserved_huge_bytes = figures.reserved_huge_bytes,
                       .mapped_bytes = figures.mapped_bytes};
    for (const topology::AeuPlace& place : resolved.plan.aeus) {
      if (memory.pool(place.numa_node).id() != pool->id()) continue;
      one.buffers_bytes += pool->ExtentBytes(2 * resolved.options.incoming_buffer_bytes);
    }
    stats.numa_nodes.push_back(one);
  }
  for (const ObjectRef& object : objects) {
    stats.heap_bytes += object->heap_bytes();
    object->VisitManagers([&](const memory::MemoryManager& manager) {
      stats.objects.push_back(options.parts ? AccountOf(*object, manager)
                                            : CommittedOf(*object, manager));
    });
  }
  return stats;
}

absl::StatusOr<MemoryVerification> VerifyMemory(const ResolvedOptions& resolved,
                                                const memory::MemorySystem& memory,
                                                const VerifyMemoryOptions& options,
                                                absl::FunctionRef<absl::Status()> interrupted) {
  if (options.pages_max > kVerifyPagesMax) {
    return absl::InvalidArgumentError(absl::StrCat("pages_max is ", options.pages_max,
                                                   ", must be at most ", kVerifyPagesMax,
                                                   "; 0: every page"));
  }
  MemoryVerification verification;
  std::vector<std::vector<memory::PoolRange>> ranges;
  for (const memory::NumaNodePool* pool : PoolsOf(resolved, memory)) {
    ERIS_ASSIGN_OR_RETURN(const memory::PlacementCheck check,
                          memory::CheckPlacement(*pool, options.pages_max, interrupted));
    verification.numa_nodes.push_back(PlacementOf(*pool, check));
    ranges.push_back(pool->Ranges());
  }
  ERIS_RETURN_IF_ERROR(interrupted());
  const absl::StatusOr<std::vector<memory::Mapping>> mappings = memory::ReadMappings();
  if (!mappings.ok()) return verification;  // a system without /proc
  const std::vector<memory::PageUse> uses = memory::PageUseOf(*mappings, ranges);
  for (size_t i = 0; i < uses.size(); ++i) {
    NumaNodePlacement& one = verification.numa_nodes[i];
    one.resident_bytes = uses[i].resident_bytes;
    one.anonymous_huge_bytes = uses[i].anonymous_huge_bytes;
    one.shared_huge_bytes = uses[i].shared_huge_bytes;
    one.reserved_huge_bytes = uses[i].reserved_huge_bytes;
  }
  return verification;
}

std::string ExplainMemory(const ResolvedOptions& resolved) {
  return absl::StrCat(
      "Memory\n  ", PlanText(resolved.memory_plan), "\n  Data: at most ",
      resolved.options.memory_limit_bytes >> 20, " MiB, ", PlacementText(resolved.options),
      resolved.options.memory_spill ? "; where that is full, on the nearest that is not" : "",
      "\n  Pages: ", absl::StrJoin(PageNames(resolved), ", then "), "; superblocks of ",
      resolved.memory.pool.superblock_bytes >> 20, " MiB\n");
}

}  // namespace eris::engine
