// Over directories made to look like cgroup mounts.
#include "topology/cgroup_memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace eris::topology {
namespace {

class CgroupMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "cgroup_memory_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    mount_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(mount_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = mount_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }

  std::string mount_;
};

TEST_F(CgroupMemoryTest, Version2LimitIsFound) {
  Write("/a/b/memory.max", "1000000");
  EXPECT_EQ(CgroupMemoryLimit("0::/a/b\n", mount_), 1000000u);
}

TEST_F(CgroupMemoryTest, LowestAncestorWins) {
  Write("/a/b/memory.max", "3000");
  Write("/a/memory.max", "2000");
  Write("/memory.max", "max");
  EXPECT_EQ(CgroupMemoryLimit("0::/a/b\n", mount_), 2000u);
}

TEST_F(CgroupMemoryTest, Version1LimitIsFoundAmongControllers) {
  Write("/memory/docker/x/memory.limit_in_bytes", "4096");
  Write("/cpu/docker/y/memory.limit_in_bytes", "1");
  EXPECT_EQ(CgroupMemoryLimit("9:cpu:/docker/y\n4:hugetlb,memory:/docker/x\n0::/\n", mount_),
            4096u);
}

TEST_F(CgroupMemoryTest, HiddenPathFallsBackToTheRootOfTheMount) {
  Write("/memory.max", "5000");
  EXPECT_EQ(CgroupMemoryLimit("0::/system.slice/not-visible-here\n", mount_), 5000u);
}

TEST_F(CgroupMemoryTest, WithoutALimitThereIsNone) {
  Write("/memory.max", "max");
  EXPECT_EQ(CgroupMemoryLimit("0::/\n", mount_), kNoMemoryLimit);
  EXPECT_EQ(CgroupMemoryLimit("", mount_), kNoMemoryLimit);
  EXPECT_EQ(CgroupMemoryLimit("garbage\n::\n", mount_ + "/absent"), kNoMemoryLimit);
}

}  // namespace
}  // namespace eris::topology
