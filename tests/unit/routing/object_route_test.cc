#include "routing/ranges/object_route.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace eris::routing {
namespace {

// Version v has one boundary, at v.
std::unique_ptr<const RangeTable> Version(uint64_t version) {
  return std::make_unique<RangeTable>(version, std::vector<uint64_t>{0, version},
                                      std::vector<AeuId>{{0}, {1}});
}

TEST(ObjectRouteTest, ATableThatAReaderShowsStaysReadableWhenItIsSuperseded) {
  ObjectRoute route(3, {9}, Version(1));
  EXPECT_EQ(route.slot(), 3u);
  EXPECT_EQ(route.object(), ObjectId{9});
  TableReaders readers;
  TableReader reader;
  readers.Add(&reader);
  const RangeTable& first = reader.Acquire(route);
  route.Publish(Version(2), readers);
  EXPECT_EQ(first.version(), 1u);
  EXPECT_EQ(first.OwnerOf(1), AeuId{1});
  EXPECT_EQ(reader.Acquire(route).OwnerOf(1), AeuId{0});
  EXPECT_EQ(route.Pin()->version(), 2u);
  reader.Release();
  readers.Remove(&reader);
}

TEST(ObjectRouteTest, ReadersSeeWholeTablesWhoseVersionsOnlyGrow) {
  constexpr uint64_t kVersions = 2'000;
  ObjectRoute route(0, {1}, Version(1));
  TableReaders readers;
  std::latch start(3);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      TableReader reader;
      readers.Add(&reader);
      start.arrive_and_wait();
      for (uint64_t seen = 0; seen < kVersions;) {
        const RangeTable& now = reader.Acquire(route);
        if (now.version() < seen || now.OwnerOf(now.version() - 1).value != 0 ||
            now.OwnerOf(now.version()).value != 1) {
          wrong.fetch_add(1);
        }
        seen = now.version();
        reader.Release();
      }
      readers.Remove(&reader);
    });
  }
  start.arrive_and_wait();
  for (uint64_t version = 2; version <= kVersions; ++version) {
    route.Publish(Version(version), readers);
    if (version % 4 == 0) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ObjectRouteDeathTest, AVersionThatDoesNotGrowIsRefused) {
  ObjectRoute route(0, {1}, Version(2));
  const TableReaders readers;
  EXPECT_DEATH(route.Publish(Version(2), readers), "check failed");
}

}  // namespace
}  // namespace eris::routing
