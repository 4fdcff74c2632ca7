#include "server/guard/arrival.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace eris::server {
namespace {

struct Call final : Arrival::Call {
  void BeginRead() override { ++reads; }
  void OnNoRequest(const absl::Status& why) override { ended.push_back(why); }
  int reads = 0;
  std::vector<absl::Status> ended;
};

struct Inside final : Drainable {
  void OnDrain() override { drained = true; }
  void EndNow(const absl::Status& why) override {
    base::MutexLock lock(&mu);
    ended.push_back(why);
  }
  bool drained = false;
  base::Mutex mu;
  std::vector<absl::Status> ended;
};

struct World {
  explicit World(bool whole_call = true)
      : arrival(std::make_shared<Arrival>(
            &call, &gate, "client", inside,
            Arrival::Limit{[] { return absl::DeadlineExceededError("too long"); }, whole_call})) {}
  Call call;
  ArrivalGate gate{1};
  const std::shared_ptr<Inside> inside = std::make_shared<Inside>();
  const std::shared_ptr<Arrival> arrival;
};

using Statuses = std::vector<absl::Status>;

TEST(ArrivalTest, ArrivedRequestIsReadOnceAndWhatComesLaterIsTheCallsOwn) {
  for (const bool whole_call : {true, false}) {
    World world(whole_call);
    EXPECT_TRUE(world.arrival->OnTurn());
    EXPECT_EQ(world.call.reads, 1);
    EXPECT_TRUE(world.arrival->TryArrive());
    world.arrival->OnDrain();
    world.arrival->EndNow(absl::UnavailableError("drained"));
    world.arrival->OnExpired(0);
    EXPECT_TRUE(world.call.ended.empty());
    EXPECT_TRUE(world.inside->drained);
    Statuses ended{absl::UnavailableError("drained")};
    if (whole_call) ended.push_back(absl::DeadlineExceededError("too long"));
    EXPECT_EQ(world.inside->ended, ended);
  }
}

TEST(ArrivalTest, CallThatEndsBeforeItsRequestIsAnsweredOnce) {
  for (const bool reading : {false, true}) {
    for (int how = 0; how < 3; ++how) {
      World world;
      if (reading) {
        EXPECT_TRUE(world.arrival->OnTurn());
      }
      if (how == 0) world.arrival->EndNow(absl::CancelledError("gone"));
      if (how == 1) world.arrival->OnDrain();
      if (how == 2) world.arrival->OnExpired(0);
      const Statuses ended{how == 0   ? absl::CancelledError("gone")
                           : how == 1 ? DrainGate::RefusedStatus()
                                      : absl::DeadlineExceededError("too long")};
      EXPECT_EQ(world.call.ended, ended);
      // Whoever comes later touches neither the call, which may be gone, nor what is inside.
      EXPECT_FALSE(reading ? world.arrival->TryArrive() : world.arrival->OnTurn());
      world.arrival->EndNow(absl::CancelledError("again"));
      world.arrival->OnDrain();
      world.arrival->OnExpired(0);
      EXPECT_EQ(world.call.ended, ended);
      EXPECT_EQ(world.call.reads, reading ? 1 : 0);
      EXPECT_TRUE(world.inside->ended.empty());
      EXPECT_FALSE(world.inside->drained);
    }
  }
}

// Calls that are opened and given up while nobody gets a turn.
TEST(ArrivalTest, CallsThatComeAndGoLeaveNothingInTheGate) {
  ArrivalGate gate(1);
  Call slow, call;
  const auto inside = std::make_shared<Inside>();
  const Arrival::Limit limit{[] { return absl::DeadlineExceededError("too long"); }};
  gate.Enter(std::make_shared<Arrival>(&slow, &gate, "slow", inside, limit));
  EXPECT_EQ(slow.reads, 1);
  const auto patient = std::make_shared<Arrival>(&call, &gate, "client", inside, limit);
  gate.Enter(patient);
  for (int i = 0; i < 10'000; ++i) {
    const auto hasty = std::make_shared<Arrival>(&call, &gate, "client", inside, limit);
    gate.Enter(hasty);
    hasty->EndNow(absl::CancelledError("gone"));
    ASSERT_LE(gate.waiting(), 4u);
  }
  EXPECT_EQ(call.reads, 0);
  gate.Leave("slow");
  EXPECT_EQ(call.reads, 1);
  EXPECT_TRUE(patient->TryArrive());
}

TEST(ArrivalTest, OneOfManyThreadsEndsIt) {
  for (int round = 0; round < 200; ++round) {
    World world;
    std::vector<std::thread> threads;
    bool arrived = false;
    threads.emplace_back([&] { arrived = world.arrival->OnTurn() && world.arrival->TryArrive(); });
    threads.emplace_back([&] { world.arrival->EndNow(absl::UnavailableError("drained")); });
    threads.emplace_back([&] { world.arrival->OnExpired(0); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(world.call.ended.size(), arrived ? 0u : 1u);
    if (!arrived) {
      EXPECT_TRUE(world.inside->ended.empty());
      EXPECT_FALSE(world.arrival->TryArrive());
    }
  }
}

}  // namespace
}  // namespace eris::server
