// An engine stepped by hand whose general heap fails: every allocation of one kind of thread in
// turn, while a call runs. Its memory, not the test's: what calls the engine says so.
#ifndef ERIS_TESTS_HEAP_HEAP_LAB_H_
#define ERIS_TESTS_HEAP_HEAP_LAB_H_

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "eris/engine.h"
#include "tests/heap/failing_heap.h"
#include "tests/support/hand_engine.h"

namespace eris::test {

inline const char* NameOf(HeapUser user) {
  constexpr const char* kNames[] = {"Test", "Caller", "Aeu", "Engine"};
  return kNames[static_cast<int>(user)];
}

class HeapLab {
 public:
  explicit HeapLab(HeapUser user, uint32_t aeus = 2) : user_(user), engine_(aeus) {}
  ~HeapLab() {
    const ActsAs test(HeapUser::kTest);
    engine_.Close();
  }

  Engine& engine() { return *engine_; }

  // Runs `call` while AEUs are stepped; nothing fails.
  template <class Call>
  auto Do(Call call) {
    return engine_.While([&] {
      const ActsAs test(HeapUser::kTest);
      return call();
    });
  }

  // Within the `call` of ForEachFailure: a call of the engine.
  template <class Call>
  static auto InEngine(Call call) {
    const ActsAs caller(HeapUser::kCaller);
    return call();
  }
  // An asynchronous one, and its callback's argument. `start` is given the callback.
  template <class Result, class Start>
  static absl::Status Async(Start start, Result& result) {
    struct Answer {
      std::atomic<bool> there{false};  // release and acquire: publishes the result
      Result* result;
    } answer{.result = &result};
    const auto started = InEngine([&] {
      return start([&answer](Result given) {
        const ActsAs test(HeapUser::kTest);
        *answer.result = std::move(given);
        answer.there.store(true, std::memory_order_release);
      });
    });
    if (!started.ok()) return started.status();
    HandEngine::Await([&] { return answer.there.load(std::memory_order_acquire); });
    return absl::OkStatus();
  }

  // Runs `call` on a thread of its own with one failure after the other, and then `check`, until
  // none is left; then again with many failures in a row. The call says RESOURCE_EXHAUSTED or
  // nothing, throws nothing, and ends.
  void ForEachFailure(const std::string& name, const std::function<absl::Status()>& call,
                      const std::function<void(const absl::Status&)>& check) {
    uint64_t failures = 0, said = 0;
    for (const uint64_t times : {1, 16}) {
      // Every third one where failures come in rows, which overlap all the same.
      for (uint64_t nth = 1;; nth += times > 1 ? 3 : 1) {
        ASSERT_LT(nth, kTriesMax) << name;
        absl::Status status;
        const uint64_t failed = Try(nth, times, call, status);
        SCOPED_TRACE(absl::StrCat(name, ", allocation ", nth, ", ", times, " in a row"));
        EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
        ExpectQuiet();
        check(status);
        if (testing::Test::HasFailure()) return;
        failures += failed;
        said += !status.ok();
        if (failed == 0) break;
        EXPECT_LE(failed, times);
      }
    }
    std::cout << name << ": " << failures << " failures, " << said << " calls said so\n";
  }

  // Runs `call` on a thread of its own; `times` allocations fail, from the nth on. How many have.
  uint64_t Try(uint64_t nth, uint64_t times, const std::function<absl::Status()>& call,
               absl::Status& status) {
    std::atomic<bool> done{false};
    // noexcept: an exception ends the program where it is thrown.
    std::thread thread([&]() noexcept {
      const ActsAs test(HeapUser::kTest);
      FailingHeap::FailFrom(user_, nth, times);
      status = call();
      done.store(true);
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done.load()) {
      if (!Step()) sched_yield();
      ERIS_CHECK(std::chrono::steady_clock::now() < end);
    }
    thread.join();
    // What AEUs still do for it.
    while (Step()) {
    }
    return FailingHeap::Stop();
  }

  // No call has left anything behind, once AEUs and completion threads have done what they still
  // had to do.
  void ExpectQuiet() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    EngineStats stats = engine().Stats();
    const auto quiet = [&] {
      return stats.scans_open + stats.scan_chunks_in_use + stats.requests_in_flight == 0;
    };
    while (!quiet() && std::chrono::steady_clock::now() < end) {
      if (!Step()) sched_yield();
      stats = engine().Stats();
    }
    EXPECT_EQ(stats.scans_open, 0u);
    EXPECT_EQ(stats.scan_chunks_in_use, 0u);
    EXPECT_EQ(stats.requests_in_flight, 0u);
  }

 private:
  static constexpr uint64_t kTriesMax = 4'000;

  bool Step() noexcept {
    const ActsAs aeu(HeapUser::kAeu);
    return engine_.StepAll();
  }

  const HeapUser user_;
  HandEngine engine_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_HEAP_HEAP_LAB_H_
