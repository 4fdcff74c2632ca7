// Which objects a period looks at. What comes of a look: tests/integration/balancer_test.cc.
#include "engine/moving/balancer_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/moving/transfer_executor.h"
#include "engine/objects/object_kinds.h"
#include "tests/support/one_numa_node.h"

namespace eris::engine {
namespace {

// Nothing ever moves here.
class NoAeus final : public StepSender {
 public:
  absl::Status Reserve(ObjectEntry&, AeuId) override { return Never(); }
  void PrepareMemory(AeuId, uint64_t) override {}
  absl::Status Give(ObjectEntry&, routing::TransferStep&, absl::FunctionRef<bool()>) override {
    return Never();
  }
  void Conclude(ObjectEntry&, routing::TransferStep&) override {}

 private:
  static absl::Status Never() { return absl::UnimplementedError("no AEUs"); }
};

class BalancerLoopTest : public testing::Test {
 protected:
  BalancerLoopTest() {
    for (auto& buffer : buffers_) {
      core_.directory.Add(std::make_unique<routing::AeuEndpoint>(buffer, kHalfBytes));
    }
    const auto place = core_.catalogue.Reserve("o");
    object_ = std::make_shared<ObjectEntry>(
        "o", ObjectKind::kIndex, place->slot, place->id,
        std::make_unique<routing::RangeTable>(1, std::vector<uint64_t>{0, 1'000},
                                              std::vector<AeuId>{AeuId{0}, AeuId{1}}),
        *LayoutOf(ObjectKind::kIndex, KeyValueSchema()));
    core_.catalogue.Publish(*place, object_);
  }
  balancer::LoadSample Sample() {
    ++samples_;
    balancer::LoadSample sample{.object = object_->route.object()};
    const auto table = object_->route.Pin();
    for (size_t i = 0; i < table->size(); ++i) {
      balancer::PartitionSample one{.range = table->RangeOf(i), .owner = table->owners()[i]};
      one.size = rows_[i % 2];
      sample.partitions.push_back(one);
    }
    return sample;
  }
  // How many of the next so many periods have looked.
  int LooksOf(int periods) {
    const int before = samples_;
    for (int i = 0; i < periods; ++i) loop_.RunCycle();
    return samples_ - before;
  }

  static constexpr size_t kHalfBytes = 4096;
  alignas(64) std::byte buffers_[2][2 * kHalfBytes];
  Core core_{test::OneNumaNode()};
  NoAeus aeus_;
  TransferExecutor executor_{core_, aeus_};
  std::shared_ptr<ObjectEntry> object_;
  uint64_t rows_[2] = {0, 0};
  int samples_ = 0;
  bool quiet_ = true;
  double busiest_ = 0;
  int home_calls_ = 0;
  balancer::PlanWorld machine_{.numa_nodes = {NumaNodeId{0}, NumaNodeId{0}}};
  BalancerLoop loop_{core_,
                     executor_,
                     [this](const ObjectEntry&) { return Sample(); },
                     [this](const ObjectEntry&) { return quiet_; },
                     [this] { return busiest_; },
                     [this] { ++home_calls_; },
                     machine_,
                     {}};
};

TEST_F(BalancerLoopTest, AnObjectThatNobodyAccessesIsLookedAtAFewTimes) {
  EXPECT_EQ(LooksOf(9), 3);
  EXPECT_EQ(LooksOf(1), 1);  // at its rows
  EXPECT_EQ(LooksOf(10), 0);
  const BalancerStatus status = loop_.Status();
  EXPECT_EQ(status.cycles, 20u);
  ASSERT_EQ(status.objects.size(), 1u);  // what the last look has told stays
  EXPECT_EQ(status.objects[0].reason, "there is too little to balance");
  quiet_ = false;
  EXPECT_EQ(LooksOf(5), 5);
  quiet_ = true;
  EXPECT_EQ(LooksOf(5), 2);  // the last access was in one of three
}

TEST_F(BalancerLoopTest,
       UnevenRowsOfAnObjectThatNobodyUsesMoveAfterARestUnlessAnOperatorHasChosen) {
  rows_[0] = 1'300'000;
  rows_[1] = 700'000;
  busiest_ = 0.9;  // with other objects
  LooksOf(100);
  busiest_ = 0;
  EXPECT_TRUE(executor_.history().Newest().empty());
  LooksOf(1);
  EXPECT_EQ(executor_.history().Newest().size(), 1u);  // refused: there are no AEUs
  quiet_ = false;
  LooksOf(1);
  quiet_ = true;
  EXPECT_FALSE(loop_.MoveRange("o", {1'500, 1'600}, AeuId{0}, std::nullopt, {}).ok());
  const size_t moves = executor_.history().Newest().size();
  LooksOf(2000);
  EXPECT_EQ(executor_.history().Newest().size(), moves);
}

TEST_F(BalancerLoopTest, WhereTheCreatorHasChosenTheRestIsLonger) {
  const auto place = core_.catalogue.Reserve("chosen");
  core_.catalogue.Publish(
      *place, std::make_shared<ObjectEntry>(
                  "chosen", ObjectKind::kIndex, place->slot, place->id,
                  std::make_unique<routing::RangeTable>(1, std::vector<uint64_t>{0, 1'000},
                                                        std::vector<AeuId>{AeuId{0}, AeuId{1}}),
                  *LayoutOf(ObjectKind::kIndex, KeyValueSchema()), nullptr, std::nullopt, true));
  rows_[0] = 1'300'000;
  rows_[1] = 700'000;
  const auto moved = [&](const std::string& name) {
    const auto history = executor_.history().Newest();
    return std::any_of(history.begin(), history.end(),
                       [&](const auto& one) { return one.object == name; });
  };
  LooksOf(100);
  EXPECT_TRUE(moved("o"));  // refused: there are no AEUs
  EXPECT_FALSE(moved("chosen"));
  LooksOf(600);
  EXPECT_TRUE(moved("chosen"));
}

// As rows that are appended to a heap table, which are counted and not noted.
TEST_F(BalancerLoopTest, RowsThatComeInOnePeriodMoveThoughItIsQuietInTheNext) {
  ASSERT_TRUE(loop_.Set({.algorithm = BalanceAlgorithm::kSize}).ok());
  LooksOf(10);
  rows_[0] = 130'000;
  rows_[1] = 70'000;
  quiet_ = false;
  LooksOf(1);
  quiet_ = true;
  EXPECT_EQ(loop_.Status().objects[0].reason, "the imbalance has not lasted for two periods");
  LooksOf(1);
  EXPECT_EQ(loop_.Status().objects[0].reason, "");
}

TEST_F(BalancerLoopTest, EachPeriodAsksForMemoryThatIsLeftElsewhere) {
  LooksOf(3);
  EXPECT_EQ(home_calls_, 3);
}

TEST_F(BalancerLoopTest, WhatACallHasDoneIsLookedAt) {
  LooksOf(10);
  EXPECT_FALSE(loop_.Rebalance("p", {}).ok());
  EXPECT_EQ(LooksOf(5), 0);
  EXPECT_TRUE(loop_.Rebalance("o", {}).ok());
  EXPECT_EQ(LooksOf(5), 3);
}

TEST_F(BalancerLoopTest, WhateverElseChangesIsLookedAt) {
  LooksOf(10);
  object_->route.Publish(object_->route.Pin()->With({{5'000, 0}, storage::Key{6'000, 0}}, {0}),
                         core_.directory.table_readers());
  EXPECT_EQ(LooksOf(5), 3);
  EXPECT_TRUE(loop_.Set({.threshold = 0.5}).ok());
  EXPECT_EQ(LooksOf(5), 3);
  loop_.Pause();
  EXPECT_EQ(LooksOf(5), 3);
  EXPECT_EQ(loop_.Status().objects[0].reason, "the balancer is paused");
  loop_.Resume();
  EXPECT_EQ(LooksOf(5), 3);
  EXPECT_EQ(loop_.Status().objects[0].reason, "there is too little to balance");
}

}  // namespace
}  // namespace eris::engine
