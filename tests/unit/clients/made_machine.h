// A machine of files below a directory of its own, as /proc and /sys would show it.
#ifndef ERIS_TESTS_UNIT_CLIENTS_MADE_MACHINE_H_
#define ERIS_TESTS_UNIT_CLIENTS_MADE_MACHINE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/doctor/machine_checks.h"

namespace eris::cli {

class MadeMachine {
 public:
  // A healthy one: two NumaNodes with two cores each.
  explicit MadeMachine(uint32_t numa_nodes = 2) {
    static int made = 0;
    root_ = absl::StrCat(testing::TempDir(), "/eris_machine_", getpid(), "_", ++made);
    for (uint32_t id = 0; id < numa_nodes; ++id) PutNode(id, numa_nodes, 64 << 20, 32 << 20);
    const uint32_t cpus = numa_nodes * 2;
    Put("/sys/devices/system/cpu/online", absl::StrCat("0-", cpus - 1));
    for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
      const std::string directory = absl::StrCat("/sys/devices/system/cpu/cpu", cpu);
      Put(directory + "/cpufreq/scaling_governor", "performance");
      Put(directory + "/topology/thread_siblings_list", absl::StrCat(cpu));
    }
    Put("/proc/meminfo",
        absl::StrCat("MemTotal:  ", uint64_t{numa_nodes} * (64 << 20), " kB\nSwapTotal:  0 kB\n"));
    Put("/proc/self/status", absl::StrCat("Name:\tx\nCpus_allowed_list:\t0-", cpus - 1,
                                          "\nMems_allowed_list:\t0-", numa_nodes - 1, "\n"));
    PutLimits("1048576", "unlimited");
    Put("/proc/sys/kernel/numa_balancing", "0");
    Put("/proc/sys/vm/zone_reclaim_mode", "0");
    Put("/proc/sys/vm/max_map_count", "1000000000");
    Put("/proc/sys/vm/overcommit_memory", "0");
    Put("/proc/sys/vm/swappiness", "60");
    Put("/proc/sys/vm/nr_hugepages", "0");
    Put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    Put("/sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never");
    limits.memory_bytes = uint64_t{numa_nodes} * (uint64_t{64} << 30);
    limits.memory_source = "physical memory";
  }
  ~MadeMachine() { std::filesystem::remove_all(root_); }

  void PutNode(uint32_t id, uint32_t numa_nodes, uint64_t total_kb, uint64_t free_kb) {
    const std::string directory = absl::StrCat("/sys/devices/system/node/node", id);
    const std::string node = absl::StrCat("Node ", id);
    Put(directory + "/meminfo", absl::StrCat(node, " MemTotal:  ", total_kb, " kB\n", node,
                                             " MemFree:  ", free_kb, " kB\n"));
    Put(directory + "/cpulist", absl::StrCat(id * 2, "-", id * 2 + 1));
    std::string distances;
    for (uint32_t to = 0; to < numa_nodes; ++to) {
      absl::StrAppend(&distances, to == 0 ? "" : " ", to == id ? 10 : 21);
    }
    Put(directory + "/distance", distances);
  }
  void PutLimits(const std::string& files, const std::string& locked) {
    Put("/proc/self/limits",
        absl::StrCat("Limit                     Soft Limit           Hard Limit           Units\n"
                     "Max open files            ",
                     files, "  1048576  files\n", "Max locked memory         ", locked,
                     "  unlimited  bytes\n"));
  }
  void Put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  void Remove(const std::string& path) { std::filesystem::remove_all(root_ + path); }

  std::vector<Finding> Check() const { return CheckMachine(MachineFiles(root_), limits); }
  // What the check of that name finds.
  Finding Check(const std::string& name) const {
    for (const Finding& finding : Check()) {
      if (finding.check == name) return finding;
    }
    ADD_FAILURE() << "there is no check " << name;
    return {};
  }

  ProcessLimits limits{};

 private:
  std::string root_;
};

}  // namespace eris::cli

#endif  // ERIS_TESTS_UNIT_CLIENTS_MADE_MACHINE_H_
