#include "server/guard/arrival_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace eris::server {
namespace {

struct Recorder final : ArrivalGate::Waiter {
  explicit Recorder(std::vector<int>* turns_in, int number_in, bool reads_in = true)
      : turns(*turns_in), number(number_in), reads(reads_in) {}
  bool OnTurn() override {
    turns.push_back(number);
    return reads;
  }
  bool Wanted() const override { return reads; }
  std::vector<int>& turns;
  const int number;
  const bool reads;
};

TEST(ArrivalGateTest, AsManyReadAsThereArePlacesAndTheOthersInTurn) {
  ArrivalGate gate(2);
  std::vector<int> turns;
  for (int i = 0; i < 4; ++i) gate.Enter(std::make_shared<Recorder>(&turns, i));
  EXPECT_EQ(turns, (std::vector<int>{0, 1}));
  gate.Leave();
  EXPECT_EQ(turns, (std::vector<int>{0, 1, 2}));
  for (int i = 0; i < 3; ++i) gate.Leave();
  EXPECT_EQ(turns, (std::vector<int>{0, 1, 2, 3}));
  for (int i = 4; i < 7; ++i) gate.Enter(std::make_shared<Recorder>(&turns, i));
  EXPECT_EQ(turns.size(), 6u);  // both places are free again
}

TEST(ArrivalGateTest, CallsThatHaveEndedMeanwhileGiveTheirTurnOn) {
  ArrivalGate gate(1);
  std::vector<int> turns;
  gate.Enter(std::make_shared<Recorder>(&turns, 0));
  gate.Enter(std::make_shared<Recorder>(&turns, 1, /*reads=*/false));
  gate.Enter(std::make_shared<Recorder>(&turns, 2, /*reads=*/false));
  gate.Enter(std::make_shared<Recorder>(&turns, 3));
  gate.Leave();
  EXPECT_EQ(turns, (std::vector<int>{0, 1, 2, 3}));
  gate.Leave();
  gate.Enter(std::make_shared<Recorder>(&turns, 4, /*reads=*/false));
  gate.Enter(std::make_shared<Recorder>(&turns, 5));
  EXPECT_EQ(turns.back(), 5);
}

TEST(ArrivalGateTest, ThreadsAreNeverMoreThanThePlaces) {
  constexpr int kPlaces = 3;
  constexpr int kCalls = 2000;
  ArrivalGate gate(kPlaces);
  std::atomic<int> reading{0}, most{0}, done{0};
  struct Call final : ArrivalGate::Waiter {
    explicit Call(std::atomic<int>& reading_in, std::atomic<int>& most_in)
        : reading(reading_in), most(most_in) {}
    bool OnTurn() override {
      const int now = reading.fetch_add(1) + 1;
      int seen = most.load();
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      turn.store(true);
      return true;
    }
    bool Wanted() const override { return true; }
    std::atomic<int>& reading;
    std::atomic<int>& most;
    std::atomic<bool> turn{false};
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) {
        const auto call = std::make_shared<Call>(reading, most);
        gate.Enter(call);
        while (!call->turn.load()) std::this_thread::yield();
        reading.fetch_sub(1);
        gate.Leave();
        done.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done.load(), 4 * kCalls);
  EXPECT_LE(most.load(), kPlaces);
}

}  // namespace
}  // namespace eris::server
