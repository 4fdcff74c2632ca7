// What this process has used so far, as the kernel counts it: cpu time, and how often threads have
// gone to sleep.
#ifndef ERIS_BENCH_PROCESS_USAGE_H_
#define ERIS_BENCH_PROCESS_USAGE_H_

#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "bench/routing/machine.h"

namespace eris::bench {

// Its first line; empty if there is none.
inline std::string LineOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

struct Usage {
  double cpu_s = 0;      // of the process
  double aeu_cpu_s = 0;  // of the AEUs' threads
  uint64_t aeu_wakeups = 0;
  uint64_t wakeups = 0;  // of all threads, clients included
};

// Each voluntary context switch is a thread that had nothing to do, and has to be woken.
inline Usage UsageNow() {
  Usage usage;
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  usage.cpu_s = static_cast<double>(cpu.tv_sec) + static_cast<double>(cpu.tv_nsec) * 1e-9;
  const double tick_s = 1 / static_cast<double>(sysconf(_SC_CLK_TCK));
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const bool aeu = absl::StartsWith(LineOf(task.path() / "comm"), "eris-aeu-");
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (!absl::StartsWith(line, "voluntary_ctxt_switches:")) continue;
      const uint64_t switches = std::strtoull(line.c_str() + line.find(':') + 1, nullptr, 10);
      usage.wakeups += switches;
      if (aeu) usage.aeu_wakeups += switches;
    }
    if (!aeu) continue;
    // Behind the name, in brackets: state, ten numbers, user and system time in ticks.
    const std::string stat = LineOf(task.path() / "stat");
    unsigned long user = 0, system = 0;
    if (std::sscanf(stat.c_str() + stat.rfind(')') + 1,
                    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) {
      Die("no times in " + task.path().string());
    }
    usage.aeu_cpu_s += static_cast<double>(user + system) * tick_s;
  }
  return usage;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_PROCESS_USAGE_H_
