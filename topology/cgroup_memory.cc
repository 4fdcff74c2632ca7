#include "topology/cgroup_memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace eris::topology {
namespace {

// "max", an unreadable file and the huge number of version 1 all mean: no limit.
uint64_t ReadLimit(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  uint64_t bytes = 0;
  if (!(file >> text) || !absl::SimpleAtoi(text, &bytes)) return kNoMemoryLimit;
  return bytes;
}

// A container often sees its cgroup's path but not the directory, only the mount's root; so every
// ancestor is asked, and those that are not there say nothing.
uint64_t LowestUpwards(const std::string& mount, std::string path, const char* file) {
  uint64_t lowest = kNoMemoryLimit;
  while (true) {
    lowest = std::min(lowest, ReadLimit(absl::StrCat(mount, path, "/", file)));
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return lowest;
    path.resize(slash);
  }
}

}  // namespace

uint64_t CgroupMemoryLimit(const std::string& self_cgroup, const std::string& mount) {
  uint64_t lowest = kNoMemoryLimit;
  // Lines are "number:controller,controller:path"; version 2 is "0::path".
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(self_cgroup, '\n'))) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (fields[1].empty()) {
      lowest = std::min(lowest, LowestUpwards(mount, fields[2], "memory.max"));
      continue;
    }
    const std::vector<std::string> controllers = absl::StrSplit(fields[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "memory") == controllers.end()) continue;
    lowest = std::min(
        lowest, LowestUpwards(absl::StrCat(mount, "/memory"), fields[2], "memory.limit_in_bytes"));
  }
  return lowest;
}

uint64_t CgroupMemoryLimit() {
  std::ifstream file("/proc/self/cgroup");
  std::ostringstream text;
  text << file.rdbuf();
  return CgroupMemoryLimit(text.str(), "/sys/fs/cgroup");
}

}  // namespace eris::topology
