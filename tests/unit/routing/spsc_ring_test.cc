#include "routing/spsc_ring.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace eris::routing {
namespace {

TEST(SpscRingTest, FillsToItsCapacityAndRefusesMore) {
  SpscRing<int, 4> ring;
  EXPECT_TRUE(ring.Empty());
  for (int i = 1; i <= 4; ++i) EXPECT_TRUE(ring.Push(i));
  EXPECT_FALSE(ring.Push(5));
  EXPECT_FALSE(ring.Empty());
  EXPECT_EQ(ring.Pop(), 1);
  EXPECT_TRUE(ring.Push(5));
  for (int i = 2; i <= 5; ++i) EXPECT_EQ(ring.Pop(), i);
  EXPECT_TRUE(ring.Empty());
  EXPECT_EQ(ring.Pop(), 0);
}

TEST(SpscRingTest, KeepsOrderBetweenTwoThreads) {
  constexpr uint64_t kItems = 50'000;
  SpscRing<uint64_t, 4> ring;
  std::thread producer([&] {
    for (uint64_t i = 1; i <= kItems; ++i) {
      while (!ring.Push(i)) sched_yield();
    }
  });
  uint64_t wrong = 0;
  for (uint64_t expected = 1; expected <= kItems;) {
    const uint64_t got = ring.Pop();
    if (got == 0) {
      sched_yield();
      continue;
    }
    wrong += got != expected;
    ++expected;
  }
  producer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_TRUE(ring.Empty());
}

}  // namespace
}  // namespace eris::routing
