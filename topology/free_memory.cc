#include "topology/free_memory.h"

#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace eris::topology {

std::optional<uint64_t> FreeMemoryBytes(const NumaNode& node, const std::string& directory) {
  std::ifstream file(absl::StrCat(directory, "/node", node.os_index, "/meminfo"));
  // Lines are "Node 0 MemFree:  1234 kB".
  std::optional<uint64_t> free;
  std::string line, word, index, name;
  uint64_t kilobytes = 0;
  while (file >> word >> index >> name >> kilobytes) {
    if (name == "MemFree:" || name == "Inactive(file):") free = free.value_or(0) + kilobytes * 1024;
    std::getline(file, line);
  }
  return free;
}

// A zone begins with "Node 0, zone   Normal". Its line "        high     13345", in pages, is the
// mark above which the kernel stops reclaiming memory. ("high:" is another figure.)
uint64_t KernelReserveBytes(const NumaNode& node, const std::string& file) {
  constexpr uint64_t kPageBytes = 4096;
  std::ifstream zones(file);
  uint64_t pages = 0;
  bool ours = false;
  for (std::string line; std::getline(zones, line);) {
    unsigned os_index = 0;
    unsigned long long high = 0;
    if (std::sscanf(line.c_str(), "Node %u, zone", &os_index) == 1) {
      ours = os_index == node.os_index;
    } else if (ours && std::sscanf(line.c_str(), " high %llu", &high) == 1) {
      pages += high;
    }
  }
  return pages * kPageBytes;
}

}  // namespace eris::topology
