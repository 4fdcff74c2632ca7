// The memory and cpu time that the system allows this process. Read from the machine, from cgroups
// (version 1 and 2, the whole path upwards) and from the process's resource limits. Reads files
// only; any thread; blocks while it reads a few small files.
#ifndef ERIS_TOPOLOGY_PROCESS_LIMITS_H_
#define ERIS_TOPOLOGY_PROCESS_LIMITS_H_

#include <cstdint>
#include <limits>
#include <string>

#include "eris/process_limits.h"

namespace eris::topology {

inline constexpr uint64_t kNoMemoryLimit = std::numeric_limits<uint64_t>::max();

struct CgroupLimits {
  uint64_t memory_bytes = kNoMemoryLimit;
  std::string memory_source{};  // "cgroup memory.max of /a/b"; empty: no limit
  double cpus = 0;              // cpu time per period, in processors; 0: no quota
  std::string cpus_source{};
};

// The lowest limits among the process's cgroups and their ancestors, if they are mounted where the
// process can see them. Version 2 has memory.max, memory.high and cpu.max; version 1 has
// memory.limit_in_bytes, hierarchical_memory_limit and cpu.cfs_quota_us. A file that cannot be read
// or holds no number sets no limit.
// `root` is a prefix of every path that is read: "" for this system, a directory for a system that
// a test describes. Reads /proc/self/cgroup, /proc/self/mountinfo and the mounts named there;
// without a mountinfo /sys/fs/cgroup, /sys/fs/cgroup/unified and /sys/fs/cgroup/<controller>.
CgroupLimits ReadCgroupLimits(const std::string& root);

// The lowest of physical memory, cgroups, RLIMIT_AS and RLIMIT_DATA. The environment variable
// ERIS_SYSTEM_ROOT, if set, is the `root` of ReadCgroupLimits: for tests, which then need no rights
// to make cgroups.
ProcessLimits ReadProcessLimits();

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_PROCESS_LIMITS_H_
