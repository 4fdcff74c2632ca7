#include "server/guard/drain_gate.h"

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

class DrainedCall final : public Drainable {
 public:
  void OnDrain() override { drained = true; }
  void EndNow(const absl::Status& status) override { timed_out = !status.ok(); }
  std::atomic<bool> drained{false};
  std::atomic<bool> timed_out{false};
};

TEST(DrainGateTest, EmptyGateIsEmptyAtOnce) {
  DrainGate gate;
  int empty = 0;
  gate.Close([&] { ++empty; });
  EXPECT_EQ(empty, 1);
  EXPECT_FALSE(gate.TryEnter(std::make_shared<DrainedCall>()));
  EXPECT_EQ(DrainGate::RefusedStatus().code(), absl::StatusCode::kUnavailable);
}

TEST(DrainGateTest, CallsInsideAreToldAndTheLastOneToLeaveEmptiesIt) {
  DrainGate gate;
  auto first = std::make_shared<DrainedCall>();
  auto second = std::make_shared<DrainedCall>();
  std::optional<DrainGate::Stay> first_stay = gate.TryEnter(first);
  std::optional<DrainGate::Stay> second_stay = gate.TryEnter(second);
  ASSERT_TRUE(*first_stay && *second_stay);
  int empty = 0;
  gate.Close([&] { ++empty; });
  EXPECT_TRUE(first->drained && second->drained);
  EXPECT_FALSE(first->timed_out);
  first_stay.reset();
  EXPECT_EQ(empty, 0);
  gate.CancelAll(absl::UnavailableError("time is up"));
  EXPECT_FALSE(first->timed_out);
  EXPECT_TRUE(second->timed_out);
  second_stay.reset();
  EXPECT_EQ(empty, 1);
  EXPECT_EQ(second.use_count(), 1);
}

TEST(DrainGateTest, OriginsOfTheCallsInsideAreVisited) {
  DrainGate gate;
  const int here = 0, there = 0;
  const auto origins = [&] {
    std::multiset<const void*> all;
    gate.VisitOrigins([&](const void* origin) { all.insert(origin); });
    return all;
  };
  std::optional<DrainGate::Stay> first = gate.TryEnter(std::make_shared<DrainedCall>(), &here);
  const DrainGate::Stay second = gate.TryEnter(std::make_shared<DrainedCall>(), &there);
  const DrainGate::Stay third = gate.TryEnter(std::make_shared<DrainedCall>());
  EXPECT_EQ(origins(), (std::multiset<const void*>{&here, &there}));
  first.reset();
  EXPECT_EQ(origins(), (std::multiset<const void*>{&there}));
}

TEST(DrainGateTest, NobodyIsLostWhenCallsComeAndGoWhileItCloses) {
  constexpr int kThreads = 4;
  for (int round = 0; round < 20; ++round) {
    DrainGate gate;
    std::atomic<int> empty{0};
    std::atomic<int> entered{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (;;) {
          DrainGate::Stay stay = gate.TryEnter(std::make_shared<DrainedCall>());
          if (!stay) return;
          EXPECT_EQ(empty.load(), 0);
          entered.fetch_add(1);
        }
      });
    }
    while (entered.load() < 100) std::this_thread::yield();
    gate.Close([&] { empty.fetch_add(1); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(empty.load(), 1);
    EXPECT_EQ(gate.inside(), 0u);
  }
}

}  // namespace
}  // namespace eris::server
