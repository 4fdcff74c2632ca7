// An engine with threads of its own, none of which gets any memory of the general heap for a while:
// AEUs, the balancer, the completion thread. Calls end, with RESOURCE_EXHAUSTED at the worst, and
// everything is as before once there is memory again.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "eris/engine.h"
#include "tests/heap/failing_heap.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

using test::ActsAs;
using test::FailingHeap;
using test::HeapUser;

constexpr uint64_t kThreadRows = 2'000;
constexpr int kRounds = 30;

bool OkOrNoMemory(const absl::Status& status) {
  return status.ok() || absl::IsResourceExhausted(status);
}

TEST(HeapThreadsTest, AnEngineGoesOnAfterItsThreadsHadNoMemory) {
  const ActsAs test(HeapUser::kTest);
  Options options = test::SmallOptions(2, "numa:1 core:2 pu:1");
  options.balancer.enabled = true;
  options.balancer.period_ms = 10;
  const std::unique_ptr<Engine> opened = test::OpenEngine(options);
  Engine& engine = *opened;
  // All rows are one AEU's.
  const Object o = test::Create(engine, "o", {.split_points = {1 << 20}});
  const std::unique_ptr<Session> session = engine.NewSession();
  std::vector<uint64_t> keys, values;
  for (uint64_t i = 0; i < kThreadRows; ++i) keys.push_back(i * 7), values.push_back(i);
  ASSERT_TRUE(session->Upsert(o, keys, values).ok());

  const uint64_t cycles = engine.Balancer().cycles;
  FailingHeap::FailFrom(HeapUser::kEngine, 1, FailingHeap::kAllOthers);
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_TRUE(OkOrNoMemory(session->Upsert(o, keys, values)));
    std::vector<uint64_t> out(kThreadRows);
    std::vector<uint8_t> found(kThreadRows);
    EXPECT_TRUE(OkOrNoMemory(session->Lookup(o, keys, absl::MakeSpan(out), absl::MakeSpan(found))));
    EXPECT_TRUE(OkOrNoMemory(session->Aggregate(o, {}).status()));
    EXPECT_TRUE(OkOrNoMemory(engine.Create("other", {}).status()));
    const absl::Status dropped = engine.Drop("other");
    EXPECT_TRUE(dropped.ok() || absl::IsNotFound(dropped)) << dropped;
    EXPECT_TRUE(
        OkOrNoMemory(engine.MoveRange("o", KeyRange{}, AeuId{static_cast<uint32_t>(round) % 2})));
    struct Answer {
      std::atomic<bool> there{false};  // release and acquire: publishes the status
      absl::Status status;
    } answer;
    const auto pending = session->LookupAsync(o, keys, [&answer](BatchResult result) {
      answer.status = std::move(result.status);
      answer.there.store(true, std::memory_order_release);
    });
    ASSERT_TRUE(pending.ok()) << pending.status();
    test::HandEngine::Await([&] { return answer.there.load(std::memory_order_acquire); });
    EXPECT_TRUE(OkOrNoMemory(answer.status)) << answer.status;
  }
  // The balancer's thread has tried as well.
  EXPECT_GT(FailingHeap::Stop(), 0u);

  test::HandEngine::Await([&] { return engine.Balancer().cycles > cycles; });
  std::vector<uint64_t> out(kThreadRows);
  std::vector<uint8_t> found(kThreadRows);
  ASSERT_TRUE(session->Lookup(o, keys, absl::MakeSpan(out), absl::MakeSpan(found)).ok());
  EXPECT_EQ(out, values);
  EXPECT_TRUE(engine.Create("other", {}).ok());
  EXPECT_TRUE(engine.MoveRange("o", KeyRange{}, AeuId{0}).ok());
}

}  // namespace
}  // namespace eris
