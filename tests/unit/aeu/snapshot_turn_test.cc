// What an AEU's turns make of snapshots: which writes a scan at one sees, when old rows are kept
// and freed, and what becomes of a scan whose snapshot is given up. The AEU is stepped by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "aeu/state/clock.h"
#include "routing/snapshot_registry.h"
#include "tests/support/aeu_lab.h"

namespace eris::aeu {
namespace {

using routing::CommandType;
using routing::PartOutcome;
using storage::KeyState;
using test::TestReply;
using test::TestScanPart;
using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;

class SnapshotTurnTest : public testing::Test {
 protected:
  SnapshotTurnTest() : lab_(memory_, 1), client_(lab_), route_(lab_.Create(0, {1}, {0}, {{0}})) {}

  routing::SnapshotRegistry& registry() { return lab_.directory().snapshots(); }
  routing::SnapshotRegistry::Held Begin() { return *registry().Begin(); }

  void Write(CommandType type, const std::vector<uint64_t>& keys,
             const std::vector<uint64_t>& values) {
    TestReply reply(keys.size());
    client_.Send(route_, type, keys, values, reply);
    lab_.Step(0);
    ASSERT_EQ(reply.answered, keys.size());
  }
  void Upsert(const std::vector<uint64_t>& keys, const std::vector<uint64_t>& values) {
    Write(CommandType::kUpsert, keys, values);
  }
  Pairs Read(uint64_t snapshot) {
    TestScanPart part(1, 100);
    part.GiveAll();
    lab_.SendQuery(route_, {0}, {}, part, {}, /*aggregate=*/false, snapshot);
    lab_.Step(0);
    EXPECT_EQ(part.outcome(), PartOutcome::kAnswered);
    Pairs rows;
    if (const auto* chunk = part.TakeFilled()) {
      for (uint32_t i = 0; i < chunk->rows.rows; ++i) {
        rows.emplace_back(chunk->rows.keys[i], chunk->rows.values[i]);
      }
    }
    return rows;
  }
  void StepUntilIdle() {
    for (int i = 0; i < 10'000 && lab_[0].HasWork(); ++i) lab_.Step(0);
    EXPECT_FALSE(lab_[0].HasWork());
  }

  test::LabMemory memory_;
  test::AeuLab lab_;
  test::LabClient client_;
  routing::ObjectRoute& route_;
};

TEST_F(SnapshotTurnTest, AScanSeesWhatWasWrittenBeforeItsSnapshotAndNothingElse) {
  Upsert({1, 2, 3}, {10, 20, 30});
  const auto held = Begin();
  Upsert({2, 4}, {21, 41});
  Write(CommandType::kErase, {1}, {});
  EXPECT_EQ(Read(held.epoch), (Pairs{{1, 10}, {2, 20}, {3, 30}}));
  EXPECT_EQ(Read(0), (Pairs{{2, 21}, {3, 30}, {4, 41}}));
  registry().End(held.slot);
}

// What is cut together runs under one epoch: a write of the turn that takes the scan up is behind
// the scan's snapshot, also where it comes first.
TEST_F(SnapshotTurnTest, WritesOfTheScansOwnTurnAreNotInItsSnapshot) {
  Upsert({1}, {10});
  const auto held = Begin();
  TestReply reply(2);
  client_.Send(route_, CommandType::kUpsert, {1, 2}, {11, 21}, reply);
  EXPECT_EQ(Read(held.epoch), (Pairs{{1, 10}}));
  EXPECT_EQ(reply.answered, 2u);
  registry().End(held.slot);
}

TEST_F(SnapshotTurnTest, OldRowsAreFreedByTurnsWithoutOtherWork) {
  const auto held = Begin();
  std::vector<uint64_t> keys(400);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 7;
  for (int round = 0; round < 30; ++round) {
    Upsert(keys, keys);
    for (uint64_t& key : keys) key += 3000;
  }
  EXPECT_GT(registry().version_bytes(), 0);
  StepUntilIdle();
  EXPECT_GT(registry().version_bytes(), 0);  // held: they stay, and the AEU may sleep
  registry().End(held.slot);
  EXPECT_TRUE(lab_[0].HasWork());
  StepUntilIdle();
  EXPECT_EQ(registry().version_bytes(), 0);
}

TEST_F(SnapshotTurnTest, AScanWhoseSnapshotIsGivenUpEndsAborted) {
  Upsert({1, 2, 3}, {10, 20, 30});
  const auto held = Begin();
  TestScanPart part(1, 2);  // full after two rows
  part.GiveAll();
  lab_.SendQuery(route_, {0}, {}, part, {}, /*aggregate=*/false, held.epoch);
  lab_.Step(0);
  EXPECT_EQ(part.ended, 0u);
  registry().Abort(held.slot);
  lab_.Step(0);
  EXPECT_EQ(part.ended, 1u);
  EXPECT_EQ(part.outcome(), PartOutcome::kAborted);
  registry().End(held.slot);
}

TEST_F(SnapshotTurnTest, BeyondTheLimitOfMemoryTheOldestIsGivenUp) {
  registry().SetLimits(1, ~uint64_t{0});
  const auto old = Begin();
  Upsert({1}, {10});
  EXPECT_TRUE(registry().aborted(old.slot));
  StepUntilIdle();
  EXPECT_EQ(registry().version_bytes(), 0);
  registry().End(old.slot);
}

// Rows beyond twice the limit cost every snapshot that there is, but none that begins with the
// write's answer: an AEU that works between the answer and the end of the turn that gave it is not
// to find the limit unenforced.
TEST(SnapshotLimitTest, ASnapshotThatBeginsWithAnAnswerDoesNotPayForOlderRows) {
  test::LabMemory memory;
  test::AeuLab lab(memory, 2);
  test::LabClient client(lab);
  routing::ObjectRoute& route = lab.Create(0, {1}, {0, 140'000}, {{0}, {1}});
  routing::SnapshotRegistry& registry = lab.directory().snapshots();
  // More than a turn frees.
  std::vector<uint64_t> keys(40'000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 7;
  TestReply first(keys.size());
  client.Send(route, CommandType::kUpsert, keys, keys, first);
  for (const uint32_t aeu : {0u, 1u}) lab.Step(aeu);
  // Less than an AEU's old rows, more than half of them.
  registry.SetLimits(1'000'000, ~uint64_t{0});
  const auto old = *registry.Begin();
  const auto other = *registry.Begin();
  std::vector<routing::SnapshotRegistry::Held> begun;
  TestReply reply(keys.size());
  reply.on_answered = [&] {
    if (reply.answered < keys.size()) return;
    begun.push_back(*registry.Begin());
    lab.Step(0);
  };
  client.Send(route, CommandType::kUpsert, keys, keys, reply);
  lab.Step(0);
  EXPECT_TRUE(begun.empty());
  EXPECT_TRUE(registry.aborted(old.slot));
  EXPECT_FALSE(registry.aborted(other.slot));
  lab.Step(1);
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_TRUE(registry.aborted(other.slot));
  for (int i = 0; i < 100'000 && (lab[0].HasWork() || lab[1].HasWork()); ++i) {
    for (const uint32_t aeu : {0u, 1u}) lab.Step(aeu);
  }
  EXPECT_FALSE(registry.aborted(begun[0].slot));
  EXPECT_EQ(registry.version_bytes(), 0);
  for (const auto& held : {old, other, begun[0]}) registry.End(held.slot);
}

TEST_F(SnapshotTurnTest, AgedOnesAreGivenUpWhereOldRowsAreKept) {
  registry().SetLimits(~uint64_t{0}, 1);
  const auto old = *registry().Begin(/*begun_ns=*/1);
  Upsert({1}, {10});
  EXPECT_TRUE(registry().aborted(old.slot));
  registry().End(old.slot);
}

// An age of a minute; the clock is when a snapshot says that it has begun.
TEST_F(SnapshotTurnTest, AgedOnesAreGivenUpWhereNoOldRowsAreKept) {
  constexpr uint64_t kAgeNs = 60'000'000'000;
  Upsert({1, 2}, {10, 20});
  registry().SetLimits(~uint64_t{0}, kAgeNs);
  const auto old = *registry().Begin(NowNs() - kAgeNs - 1);
  const auto young = *registry().Begin(NowNs());
  ASSERT_EQ(registry().version_bytes(), 0);
  TestScanPart part(1, 100);
  part.GiveAll();
  lab_.SendQuery(route_, {0}, {}, part, {}, /*aggregate=*/false, old.epoch);
  lab_.Step(0);
  EXPECT_TRUE(registry().aborted(old.slot));
  EXPECT_EQ(part.outcome(), PartOutcome::kAborted);
  EXPECT_FALSE(registry().aborted(young.slot));
  EXPECT_EQ(Read(young.epoch), (Pairs{{1, 10}, {2, 20}}));
  registry().End(old.slot);
  registry().End(young.slot);
}

TEST_F(SnapshotTurnTest, ADropForgetsTheOldRows) {
  const auto held = Begin();
  Upsert({1, 2}, {10, 20});
  EXPECT_GT(registry().version_bytes(), 0);
  TestReply drop(1);
  lab_.SendDrop(route_, {0}, drop);
  lab_.Step(0);
  EXPECT_EQ(registry().version_bytes(), 0);
  registry().End(held.slot);
  StepUntilIdle();
}

}  // namespace
}  // namespace eris::aeu
