#include "topology/binding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>

#include "topology/topology.h"

namespace eris::topology {
namespace {

using ::testing::HasSubstr;

constexpr size_t kPageBytes = 4096;

TEST(BindingTest, ImpossibleNumaNodeIsAStatusThatNamesIt) {
  void* page =
      mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  for (const uint32_t os_index : {1023u, 1024u, 70000u}) {
    const absl::Status status = BindMemory(page, kPageBytes, {.os_index = os_index});
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::to_string(os_index)));
  }
  munmap(page, kPageBytes);
}

TEST(BindingTest, BoundMemoryIsUsable) {
  absl::StatusOr<Topology> topology = Topology::Discover();
  ASSERT_TRUE(topology.ok()) << topology.status();
  const NumaNodeId id = topology->cores()[0].numa_node;
  auto* page = static_cast<char*>(
      mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(page, MAP_FAILED);
  const absl::Status status = BindMemory(page, kPageBytes, topology->numa_nodes()[id.value]);
  page[0] = 1;  // refused or not, it is memory
  EXPECT_EQ(page[0], 1);
  munmap(page, kPageBytes);
  if (absl::IsPermissionDenied(status) || absl::IsUnimplemented(status)) GTEST_SKIP() << status;
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace eris::topology
