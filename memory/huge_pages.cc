#include "memory/huge_pages.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace eris::memory {
namespace {

// The field that a line "<name>: <KiB> kB" adds to; nullptr: none.
uint64_t* FieldOf(const std::string& line, PageUse& use) {
  const auto is = [&](const char* name) { return line.starts_with(name); };
  if (is("AnonHugePages:")) return &use.anonymous_huge_bytes;
  if (is("ShmemPmdMapped:")) return &use.shared_huge_bytes;
  // These two lines split pages by whether other processes share them; Rss includes neither.
  if (is("Shared_Hugetlb:") || is("Private_Hugetlb:")) return &use.reserved_huge_bytes;
  if (is("Rss:")) return &use.resident_bytes;
  return nullptr;
}

uint64_t OverlapBytes(const Mapping& mapping, const PoolRange& range) {
  const auto begin = reinterpret_cast<uintptr_t>(range.begin);
  const uintptr_t low = std::max(begin, mapping.begin);
  const uintptr_t high = std::min(begin + range.bytes, mapping.end);
  return low < high ? high - low : 0;
}

void AddShare(const PageUse& use, double share, PageUse& sum) {
  const auto part = [share](uint64_t bytes) {
    return share == 1 ? bytes : static_cast<uint64_t>(share * static_cast<double>(bytes));
  };
  sum.resident_bytes += part(use.resident_bytes);
  sum.anonymous_huge_bytes += part(use.anonymous_huge_bytes);
  sum.shared_huge_bytes += part(use.shared_huge_bytes);
  sum.reserved_huge_bytes += part(use.reserved_huge_bytes);
}

}  // namespace

absl::StatusOr<std::vector<Mapping>> ReadMappings(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::UnavailableError(absl::StrCat("cannot read ", path));
  std::vector<Mapping> mappings;
  const auto drop_empty = [&] {
    if (!mappings.empty() && mappings.back().use.resident_bytes == 0) mappings.pop_back();
  };
  std::string line;
  while (std::getline(file, line)) {
    unsigned long long begin = 0, end = 0, kib = 0;
    int read = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %n", &begin, &end, &read) == 2 && read > 0) {
      drop_empty();
      mappings.push_back({.begin = begin, .end = end, .use = {}});
      continue;
    }
    if (mappings.empty()) return absl::InternalError(absl::StrCat(path, " begins with: ", line));
    uint64_t* field = FieldOf(line, mappings.back().use);
    if (field == nullptr) continue;
    if (std::sscanf(line.c_str(), "%*[^:]: %llu kB", &kib) != 1) {
      return absl::InternalError(absl::StrCat(path, " has the line: ", line));
    }
    *field += kib * 1024;
    if (field == &mappings.back().use.reserved_huge_bytes) {
      mappings.back().use.resident_bytes += kib * 1024;
    }
  }
  drop_empty();
  return mappings;
}

std::vector<PageUse> PageUseOf(std::span<const Mapping> mappings,
                               std::span<const std::vector<PoolRange>> pools) {
  // For each mapping, how many bytes of it each pool has.
  std::vector<std::vector<uint64_t>> shares(mappings.size(), std::vector<uint64_t>(pools.size()));
  for (size_t pool = 0; pool < pools.size(); ++pool) {
    for (const PoolRange& range : pools[pool]) {
      const auto first =
          std::partition_point(mappings.begin(), mappings.end(), [&](const Mapping& mapping) {
            return mapping.end <= reinterpret_cast<uintptr_t>(range.begin);
          });
      for (auto mapping = first; mapping != mappings.end(); ++mapping) {
        const uint64_t bytes = OverlapBytes(*mapping, range);
        if (bytes == 0) break;
        shares[static_cast<size_t>(mapping - mappings.begin())][pool] += bytes;
      }
    }
  }
  std::vector<PageUse> uses(pools.size());
  for (size_t i = 0; i < mappings.size(); ++i) {
    uint64_t all = 0;
    for (const uint64_t bytes : shares[i]) all += bytes;
    for (size_t pool = 0; pool < pools.size(); ++pool) {
      if (shares[i][pool] == 0) continue;
      AddShare(mappings[i].use, static_cast<double>(shares[i][pool]) / static_cast<double>(all),
               uses[pool]);
    }
  }
  return uses;
}

}  // namespace eris::memory
