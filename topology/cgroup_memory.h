// The memory limit that cgroups (version 1 and 2) put on this process. Pure file reading, any
// thread.
#ifndef ERIS_TOPOLOGY_CGROUP_MEMORY_H_
#define ERIS_TOPOLOGY_CGROUP_MEMORY_H_

#include <cstdint>
#include <limits>
#include <string>

namespace eris::topology {

inline constexpr uint64_t kNoMemoryLimit = std::numeric_limits<uint64_t>::max();

// The lowest limit among the process's cgroup and its ancestors, in bytes; kNoMemoryLimit where
// none is set or nothing can be read. `self_cgroup` is the text of /proc/self/cgroup, `mount` the
// directory where cgroups are mounted ("/sys/fs/cgroup").
uint64_t CgroupMemoryLimit(const std::string& self_cgroup, const std::string& mount);

// The same for this process.
uint64_t CgroupMemoryLimit();

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_CGROUP_MEMORY_H_
