// The memory and CPU limits of this process.
#ifndef ERIS_PROCESS_LIMITS_H_
#define ERIS_PROCESS_LIMITS_H_

#include <cstdint>
#include <string>

namespace eris {

struct ProcessLimits {
  // The lowest of physical memory, cgroup limits and resource limits. Never 0.
  uint64_t memory_bytes = 0;
  std::string memory_source{};  // which one: "physical memory", "cgroup memory.max of /a/b", ...
  // CPU time that cgroups allow per period, in processors, e.g. 1.5; 0: no quota.
  double cpu_quota = 0;
  std::string cpu_quota_source{};  // "cgroup cpu.max of /a/b"; empty without a quota
};

// Reads a few small files. Any thread.
ProcessLimits ReadProcessLimits();

}  // namespace eris

#endif  // ERIS_PROCESS_LIMITS_H_
