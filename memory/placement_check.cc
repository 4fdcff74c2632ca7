#include "memory/placement_check.h"

#include <algorithm>
#include <map>

#include "base/status_macros.h"
#include "topology/page_location.h"

namespace eris::memory {
namespace {

constexpr size_t kChunkPages = 4096;
// Tries when extents have come or gone meanwhile. Objects that come and go continuously must not
// make it endless.
constexpr int kTries = 4;

// Mixes the bits of `number` (the finalizer of splitmix64).
uint64_t Mix(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

// Ascending page indices out of 0 .. pages-1: divides them into `count` pieces and takes one from
// each.
class Sample {
 public:
  Sample(uint64_t pages, uint64_t count) : pages_(pages), count_(count) {}

  uint64_t count() const { return count_; }
  uint64_t Page(uint64_t i) const {
    const uint64_t begin = Begin(i);
    return begin + Mix(i) % (Begin(i + 1) - begin);
  }

 private:
  // i * pages / count without the product, which may overflow.
  uint64_t Begin(uint64_t i) const {
    return i * (pages_ / count_) + i * (pages_ % count_) / count_;
  }
  const uint64_t pages_;
  const uint64_t count_;
};

uint64_t PagesOf(const PoolRange& range) { return range.bytes / kPlacementPageBytes; }

class Tally {
 public:
  explicit Tally(std::span<const uint32_t> allowed) : allowed_(allowed) {}

  void Add(const void* page, int32_t os_node) {
    ++check_.asked;
    if (os_node == topology::kPageNotPresent) {
      ++check_.absent;
      return;
    }
    const auto number = static_cast<uint32_t>(os_node);
    const auto [found, is_new] = by_node_.try_emplace(number);
    LocatedPages& located = found->second;
    if (is_new) {
      located.os_node = number;
      located.allowed = std::find(allowed_.begin(), allowed_.end(), number) != allowed_.end();
    }
    ++located.pages;
    if (!located.allowed && located.examples.size() < kPlacementExamplesMax) {
      located.examples.push_back(static_cast<const std::byte*>(page));
    }
  }
  PlacementCheck Take() {
    for (auto& [number, located] : by_node_) check_.located.push_back(std::move(located));
    return std::move(check_);
  }

 private:
  const std::span<const uint32_t> allowed_;
  PlacementCheck check_;
  std::map<uint32_t, LocatedPages> by_node_;
};

std::vector<const std::byte*> ExtentsOf(std::span<const PoolRange> ranges) {
  std::vector<const std::byte*> extents;
  for (const PoolRange& range : ranges) {
    if (range.extent) extents.push_back(range.begin);
  }
  return extents;
}

}  // namespace

uint64_t PlacementCheck::allowed_pages() const {
  uint64_t pages = 0;
  for (const LocatedPages& one : located) pages += one.allowed ? one.pages : 0;
  return pages;
}

uint64_t PlacementCheck::other_pages() const { return asked - absent - allowed_pages(); }

absl::StatusOr<PlacementCheck> CheckPlacement(std::span<const PoolRange> ranges,
                                              std::span<const uint32_t> allowed_os_nodes,
                                              uint64_t pages_max,
                                              absl::FunctionRef<absl::Status()> interrupted) {
  uint64_t pages = 0;
  for (const PoolRange& range : ranges) pages += PagesOf(range);
  const Sample sample(pages, pages_max == 0 ? pages : std::min(pages, pages_max));
  Tally tally(allowed_os_nodes);
  std::vector<void*> chunk;
  std::vector<int32_t> os_nodes;
  auto range = ranges.begin();
  uint64_t range_first = 0;  // the index of its first page
  for (uint64_t i = 0; i < sample.count();) {
    ERIS_RETURN_IF_ERROR(interrupted());
    chunk.clear();
    for (; i < sample.count() && chunk.size() < kChunkPages; ++i) {
      const uint64_t page = sample.Page(i);
      while (page - range_first >= PagesOf(*range)) range_first += PagesOf(*range++);
      // The kernel's interface needs a non-const pointer; nothing is written there.
      chunk.push_back(
          const_cast<std::byte*>(range->begin + (page - range_first) * kPlacementPageBytes));
    }
    os_nodes.resize(chunk.size());
    ERIS_RETURN_IF_ERROR(topology::LocatePages(chunk, os_nodes));
    for (size_t j = 0; j < chunk.size(); ++j) tally.Add(chunk[j], os_nodes[j]);
  }
  return tally.Take();
}

absl::StatusOr<PlacementCheck> CheckPlacement(const NumaNodePool& pool, uint64_t pages_max,
                                              absl::FunctionRef<absl::Status()> interrupted) {
  for (int tries = 1;; ++tries) {
    const uint64_t moved = pool.moves().ended;
    const std::vector<PoolRange> ranges = pool.Ranges();
    ERIS_ASSIGN_OR_RETURN(PlacementCheck check,
                          CheckPlacement(ranges, pool.allowed_os_nodes(), pages_max, interrupted));
    // Superblocks keep their address space, extents do not; and the pages of some may have moved.
    if (check.other_pages() == 0 || tries == kTries ||
        (moved == pool.moves().begun && ExtentsOf(ranges) == ExtentsOf(pool.Ranges()))) {
      return check;
    }
  }
}

}  // namespace eris::memory
