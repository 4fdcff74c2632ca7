#include "topology/process_limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace eris::topology {
namespace {

// Version 1 says "no limit" by a huge number of whole pages.
constexpr uint64_t kHugeBytes = uint64_t{1} << 62;

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> Lines(const std::string& text) { return absl::StrSplit(text, '\n'); }

bool Contains(const std::vector<std::string>& words, absl::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A hierarchy of cgroups, and the process's path in it.
struct Membership {
  std::vector<std::string> controllers;  // empty: version 2
  std::string path;                      // "/a/b"; "/" is the hierarchy's root
};

// Lines are "number:controller,controller:path"; version 2 is "0::path".
std::vector<Membership> ReadMemberships(const std::string& root) {
  std::vector<Membership> memberships;
  for (const std::string& line : Lines(ReadText(root + "/proc/self/cgroup"))) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3 || !absl::StartsWith(fields[2], "/")) continue;
    Membership membership;
    if (!fields[1].empty()) membership.controllers = absl::StrSplit(fields[1], ',');
    membership.path = fields[2];
    memberships.push_back(std::move(membership));
  }
  return memberships;
}

// A mounted hierarchy, or a part of it.
struct Mount {
  bool version2 = false;
  std::vector<std::string> options;  // version 1: its controllers are among them
  std::string top;                   // the path inside the hierarchy that is seen at `directory`
  std::string directory;
};

// The kernel writes a space inside a path as \040.
std::string Unescaped(absl::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' && i + 3 < text.size()) {
      for (size_t digit = 1; digit <= 3; ++digit) code = code * 8 + (text[i + digit] - '0');
      i += 3;
      result.push_back(static_cast<char>(code));
    } else {
      result.push_back(text[i]);
    }
  }
  return result;
}

// Lines are "36 35 0:30 /top /directory rw,relatime shared:1 - cgroup2 cgroup2 rw,nsdelegate".
std::vector<Mount> ReadMounts(const std::string& root) {
  std::vector<Mount> mounts;
  for (const std::string& line : Lines(ReadText(root + "/proc/self/mountinfo"))) {
    const std::vector<std::string> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<std::string> front = absl::StrSplit(halves[0], ' ');
    const std::vector<std::string> back = absl::StrSplit(halves[1], ' ');
    if (front.size() < 5 || back.size() < 3) continue;
    if (back[0] != "cgroup" && back[0] != "cgroup2") continue;
    mounts.push_back({.version2 = back[0] == "cgroup2",
                      .options = absl::StrSplit(back[2], ','),
                      .top = Unescaped(front[3]),
                      .directory = Unescaped(front[4])});
  }
  return mounts;
}

// The usual mounts, for a system whose mounts cannot be read.
std::vector<Mount> UsualMounts() {
  std::vector<Mount> mounts;
  for (const char* directory : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    mounts.push_back({.version2 = true, .options = {}, .top = "/", .directory = directory});
  }
  for (const char* controller : {"memory", "cpu"}) {
    mounts.push_back({.version2 = false,
                      .options = {controller},
                      .top = "/",
                      .directory = absl::StrCat("/sys/fs/cgroup/", controller)});
  }
  return mounts;
}

// The path, below a mount, of a process at `path`: "" or "/b/c". A container often sees only a part
// of the hierarchy but its own path from the hierarchy's root, or the reverse: then only the
// mount's top is known.
std::string Below(const std::string& top, std::string path) {
  if (absl::StrContains(path, "/..")) return "";
  if (top != "/") {
    if (!absl::StartsWith(path, top)) return "";
    path = path.substr(top.size());
    if (!path.empty() && path[0] != '/') return "";
  }
  return path == "/" ? "" : path;
}

std::optional<uint64_t> Number(absl::string_view text) {
  uint64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

class Reader {
 public:
  explicit Reader(std::string root) : root_(std::move(root)), mounts_(ReadMounts(root_)) {
    if (mounts_.empty()) mounts_ = UsualMounts();
  }

  CgroupLimits Read() {
    for (const Membership& membership : ReadMemberships(root_)) {
      for (const Mount& mount : mounts_) {
        if (mount.version2 != membership.controllers.empty()) continue;
        if (mount.version2) {
          Walk(mount, membership, &Reader::ReadVersion2);
          continue;
        }
        if (Contains(membership.controllers, "memory") && Contains(mount.options, "memory")) {
          Walk(mount, membership, &Reader::ReadMemory1);
        }
        if (Contains(membership.controllers, "cpu") && Contains(mount.options, "cpu")) {
          Walk(mount, membership, &Reader::ReadCpu1);
        }
      }
    }
    return std::move(limits_);
  }

 private:
  // `path`: the cgroup inside its hierarchy, for the source text; `directory`: where its files are.
  using ReadOne = void (Reader::*)(const std::string& path, const std::string& directory);

  // The process's cgroup and every ancestor down to the mount's top. Missing ones are skipped.
  void Walk(const Mount& mount, const Membership& membership, ReadOne read) {
    std::string below = Below(mount.top, membership.path);
    const std::string top = mount.top == "/" ? "" : mount.top;
    while (true) {
      const std::string path = top + below;
      (this->*read)(path.empty() ? "/" : path, absl::StrCat(root_, mount.directory, below));
      const size_t slash = below.rfind('/');
      if (slash == std::string::npos) return;
      below.resize(slash);
    }
  }

  void ReadVersion2(const std::string& path, const std::string& directory) {
    for (const char* file : {"memory.max", "memory.high"}) {
      TakeMemory(FirstWord(directory, file), file, path);
    }
    // "150000 100000", or "max 100000": microseconds of time in each period.
    const std::vector<std::string> words =
        absl::StrSplit(ReadText(directory + "/cpu.max"), absl::ByAnyChar(" \n"), absl::SkipEmpty());
    if (words.size() == 2) TakeCpus(words[0], words[1], "cpu.max", path);
  }

  void ReadMemory1(const std::string& path, const std::string& directory) {
    TakeMemory(FirstWord(directory, "memory.limit_in_bytes"), "memory.limit_in_bytes", path);
    // The lowest limit of all ancestors, including those that the process cannot see.
    constexpr absl::string_view kLowest = "hierarchical_memory_limit ";
    for (const std::string& line : Lines(ReadText(directory + "/memory.stat"))) {
      if (!absl::StartsWith(line, kLowest)) continue;
      TakeMemory(line.substr(kLowest.size()), "hierarchical_memory_limit", path);
    }
  }

  void ReadCpu1(const std::string& path, const std::string& directory) {
    TakeCpus(FirstWord(directory, "cpu.cfs_quota_us"), FirstWord(directory, "cpu.cfs_period_us"),
             "cpu.cfs_quota_us", path);
  }

  static std::string FirstWord(const std::string& directory, const char* file) {
    std::ifstream in(absl::StrCat(directory, "/", file));
    std::string word;
    in >> word;
    return word;
  }

  void TakeMemory(const std::string& text, const char* file, const std::string& path) {
    const std::optional<uint64_t> bytes = Number(text);
    if (!bytes || *bytes >= kHugeBytes || *bytes >= limits_.memory_bytes) return;
    limits_.memory_bytes = *bytes;
    limits_.memory_source = absl::StrCat("cgroup ", file, " of ", path);
  }

  // In version 1, -1 means "no quota"; it does not parse as a number here.
  void TakeCpus(const std::string& quota_text, const std::string& period_text, const char* file,
                const std::string& path) {
    const std::optional<uint64_t> quota = Number(quota_text);
    const std::optional<uint64_t> period = Number(period_text);
    if (!quota || !period || *quota == 0 || *period == 0) return;
    const double cpus = static_cast<double>(*quota) / static_cast<double>(*period);
    if (limits_.cpus > 0 && cpus >= limits_.cpus) return;
    limits_.cpus = cpus;
    limits_.cpus_source = absl::StrCat("cgroup ", file, " of ", path);
  }

  const std::string root_;
  std::vector<Mount> mounts_;
  CgroupLimits limits_;
};

void TakeResourceLimit(int resource, const char* name, ProcessLimits& limits) {
  rlimit limit = {};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= limits.memory_bytes) {
    return;
  }
  limits.memory_bytes = limit.rlim_cur;
  limits.memory_source = name;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& root) { return Reader(root).Read(); }

ProcessLimits ReadProcessLimits() {
  ProcessLimits limits{.memory_bytes = kNoMemoryLimit, .memory_source = "physical memory"};
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    limits.memory_bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
  }
  const char* root = std::getenv("ERIS_SYSTEM_ROOT");
  CgroupLimits cgroups = ReadCgroupLimits(root == nullptr ? "" : root);
  if (cgroups.memory_bytes < limits.memory_bytes) {
    limits.memory_bytes = cgroups.memory_bytes;
    limits.memory_source = std::move(cgroups.memory_source);
  }
  limits.cpu_quota = cgroups.cpus;
  limits.cpu_quota_source = std::move(cgroups.cpus_source);
  TakeResourceLimit(RLIMIT_AS, "RLIMIT_AS (ulimit -v)", limits);
  TakeResourceLimit(RLIMIT_DATA, "RLIMIT_DATA (ulimit -d)", limits);
  return limits;
}

}  // namespace eris::topology

namespace eris {

ProcessLimits ReadProcessLimits() { return topology::ReadProcessLimits(); }

}  // namespace eris
