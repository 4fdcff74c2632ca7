#include "topology/free_memory.h"

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

}  // namespace eris::topology
