// Joins with AEUs stepped by hand: blocks in rounds, ranges that move, and what is joined at all.
// What all readers promise: reader_test.cc.
#include "engine/reads/join_state.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "eris/errors.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"
#include "tests/unit/engine/join_lab.h"

namespace eris {
namespace {

using engine::JoinState;
using storage::Key;
using storage::Range;
using test::JoinLab;

// Through the public interface; half of the rows at either AEU, each joined with itself.
constexpr uint64_t kJoinRows = 100'000;

class JoinStateTest : public testing::Test {
 protected:
  Object Filled(const char* name) {
    const Object object = engine_.Create(name, {.expected = {0, kJoinRows}});
    std::vector<uint64_t> keys(10'000);
    for (uint64_t from = 0; from < kJoinRows; from += keys.size()) {
      std::iota(keys.begin(), keys.end(), from);
      EXPECT_TRUE(engine_.While([&] { return session_->Upsert(object, keys, keys); }).ok());
    }
    return object;
  }
  uint64_t Count(Scan& join) {
    uint64_t rows = 0;
    const auto read = [&](const Chunk& chunk) { rows += chunk.rows(); };
    const absl::Status end = engine_.While([&] { return test::ForEachChunk(join, read); });
    EXPECT_TRUE(end.ok()) << end;
    return rows;
  }
  uint32_t InUse() { return engine_->core().chunks->in_use(); }

  test::HandEngine engine_{2, [](Options& options) { options.scan_chunks_max = 8; }};
  std::unique_ptr<Session> session_ = engine_->NewSession();
};

TEST_F(JoinStateTest, AJoinTakesAQuarterOfThePoolAtMostAndHasNoSnapshot) {
  const Object a = Filled("a"), b = Filled("b");
  auto join = test::OrDie(session_->OpenJoin(a, b, {}));
  EXPECT_EQ(InUse(), 2u);
  EXPECT_EQ(join->snapshot(), nullptr);
  std::vector<std::shared_ptr<const Chunk>> kept;
  auto chunk = engine_.While([&] { return join->Next(); });
  while (chunk.ok() && *chunk != nullptr) {
    EXPECT_EQ((*chunk)->resume(), "");
    kept.push_back(*chunk);
    chunk = engine_.While([&] { return join->Next(); });
  }
  EXPECT_EQ(kept.size(), 8u);
}

TEST_F(JoinStateTest, EmptyRangesAskNobody) {
  const Object a = Filled("a"), b = Filled("b");
  EXPECT_EQ(Count(*test::OrDie(session_->OpenJoin(a, b, {.range = {7, 7}}))), 0u);
  EXPECT_EQ(Count(*test::OrDie(session_->OpenJoin(a, b, {.inner_values = KeyRange{7, 7}}))), 0u);
  EXPECT_EQ(InUse(), 0u);
}

TEST_F(JoinStateTest, WhatCannotBeJoinedIsRefused) {
  constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
  const Object index = engine_.Create("i", {});
  const Object hash = engine_.Create("h", {.kind = ObjectKind::kHash});
  const Object numbers = engine_.Create("n", {.schema = KeyValueSchema(ColumnType::kInt64)});
  const Object strings =
      engine_.Create("s", {.schema = KeyValueSchema(ColumnType::kUint64, ColumnType::kString)});
  const Object pairs =
      engine_.Create("p", {.schema = KeyValueSchema({ColumnType::kUint64, ColumnType::kUint64})});
  const Object table = engine_.Create("t", {.kind = ObjectKind::kTable});
  const auto code = [&](const Object& outer, const Object& inner, const JoinOptions& options = {}) {
    return session_->OpenJoin(outer, inner, options).status().code();
  };
  EXPECT_EQ(code(index, hash), absl::StatusCode::kOk);
  EXPECT_EQ(code(numbers, index), absl::StatusCode::kOk);
  EXPECT_EQ(code(hash, index), kPrecondition);
  for (const Object& bad : {strings, pairs, table}) {
    EXPECT_EQ(code(index, bad), kPrecondition);
    EXPECT_EQ(code(bad, index), kPrecondition);
  }
  EXPECT_EQ(code(index, numbers), kPrecondition);
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code(index, index, {.range = {7, 0}}), kInvalid);
  EXPECT_EQ(code(index, index, {.inner_values = KeyRange{7, 0}}), kInvalid);
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
    return JoinState::Create(lab_->core(), lab_->core().session_nodes.Here(), outer_, inner_, {},
                             sizes);
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
      for (uint64_t i = 0; i < (*next)->rows(); ++i) {
        EXPECT_EQ((*next)->Uint64s(1)[i], rows_.size() - 1 - (*next)->Uint64s(0)[i]);
        EXPECT_EQ((*next)->Uint64s(2)[i], (*next)->Uint64s(0)[i]);
      }
      rows += (*next)->rows();
    }
  }
  // What the control Port has sent: join commands, and keys that were sent again.
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
  EXPECT_EQ(ErrorDetailsOf(Count(*join).status()).reason, "KEYS_MOVING");
  (*join)->Unref();
  lab_->Settle();
  lab_->Publish(*outer_);

  lab_->Move(*inner_, Of(20, 30), {0}, {1});
  join = Open();
  ASSERT_TRUE(join.ok());
  EXPECT_EQ(ErrorDetailsOf(Count(*join).status()).reason, "KEYS_MOVING");
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
      // AEU 2 is slow: lookups for it find no room.
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
