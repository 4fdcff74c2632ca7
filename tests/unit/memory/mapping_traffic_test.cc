// Threads that make pages wait for changes of mappings that are due, but not for ever.
#include "memory/system/mapping_traffic.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace eris::memory {
namespace {

using Clock = std::chrono::steady_clock;

TEST(MappingTrafficTest, AChangeComesBackWhilePagesAreMade) {
  EXPECT_FALSE(MappingTraffic::MustComeBack());
  {
    const MappingTraffic::PagesMade one;
    const MappingTraffic::PagesMade two;
    EXPECT_TRUE(MappingTraffic::MustComeBack());
  }
  EXPECT_FALSE(MappingTraffic::MustComeBack());
}

// A thread that makes one page after another leaves room for it.
TEST(MappingTrafficTest, TheNextPageWaitsForAChangeThatIsWanted) {
  std::optional<MappingTraffic::PagesMade> made(std::in_place);
  const auto asked = Clock::now();
  ASSERT_TRUE(MappingTraffic::MustComeBack());
  made.reset();
  EXPECT_FALSE(MappingTraffic::MustComeBack());
  made.emplace();
  EXPECT_GE(Clock::now() - asked, std::chrono::milliseconds(1));
}

TEST(MappingTrafficTest, PagesWaitForAChangeThatIsDue) {
  std::optional<MappingTraffic::ChangeDue> due(std::in_place);
  std::atomic<bool> ended{false};
  bool waited = false;
  std::thread maker([&] {
    const auto begin = Clock::now();
    const MappingTraffic::PagesMade made;
    EXPECT_TRUE(MappingTraffic::MustComeBack());
    // On a machine where this thread comes late there is nothing to wait for.
    waited = ended.load() || Clock::now() - begin >= std::chrono::milliseconds(2);
  });
  std::this_thread::sleep_for(std::chrono::microseconds(500));
  ended.store(true);
  due.reset();
  maker.join();
  EXPECT_TRUE(waited);
  EXPECT_FALSE(MappingTraffic::MustComeBack());
}

TEST(MappingTrafficTest, ButNotForEver) {
  const MappingTraffic::ChangeDue due;
  const auto begin = Clock::now();
  {
    const MappingTraffic::PagesMade made;
    EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(2));
  }
}

}  // namespace
}  // namespace eris::memory
