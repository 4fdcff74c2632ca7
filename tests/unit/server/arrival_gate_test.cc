#include "server/guard/arrival_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace eris::server {
namespace {

struct Recorder final : ArrivalGate::Waiter {
  // Each is a client of its own, unless `client` is given.
  explicit Recorder(std::vector<int>* turns_in, int number_in, bool reads_in = true,
                    const std::string& client = "")
      : Waiter(client.empty() ? ClientOf(number_in) : client),
        turns(*turns_in),
        number(number_in),
        reads(reads_in) {}
  static std::string ClientOf(int number) { return std::to_string(number); }
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
  gate.Leave("0");
  EXPECT_EQ(turns, (std::vector<int>{0, 1, 2}));
  for (int i = 1; i < 4; ++i) gate.Leave(std::to_string(i));
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
  gate.Leave("0");
  EXPECT_EQ(turns, (std::vector<int>{0, 1, 2, 3}));
  gate.Leave("3");
  gate.Enter(std::make_shared<Recorder>(&turns, 4, /*reads=*/false));
  gate.Enter(std::make_shared<Recorder>(&turns, 5));
  EXPECT_EQ(turns.back(), 5);
}

// Headers without a message: nobody leaves.
TEST(ArrivalGateTest, ClientWhoseMessagesNeverComeLeavesPlacesToOthers) {
  ArrivalGate gate(8);
  std::vector<int> turns;
  for (int i = 0; i < 100; ++i) gate.Enter(std::make_shared<Recorder>(&turns, i, true, "silent"));
  EXPECT_EQ(turns.size(), 4u);
  for (int i = 100; i < 200; ++i) {
    gate.Enter(std::make_shared<Recorder>(&turns, i, true, "other"));
    ASSERT_EQ(turns.back(), i) << "read at once, after " << turns.size() << " turns";
    gate.Leave("other");
  }
  EXPECT_EQ(gate.waiting(), 96u);
}

TEST(ArrivalGateTest, ClientsTakeTurnsAndCallsOfOneKeepTheirOrder) {
  ArrivalGate gate(1);
  std::vector<int> turns;
  const auto enter = [&](int number, const std::string& client) {
    gate.Enter(std::make_shared<Recorder>(&turns, number, true, client));
  };
  enter(0, "a");
  for (int i = 1; i < 4; ++i) enter(i, "b");
  enter(4, "c");
  gate.Leave("a");
  for (const char* client : {"b", "c", "b", "b"}) gate.Leave(client);
  EXPECT_EQ(turns, (std::vector<int>{0, 1, 4, 2, 3}));
  EXPECT_EQ(gate.waiting(), 0u);
}

// A client over its share waits while places are free, and goes on when it has given one back.
TEST(ArrivalGateTest, ClientOverItsShareGoesOnWithItsOwnPlaces) {
  ArrivalGate gate(4);
  std::vector<int> turns;
  for (int i = 0; i < 5; ++i) gate.Enter(std::make_shared<Recorder>(&turns, i, true, "a"));
  EXPECT_EQ(turns, (std::vector<int>{0, 1}));
  gate.Leave("a");
  EXPECT_EQ(turns, (std::vector<int>{0, 1, 2}));
  gate.Enter(std::make_shared<Recorder>(&turns, 5, true, "b"));
  gate.Leave("a");
  EXPECT_EQ(turns, (std::vector<int>{0, 1, 2, 5, 3})) << "it holds 1, and 2 are free";
  gate.Leave("b");
  EXPECT_EQ(turns, (std::vector<int>{0, 1, 2, 5, 3})) << "it holds 2, and 2 are free";
}

TEST(ArrivalGateTest, CallsThatNobodyWantsAreForgottenForEachClient) {
  ArrivalGate gate(1);
  std::vector<int> turns;
  gate.Enter(std::make_shared<Recorder>(&turns, 0));
  for (int i = 1; i < 10; ++i) {
    gate.Enter(std::make_shared<Recorder>(&turns, i, /*reads=*/i > 6, i % 2 == 0 ? "a" : "b"));
  }
  for (int i = 0; i < 5; ++i) gate.Forget();
  EXPECT_EQ(gate.waiting(), 3u);
  gate.Leave("0");
  gate.Leave("b");
  gate.Leave("a");
  EXPECT_EQ(turns, (std::vector<int>{0, 7, 8, 9}));
}

TEST(ArrivalGateTest, ThreadsAreNeverMoreThanThePlaces) {
  constexpr int kPlaces = 3;
  constexpr int kCalls = 2000;
  ArrivalGate gate(kPlaces);
  std::atomic<int> reading{0}, most{0}, done{0};
  struct Call final : ArrivalGate::Waiter {
    Call(std::string client, std::atomic<int>& reading_in, std::atomic<int>& most_in)
        : Waiter(std::move(client)), reading(reading_in), most(most_in) {}
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
    threads.emplace_back([&, client = std::to_string(t / 2)] {
      for (int i = 0; i < kCalls; ++i) {
        const auto call = std::make_shared<Call>(client, reading, most);
        gate.Enter(call);
        while (!call->turn.load()) std::this_thread::yield();
        reading.fetch_sub(1);
        gate.Leave(client);
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
