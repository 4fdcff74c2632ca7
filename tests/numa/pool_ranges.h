// The memory of the engine's pools, found from outside: the address ranges of a process that the
// kernel has been told to keep on one NumaNode (/proc/<process>/numa_maps). That says nothing about
// how the pools work, so a change there changes nothing here; whether it is all of their memory is
// checked against their own accounting by the caller.
#ifndef ERIS_TESTS_NUMA_POOL_RANGES_H_
#define ERIS_TESTS_NUMA_POOL_RANGES_H_

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/numa/page_locations.h"

namespace eris::numa_lab {

struct PoolRange {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  uint32_t os_numa_node = 0;                // where its pages belong
  std::map<uint32_t, uint64_t> pages_on{};  // where they are, in units of page_bytes
  uint64_t guard_bytes = 0;                 // that nobody may touch, right below
  uint64_t page_bytes = 0;                  // 4 KiB also where huge pages serve it transparently
  uint64_t bytes() const { return end - begin; }
};

// What a line of numa_maps says about its policy: the NumaNode of "bind:1" or "prefer:1", -1 for
// any other policy.
inline int BoundTo(const std::string& policy) {
  if (policy.rfind("bind", 0) != 0 && policy.rfind("prefer", 0) != 0) return -1;
  const size_t colon = policy.find(':');
  if (colon == std::string::npos) return -1;
  char* rest = nullptr;
  const long node = std::strtol(policy.c_str() + colon + 1, &rest, 10);
  return *rest == '\0' ? static_cast<int>(node) : -1;
}

// The ranges of this process, or of the given one, ordered by address.
inline std::vector<PoolRange> PoolRanges(const std::string& process = "self") {
  std::map<uintptr_t, uintptr_t> ends;
  std::map<uintptr_t, uint64_t> guards;  // by their end
  std::ifstream maps("/proc/" + process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    char* dash = nullptr;
    const uintptr_t begin = std::strtoull(line.c_str(), &dash, 16);
    char* rights = nullptr;
    ends[begin] = std::strtoull(dash + 1, &rights, 16);
    if (std::string(rights).rfind(" ---", 0) == 0) guards[ends[begin]] = ends[begin] - begin;
  }
  std::vector<PoolRange> ranges;
  std::ifstream numa_maps("/proc/" + process + "/numa_maps");
  for (std::string line; std::getline(numa_maps, line);) {
    std::istringstream words(line);
    std::string begin, policy;
    words >> begin >> policy;
    const int numa_node = BoundTo(policy);
    if (numa_node < 0) continue;
    PoolRange range{.begin = std::strtoull(begin.c_str(), nullptr, 16),
                    .os_numa_node = static_cast<uint32_t>(numa_node)};
    range.end = ends[range.begin];
    range.guard_bytes = guards[range.begin];
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) continue;
      const uint64_t value = std::strtoull(word.c_str() + equals + 1, nullptr, 10);
      if (word.rfind("kernelpagesize_kB", 0) == 0) {
        range.page_bytes = value << 10;
      } else if (word[0] == 'N') {
        range.pages_on[static_cast<uint32_t>(std::strtoul(word.c_str() + 1, nullptr, 10))] = value;
      }
    }
    ranges.push_back(range);
  }
  return ranges;
}

// Where all 4 KiB pages of the ranges lie.
struct Census {
  uint64_t present = 0;
  uint64_t absent = 0;
  std::map<uint32_t, uint64_t> present_on;  // by the system's NumaNode number
  std::vector<uintptr_t> misplaced;         // pages that lie on another NumaNode than they should
  std::vector<uintptr_t> unknown;           // pages of which the kernel tells nothing
};

// Counts this process's ranges, page by page.
inline Census TakeCensus(const std::vector<PoolRange>& ranges) {
  Census census;
  for (const PoolRange& range : ranges) {
    uintptr_t page = range.begin;
    for (const int location : PageLocations(range.begin, range.end)) {
      if (location == kAbsent) {
        ++census.absent;
      } else if (location < 0) {
        census.unknown.push_back(page);
      } else {
        ++census.present;
        ++census.present_on[static_cast<uint32_t>(location)];
        if (static_cast<uint32_t>(location) != range.os_numa_node) census.misplaced.push_back(page);
      }
      page += kPageBytes;
    }
  }
  return census;
}

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_POOL_RANGES_H_
