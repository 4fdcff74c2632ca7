// Over directories made to look like a system: /proc/self and cgroup mounts.
#include "topology/process_limits.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace eris::topology {
namespace {

constexpr char kVersion2[] = "36 25 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n";
constexpr char kVersion1[] =
    "30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";

class ProcessLimitsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "process_limits_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override {
    unsetenv("ERIS_SYSTEM_ROOT");
    std::filesystem::remove_all(root_);
  }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void System(const std::string& cgroup, const std::string& mountinfo) {
    Write("/proc/self/cgroup", cgroup);
    if (!mountinfo.empty()) Write("/proc/self/mountinfo", mountinfo);
  }
  CgroupLimits Read() const { return ReadCgroupLimits(root_); }

  std::string root_;
};

TEST_F(ProcessLimitsTest, Version2LimitsAreFound) {
  System("0::/a/b\n", kVersion2);
  Write("/sys/fs/cgroup/a/b/memory.max", "1000000\n");
  Write("/sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  const CgroupLimits limits = Read();
  EXPECT_EQ(limits.memory_bytes, 1000000u);
  EXPECT_EQ(limits.memory_source, "cgroup memory.max of /a/b");
  EXPECT_DOUBLE_EQ(limits.cpus, 1.5);
  EXPECT_EQ(limits.cpus_source, "cgroup cpu.max of /a/b");
}

TEST_F(ProcessLimitsTest, LowestAncestorWins) {
  System("0::/a/b\n", kVersion2);
  Write("/sys/fs/cgroup/a/b/memory.max", "3000\n");
  Write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/a/memory.max", "2000\n");
  Write("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  Write("/sys/fs/cgroup/memory.max", "max\n");
  const CgroupLimits limits = Read();
  EXPECT_EQ(limits.memory_bytes, 2000u);
  EXPECT_EQ(limits.memory_source, "cgroup memory.max of /a");
  EXPECT_DOUBLE_EQ(limits.cpus, 0.5);
}

TEST_F(ProcessLimitsTest, AboveMemoryHighTheKernelStopsTheProcessSoThatItIsALimit) {
  System("0::/a\n", kVersion2);
  Write("/sys/fs/cgroup/a/memory.max", "3000\n");
  Write("/sys/fs/cgroup/a/memory.high", "2500\n");
  EXPECT_EQ(Read().memory_bytes, 2500u);
}

TEST_F(ProcessLimitsTest, Version1LimitsAreFoundAmongControllers) {
  System("9:cpu,cpuacct:/docker/y\n4:hugetlb,memory:/docker/x\n0::/\n", kVersion1);
  Write("/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "4096\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/y/cpu.cfs_quota_us", "250000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/y/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "1000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  const CgroupLimits limits = Read();
  EXPECT_EQ(limits.memory_bytes, 4096u);
  EXPECT_DOUBLE_EQ(limits.cpus, 2.5);
}

TEST_F(ProcessLimitsTest, Version1TellsOfAncestorsThatCannotBeSeen) {
  System("4:memory:/x\n", kVersion1);
  Write("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "8192\n");
  Write("/sys/fs/cgroup/memory/x/memory.stat", "cache 1\nhierarchical_memory_limit 4096\nrss 2\n");
  EXPECT_EQ(Read().memory_bytes, 4096u);
}

TEST_F(ProcessLimitsTest, Version1SaysNoLimitByAHugeNumberAndMinusOne) {
  System("4:memory:/x\n5:cpu,cpuacct:/x\n", kVersion1);
  Write("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Read().memory_bytes, kNoMemoryLimit);
  EXPECT_EQ(Read().cpus, 0);
}

// A container: the mount shows its own part of the hierarchy, the path is the whole one.
TEST_F(ProcessLimitsTest, PathIsTakenFromTheTopOfTheMountOn) {
  System("0::/docker/x/inner\n", "36 25 0:30 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  Write("/sys/fs/cgroup/memory.max", "9000\n");
  Write("/sys/fs/cgroup/inner/memory.max", "5000\n");
  EXPECT_EQ(Read().memory_bytes, 5000u);
  EXPECT_EQ(Read().memory_source, "cgroup memory.max of /docker/x/inner");
  System("0::/docker/xy/inner\n", "");  // of another one: all that is seen is the mount's top
  EXPECT_EQ(Read().memory_bytes, 9000u);
}

TEST_F(ProcessLimitsTest, HiddenPathFallsBackToTheTopOfTheMount) {
  System("0::/system.slice/not-visible-here\n", kVersion2);
  Write("/sys/fs/cgroup/memory.max", "5000\n");
  EXPECT_EQ(Read().memory_bytes, 5000u);
  System("0::/../../elsewhere\n", "");
  EXPECT_EQ(Read().memory_bytes, 5000u);
}

TEST_F(ProcessLimitsTest, HybridSystemsHaveVersion2BesideVersion1) {
  System("4:memory:/a\n0::/b\n",
         std::string(kVersion1) +
             "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n");
  Write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "7000\n");
  Write("/sys/fs/cgroup/unified/b/cpu.max", "300000 100000\n");
  EXPECT_EQ(Read().memory_bytes, 7000u);
  EXPECT_DOUBLE_EQ(Read().cpus, 3);
}

TEST_F(ProcessLimitsTest, MountWithASpaceInItsPathIsRead) {
  System("0::/a\n", "36 25 0:30 / /my\\040cgroups rw - cgroup2 none rw\n");
  Write("/my cgroups/a/memory.max", "1234\n");
  EXPECT_EQ(Read().memory_bytes, 1234u);
}

TEST_F(ProcessLimitsTest, WithoutMountinfoTheUsualPlacesAreRead) {
  System("4:memory:/a\n7:cpu:/a\n0::/b\n", "");
  Write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "7000\n");
  Write("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000\n");
  Write("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n");
  Write("/sys/fs/cgroup/unified/b/memory.max", "6000\n");
  EXPECT_EQ(Read().memory_bytes, 6000u);
  EXPECT_DOUBLE_EQ(Read().cpus, 2);
}

TEST_F(ProcessLimitsTest, GarbageAndWhatCannotBeReadAreNoLimits) {
  EXPECT_EQ(Read().memory_bytes, kNoMemoryLimit);  // nothing there at all
  System("garbage\n::\n0:\n3:memory\n0::relative\n0::/a\n", "x\n - \n1 2 3 - cgroup2\n");
  Write("/sys/fs/cgroup/a/memory.max", "lots\n");
  Write("/sys/fs/cgroup/a/memory.high", "-5\n");
  Write("/sys/fs/cgroup/a/cpu.max", "0 0\n");
  Write("/sys/fs/cgroup/memory.max", "");
  Write("/sys/fs/cgroup/cpu.max", "100000\n");
  std::filesystem::create_directories(root_ + "/sys/fs/cgroup/unified/a/memory.max");  // no file
  EXPECT_EQ(Read().memory_bytes, kNoMemoryLimit);
  EXPECT_EQ(Read().memory_source, "");
  EXPECT_EQ(Read().cpus, 0);
  Write("/sys/fs/cgroup/a/cpu.max", "100000 0\n");
  EXPECT_EQ(Read().cpus, 0);
}

TEST_F(ProcessLimitsTest, ProcessHasTheLowestOfAll) {
  System("0::/a\n", kVersion2);
  const ProcessLimits without = ReadProcessLimits();
  EXPECT_GT(without.memory_bytes, 0u);
  EXPECT_LT(without.memory_bytes, kNoMemoryLimit);
  Write("/sys/fs/cgroup/a/memory.max", "67108864\n");
  Write("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  ASSERT_EQ(setenv("ERIS_SYSTEM_ROOT", root_.c_str(), 1), 0);
  const ProcessLimits limits = ReadProcessLimits();
  EXPECT_EQ(limits.memory_bytes, 67108864u);
  EXPECT_EQ(limits.memory_source, "cgroup memory.max of /a");
  EXPECT_DOUBLE_EQ(limits.cpu_quota, 2.5);
  EXPECT_EQ(limits.cpu_quota_source, "cgroup cpu.max of /a");
}

}  // namespace
}  // namespace eris::topology
