// The division of the process's memory, from 64 MiB to 8 TiB and from 1 to 512 AEUs.
#include "engine/options/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace eris::engine {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kGiB = 1 << 30;

MemoryWishes Wishes(uint64_t process_bytes, uint32_t aeus = 2) {
  return {.process_bytes = process_bytes,
          .process_source = "cgroup memory.max of /a",
          .aeus = aeus,
          .aeu_buffer_bytes = 2 * kMiB};
}

uint64_t Sum(const MemoryPlan& plan) {
  return plan.data_bytes + plan.query_bytes + plan.scan_bytes + plan.port_bytes +
         plan.caller_bytes + plan.receive_bytes + plan.reserve_bytes;
}

TEST(MemoryPlanTest, SharesNeverAddUpToMoreThanThereIs) {
  uint64_t accepted = 0;
  for (uint64_t bytes = 64 * kMiB; bytes <= 8192 * kGiB; bytes += bytes / 7) {
    for (uint32_t aeus = 1; aeus <= 512; aeus *= 2) {
      for (const uint32_t numa_nodes : {1u, 4u, 64u}) {
        MemoryWishes wishes = Wishes(bytes, aeus);
        wishes.numa_nodes = numa_nodes;
        const uint64_t least = LeastProcessBytes(wishes);
        const absl::StatusOr<MemoryPlan> plan = DivideMemory(wishes);
        ASSERT_EQ(plan.ok(), bytes >= least) << bytes << " " << aeus << " " << plan.status();
        if (!plan.ok()) continue;
        ++accepted;
        EXPECT_LE(Sum(*plan), bytes) << bytes << " " << aeus;
        // What the AEUs' buffers leave is enough for some objects.
        const uint64_t data_least = aeus * 2 * kMiB + numa_nodes * 16 * kMiB;
        EXPECT_GE(plan->data_bytes, data_least);
        EXPECT_LE(plan->data_bytes, std::max(data_least, bytes / 5 * 4));
        EXPECT_GE(plan->query_bytes, 8 * kMiB);
        EXPECT_GE(plan->scan_bytes, 8 * kMiB);
        EXPECT_GE(plan->port_bytes, 4 * kMiB);
        EXPECT_GE(plan->caller_bytes, 8 * kMiB);
        EXPECT_GE(plan->receive_bytes, 48 * kMiB);
      }
    }
  }
  EXPECT_GT(accepted, 1000u);
}

TEST(MemoryPlanTest, LeastIsExact) {
  for (const uint32_t aeus : {1u, 2u, 8u, 64u, 512u}) {
    const uint64_t least = LeastProcessBytes(Wishes(0, aeus));
    EXPECT_TRUE(DivideMemory(Wishes(least, aeus)).ok()) << aeus;
    EXPECT_FALSE(DivideMemory(Wishes(least - 1, aeus)).ok()) << aeus;
  }
  EXPECT_LE(LeastProcessBytes(Wishes(0, 2)), 160 * kMiB);
}

TEST(MemoryPlanTest, MostOfMuchMemoryIsForData) {
  EXPECT_GE(DivideMemory(Wishes(256 * kMiB))->data_bytes, 60 * kMiB);
  EXPECT_GE(DivideMemory(Wishes(2 * kGiB))->data_bytes, 900 * kMiB);
  EXPECT_GE(DivideMemory(Wishes(64 * kGiB, 64))->data_bytes, 48 * kGiB);
  EXPECT_EQ(DivideMemory(Wishes(1024 * kGiB, 64))->caller_bytes, kGiB);
}

TEST(MemoryPlanTest, TooLittleNamesWhatIsThereTheLeastAndWhatHelps) {
  const absl::Status status = DivideMemory(Wishes(256 * kMiB, 128)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string text(status.message());
  EXPECT_THAT(text, HasSubstr("256 MiB (cgroup memory.max of /a)"));
  EXPECT_THAT(text, HasSubstr("128 AEUs need at least "));
  EXPECT_THAT(text, HasSubstr("fewer AEUs (aeu_count)"));
}

TEST(MemoryPlanTest, WishesAreKeptAndOthersShrink) {
  MemoryWishes wishes = Wishes(512 * kMiB);
  wishes.data_bytes = 380 * kMiB;
  const absl::StatusOr<MemoryPlan> plan = DivideMemory(wishes);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->data_bytes, 380 * kMiB);
  EXPECT_LE(Sum(*plan), 512 * kMiB);
  EXPECT_LT(plan->caller_bytes, DivideMemory(Wishes(512 * kMiB))->caller_bytes);

  wishes.data_bytes = 0;
  wishes.caller_bytes = 100 * kMiB;
  wishes.scan_bytes = 50 * kMiB;
  const absl::StatusOr<MemoryPlan> more = DivideMemory(wishes);
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(more->caller_bytes, 100 * kMiB);
  EXPECT_EQ(more->scan_bytes, 50 * kMiB);
  EXPECT_LE(Sum(*more), 512 * kMiB);
}

TEST(MemoryPlanTest, WishesThatDoNotFitAreNamed) {
  MemoryWishes wishes = Wishes(512 * kMiB);
  wishes.data_bytes = 500 * kMiB;
  wishes.caller_bytes = 64 * kMiB;
  const absl::Status status = DivideMemory(wishes).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("500 MiB of data"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("64 MiB of requests in flight"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("smaller shares"));
}

TEST(MemoryPlanTest, AsManyAeusFitAsAreAccepted) {
  for (const uint64_t bytes : {64 * kMiB, 128 * kMiB, 256 * kMiB, kGiB, 4 * kGiB}) {
    const uint32_t fitting = AeusThatFit(Wishes(bytes, 512));
    if (fitting > 0) {
      EXPECT_TRUE(DivideMemory(Wishes(bytes, fitting)).ok()) << bytes;
    }
    if (fitting < 512) {
      EXPECT_FALSE(DivideMemory(Wishes(bytes, fitting + 1)).ok()) << bytes;
    }
  }
  EXPECT_EQ(AeusThatFit(Wishes(64 * kMiB, 512)), 0u);
  EXPECT_EQ(AeusThatFit(Wishes(8 * kGiB, 512)), 512u);
}

}  // namespace
}  // namespace eris::engine
