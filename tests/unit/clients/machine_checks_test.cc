#include "clients/cli/doctor/machine_checks.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "tests/unit/clients/made_machine.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;

// A finding that is not ok says what to do, why, and how to undo it.
void ExpectAdvice(const Finding& finding, Verdict verdict, const std::string& change,
                  const std::string& undo) {
  EXPECT_EQ(finding.verdict, verdict) << finding.check << ": " << finding.found;
  EXPECT_THAT(finding.change, HasSubstr(change)) << finding.check;
  EXPECT_THAT(finding.undo, HasSubstr(undo)) << finding.check;
  EXPECT_FALSE(finding.why.empty()) << finding.check;
}

TEST(MachineChecksTest, AHealthyMachineIsOkInEveryCheck) {
  const MadeMachine machine;
  std::set<std::string> names;
  for (const Finding& finding : machine.Check()) {
    EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.check << ": " << finding.found;
    EXPECT_FALSE(finding.found.empty()) << finding.check;
    names.insert(finding.check);
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"autonuma", "cpu_quota", "cpuset", "descriptors", "governor",
                                   "huge_page_defrag", "huge_pages", "max_map_count", "memlock",
                                   "memory_limit", "numa_distances", "numa_free_memory",
                                   "numa_nodes", "overcommit", "smt", "swap", "zone_reclaim"}));
}

// In a container, on another system: no file at all.
TEST(MachineChecksTest, WhatCannotBeReadIsUnknown) {
  const MachineFiles none("/nonexistent");
  for (const Finding& finding : CheckMachine(
           none, {.memory_bytes = uint64_t{1} << 30, .memory_source = "physical memory"})) {
    const bool told = finding.check == "memory_limit" || finding.check == "cpu_quota" ||
                      finding.check == "numa_distances";
    EXPECT_EQ(finding.verdict, told ? Verdict::kOk : Verdict::kUnknown) << finding.check;
    EXPECT_FALSE(finding.found.empty()) << finding.check;
  }
}

TEST(MachineChecksTest, GarbageInFilesIsUnknownToo) {
  MadeMachine machine;
  for (const char* path :
       {"/proc/sys/kernel/numa_balancing", "/proc/sys/vm/zone_reclaim_mode",
        "/proc/sys/vm/max_map_count", "/proc/sys/vm/overcommit_memory", "/proc/meminfo",
        "/proc/self/limits", "/proc/self/status", "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/kernel/mm/transparent_hugepage/defrag", "/sys/devices/system/node/node0/meminfo",
        "/sys/devices/system/node/node0/distance"}) {
    machine.Put(path, std::string("]\xff x [ -1 99999999999999999999 4294967295-0"));
  }
  for (const char* check :
       {"autonuma", "zone_reclaim", "max_map_count", "overcommit", "swap", "descriptors", "memlock",
        "cpuset", "smt", "huge_pages", "huge_page_defrag", "numa_nodes", "numa_distances"}) {
    EXPECT_EQ(machine.Check(check).verdict, Verdict::kUnknown) << check;
  }
}

TEST(MachineChecksTest, SixtyFourNumaNodesAreShownInShort) {
  const MadeMachine machine(64);
  const Finding finding = machine.Check("numa_nodes");
  EXPECT_EQ(finding.verdict, Verdict::kOk);
  EXPECT_THAT(finding.found, HasSubstr("64 NumaNodes (0: 64.0 GiB, 2 cpus; "));
  EXPECT_LT(finding.found.size(), 300u);
  EXPECT_THAT(machine.Check("cpuset").found,
              HasSubstr("cpus 0-127 of 128; memory of NumaNodes 0-63"));
  EXPECT_EQ(machine.Check("max_map_count").verdict, Verdict::kOk);
}

TEST(MachineChecksTest, NumaNodesWithoutMemoryOrWithoutFreeMemoryAreNamed) {
  MadeMachine machine(4);
  machine.PutNode(2, 4, 64 << 20, 1 << 20);
  ExpectAdvice(machine.Check("numa_free_memory"), Verdict::kWarn, "memory_spill", "memory_spill");
  EXPECT_THAT(machine.Check("numa_free_memory").found, HasSubstr("NumaNode 2: "));
  EXPECT_EQ(machine.Check("numa_nodes").verdict, Verdict::kOk);
  machine.PutNode(1, 4, 0, 0);
  ExpectAdvice(machine.Check("numa_nodes"), Verdict::kWarn, "engine.aeu_cpus", "engine.aeu_cpus");
  EXPECT_THAT(machine.Check("numa_nodes").found, HasSubstr("no memory on NumaNode 1"));
}

TEST(MachineChecksTest, AMachineWithoutNumaIsNotRefused) {
  MadeMachine machine(1);
  machine.Remove("/sys/devices/system/node");
  EXPECT_EQ(machine.Check("numa_nodes").verdict, Verdict::kUnknown);
  EXPECT_EQ(machine.Check("numa_distances").verdict, Verdict::kOk);
  machine.Put("/proc/sys/kernel/numa_balancing", "1");
  EXPECT_EQ(machine.Check("autonuma").verdict, Verdict::kOk);  // nothing to move
}

TEST(MachineChecksTest, DistancesThatAreNoneAreNoticed) {
  MadeMachine machine;
  machine.Put("/sys/devices/system/node/node1/distance", "10 10");
  ExpectAdvice(machine.Check("numa_distances"), Verdict::kWarn, "firmware", "");
  machine.Put("/sys/devices/system/node/node1/distance", "31 10");
  EXPECT_THAT(machine.Check("numa_distances").found,
              HasSubstr("21 to 31 remote; not the same in both directions"));
  machine.Put("/sys/devices/system/node/node1/distance", "31");
  EXPECT_EQ(machine.Check("numa_distances").verdict, Verdict::kUnknown);
}

TEST(MachineChecksTest, WhatTheKernelDoesWithNumaNodesIsSwitchedOff) {
  MadeMachine machine;
  machine.Put("/proc/sys/kernel/numa_balancing", "2");
  ExpectAdvice(machine.Check("autonuma"), Verdict::kWarn, "sysctl -w kernel.numa_balancing=0",
               "sysctl -w kernel.numa_balancing=2");
  EXPECT_THAT(machine.Check("autonuma").why, HasSubstr("Figure 10"));
  machine.Put("/proc/sys/vm/zone_reclaim_mode", "1");
  ExpectAdvice(machine.Check("zone_reclaim"), Verdict::kWarn, "vm.zone_reclaim_mode=0",
               "vm.zone_reclaim_mode=1");
}

TEST(MachineChecksTest, HugePages) {
  MadeMachine machine;
  const std::string enabled = "/sys/kernel/mm/transparent_hugepage/enabled";
  machine.Put(enabled, "[always] madvise never");
  ExpectAdvice(machine.Check("huge_pages"), Verdict::kWarn, "echo madvise > " + enabled,
               "echo always > " + enabled);
  EXPECT_THAT(machine.Check("huge_pages").why, HasSubstr("docs/study.md"));
  machine.Put(enabled, "always madvise [never]");
  ExpectAdvice(machine.Check("huge_pages"), Verdict::kWarn, "echo madvise > ", "echo never > ");
  machine.Put("/proc/sys/vm/nr_hugepages", "512");
  EXPECT_EQ(machine.Check("huge_pages").verdict, Verdict::kOk);
  machine.Put("/sys/kernel/mm/transparent_hugepage/defrag", "[always] defer madvise never");
  ExpectAdvice(machine.Check("huge_page_defrag"), Verdict::kWarn, "echo madvise", "echo always");
}

TEST(MachineChecksTest, MappingsOvercommitAndSwap) {
  MadeMachine machine;  // 128 GiB
  machine.Put("/proc/sys/vm/max_map_count", "65530");
  ExpectAdvice(machine.Check("max_map_count"), Verdict::kWarn, "vm.max_map_count=266240",
               "vm.max_map_count=65530");
  machine.Put("/proc/sys/vm/max_map_count", "266240");
  EXPECT_EQ(machine.Check("max_map_count").verdict, Verdict::kOk);
  machine.Put("/proc/sys/vm/overcommit_memory", "2");
  ExpectAdvice(machine.Check("overcommit"), Verdict::kWarn, "overcommit_memory=0",
               "overcommit_memory=2");
  machine.Put("/proc/meminfo", "MemTotal: 1000 kB\nSwapTotal: 4096 kB\n");
  ExpectAdvice(machine.Check("swap"), Verdict::kWarn, "vm.swappiness=1", "vm.swappiness=60");
  machine.Put("/proc/sys/vm/swappiness", "1");
  EXPECT_EQ(machine.Check("swap").verdict, Verdict::kOk);
}

TEST(MachineChecksTest, LimitsOfTheProcess) {
  MadeMachine machine;
  machine.PutLimits("1024", "65536");
  ExpectAdvice(machine.Check("descriptors"), Verdict::kWarn, "LimitNOFILE=65536", "ulimit -n 1024");
  EXPECT_EQ(machine.Check("memlock").verdict, Verdict::kOk);
  EXPECT_THAT(machine.Check("memlock").found, HasSubstr("64.0 KiB; any will do"));
  machine.PutLimits("128", "0");
  ExpectAdvice(machine.Check("descriptors"), Verdict::kBad, "ulimit -n 65536", "ulimit -n 128");

  machine.limits.memory_source = "cgroup memory.limit_in_bytes of /docker/a";  // version 1
  machine.limits.memory_bytes = uint64_t{8} << 30;
  ExpectAdvice(machine.Check("memory_limit"), Verdict::kWarn, "MemoryMax=infinity", "8589934592");
  machine.limits.memory_bytes = 128 << 20;
  EXPECT_EQ(machine.Check("memory_limit").verdict, Verdict::kBad);
  machine.limits.memory_bytes = uint64_t{100} << 30;
  EXPECT_EQ(machine.Check("memory_limit").verdict, Verdict::kOk);

  machine.limits.cpu_quota = 1.5;
  machine.limits.cpu_quota_source = "cgroup cpu.max of /a";
  ExpectAdvice(machine.Check("cpu_quota"), Verdict::kWarn, "AllowedCPUs", "CPUQuota=150%");
}

TEST(MachineChecksTest, CpusWhoseMemoryIsForbiddenAreBad) {
  MadeMachine machine;
  machine.Put("/proc/self/status", "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n");
  ExpectAdvice(machine.Check("cpuset"), Verdict::kBad, "AllowedMemoryNodes=0,1",
               "AllowedMemoryNodes=0");
  machine.Put("/proc/self/status", "Cpus_allowed_list:\t0-1\nMems_allowed_list:\t0\n");
  EXPECT_EQ(machine.Check("cpuset").verdict, Verdict::kOk);
}

TEST(MachineChecksTest, CpusThatAreSlowOrShared) {
  MadeMachine machine;
  machine.Put("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave");
  ExpectAdvice(machine.Check("governor"), Verdict::kWarn, "echo performance", "echo powersave");
  EXPECT_THAT(machine.Check("governor").found, HasSubstr("performance on 3 cpus, powersave on 1"));
  for (const char* cpu : {"0", "1", "2", "3"}) {
    machine.Put(std::string("/sys/devices/system/cpu/cpu") + cpu + "/topology/thread_siblings_list",
                *cpu < '2' ? "0,1" : "2-3");
  }
  EXPECT_EQ(machine.Check("smt").verdict, Verdict::kOk);
  EXPECT_THAT(machine.Check("smt").found, HasSubstr("2 hardware threads per core"));
  machine.Put("/proc/self/status", "Cpus_allowed_list:\t0-2\nMems_allowed_list:\t0-1\n");
  ExpectAdvice(machine.Check("smt"), Verdict::kWarn, "AllowedCPUs=", "AllowedCPUs=0-2");
  EXPECT_THAT(machine.Check("smt").found, HasSubstr("cpus 2 share a core"));
}

TEST(MachineFilesTest, ListsAreReadAndWritten) {
  for (const char* text : {"", "0", "0-3", "0,2,4-6,63"}) {
    const auto list = ParseList(text);
    ASSERT_TRUE(list) << text;
    EXPECT_EQ(ListText(*list), text);
  }
  for (const char* text : {"x", "1-", "-1", "0-4294967295", "1-2-3"}) {
    EXPECT_FALSE(ParseList(text)) << text;
  }
}

TEST(FindingTest, TextSaysWhatToDoAboutWhatIsNotOk) {
  const std::vector<Finding> findings = {
      {.check = "swap", .verdict = Verdict::kOk, .found = "there is no swap"},
      {.check = "autonuma",
       .verdict = Verdict::kWarn,
       .found = "on",
       .change = "off",
       .why = "slow",
       .undo = "on again"}};
  EXPECT_EQ(ToText(findings),
            "ok       swap: there is no swap\n"
            "warn     autonuma: on\n"
            "         change: off\n"
            "         why:    slow\n"
            "         undo:   on again\n"
            "1 ok, 1 warn, 0 bad, 0 unknown\n");
  EXPECT_THAT(ToJson(findings).Dump(), HasSubstr("\"verdict\":\"warn\""));
}

}  // namespace
}  // namespace eris::cli
