// What a turn of an AEU does in the background is bounded by what it costs, however many objects
// there are. Time is a clock that the work itself moves: each look at it is ten microseconds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "tests/support/aeu_lab.h"

namespace eris::aeu {
namespace {

using routing::CommandType;
using test::TestReply;

uint64_t clock_looks = 0;
uint64_t LookAtClock() { return ++clock_looks * 10'000; }

class TurnBoundsTest : public testing::Test {
 protected:
  static constexpr uint32_t kObjects = 80;
  // For a turn of at most 200 us: as many looks at the clock as fit half of it, and those around
  // the last piece.
  static constexpr uint64_t kLooksMax = 10 + 6;

  TurnBoundsTest() : lab_(memory_, 1), client_(lab_) {}

  void Create(const routing::InstallSegment& like = {}) {
    for (uint32_t i = 0; i < kObjects; ++i) {
      routes_.push_back(&lab_.Create(i, ObjectId{i + 1}, {0}, {{0}}, like));
    }
  }
  void WriteAll(const std::vector<uint64_t>& values) {
    std::vector<uint64_t> keys(values.size());
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 7;
    for (routing::ObjectRoute* route : routes_) {
      TestReply reply(keys.size());
      client_.Send(*route, CommandType::kUpsert, keys, values, reply);
      while (reply.answered < keys.size()) lab_.Step(0);
    }
  }
  // Steps until there is nothing to do. The looks of all turns; none has more than it may.
  uint64_t LooksUntilIdle() {
    uint64_t all = 0;
    for (int turn = 0; turn < 10'000 && lab_[0].HasWork(); ++turn) {
      const uint64_t before = clock_looks;
      lab_.Step(0);
      EXPECT_LE(clock_looks - before, kLooksMax);
      all += clock_looks - before;
    }
    EXPECT_FALSE(lab_[0].HasWork());
    return all;
  }

  test::LabMemory memory_;
  test::AeuLab lab_;
  test::LabClient client_;
  std::vector<routing::ObjectRoute*> routes_;
};

// Nothing can be freed, which takes as long to find out as freeing would.
TEST_F(TurnBoundsTest, OldRowsOfManyObjectsAreLookedThroughInManyTurns) {
  Create();
  routing::SnapshotRegistry& registry = lab_.directory().snapshots();
  const std::vector<uint64_t> values(20, 5);
  WriteAll(values);
  const auto first = *registry.Begin();
  const auto second = *registry.Begin();
  WriteAll(values);
  while (lab_[0].HasWork()) lab_.Step(0);
  const int64_t kept = registry.version_bytes();
  lab_[0].SetWorkClock(LookAtClock);
  registry.End(first.slot);
  EXPECT_GE(LooksUntilIdle(), 2 * kObjects);  // each of them
  EXPECT_EQ(registry.version_bytes(), kept);
  registry.End(second.slot);
  EXPECT_GE(LooksUntilIdle(), 2 * kObjects);
  EXPECT_EQ(registry.version_bytes(), 0);
}

TEST_F(TurnBoundsTest, AnObjectThatComesDuringARoundPushesNoOtherOut) {
  Create();
  routing::SnapshotRegistry& registry = lab_.directory().snapshots();
  const auto first = *registry.Begin();
  const auto second = *registry.Begin();
  WriteAll(std::vector<uint64_t>(20, 5));
  while (lab_[0].HasWork()) lab_.Step(0);
  lab_[0].SetWorkClock(LookAtClock);
  registry.End(first.slot);
  for (int turn = 0; turn < 5; ++turn) lab_.Step(0);
  registry.End(second.slot);  // the next round begins among the objects
  for (uint32_t i = 0; i < 10; ++i) {
    lab_.Step(0);
    lab_.Create(kObjects + i, ObjectId{kObjects + i + 1}, {0}, {{0}});
  }
  EXPECT_GT(registry.version_bytes(), 0);
  LooksUntilIdle();
  EXPECT_EQ(registry.version_bytes(), 0);
}

// Each range is a turn's work here. What ends while the second is next is looked for in the first,
// too.
TEST_F(TurnBoundsTest, ARoundThatIsWantedAgainComesToTheRangesBefore) {
  routes_.push_back(&lab_.Create(0, ObjectId{1}, {0, 70}, {{0}, {0}}));
  routing::SnapshotRegistry& registry = lab_.directory().snapshots();
  const auto first = *registry.Begin();
  const auto second = *registry.Begin();
  WriteAll(std::vector<uint64_t>(20, 5));
  while (lab_[0].HasWork()) lab_.Step(0);
  lab_[0].SetWorkClock([] { return 20 * LookAtClock(); });
  registry.End(first.slot);
  lab_.Step(0);
  ASSERT_TRUE(lab_[0].HasWork());
  registry.End(second.slot);
  LooksUntilIdle();
  EXPECT_EQ(registry.version_bytes(), 0);
}

TEST_F(TurnBoundsTest, ManyObjectsThatWereWrittenToAreMaintainedInManyTurns) {
  Create({.range = {}, .value_type = ColumnType::kString});
  const std::vector<uint64_t> values(20, 1 | 3 << 1);  // of three bytes, in the word
  lab_[0].SetWorkClock([] { return uint64_t{0}; });
  WriteAll(values);
  while (lab_[0].HasWork()) lab_.Step(0);
  // All in one block of commands: one turn writes to all.
  std::deque<TestReply> replies;
  for (routing::ObjectRoute* route : routes_) {
    client_.Send(*route, CommandType::kUpsert, {1}, {values[0]}, replies.emplace_back(1));
  }
  lab_[0].SetWorkClock(LookAtClock);
  EXPECT_GE(LooksUntilIdle(), kObjects);
}

}  // namespace
}  // namespace eris::aeu
