// Joins with AEUs stepped by hand: blocks in rounds, ends of every kind at every moment, and
// everything given back after each.
#include "engine/reads/join_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/hand_engine.h"
#include "tests/unit/engine/join_lab.h"

namespace eris {
namespace {

using Chunk = absl::StatusOr<std::optional<JoinChunk>>;
using engine::JoinState;
using storage::Key;
using storage::Range;
using test::JoinLab;

// Through the public interface; half of the rows at either AEU, each joined with itself.
constexpr uint64_t kRows = 100'000;

class JoinStateTest : public testing::Test {
 protected:
  JoinStateTest() {
    session_ = engine_->NewSession();
    std::vector<uint64_t> keys(10'000);
    for (const char* object : {"a", "b"}) {
      EXPECT_TRUE(
          engine_.While([&] {
                   return engine_->Create(object, {.expected = {0, kRows}}).status();
                 })
              .ok());
      for (uint64_t from = 0; from < kRows; from += keys.size()) {
        std::iota(keys.begin(), keys.end(), from);
        EXPECT_TRUE(engine_.While([&] { return session_->Upsert(object, keys, keys); }).ok());
      }
    }
  }
  ~JoinStateTest() override { ExpectNothingLeft(); }

  std::unique_ptr<Join> Open(const JoinOptions& options = {}) {
    auto join = session_->OpenJoin("a", "b", options);
    EXPECT_TRUE(join.ok()) << join.status();
    return *std::move(join);
  }
  Chunk Next(Join& join) {
    return engine_.While([&] { return join.Next(); });
  }
  void ExpectNothingLeft() {
    engine_.StepUntil([&] {
      return engine_->core().in_flight.count() == 0 && engine_->core().joins.size() == 0;
    });
    EXPECT_EQ(engine_->core().chunks->in_use(), 0u);
  }
  uint64_t Count(Join& join) {
    uint64_t rows = 0;
    for (;;) {
      Chunk chunk = Next(join);
      EXPECT_TRUE(chunk.ok()) << chunk.status();
      if (!chunk.ok() || !*chunk) return rows;
      rows += (*chunk)->outer_keys().size();
    }
  }

  test::HandEngine engine_{2, [](Options& options) { options.scan_chunks_max = 8; }};
  std::unique_ptr<Session> session_;
};

TEST_F(JoinStateTest, AJoinTakesAQuarterOfThePoolAtMostAndGivesItBack) {
  auto join = Open();
  EXPECT_EQ(engine_->core().chunks->in_use(), 2u);
  EXPECT_EQ(Count(*join), kRows);
  EXPECT_FALSE(*Next(*join));  // and stays at its end
  join.reset();
  ExpectNothingLeft();
}

TEST_F(JoinStateTest, AnEmptyPoolIsResourceExhaustedUntilJoinsEnd) {
  std::vector<std::unique_ptr<Join>> joins;
  for (int i = 0; i < 4; ++i) joins.push_back(Open());
  EXPECT_EQ(session_->OpenJoin("a", "b", {}).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Count(*joins[0]), kRows);
  joins.clear();
  ExpectNothingLeft();
  EXPECT_EQ(Count(*Open()), kRows);
}

TEST_F(JoinStateTest, EmptyRangesAskNobody) {
  EXPECT_EQ(Count(*Open({.range = {7, 7}, .inner_values = {}})), 0u);
  EXPECT_EQ(Count(*Open({.range = {}, .inner_values = KeyRange{7, 7}})), 0u);
  EXPECT_EQ(engine_->core().chunks->in_use(), 0u);
}

TEST_F(JoinStateTest, AReaderThatKeepsAllChunksIsToldSo) {
  auto join = Open();
  std::vector<JoinChunk> kept;
  uint64_t rows = 0;
  Chunk chunk = Next(*join);
  while (chunk.ok() && *chunk) {
    rows += (*chunk)->outer_keys().size();
    kept.push_back(*std::move(*chunk));
    chunk = Next(*join);
  }
  EXPECT_EQ(kept.size(), 8u);
  EXPECT_EQ(chunk.status().code(), absl::StatusCode::kFailedPrecondition);
  kept.clear();
  EXPECT_EQ(rows + Count(*join), kRows);
}

TEST_F(JoinStateTest, AChunkOutlivesItsJoin) {
  auto join = Open();
  Chunk chunk = Next(*join);
  ASSERT_TRUE(chunk.ok());
  JoinChunk kept = *std::move(*chunk);
  join.reset();
  while (engine_.StepAll()) {
  }
  EXPECT_EQ(kept.join_keys()[100], kept.outer_keys()[100]);
  EXPECT_EQ(kept.values()[100], kept.outer_keys()[100]);
  EXPECT_GT(engine_->core().chunks->in_use(), 0u);
}

TEST_F(JoinStateTest, ADeadlineEndsTheWaitAndTheJoinGoesOn) {
  auto join = Open();
  EXPECT_EQ(join->Next(absl::Now() + absl::Milliseconds(10)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Count(*join), kRows);
}

TEST_F(JoinStateTest, CancelFromAnotherThreadEndsAWaitingNext) {
  auto join = Open();
  std::optional<Chunk> got;
  std::thread reader([&] { got.emplace(join->Next()); });
  join->Cancel();  // no AEU has moved
  reader.join();
  EXPECT_EQ(got->status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(join->Next().status().code(), absl::StatusCode::kCancelled);
}

// After every number of turns that a join takes, one AEU ahead of the other.
TEST_F(JoinStateTest, AJoinMayBeDestroyedAtAnyMoment) {
  for (uint32_t first = 0; first < 2; ++first) {
    for (int turns = 0; turns < 12; ++turns) {
      auto join = Open();
      for (int turn = 0; turn < turns; ++turn) {
        engine_->aeu({first}).Step({.scan_ns = 0});
        if (turn % 3 == 2) engine_->aeu({1 - first}).Step({.scan_ns = 0});
      }
      join.reset();
      ExpectNothingLeft();
    }
  }
}

TEST_F(JoinStateTest, AnObjectDroppedMidWayIsNotFound) {
  for (const char* object : {"a", "b"}) {
    auto join = session_->OpenJoin("a", "b", {});
    if (!join.ok()) {  // of the second round: the name is gone
      EXPECT_EQ(join.status().code(), absl::StatusCode::kNotFound);
      join = session_->OpenJoin("b", "b", {});
    }
    ASSERT_TRUE(Next(**join).ok());
    EXPECT_TRUE(engine_.While([&] { return engine_->Drop(object); }).ok());
    // What was already answered may still come.
    Chunk chunk = Next(**join);
    for (int i = 0; i < 8 && chunk.ok(); ++i) chunk = Next(**join);
    EXPECT_EQ(chunk.status().code(), absl::StatusCode::kNotFound) << chunk.status();
  }
}

TEST_F(JoinStateTest, AnEngineClosedMidWayIsUnavailable) {
  auto join = Open();
  Chunk chunk = Next(*join);
  ASSERT_TRUE(chunk.ok());
  engine_.Close();
  EXPECT_EQ(join->Next().status().code(), absl::StatusCode::kUnavailable);
  join->Cancel();  // the first reason stays
  EXPECT_EQ(join->Next().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*chunk)->values()[7], (*chunk)->outer_keys()[7]);
  int calls = 0;
  join->NextAsync([&](Chunk next) {
    ++calls;
    EXPECT_EQ(next.status().code(), absl::StatusCode::kUnavailable);
  });
  EXPECT_EQ(calls, 1);
  // The destructor sees that chunk and join give everything back after Close, too.
}

TEST_F(JoinStateTest, CloseCallsANextAsyncThatWaits) {
  auto join = Open();
  std::atomic<int> calls{0};
  join->NextAsync([&](Chunk next) {
    // An AEU that is stepped while Close is on its way may have answered first.
    EXPECT_TRUE(next.ok() || absl::IsUnavailable(next.status())) << next.status();
    calls.fetch_add(1);
  });
  engine_.Close();
  EXPECT_EQ(calls.load(), 1);
}

TEST_F(JoinStateTest, DestroyingAJoinEndsANextAsyncThatWaits) {
  auto join = Open();
  std::atomic<int> calls{0};
  join->NextAsync([&](Chunk next) {
    EXPECT_EQ(next.status().code(), absl::StatusCode::kCancelled);
    calls.fetch_add(1);
  });
  join.reset();
  test::HandEngine::Await([&] { return calls.load() > 0; });
  ExpectNothingLeft();
  EXPECT_EQ(calls.load(), 1);
}

// With buffers and blocks of the test's sizes, and ranges that move.
class JoinInLabTest : public testing::Test {
 protected:
  void Build(const test::JoinLabOptions& options, uint64_t rows, uint64_t rows_of_an_aeu) {
    lab_ = std::make_unique<JoinLab>(memory_, options);
    std::vector<uint64_t> starts;
    std::vector<AeuId> owners;
    for (uint32_t i = 0; i < options.aeus; ++i) {
      starts.push_back(i * rows_of_an_aeu);
      owners.push_back({i});
    }
    for (uint64_t key = 0; key < rows; ++key) rows_[key] = rows - 1 - key;
    outer_ = lab_->Create("outer", starts, owners, rows_);
    inner_ = lab_->Create("inner", starts, owners, rows_);
  }
  absl::StatusOr<JoinState*> Open(const engine::JoinSizes& sizes = {}) {
    return JoinState::Create(lab_->core(), outer_, inner_, {}, sizes);
  }
  // Steps all AEUs between two looks; the rows, or why there are not all.
  absl::StatusOr<uint64_t> Count(JoinState* join) {
    uint64_t rows = 0;
    for (;;) {
      lab_->StepAll();
      auto next = join->Next(absl::InfinitePast());
      if (absl::IsDeadlineExceeded(next.status())) continue;
      if (!next.ok()) return next.status();
      if (!*next) return rows;
      for (size_t i = 0; i < (*next)->outer_keys().size(); ++i) {
        EXPECT_EQ((*next)->join_keys()[i], rows_.size() - 1 - (*next)->outer_keys()[i]);
        EXPECT_EQ((*next)->values()[i], (*next)->outer_keys()[i]);
      }
      rows += (*next)->outer_keys().size();
    }
  }
  // Of the control Port: join commands and keys that were sent again.
  uint64_t SentByControl() {
    uint64_t sent = lab_->core().directory.ports().Total().sent;
    for (uint32_t i = 0; i < lab_->size(); ++i) sent -= (*lab_)[i].Routing().sent;
    return sent;
  }
  static Range Of(uint64_t lo, uint64_t hi) { return {Key::FromU64(lo), Key::FromU64(hi)}; }

  test::LabMemory memory_;
  JoinLab::Rows rows_;
  std::unique_ptr<JoinLab> lab_;
  engine::ObjectRef outer_, inner_;
};

TEST_F(JoinInLabTest, FewBlocksServe512AeusInRounds) {
  Build({.aeus = 512, .half_bytes = 8 << 10}, 512 * 20, 20);
  for (const uint32_t blocks : {1u, 5u, 100u}) {
    auto join = Open({.block_rows = 8, .blocks_max = blocks});
    ASSERT_TRUE(join.ok());
    const auto rows = Count(*join);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(*rows, rows_.size());
    (*join)->Unref();
    lab_->Settle();
  }
}

TEST_F(JoinInLabTest, TargetsThatAreRefusedEndTheJoin) {
  // One block for all targets, and nobody waits.
  Build({.aeus = 3, .half_bytes = 4 << 10, .outgoing_bytes = 512, .port_bytes_max = 512}, 300, 100);
  auto join = Open();
  ASSERT_TRUE(join.ok());
  EXPECT_EQ(Count(*join).status().code(), absl::StatusCode::kResourceExhausted);
  (*join)->Unref();
}

TEST_F(JoinInLabTest, WhatHasMovedIsAskedOfItsNewOwner) {
  Build({.aeus = 3}, 900, 300);
  auto join = Open({.block_rows = 16, .blocks_max = 3});
  ASSERT_TRUE(join.ok());
  EXPECT_EQ(SentByControl(), 3u);
  lab_->Step(0);  // has begun, and has [16, 300) before it
  lab_->Move(*outer_, Of(100, 150), {0}, {1});
  lab_->Move(*outer_, Of(200, 250), {0}, {2});
  lab_->Move(*outer_, Of(600, 700), {2}, {0});
  lab_->Publish(*outer_);
  const auto rows = Count(*join);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(*rows, rows_.size());
  // [100, 300) of AEU 0 as four pieces; [600, 700) and then the rest of AEU 2, which is one piece.
  EXPECT_EQ(SentByControl(), 3u + 4u + 2u);
  (*join)->Unref();
}

TEST_F(JoinInLabTest, AMoveThatIsNeverPublishedIsUnavailable) {
  Build({.aeus = 2}, 200, 100);
  lab_->Move(*outer_, Of(20, 30), {0}, {1});
  auto join = Open();
  ASSERT_TRUE(join.ok());
  EXPECT_EQ(Count(*join).status().code(), absl::StatusCode::kUnavailable);
  (*join)->Unref();
  lab_->Settle();
  lab_->Publish(*outer_);

  lab_->Move(*inner_, Of(20, 30), {0}, {1});
  join = Open();
  ASSERT_TRUE(join.ok());
  EXPECT_EQ(Count(*join).status().code(), absl::StatusCode::kUnavailable);
  (*join)->Unref();
}

TEST_F(JoinInLabTest, KeysThatHaveMovedAreSentAgainOnceThatIsPublished) {
  Build({.aeus = 2}, 200, 100);
  lab_->Move(*inner_, Of(20, 30), {0}, {1});
  auto join = Open();
  ASSERT_TRUE(join.ok());
  for (int turn = 0; turn < 100; ++turn) lab_->StepAll();
  EXPECT_GT((*lab_)[0].Routing().redirected, 0u);
  const uint64_t sent = SentByControl();
  lab_->Publish(*inner_);
  const auto rows = Count(*join);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(*rows, rows_.size());
  EXPECT_EQ(SentByControl(), sent + 10);
  (*join)->Unref();
}

TEST_F(JoinInLabTest, CancelledOrDroppedAfterAnyTurnNothingIsLeft) {
  for (int what = 0; what < 3; ++what) {
    for (int turns = 0; turns < 40; turns += 3) {
      rows_.clear();
      Build({.aeus = 3, .half_bytes = 1 << 10, .outgoing_bytes = 512}, 600, 200);
      auto join = Open({.block_rows = 64, .blocks_max = 4});
      ASSERT_TRUE(join.ok());
      // AEU 2 is slow: look-ups for it find no room.
      for (int turn = 0; turn < turns; ++turn) lab_->Step(turn % 7 == 6 ? 2 : turn % 2);
      if (what == 0) (*join)->Cancel(absl::CancelledError("cancelled"));
      if (what == 1) lab_->Drop(*outer_);
      if (what == 2) lab_->Drop(*inner_);
      const auto rows = Count(*join);
      EXPECT_EQ(rows.status().code(),
                what == 0 ? absl::StatusCode::kCancelled : absl::StatusCode::kNotFound);
      (*join)->Unref();
      outer_.reset();
      inner_.reset();
      lab_.reset();  // checks that nothing is left
    }
  }
}

}  // namespace
}  // namespace eris
