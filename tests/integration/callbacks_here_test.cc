// A thread that takes part in the engine's work: what it starts is executed on its core, callbacks
// run where its window ends, each once, also while other threads do the same and while the load is
// more than a visitor may bring.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "eris/engine.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

// On the machine as it is, and with sessions of two NumaNodes.
class CallbacksHereTest : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Engine> engine_ = test::OpenEngine(test::SmallOptions(2, GetParam()));
  const Object counted_ = test::Create(*engine_, "counted", {.expected = {0, 100'000}});
};

void StayOn(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(cpu), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
}

TEST_P(CallbacksHereTest, EachCallbackRunsOnceAndSomeWhereTheWindowEnds) {
  std::vector<std::thread> threads;
  std::atomic<uint64_t> run_here = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      cpu_set_t allowed;
      ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
      int cpu = sched_getcpu();
      if (t % 2 == 1) {
        for (int other = 0; other < CPU_SETSIZE; ++other) {
          if (other != cpu && CPU_ISSET(static_cast<size_t>(other), &allowed)) cpu = other;
        }
      }
      StayOn(cpu);
      const auto session = engine_->NewSession();
      const std::thread::id here = std::this_thread::get_id();
      for (uint64_t round = 0; round < 500; ++round) {
        // Some too large for a visitor.
        std::vector<uint64_t> keys(round % 50 == 0 ? 5000 : 1 + round % 7);
        std::iota(keys.begin(), keys.end(), static_cast<uint64_t>(t) * 25'000 + round * 13);
        const std::vector<uint64_t> values(keys.size(), round);
        std::atomic<int> runs = 0;
        {
          const CallbacksHere window(*engine_);
          const auto pending =
              session->UpsertAsync(counted_, keys, values, [&](BatchResult result) {
                EXPECT_TRUE(result.status.ok()) << result.status;
                if (std::this_thread::get_id() == here) run_here.fetch_add(1);
                runs.fetch_add(1);
                runs.notify_all();
              });
          ASSERT_TRUE(pending.ok()) << pending.status();
        }
        runs.wait(0);
        ASSERT_EQ(runs.load(), 1);
        std::vector<uint64_t> found_values(keys.size());
        std::vector<uint8_t> found(keys.size());
        ASSERT_TRUE(
            session->Lookup(counted_, keys, absl::MakeSpan(found_values), absl::MakeSpan(found))
                .ok());
        ASSERT_EQ(found_values, values);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(run_here.load(), 0u);
}

// What blocks inside the window waits for a callback that this thread itself has put off.
TEST_P(CallbacksHereTest, ABlockingCallInsideTheWindowReturns) {
  const auto session = engine_->NewSession();
  const std::vector<uint64_t> keys = {1, 60'000}, values = {10, 20};
  ASSERT_TRUE(session->Upsert(counted_, keys, values).ok());
  for (int i = 0; i < 2000; ++i) {
    StayOn(sched_getcpu());
    const CallbacksHere window(*engine_);
    const auto sum = session->Aggregate(counted_, {}, absl::Now() + absl::Seconds(60));
    ASSERT_TRUE(sum.ok()) << sum.status();
    ASSERT_EQ(sum->count, 2u);
  }
}

INSTANTIATE_TEST_SUITE_P(Topologies, CallbacksHereTest, testing::Values("", "numa:2 core:1 pu:1"));

}  // namespace
}  // namespace eris
