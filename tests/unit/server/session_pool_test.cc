#include "server/guard/session_pool.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/server/fake_engine.h"

namespace eris::server {
namespace {

TEST(SessionPoolTest, SessionGivenBackGoesOutAgain) {
  FakeEngine engine;
  SessionPool pool(&engine);
  Session* first = nullptr;
  {
    const auto lease = pool.Borrow();
    first = &*lease;
  }
  const auto again = pool.Borrow();
  EXPECT_EQ(&*again, first);
  const auto other = pool.Borrow();
  EXPECT_NE(&*other, first);
  EXPECT_EQ(engine.sessions_made(), 2);
}

TEST(SessionPoolTest, SessionsOfAFloodAreNotKept) {
  FakeEngine engine;
  SessionPool pool(&engine);
  constexpr int kFlood = 3 * SessionPool::kFreeMax;
  const auto flood = [&] {
    std::vector<SessionPool::Lease> leases;
    for (int i = 0; i < kFlood; ++i) leases.push_back(pool.Borrow());
  };
  flood();
  EXPECT_EQ(engine.sessions_made(), kFlood);
  flood();
  EXPECT_EQ(engine.sessions_made(), 2 * kFlood - static_cast<int>(SessionPool::kFreeMax));
}

TEST(SessionPoolTest, SessionsAreOfTheBorrowersNumaNode) {
  FakeEngine engine;
  SessionPool pool(&engine);
  Session* first = nullptr;
  Session* other = nullptr;
  {
    const auto lease = pool.Borrow();
    first = &*lease;
    engine.MoveThreadsTo(NumaNodeId{1});
    const auto elsewhere = pool.Borrow();
    other = &*elsewhere;
    EXPECT_EQ(other->numa_node(), NumaNodeId{1});
  }
  EXPECT_EQ(&*pool.Borrow(), other);
  engine.MoveThreadsTo(NumaNodeId{0});
  EXPECT_EQ(&*pool.Borrow(), first);
  EXPECT_EQ(engine.sessions_made(), 2);
}

// As with a synthetic topology, where NumaNodes take turns.
TEST(SessionPoolTest, ASessionIsMadeForTheNumaNodeThatWasAskedFor) {
  FakeEngine engine;
  SessionPool pool(&engine);
  engine.TakeTurns(2);
  for (int i = 0; i < 100; ++i) pool.Borrow();
  EXPECT_EQ(engine.sessions_made(), 2);
}

// Nobody borrows on NumaNode 1 any more.
TEST(SessionPoolTest, TheOldestFreeSessionMakesRoom) {
  FakeEngine engine;
  SessionPool pool(&engine);
  const auto flood = [&](uint32_t numa_node) {
    engine.MoveThreadsTo(NumaNodeId{numa_node});
    const int before = engine.sessions_made();
    std::vector<SessionPool::Lease> leases;
    for (size_t i = 0; i < SessionPool::kFreeMax; ++i) leases.push_back(pool.Borrow());
    return engine.sessions_made() - before;
  };
  EXPECT_EQ(flood(1), static_cast<int>(SessionPool::kFreeMax));
  EXPECT_EQ(flood(0), static_cast<int>(SessionPool::kFreeMax));
  EXPECT_EQ(flood(0), 0);
  EXPECT_EQ(flood(1), static_cast<int>(SessionPool::kFreeMax));
}

TEST(SessionPoolTest, NeverMoreSessionsThanThreads) {
  FakeEngine engine;
  SessionPool pool(&engine);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) pool.Borrow();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(engine.sessions_made(), 4);
}

}  // namespace
}  // namespace eris::server
