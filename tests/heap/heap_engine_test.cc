// As heap_failure_test.cc, of the engine's own calls: opening it, what it tells of itself, and
// moving ranges in other ways than MoveRange.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tests/heap/heap_lab.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

using test::ActsAs;
using test::FailingHeap;
using test::HeapLab;
using test::HeapUser;

constexpr uint64_t kEngineRows = 200;

const auto kNothing = [](const absl::Status&) {};

// Calls without a status throw.
template <class Call>
absl::Status Thrown(Call call) {
  try {
    HeapLab::InEngine(call);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("thrown");
  }
  return absl::OkStatus();
}

class HeapEngineTest : public testing::TestWithParam<HeapUser> {
 protected:
  void SetUp() override {
    for (uint64_t i = 0; i < kEngineRows; ++i) keys_.push_back(i * 10);
    session_ = lab_.engine().NewSession();
    ASSERT_TRUE(lab_.Do([&] {
      object_ = test::Create(lab_.engine(), "o", {.split_points = {kEngineRows * 5}});
      return session_->Upsert(object_, keys_, keys_).ok();
    }));
  }
  ~HeapEngineTest() override {
    const ActsAs test(HeapUser::kTest);
    session_.reset();
  }
  void ExpectRows() {
    std::vector<uint64_t> values(kEngineRows);
    std::vector<uint8_t> found(kEngineRows);
    ASSERT_TRUE(lab_.Do([&] {
                      return session_->Lookup(object_, keys_, absl::MakeSpan(values),
                                              absl::MakeSpan(found));
                    })
                    .ok());
    ASSERT_EQ(values, keys_);
  }

  HeapLab lab_{GetParam(), 3};
  std::unique_ptr<Session> session_;
  std::vector<uint64_t> keys_{};
  Object object_;
};

TEST_P(HeapEngineTest, WhatItTellsOfItself) {
  const ActsAs test(HeapUser::kTest);
  Engine& engine = lab_.engine();
  const auto told = [&](const std::string& name, const std::function<void()>& call) {
    lab_.ForEachFailure(
        name, [&] { return Thrown(call); }, kNothing);
  };
  told("list", [&] { (void)engine.List(); });
  told("stats", [&] { (void)engine.Stats(); });
  told("memory", [&] { (void)engine.Memory(); });
  told("explain topology", [&] { (void)engine.ExplainTopology(); });
  told("notes", [&] { (void)engine.Notes(); });
  told("balancer", [&] { (void)engine.Balancer(); });
  told("transfer history", [&] { (void)engine.TransferHistory(); });
  const auto asked = [&](const std::string& name, const std::function<absl::Status()>& call) {
    lab_.ForEachFailure(
        name, [&] { return HeapLab::InEngine(call); }, kNothing);
  };
  asked("describe", [&] { return engine.Describe("o").status(); });
  asked("session of a NumaNode", [&] { return engine.NewSession(NumaNodeId{0}).status(); });
  asked("hot ranges", [&] { return engine.FindHotRanges("o").status(); });
  asked("verify memory", [&]() -> absl::Status {
    const absl::Status status = engine.VerifyMemory({.pages_max = 64, .rows = true}).status();
    // A system that does not tell where pages lie.
    const bool untold = absl::IsFailedPrecondition(status) || absl::IsUnimplemented(status);
    return untold ? absl::OkStatus() : status;
  });
  Options machine;
  machine.topology = "numa:2 core:2 pu:1";
  asked("plan of the machine", [&] { return ExplainTopology(machine).status(); });
}

TEST_P(HeapEngineTest, OptionsChangeOrNot) {
  const ActsAs test(HeapUser::kTest);
  BalancerOptions options = lab_.engine().Balancer().options;
  lab_.ForEachFailure(
      "set balancer",
      [&] {
        ++options.window;
        return HeapLab::InEngine([&] { return lab_.engine().SetBalancer(options); });
      },
      [&](const absl::Status& status) {
        const uint32_t window = lab_.engine().Balancer().options.window;
        EXPECT_EQ(window == options.window, status.ok());
      });
  lab_.ForEachFailure(
      "set scheduling",
      [&] {
        return HeapLab::InEngine(
            [&] { return lab_.engine().SetTaskScheduling(TaskScheduling::kOwn); });
      },
      kNothing);
}

TEST_P(HeapEngineTest, RangesMoveAndNothingIsLost) {
  const ActsAs test(HeapUser::kTest);
  const auto check = [&](const absl::Status&) { ExpectRows(); };
  lab_.ForEachFailure(
      "plan",
      [&] { return HeapLab::InEngine([&] { return lab_.engine().PlanBalance("o"); }).status(); },
      check);
  lab_.ForEachFailure(
      "rebalance",
      [&] { return HeapLab::InEngine([&] { return lab_.engine().Rebalance("o"); }).status(); },
      check);
  uint64_t cut = 0;
  lab_.ForEachFailure(
      "presplit",
      [&] {
        // Another range each time, so that there is something to move.
        cut = (cut + 370) % (kEngineRows * 9);
        return HeapLab::InEngine(
            [&] { return lab_.engine().Presplit("o", {.lo = cut, .hi = cut + 90}, 3); });
      },
      check);
}

// A drop that counts other writes changes nothing, whatever fails in it.
TEST_P(HeapEngineTest, DropsIfWritten) {
  const ActsAs test(HeapUser::kTest);
  const ObjectId id = object_.id();
  lab_.ForEachFailure(
      "drop if written",
      [&]() -> absl::Status {
        const absl::Status dropped = HeapLab::InEngine(
            [&] { return lab_.engine().DropIfWritten("o", id, kEngineRows + 1); });
        // The count is another one on purpose: this refusal is the call's success here.
        return absl::IsFailedPrecondition(dropped) ? absl::OkStatus() : dropped;
      },
      [&](const absl::Status&) { ExpectRows(); });
}

INSTANTIATE_TEST_SUITE_P(All, HeapEngineTest,
                         testing::Values(HeapUser::kCaller, HeapUser::kAeu, HeapUser::kEngine),
                         [](const testing::TestParamInfo<HeapUser>& user) {
                           return std::string(test::NameOf(user.param));
                         });

class HeapOpenTest : public testing::TestWithParam<HeapUser> {};

size_t Threads() {
  size_t threads = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    (void)entry;
    ++threads;
  }
  return threads;
}

// Waits until there are no more than `expected` threads, at most ten seconds: the kernel lets a
// join return a moment before it takes the thread out of its list.
size_t ThreadsAfterJoins(size_t expected) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (Threads() > expected && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return Threads();
}

// Opening an engine with threads of its own: it is open and works, or there is nothing of it.
TEST_P(HeapOpenTest, OpensOrNot) {
  const ActsAs test(HeapUser::kTest);
  constexpr uint64_t kTriesMax = 20'000;
  Options options = test::SmallOptions(2, "numa:1 core:2 pu:1");
  options.memory_limit_bytes = 64 << 20;
  const size_t threads = Threads();
  (void)test::OpenEngine(options);  // what a process does once
  ASSERT_LE(ThreadsAfterJoins(threads), threads);
  uint64_t failures = 0, refused = 0;
  for (uint64_t nth = 1, failed = 1; failed > 0; ++nth) {
    ASSERT_LT(nth, kTriesMax);
    SCOPED_TRACE(nth);
    FailingHeap::FailFrom(GetParam(), nth);
    auto engine = HeapLab::InEngine([&] { return Engine::Open(options); });
    failed = FailingHeap::Stop();
    failures += failed;
    if (!engine.ok()) {
      ++refused;
      ASSERT_TRUE(absl::IsResourceExhausted(engine.status())) << engine.status();
      ASSERT_GT(failed, 0u);
    } else {
      const Object object = test::Create(**engine, "o");
      const std::unique_ptr<Session> session = (*engine)->NewSession();
      ASSERT_TRUE(
          session
              ->Upsert(object, std::vector<uint64_t>{1, ~uint64_t{0}}, std::vector<uint64_t>{2, 3})
              .ok());
    }
    engine = absl::UnknownError("closed");
    ASSERT_LE(ThreadsAfterJoins(threads), threads);
  }
  std::cout << "open: " << failures << " failures, " << refused << " engines refused\n";
}

INSTANTIATE_TEST_SUITE_P(All, HeapOpenTest, testing::Values(HeapUser::kCaller, HeapUser::kEngine),
                         [](const testing::TestParamInfo<HeapUser>& user) {
                           return std::string(test::NameOf(user.param));
                         });

}  // namespace
}  // namespace eris
