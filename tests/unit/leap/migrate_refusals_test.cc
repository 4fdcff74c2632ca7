// What Migrate refuses before anything moves, and what it does when the system refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "eris/leap.h"
#include "leap/faults.h"
#include "tests/unit/leap/leap_fixture.h"

namespace eris::leap {
namespace {

using ::testing::HasSubstr;
using Mode = memory::FailurePoint::Mode;

class RefusalsTest : public ::testing::Test {
 protected:
  ~RefusalsTest() override {
    Faults& faults = InjectedFaults();
    for (memory::FailurePoint* point :
         {&faults.take, &faults.protect, &faults.remap, &faults.userfault}) {
      point->Arm(0, Mode::kOnce);
    }
  }
  std::string Why(const Range& range, Pool& pool, const Options& options = {}) {
    const auto done = Migrate(range, pool, options);
    return done.ok() ? "" : done.status().ToString();
  }

  const TestMemory memory_{4 << 20};
  const std::unique_ptr<MemoryPool> pool_ = NewPool(4 << 20);
};

TEST_F(RefusalsTest, PoolThatIsTooSmallIsNamedWithBothSizes) {
  const auto small = NewPool(2 << 20);
  const std::string why = Why(memory_.range(), *small);
  EXPECT_THAT(why, HasSubstr("RESOURCE_EXHAUSTED"));
  EXPECT_THAT(why, HasSubstr("4194304 bytes"));
  EXPECT_THAT(why, HasSubstr("2097152 free"));
}

TEST_F(RefusalsTest, PoolOfAnotherKindIsNamed) {
  const TestMemory file(1 << 20, Pages::kFile);
  EXPECT_THAT(Why(file.range(), *pool_), HasSubstr("needs pages of kFile"));
  const auto files = NewPool(4 << 20, Pages::kFile);
  EXPECT_THAT(Why(memory_.range(), *files), HasSubstr("kAnonymous"));
}

TEST_F(RefusalsTest, AreaAndSplitThatCannotBeAreNamed) {
  EXPECT_THAT(Why(memory_.range(), *pool_,
                  {.area_bytes = 0, .blocked_threads_write = kBlockedThreadsWrite}),
              HasSubstr("area_bytes is 0"));
  EXPECT_THAT(Why(memory_.range(), *pool_,
                  {.area_bytes = 5000, .blocked_threads_write = kBlockedThreadsWrite}),
              HasSubstr("area_bytes is 5000"));
  EXPECT_THAT(Why(memory_.range(), *pool_, {.method = Method::kRetry, .split = 1}),
              HasSubstr("split is 1"));
  EXPECT_EQ(pool_->free_bytes(), size_t{4} << 20);
}

TEST_F(RefusalsTest, RangeThatCannotMoveIsRefused) {
  EXPECT_THAT(Why({memory_.begin() + 8, kPage}, *pool_), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Why({nullptr, kPage}, *pool_), HasSubstr("not mapped"));
}

TEST_F(RefusalsTest, WithoutUserfaultfdHoldUsesMprotect) {
  InjectedFaults().userfault.Arm(1, Mode::kOnce);
  const auto done =
      Migrate(memory_.range(), *pool_,
              {.method = Method::kHold, .blocked_threads_write = kBlockedThreadsWrite});
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_TRUE(done->ended.ok()) << done->ended;
  EXPECT_EQ(done->how, "mprotect");
  EXPECT_EQ(memory_.CountWrong(), 0U);
}

// Each request to the system and to the pool refused once, at every place; nothing is lost, and a
// second call moves the rest.
TEST_F(RefusalsTest, EachRefusalLeavesEveryPageWholeAndTheRestCanBeMovedLater) {
  Faults& faults = InjectedFaults();
  for (const Method method : {Method::kOwner, Method::kHold, Method::kRetry}) {
    for (memory::FailurePoint* point : {&faults.protect, &faults.remap}) {
      if (method == Method::kOwner && point == &faults.protect) continue;
      for (const bool userfault : {false, true}) {
        for (uint64_t nth = 1; nth <= 4; ++nth) {
          SCOPED_TRACE(absl::StrCat(MethodName(method), " request ", nth));
          const TestMemory memory(4 << 20);
          const auto pool = NewPool(4 << 20);
          if (!userfault) faults.userfault.Arm(1, Mode::kOnce);
          point->Arm(nth, Mode::kOnce);
          const Options options{.method = method,
                                .area_bytes = 1 << 20,
                                .blocked_threads_write = kBlockedThreadsWrite};
          const auto done = Migrate(memory.range(), *pool, options);
          faults.userfault.Arm(0, Mode::kOnce);
          ASSERT_TRUE(done.ok()) << done.status();
          EXPECT_FALSE(done->ended.ok());
          EXPECT_EQ(done->progress.home_bytes, (nth - 1) << 20);
          EXPECT_EQ(memory.CountWrong(), 0U);
          EXPECT_EQ(pool->free_bytes(), (size_t{4} << 20) - done->progress.home_bytes);
          for (uint64_t& word : memory.words()) word += 0;  // writable
          const Range rest{memory.begin() + done->progress.home_bytes, done->progress.left_bytes};
          const auto more = Migrate(rest, *pool, options);
          ASSERT_TRUE(more.ok()) << more.status();
          EXPECT_TRUE(more->ended.ok()) << more->ended;
          EXPECT_EQ(memory.CountWrong(), 0U);
        }
      }
    }
  }
}

TEST_F(RefusalsTest, PoolWithoutALongPieceMovesTheAreaInParts) {
  for (const Method method : {Method::kOwner, Method::kHold, Method::kRetry}) {
    for (uint64_t nth = 1; nth <= 4; ++nth) {
      const TestMemory memory(4 << 20);
      const auto pool = NewPool(4 << 20);
      InjectedFaults().take.Arm(nth, Mode::kOnce);
      const auto done = Migrate(
          memory.range(), *pool,
          {.method = method, .area_bytes = 1 << 20, .blocked_threads_write = kBlockedThreadsWrite});
      ASSERT_TRUE(done.ok()) << done.status();
      EXPECT_TRUE(done->ended.ok()) << done->ended;
      EXPECT_EQ(done->splits, 1U);
      EXPECT_EQ(done->areas, 5U);
      EXPECT_EQ(memory.CountWrong(), 0U);
    }
  }
}

TEST_F(RefusalsTest, PoolThatIsEmptyEndsTheCallAndSaysHowMuchIsLeft) {
  InjectedFaults().take.Arm(3, Mode::kFromThen);
  const auto done = Migrate(memory_.range(), *pool_,
                            {.area_bytes = 1 << 20, .blocked_threads_write = kBlockedThreadsWrite});
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->ended.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(done->ended.ToString(), HasSubstr("2097152 bytes to go"));
  EXPECT_EQ(done->progress.home_bytes, uint64_t{2} << 20);
  EXPECT_EQ(memory_.CountWrong(), 0U);
}

}  // namespace
}  // namespace eris::leap
