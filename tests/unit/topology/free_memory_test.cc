#include "topology/free_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace eris::topology {
namespace {

class FreeMemoryTest : public testing::Test {
 protected:
  FreeMemoryTest() { std::filesystem::create_directories(directory_ / "node3"); }
  ~FreeMemoryTest() override { std::filesystem::remove_all(directory_); }
  std::optional<uint64_t> Read(const std::string& text) {
    std::ofstream(directory_ / "node3" / "meminfo") << text;
    return FreeMemoryBytes({.os_index = 3}, directory_.string());
  }
  const std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) / "eris_free_memory_test";
};

TEST_F(FreeMemoryTest, FreePagesAndForgottenFilePagesCount) {
  EXPECT_EQ(Read("Node 3 MemTotal:       16384 kB\n"
                 "Node 3 MemFree:         1000 kB\n"
                 "Node 3 Active(file):     500 kB\n"
                 "Node 3 Inactive(file):   200 kB\n"
                 "Node 3 HugePages_Free:     7\n"),
            uint64_t{1200} * 1024);
}

TEST_F(FreeMemoryTest, WhatCannotBeReadIsNoAnswer) {
  EXPECT_EQ(FreeMemoryBytes({.os_index = 4}, directory_.string()), std::nullopt);
  EXPECT_EQ(Read(""), std::nullopt);
  EXPECT_EQ(Read("nonsense\n"), std::nullopt);
}

TEST_F(FreeMemoryTest, WhatTheKernelKeepsIsTheHighMarkOfAllZones) {
  const std::string file = (directory_ / "zoneinfo").string();
  std::ofstream(file) << "Node 0, zone      DMA\n"
                         "  pages free     3808\n"
                         "        min      190\n"
                         "        high     284\n"
                         "    cpu: 0\n"
                         "              count: 0\n"
                         "              high:  777\n"
                         "Node 3, zone    DMA32\n"
                         "        high     100\n"
                         "Node 3, zone   Normal\n"
                         "        high     20\n"
                         "Node 30, zone   Normal\n"
                         "        high     5000\n";
  EXPECT_EQ(KernelReserveBytes({.os_index = 3}, file), 120u * 4096);
  EXPECT_EQ(KernelReserveBytes({.os_index = 0}, file), 284u * 4096);
  EXPECT_EQ(KernelReserveBytes({.os_index = 1}, file), 0u);
  EXPECT_EQ(KernelReserveBytes({.os_index = 3}, file + ".none"), 0u);
}

TEST_F(FreeMemoryTest, TheRealMachineAnswersOrHasNoNuma) {
  const std::optional<uint64_t> free = FreeMemoryBytes({.os_index = 0});
  if (!free) GTEST_SKIP() << "the kernel shows no NumaNode 0";
  EXPECT_GT(*free, 0u);
}

}  // namespace
}  // namespace eris::topology
