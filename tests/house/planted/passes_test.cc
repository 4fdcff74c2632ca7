// The neighbour of aborts_test.cc in the same program, and a test whose label can be wrong.
#include <gtest/gtest.h>

#include <thread>

TEST(PlantedNeighbourTest, Passes) {}

TEST(PlantedThreadTest, StartsOne) {
  std::thread([] {}).join();
}
