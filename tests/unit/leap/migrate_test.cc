// Migrations without writers: contents, results, ends before everything has moved.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include "eris/leap.h"
#include "leap/range_check.h"
#include "tests/unit/leap/leap_fixture.h"

namespace eris::leap {
namespace {

struct Case {
  Method method;
  Pages pages;
  size_t area_bytes;
};
std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  const char* const pages = info.param.pages == Pages::kAnonymous       ? "Small"
                            : info.param.pages == Pages::kAnonymousHuge ? "Huge"
                                                                        : "File";
  return std::string(MethodName(info.param.method)) + pages +
         std::to_string(info.param.area_bytes / 1024);
}

class MigrateTest : public ::testing::TestWithParam<Case> {};

TEST_P(MigrateTest, EveryPageHasItsContentAtItsAddressAfterwards) {
  const auto [method, pages, area_bytes] = GetParam();
  // Neither the begin nor the end is that of an area.
  const TestMemory memory((9 << 20) + 3 * kPage, pages, 5 * kPage);
  const auto pool = NewPool(12 << 20, pages);
  const uint64_t free_before = pool->free_bytes();
  std::byte* const first = pool->Take(kHugePageBytes, memory.begin());
  pool->Give(first, kHugePageBytes);
  uint64_t last_home = 0;
  const uint64_t mappings_before = CountMapEntries().now;
  const auto done = Migrate(
      memory.range(), *pool,
      {.method = method, .area_bytes = area_bytes, .blocked_threads_write = kBlockedThreadsWrite},
      [&](const Progress& progress) {
        EXPECT_EQ(progress.home_bytes + progress.left_bytes, memory.range().bytes);
        EXPECT_GE(progress.home_bytes, last_home);
        last_home = progress.home_bytes;
      });
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_TRUE(done->ended.ok()) << done->ended;
  EXPECT_EQ(memory.CountWrong(), 0U);
  EXPECT_EQ(done->progress.home_bytes, memory.range().bytes);
  EXPECT_EQ(done->progress.copied_bytes, memory.range().bytes);
  EXPECT_EQ(done->splits, 0U);
  EXPECT_EQ(done->os_numa_nodes.size(), memory.range().bytes / done->page_bytes);
  if (method != Method::kKernel) {
    EXPECT_EQ(pool->free_bytes(), free_before - memory.range().bytes);
    // The pool's memory is no longer where it was.
    unsigned char present = 0;
    EXPECT_EQ(mincore(first, kPage, &present), -1);
    EXPECT_EQ(errno, ENOMEM);
  }
  // Writable, as before.
  for (uint64_t& word : memory.words()) word += 1;
  // Areas side by side have become few mappings again.
  if (method != Method::kKernel) {
    EXPECT_LE(CountMapEntries().now, mappings_before + 10);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, MigrateTest,
                         ::testing::Values(Case{Method::kOwner, Pages::kAnonymous, 1 << 20},
                                           Case{Method::kOwner, Pages::kAnonymousHuge, 2 << 20},
                                           Case{Method::kOwner, Pages::kFile, 64 << 10},
                                           Case{Method::kHold, Pages::kAnonymous, 64 << 10},
                                           Case{Method::kHold, Pages::kAnonymousHuge, 2 << 20},
                                           Case{Method::kHold, Pages::kFile, 1 << 20},
                                           Case{Method::kRetry, Pages::kAnonymous, 4 << 10},
                                           Case{Method::kRetry, Pages::kAnonymousHuge, 16 << 20},
                                           Case{Method::kRetry, Pages::kFile, 1 << 20},
                                           Case{Method::kKernel, Pages::kAnonymous, 1 << 20}),
                         NameOf);

TEST(MigrateAgainTest, MemoryGoesToAndFroThroughManyPools) {
  const TestMemory memory(4 << 20);
  for (int round = 0; round < 8; ++round) {
    const auto pool = NewPool(4 << 20);
    const auto done =
        Migrate(memory.range(), *pool,
                {.area_bytes = 256 << 10, .blocked_threads_write = kBlockedThreadsWrite});
    ASSERT_TRUE(done.ok() && done->ended.ok());
    ASSERT_EQ(memory.CountWrong(), 0U) << round;
    EXPECT_EQ(pool->free_bytes(), 0U);
  }
}

TEST(MigrateAgainTest, RestOfAPoolMovesAnotherRange) {
  const TestMemory first(1 << 20), second(3 << 20);
  const auto pool = NewPool(4 << 20);
  ASSERT_TRUE(Migrate(first.range(), *pool,
                      {.area_bytes = 512 << 10, .blocked_threads_write = kBlockedThreadsWrite})
                  ->ended.ok());
  ASSERT_TRUE(Migrate(second.range(), *pool,
                      {.area_bytes = 512 << 10, .blocked_threads_write = kBlockedThreadsWrite})
                  ->ended.ok());
  EXPECT_EQ(first.CountWrong() + second.CountWrong(), 0U);
}

TEST(MigrateUntouchedTest, PagesNeverTouchedReadAsZeroAfterwards) {
  const size_t bytes = 4 << 20;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  for (const Method method : {Method::kOwner, Method::kHold, Method::kRetry}) {
    const auto pool = NewPool(bytes);
    const auto done = Migrate(
        {memory, bytes}, *pool,
        {.method = method, .area_bytes = 1 << 20, .blocked_threads_write = kBlockedThreadsWrite});
    ASSERT_TRUE(done.ok() && done->ended.ok());
    const std::span<const uint64_t> words(static_cast<uint64_t*>(memory), bytes / 8);
    for (const uint64_t word : words) ASSERT_EQ(word, 0U);
  }
  munmap(memory, bytes);
}

class MigrateEndsTest : public ::testing::TestWithParam<Method> {};

TEST_P(MigrateEndsTest, StopEndsBetweenAreasAndEachPageIsWholeAndWritable) {
  const TestMemory memory(4 << 20);
  const auto pool = NewPool(4 << 20);
  std::atomic<bool> stop{false};
  const auto done = Migrate(memory.range(), *pool,
                            {.method = GetParam(),
                             .area_bytes = 1 << 20,
                             .blocked_threads_write = kBlockedThreadsWrite,
                             .stop = &stop},
                            [&](const Progress& progress) {
                              if (progress.home_bytes == 2 << 20) stop = true;
                            });
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->ended.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(done->progress.home_bytes, uint64_t{2} << 20);
  EXPECT_EQ(done->progress.left_bytes, uint64_t{2} << 20);
  EXPECT_EQ(memory.CountWrong(), 0U);
  for (uint64_t& word : memory.words()) word += 1;
}

TEST_P(MigrateEndsTest, PassedDeadlineMovesNothing) {
  const TestMemory memory(4 << 20);
  const auto pool = NewPool(4 << 20);
  const auto done = Migrate(memory.range(), *pool,
                            {.method = GetParam(),
                             .deadline = absl::InfinitePast(),
                             .blocked_threads_write = kBlockedThreadsWrite});
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->ended.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(done->progress.home_bytes, 0U);
  EXPECT_EQ(pool->free_bytes(), size_t{4} << 20);
}

INSTANTIATE_TEST_SUITE_P(Methods, MigrateEndsTest,
                         ::testing::Values(Method::kOwner, Method::kHold, Method::kRetry),
                         [](const auto& one) { return std::string(MethodName(one.param)); });

TEST(MigrateOwnerTest, ReadersSeeTheRightWordAllTheTime) {
  const TestMemory memory(8 << 20);
  std::atomic<bool> end{false};
  std::atomic<uint64_t> wrong{0}, read{0};
  std::thread reader([&] {
    for (size_t i = 0; !end.load(); i = (i + 4099) % memory.words().size()) {
      // volatile: each word is read from memory.
      wrong += *static_cast<volatile uint64_t*>(&memory.words()[i]) != TestMemory::ValueAt(i);
      ++read;
    }
  });
  while (read.load() == 0) std::this_thread::yield();
  for (int round = 0; round < 10; ++round) {
    const auto pool = NewPool(8 << 20);
    const auto done = Migrate(memory.range(), *pool,
                              {.method = Method::kOwner,
                               .area_bytes = 256 << 10,
                               .blocked_threads_write = kBlockedThreadsWrite});
    ASSERT_TRUE(done.ok() && done->ended.ok());
  }
  end = true;
  reader.join();
  EXPECT_EQ(wrong.load(), 0U);
}

}  // namespace
}  // namespace eris::leap
