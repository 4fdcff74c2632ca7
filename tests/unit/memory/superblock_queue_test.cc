#include "memory/superblock_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>

namespace eris::memory {
namespace {

void* BlockNumber(uint64_t number) { return reinterpret_cast<void*>(number); }

// Against a deque, through all positions of the ring and while its room grows.
TEST(SuperblockQueueTest, IsADequeWithinItsRoom) {
  std::mt19937_64 random(7);
  SuperblockQueue queue;
  std::deque<uint64_t> model;
  size_t room = 0;
  for (uint64_t step = 1; step <= 20'000; ++step) {
    if (step % 1'000 == 1) queue.Reserve(room += 5);
    switch (random() % 4) {
      case 0:
      case 1:
        if (model.size() == room) break;
        queue.push_back({BlockNumber(step), step});
        model.push_back(step);
        break;
      case 2:
        if (model.empty()) break;
        queue.pop_front();
        model.pop_front();
        break;
      default:
        if (model.empty()) break;
        queue.pop_back();
        model.pop_back();
        break;
    }
    ASSERT_EQ(queue.size(), model.size());
    ASSERT_EQ(queue.empty(), model.empty());
    if (model.empty()) continue;
    ASSERT_EQ(queue.front().since_tick, model.front());
    ASSERT_EQ(queue.back().superblock, BlockNumber(model.back()));
  }
}

TEST(SuperblockQueueTest, WithoutRoomItIsAnErrorOfTheCaller) {
  SuperblockQueue queue;
  queue.Reserve(1);
  queue.push_back({BlockNumber(1), 1});
  EXPECT_DEATH(queue.push_back({BlockNumber(2), 2}), "check failed");
}

}  // namespace
}  // namespace eris::memory
