// Queries that end at any moment, with AEUs stepped by hand: whichever way, everything is given
// back. Rows go between the AEUs wherever they can.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aeu/state/reserve_more.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

constexpr uint32_t kEndAeus = 3;
constexpr uint64_t kEndRows = 9000;
constexpr auto kFailOnce = memory::FailurePoint::Mode::kOnce;

// A join, and its groups.
QueryPlan JoinedGroups() {
  QueryPlan plan;
  plan.nodes = {ReadNode{.object = "a"}, ReadNode{.object = "b"},
                JoinNode{.left = 0, .right = 1, .keys = {{.left = 0, .right = 1}}},
                AggregateNode{.input = 2, .keys = {0, 1}, .measures = {{}}}};
  return plan;
}

class QueryEndTest : public testing::Test {
 protected:
  QueryEndTest() {
    engine_->core().query_limits = {.merged_at_home = 0, .stay_at_home = 0, .built_per_row = 0};
    for (const char* name : {"a", "b"}) {
      const Object object =
          engine_.Create(name, {.kind = ObjectKind::kTable, .expected = {0, kEndRows}});
      std::vector<uint64_t> keys(kEndRows);
      std::iota(keys.begin(), keys.end(), 0);
      const ColumnView columns[] = {test::ColumnOf(keys), test::ColumnOf(keys)};
      EXPECT_TRUE(engine_
                      .While([&] {
                        return session_->Write(object, {.rows = {kEndRows, columns}}).status;
                      })
                      .ok());
    }
  }

  std::unique_ptr<Scan> Open() { return test::OrDie(session_->OpenQuery(JoinedGroups())); }
  Scan::NextResult Next(Scan& scan) {
    return engine_.While([&] { return scan.Next(); });
  }
  // Until the next chunk, or what else there is, has come.
  struct Asked {
    std::atomic<bool> done{false};
    std::optional<Scan::NextResult> result{};
  };
  static void Ask(Scan& scan, Asked& asked) {
    scan.NextAsync([&](Scan::NextResult next) {
      asked.result = std::move(next);
      asked.done.store(true);
    });
  }
  // The number of rows of all chunks.
  uint64_t ReadAll(Scan& scan) {
    uint64_t rows = 0;
    for (;;) {
      auto chunk = Next(scan);
      EXPECT_TRUE(chunk.ok()) << chunk.status();
      if (!chunk.ok() || *chunk == nullptr) return rows;
      rows += (*chunk)->rows();
    }
  }
  void ExpectNothingLeft() {
    engine_.StepUntil([&] {
      return engine_->core().in_flight.count() == 0 && engine_->core().queries.size() == 0 &&
             engine_->core().query_memory->used() == 0;
    });
  }

  test::HandEngine engine_{kEndAeus};
  std::unique_ptr<Session> session_ = engine_->NewSession();
};

TEST_F(QueryEndTest, AllRowsThenNothing) {
  for (int round = 0; round < 3; ++round) {
    auto query = Open();
    EXPECT_EQ(ReadAll(*query), kEndRows);
    EXPECT_GT(engine_->core().query_memory->used(), 0u);
    query.reset();
    ExpectNothingLeft();
  }
}

// The chunk is read where an AEU has made it.
TEST_F(QueryEndTest, AChunkKeepsItsQuery) {
  auto query = Open();
  auto chunk = Next(*query);
  ASSERT_TRUE(chunk.ok()) << chunk.status();
  query.reset();
  for (int step = 0; step < 100; ++step) engine_.StepAll();
  std::set<uint64_t> keys;
  const auto* const column = static_cast<const uint64_t*>((*chunk)->column(0).values);
  for (uint64_t row = 0; row < (*chunk)->rows(); ++row) keys.insert(column[row]);
  EXPECT_EQ(keys.size(), (*chunk)->rows());
  EXPECT_LT(*keys.rbegin(), kEndRows);
  EXPECT_GT(engine_->core().query_memory->used(), 0u);
  chunk->reset();
  ExpectNothingLeft();
}

// After any number of turns, which is in any stage.
TEST_F(QueryEndTest, CancelledAtAnyMoment) {
  bool ended = false;
  for (int steps = 0; !ended; steps += 1 + steps / 8) {
    auto query = Open();
    Asked asked;
    Ask(*query, asked);
    for (int step = 0; step < steps && !asked.done.load(); ++step) {
      engine_.StepAll();
      if (step % 4 == 0) sched_yield();
    }
    ended = asked.done.load();
    query->Cancel();
    engine_.StepUntil([&] { return asked.done.load(); });
    if (!ended && !asked.result->ok()) {
      EXPECT_EQ(asked.result->status().code(), absl::StatusCode::kCancelled);
    }
    asked.result.reset();
    query.reset();
    ExpectNothingLeft();
    ASSERT_LT(steps, 1'000'000);
  }
}

// The reader goes away and says nothing.
TEST_F(QueryEndTest, LeftAtAnyMoment) {
  for (int steps = 0; steps < 60; ++steps) {
    auto query = Open();
    auto next =
        engine_.While([&] { return query->Next(absl::Now() + absl::Microseconds(50 * steps)); });
    if (!next.ok()) {
      EXPECT_EQ(next.status().code(), absl::StatusCode::kDeadlineExceeded);
    }
    next = nullptr;  // a chunk would keep the query
    query.reset();
    ExpectNothingLeft();
  }
}

TEST_F(QueryEndTest, ADroppedObjectEndsIt) {
  auto query = Open();
  EXPECT_TRUE(engine_.While([&] { return engine_->Drop("b"); }).ok());
  EXPECT_EQ(Next(*query).status().code(), absl::StatusCode::kNotFound);
  query.reset();
  ExpectNothingLeft();
}

// AEUs that have no memory to begin a stage, a scan, or the end: the query fails, and what it has
// is freed all the same, once there is memory.
TEST_F(QueryEndTest, AnAeuWithoutMemoryToBegin) {
  for (uint64_t nth = 1; nth < 40; ++nth) {
    aeu::ReserveFailures().Arm(nth, kFailOnce);
    auto query = Open();
    for (;;) {
      const auto chunk = Next(*query);
      if (!chunk.ok()) {
        EXPECT_EQ(chunk.status().code(), absl::StatusCode::kResourceExhausted);
      }
      if (!chunk.ok() || *chunk == nullptr) break;
    }
    query.reset();
    ExpectNothingLeft();
    aeu::ReserveFailures().Arm(0, kFailOnce);
  }
  auto query = Open();
  EXPECT_EQ(ReadAll(*query), kEndRows);
}

// No AEU can be told when the reader has released its rows: what has come from others is freed
// with the engine.
TEST_F(QueryEndTest, ReleasedAfterTheEngineHasClosed) {
  auto query = Open();
  auto chunk = Next(*query);
  ASSERT_TRUE(chunk.ok()) << chunk.status();
  engine_.Close();
  EXPECT_GT((*chunk)->rows(), 0u);
  EXPECT_EQ(query->Next().status().code(), absl::StatusCode::kUnavailable);
  chunk->reset();
  query.reset();
}

// While stages are under way, too.
class QueryCloseTest : public QueryEndTest, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Turns, QueryCloseTest, testing::Values(0, 1, 2, 5, 10, 20, 40, 80, 160));

TEST_P(QueryCloseTest, ClosedAtAnyMoment) {
  auto query = Open();
  Asked asked;
  Ask(*query, asked);
  for (int step = 0; step < GetParam(); ++step) {
    engine_.StepAll();
    if (step % 4 == 0) sched_yield();
  }
  engine_.Close();
  EXPECT_TRUE(asked.done.load());
  asked.result.reset();
  query.reset();
}

}  // namespace
}  // namespace eris
