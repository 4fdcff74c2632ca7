#include "topology/page_location.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>

#include "topology/topology.h"

namespace eris::topology {
namespace {

TEST(PageLocationTest, TouchedPagesHaveANumaNodeAndOthersHaveNone) {
  constexpr size_t kPage = 4096;
  auto* memory = static_cast<char*>(
      mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, 3 * kPage, MADV_NOHUGEPAGE);
  memory[kPage] = 1;
  const std::array<void*, 4> pages{memory, memory + kPage, memory + 2 * kPage,
                                   reinterpret_cast<void*>(kPage)};
  std::array<int32_t, 4> os_nodes{7, 7, 7, 7};
  const absl::Status status = LocatePages(pages, os_nodes);
  munmap(memory, 3 * kPage);
  if (absl::IsUnimplemented(status) || absl::IsFailedPrecondition(status)) GTEST_SKIP() << status;
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(os_nodes[0], kPageNotPresent);
  EXPECT_GE(os_nodes[1], 0);
  EXPECT_EQ(os_nodes[2], kPageNotPresent);
  EXPECT_EQ(os_nodes[3], kPageNotPresent);
}

TEST(PageLocationTest, NoPagesAreNoError) { EXPECT_TRUE(LocatePages({}, {}).ok()); }

}  // namespace
}  // namespace eris::topology
