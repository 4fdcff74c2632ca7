#include "routing/turn_door.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>
#include <vector>

namespace eris::routing {
namespace {

using Visit = TurnDoor::Visit;

// Turns of an AEU, of which only the door keeps two from running at once.
class CountingRunner final : public TurnRunner {
 public:
  bool RunTurn() noexcept override {
    EXPECT_FALSE(running_);
    running_ = true;
    if (++turns % 64 == 0) sched_yield();  // the others are on this core
    running_ = false;
    return more;
  }
  int turns = 0;
  bool more = false;

 private:
  bool running_ = false;
};

// Keeps the calling thread on its core.
class StayHere {
 public:
  StayHere() : cpu_(sched_getcpu()) {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu_, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~StayHere() { sched_setaffinity(0, sizeof before_, &before_); }
  int cpu() const { return cpu_; }

 private:
  const int cpu_;
  cpu_set_t before_;
};

// As the AEU's own thread does.
void SetRunner(TurnDoor& door, TurnRunner& runner, int cpu) {
  door.Enter();
  door.SetRunner(&runner, cpu);
  door.Leave();
}

TEST(TurnDoorTest, IsShutWithoutARunner) {
  TurnDoor door;
  EXPECT_FALSE(door.MayOpenHere());
  EXPECT_EQ(door.Try(), Visit::kShut);
}

TEST(TurnDoorTest, WhoComesOnTheSameCoreRunsATurn) {
  const StayHere here;
  TurnDoor door;
  CountingRunner runner;
  SetRunner(door, runner, here.cpu());
  EXPECT_TRUE(door.MayOpenHere());
  EXPECT_EQ(door.Try(), Visit::kNothingLeft);
  runner.more = true;
  EXPECT_EQ(door.Try(), Visit::kMoreToDo);
  EXPECT_EQ(runner.turns, 2);
}

TEST(TurnDoorTest, IsShutOnOtherCoresAndWhereTheThreadIsNotPinned) {
  const StayHere here;
  for (const int cpu : {here.cpu() + 1, -1}) {
    TurnDoor door;
    CountingRunner runner;
    SetRunner(door, runner, cpu);
    EXPECT_FALSE(door.MayOpenHere());
    EXPECT_EQ(door.Try(), Visit::kShut);
    EXPECT_EQ(runner.turns, 0);
  }
}

TEST(TurnDoorTest, IsShutWhileTheThreadIsInsideAndAfterTheRunnersEnd) {
  const StayHere here;
  TurnDoor door;
  CountingRunner runner;
  door.Enter();
  door.SetRunner(&runner, here.cpu());
  std::thread([&] {
    const StayHere there;  // inherited: the same core
    EXPECT_EQ(there.cpu(), here.cpu());
    EXPECT_EQ(door.Try(), Visit::kShut);
  }).join();
  door.SetRunner(nullptr, here.cpu());
  door.Leave();
  EXPECT_EQ(door.Try(), Visit::kShut);
  EXPECT_EQ(runner.turns, 0);
}

// What a turn answers may send, and so come to doors, its own among them.
TEST(TurnDoorTest, TurnsDoNotNest) {
  const StayHere here;
  TurnDoor door, other;
  CountingRunner inner;
  struct Outer final : TurnRunner {
    bool RunTurn() noexcept override {
      for (TurnDoor* const each : doors) visits.push_back(each->Try());
      return false;
    }
    std::vector<TurnDoor*> doors;
    std::vector<Visit> visits;
  } outer;
  outer.doors = {&door, &other};
  SetRunner(door, outer, here.cpu());
  SetRunner(other, inner, here.cpu());
  EXPECT_EQ(door.Try(), Visit::kNothingLeft);
  door.Enter();  // the AEU's own thread
  outer.RunTurn();
  door.Leave();
  EXPECT_EQ(outer.visits, std::vector<Visit>(4, Visit::kShut));
  EXPECT_EQ(inner.turns, 0);
  EXPECT_EQ(other.Try(), Visit::kNothingLeft);
}

TEST(TurnDoorTest, TurnsNeverRunAtOnce) {
  const StayHere here;
  TurnDoor door;
  CountingRunner runner;
  SetRunner(door, runner, here.cpu());
  std::vector<std::thread> visitors;
  int visits[3] = {};
  for (int& mine : visits) {
    visitors.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) mine += door.Try() == Visit::kShut ? 0 : 1;
    });
  }
  int own = 0;
  for (int i = 0; i < 2'000; ++i) {
    door.Enter();
    runner.RunTurn();
    ++own;
    door.Leave();
    sched_yield();
  }
  for (std::thread& visitor : visitors) visitor.join();
  EXPECT_EQ(runner.turns, own + visits[0] + visits[1] + visits[2]);
}

}  // namespace
}  // namespace eris::routing
