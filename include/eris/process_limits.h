// What the system lets this process have.
#ifndef ERIS_PROCESS_LIMITS_H_
#define ERIS_PROCESS_LIMITS_H_

#include <cstdint>
#include <string>

namespace eris {

struct ProcessLimits {
  // The lowest of physical memory, cgroups' limits and resource limits. Never 0.
  uint64_t memory_bytes = 0;
  std::string
      memory_source{};  // which of them: "physical memory", "cgroup memory.max of /a/b", ...
  // Processors' worth of time that cgroups allow in each of their periods, 1.5 say; 0: no quota.
  double cpu_quota = 0;
  std::string cpu_quota_source{};  // "cgroup cpu.max of /a/b"; empty without a quota
};

// Reads a few small files. Any thread.
ProcessLimits ReadProcessLimits();

}  // namespace eris

#endif  // ERIS_PROCESS_LIMITS_H_
