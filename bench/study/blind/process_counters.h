// What the kernel counts about this process, as differences since construction.
#ifndef ERIS_BENCH_STUDY_BLIND_PROCESS_COUNTERS_H_
#define ERIS_BENCH_STUDY_BLIND_PROCESS_COUNTERS_H_

#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>

namespace eris::bench::study {

class ProcessCounters {
 public:
  ProcessCounters() : migrations_file_(OpenMigrations()), before_(Usage()), balanced_(Balanced()) {}
  ~ProcessCounters() {
    if (migrations_file_ >= 0) close(migrations_file_);
  }
  ProcessCounters(const ProcessCounters&) = delete;
  ProcessCounters& operator=(const ProcessCounters&) = delete;

  int64_t minor_faults() const { return Usage().ru_minflt - before_.ru_minflt; }
  // All threads, and the kernel's work for them.
  double cpu_seconds() const { return CpuSeconds(Usage()) - CpuSeconds(before_); }
  // Moves of this thread, and of those that it has started since, to another cpu; none: the system
  // does not count them.
  std::optional<int64_t> migrations() const {
    int64_t count = 0;
    if (migrations_file_ < 0 || read(migrations_file_, &count, sizeof count) != sizeof count) {
      return std::nullopt;
    }
    return count;
  }
  // What the machine's NUMA balancing did, all processes: pages moved, faults by which it learns.
  std::map<std::string, int64_t> balancing() const {
    auto now = Balanced();
    for (auto& [name, count] : now) {
      const auto before = balanced_.find(name);
      if (before != balanced_.end()) count -= before->second;
    }
    return now;
  }

 private:
  static rusage Usage() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage;
  }
  static double CpuSeconds(const rusage& usage) {
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  }
  static int OpenMigrations() {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_MIGRATIONS;
    attributes.inherit = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
  }
  static std::map<std::string, int64_t> Balanced() {
    std::map<std::string, int64_t> found;
    std::ifstream file("/proc/vmstat");
    int64_t count = 0;
    for (std::string name; file >> name >> count;) {
      if (name == "numa_pages_migrated" || name == "numa_hint_faults" ||
          name == "numa_hint_faults_local") {
        found[name] = count;
      }
    }
    return found;
  }

  const int migrations_file_;
  const rusage before_;
  const std::map<std::string, int64_t> balanced_;
};

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_BLIND_PROCESS_COUNTERS_H_
