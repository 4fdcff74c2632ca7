// Memory that has spilled to another NumaNode comes home when there is room again. With AEUs that
// the test steps.
#include "engine/moving/home_calls.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"

namespace eris::engine {
namespace {

using memory::FailurePoint;

class HomeCallsTest : public testing::TestWithParam<ObjectKind> {
 protected:
  HomeCallsTest()
      : engine_(2,
                [](Options& options) {
                  options.topology = "numa:2 core:1 pu:1";
                  options.memory_spill = true;
                }),
        session_(engine_->NewSession()) {
    CreateOptions options;
    options.kind = GetParam();
    if (options.kind == ObjectKind::kHeapTable) {
      options.schema = Schema{.columns = {{.name = "n", .type = ColumnType::kUint64},
                                          {.name = "m", .type = ColumnType::kUint64}}};
    }
    object_ = engine_.Create("o", options);
  }
  void SetFull(bool full) {
    Pool().take_failures().Arm(full ? 1 : 0, FailurePoint::Mode::kFromThen);
  }
  memory::NumaNodePool& Pool() { return engine_->memory().pool(NumaNodeId{0}); }
  // So that half of it is AEU 0's.
  void Write() {
    constexpr uint64_t kRows = 400'000, kBatch = 10'000;
    for (uint64_t first = 0; first < kRows; first += kBatch) {
      std::vector<uint64_t> keys(kBatch), values(kBatch);
      for (uint64_t i = 0; i < kBatch; ++i) {
        keys[i] = (first + i) * 0x9e37'79b9'7f4a'7c15;
        values[i] = first + i;
      }
      const absl::Status written = engine_.While([&]() -> absl::Status {
        if (GetParam() != ObjectKind::kHeapTable) return session_->Upsert(object_, keys, values);
        const std::vector<ColumnView> columns{test::ColumnOf(keys), test::ColumnOf(values)};
        return session_->Write(object_, {.mode = WriteMode::kAppend, .rows = {kBatch, columns}})
            .status;
      });
      ASSERT_TRUE(written.ok()) << written;
    }
  }
  uint64_t SpilledBytes() {
    uint64_t bytes = 0;
    for (const ObjectMemory& one : engine_->Memory().objects) {
      EXPECT_TRUE(one.numa_node == NumaNodeId{0} || one.spilled_bytes == 0);
      bytes += one.spilled_bytes;
    }
    return bytes;
  }
  uint64_t RemoteBytes() {
    const auto verified = engine_.While([&] {
      return engine_->VerifyMemory({.pages_max = 1, .rows = true}, absl::InfiniteFuture());
    });
    EXPECT_TRUE(verified.ok()) << verified.status();
    uint64_t bytes = 0;
    for (const RowMemory& one : verified->rows) bytes += one.remote_bytes;
    return bytes;
  }
  void RunPeriod() {
    engine_.While([&] {
      engine_->home_calls().Look();
      return true;
    });
  }
  // Until nothing is on its way.
  void Rest() {
    engine_.StepUntil([&] { return engine_->aeu({0}).counters().homecomings.Read() == 0; });
  }
  uint64_t Commands() { return engine_->aeu({0}).counters().commands.Read(); }

  test::HandEngine engine_;
  std::unique_ptr<Session> session_;
  Object object_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, HomeCallsTest,
                         testing::Values(ObjectKind::kIndex, ObjectKind::kHeapTable),
                         [](const auto& each) {
                           return each.param == ObjectKind::kIndex ? "Index" : "HeapTable";
                         });

TEST_P(HomeCallsTest, SpilledMemoryComesHomeWhenThereIsRoom) {
  SetFull(true);
  Write();
  ASSERT_GT(SpilledBytes(), 0u);
  ASSERT_GT(RemoteBytes(), 0u);
  SetFull(false);
  RunPeriod();
  Rest();
  EXPECT_EQ(RemoteBytes(), 0u);
  // What is spare in magazines goes when the AEU has nothing else to do, or is asked again.
  for (uint32_t period = 0; period < 4; ++period) RunPeriod();
  EXPECT_EQ(SpilledBytes(), 0u);
  const uint64_t commands = Commands();
  for (uint32_t period = 0; period < 4; ++period) RunPeriod();
  EXPECT_EQ(Commands(), commands);  // there is nothing to ask for
}

TEST_P(HomeCallsTest, WhatFindsNoRoomIsAskedForLessAndLessOften) {
  SetFull(true);
  Write();
  Rest();
  const uint64_t remote = RemoteBytes();
  ASSERT_GT(remote, 0u);
  uint64_t commands = Commands();
  for (uint32_t period = 0; period < 16; ++period) {
    RunPeriod();
    Rest();
  }
  EXPECT_EQ(Commands() - commands, 5u);  // in periods 0, 1, 3, 7 and 15
  EXPECT_EQ(RemoteBytes(), remote);
  commands = Commands();
  for (uint32_t period = 16; period < 256; ++period) {
    RunPeriod();
    Rest();
  }
  EXPECT_EQ(Commands() - commands, 5u);  // 31, 63, 127, 191 and 255
}

TEST_P(HomeCallsTest, APausedBalancerAsksForNothing) {
  SetFull(true);
  Write();
  SetFull(false);
  const uint64_t remote = RemoteBytes();
  ASSERT_GT(remote, 0u);
  engine_->PauseBalancer();
  RunPeriod();
  Rest();
  EXPECT_EQ(RemoteBytes(), remote);
  engine_->ResumeBalancer();
  RunPeriod();
  Rest();
  EXPECT_EQ(RemoteBytes(), 0u);
}

TEST_P(HomeCallsTest, ADropEndsWhatIsOnItsWay) {
  ASSERT_TRUE(engine_->SetBalancer({.max_bytes_per_s = 1}).ok());  // it will not be there for long
  SetFull(true);
  Write();
  SetFull(false);
  RunPeriod();
  ASSERT_GT(engine_->aeu({0}).counters().homecomings.Read(), 0u);
  const uint64_t commands = Commands();
  RunPeriod();
  EXPECT_EQ(Commands(), commands);  // it is on its way
  ASSERT_TRUE(engine_.While([&] { return engine_->Drop("o"); }).ok());
  EXPECT_EQ(engine_->aeu({0}).counters().homecomings.Read(), 0u);
  RunPeriod();
}

// The room that is needed, with AEUs and pools that say what they like.
TEST_P(HomeCallsTest, AsMuchRoomAsThereIsMemoryElsewhereIsEnough) {
  SetFull(true);
  Write();
  Rest();
  const uint64_t spilled = SpilledBytes();
  ASSERT_GT(spilled, 0u);
  ASSERT_LT(spilled, HomeCalls::kRoomBytes);
  uint64_t room = 0, left = 0;
  uint32_t readings = 0;
  HomeCalls calls(
      engine_->core(), {NumaNodeId{0}, NumaNodeId{1}},
      [&](NumaNodeId) {
        ++readings;
        return room;
      },
      [&](AeuId aeu) { return HomeCalls::Figures{.left = aeu.value == 0 ? left : 0}; });
  const auto asks = [&] {
    const uint64_t commands = Commands();
    engine_.While([&] {
      calls.Look();
      return true;
    });
    return Commands() > commands;
  };
  room = spilled - 1;
  EXPECT_FALSE(asks());
  left = 7;  // also if some has been left: it is known how much
  EXPECT_FALSE(asks());
  EXPECT_EQ(readings, 2u);
  room = spilled;
  EXPECT_TRUE(asks());
}

}  // namespace
}  // namespace eris::engine
