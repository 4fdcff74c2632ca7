#include "clients/cli/balancer_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eris/key_encoding.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

client::Transfer Copy(KeyRange range, ColumnType type) {
  return {.record = {.id = 9,
                     .object = "orders",
                     .kind = TransferKind::kCopy,
                     .range = range,
                     .from = AeuId{3},
                     .to = AeuId{1},
                     .outcome = TransferOutcome::kDone,
                     .rows = 1000,
                     .bytes = 3 << 20,
                     .chunks = 4,
                     .started = absl::UnixEpoch(),
                     .duration_us = 2'500'000,
                     .longest_pause_us = 180,
                     .longest_pause_wall_us = 12'500},
          .key_type = type};
}

TEST(BalancerTextTest, TransferIsALineWithItsRangeInKeysOfItsType) {
  const std::string text = ToText(std::vector{Copy({.lo = KeyFromInt64(-5)}, ColumnType::kInt64),
                                              Copy({.hi = KeyFromDate(0)}, ColumnType::kDate)});
  EXPECT_THAT(text, HasSubstr("-5           -"));
  EXPECT_THAT(text, HasSubstr("-  1970-01-01"));
  EXPECT_THAT(text, HasSubstr("copy"));
  EXPECT_THAT(text, HasSubstr("3.0 MiB"));
  EXPECT_THAT(text, HasSubstr("2500.0 ms"));
  EXPECT_THAT(text, HasSubstr("180 us"));
  EXPECT_THAT(text, HasSubstr("12.5 ms           -        -  done\n"));
}

TEST(BalancerTextTest, TransferSaysWhatFollowsIt) {
  client::Transfer leap = Copy({}, ColumnType::kUint64);
  leap.record.kind = TransferKind::kLeap;
  leap.record.home = MemoryFollows::kUnderWay;
  leap.record.home_us = 7'000;
  leap.record.home_bytes = 5 << 20;
  leap.record.home_bytes_remapped = 4 << 20;
  leap.record.home_longest_pause_us = 190;
  const auto text = [&] { return ToText(std::vector{leap}); };
  EXPECT_THAT(text(), HasSubstr("190 us      12.5 ms   under way  5.0 MiB  done\n"));
  leap.record.home = MemoryFollows::kHome;
  EXPECT_THAT(text(), HasSubstr("12.5 ms     7000 us  5.0 MiB  done\n"));
  leap.record.home = MemoryFollows::kStays;
  EXPECT_THAT(text(), HasSubstr("some stays  5.0 MiB  done\n"));
  const Json json = ToJson(std::vector{leap})[0];
  EXPECT_EQ(json["home"], "stays");
  EXPECT_EQ(json["home_us"], "7000");
  EXPECT_EQ(json["home_bytes"], std::to_string(5 << 20));
  EXPECT_EQ(json["home_bytes_remapped"], std::to_string(4 << 20));
  EXPECT_EQ(json["home_longest_pause_us"], 190);
  EXPECT_EQ(json["longest_pause_us"], 180);
}

TEST(BalancerTextTest, TransferThatDidNotEndWellSaysWhy) {
  client::Transfer transfer = Copy({}, ColumnType::kUint64);
  transfer.record.outcome = TransferOutcome::kRefused;
  transfer.record.reason = "no memory";
  EXPECT_THAT(ToText(std::vector{transfer}), HasSubstr("refused: no memory\n"));
  transfer.record.outcome = TransferOutcome::kStopped;
  EXPECT_THAT(ToText(std::vector{transfer}), HasSubstr("stopped: no memory\n"));
  EXPECT_EQ(ToJson(std::vector{transfer})[0]["outcome"], "stopped");
}

std::vector<ObjectInfo> Named(const std::vector<std::string>& names) {
  std::vector<ObjectInfo> objects(names.size());
  for (size_t i = 0; i < names.size(); ++i) objects[i].name = names[i];
  return objects;
}

TEST(BalancerTextTest, ObjectsThatNoCycleHasLookedAtAreListedWithTheReason) {
  client::Balance balance{
      .status = {.options = {}, .objects = {{.object = "b", .imbalance = 0.5, .loads = {1, 0}}}}};
  AddOthers(Named({"a", "b", "c"}), balance.status);
  EXPECT_THAT(
      ToText(balance, true),
      HasSubstr("a       one_shot   0.0000            -          -          -  not looked at yet\n"
                "b       one_shot   1.0000            0    100.0 %      0.500\n"
                "c       one_shot"));
  BalancerStatus off{.options = {.enabled = false}};
  AddOthers(Named({"a"}), off);
  ASSERT_EQ(off.objects.size(), 1u);
  EXPECT_EQ(off.objects[0].reason, "the balancer is off");
  BalancerStatus paused{.options = {}, .paused = true};
  AddOthers(Named({"a"}), paused);
  EXPECT_EQ(paused.objects[0].reason, "not looked at yet: the balancer is paused");
}

TEST(BalancerTextTest, StatusHasALinePerObjectAndOnRequestOnePerAeu) {
  client::Balance balance{
      .status = {.options = {},
                 .cycles = 7,
                 .objects = {{.object = "orders", .imbalance = 0.5, .loads = {0.75, 0.25}},
                             {.object = "idle", .loads = {0, 0}, .reason = "too little"}}}};
  balance.status.transfers[TransferKind::kLink] = 5;
  balance.status.transfers[TransferKind::kCopy] = 3;
  std::string text = ToText(balance, false);
  EXPECT_THAT(text, HasSubstr("enabled, one_shot, threshold 0.25, every 1000 ms"));
  EXPECT_THAT(text, HasSubstr("moves as fast as they go\n7 cycles, 5 links, 3 copies, "));
  EXPECT_THAT(
      text,
      HasSubstr("OBJECT  ALGORITHM    LOAD  BUSIEST AEU  ITS SHARE  IMBALANCE  NOTHING MOVES\n"
                "orders  one_shot   1.0000            0     75.0 %      0.500\n"
                "idle    one_shot   0.0000            -          -      0.000  too little\n"));
  EXPECT_THAT(text, Not(HasSubstr("SHARE\n")));
  text = ToText(balance, true);
  EXPECT_THAT(text, HasSubstr("\norders\nAEU    LOAD   SHARE\n  0  0.7500  75.0 %\n"));
  EXPECT_THAT(text, HasSubstr("  1  0.0000      -\n"));
  EXPECT_THAT(text, Not(HasSubstr("paused")));
  EXPECT_THAT(text, Not(HasSubstr("moving now")));
  balance.status.paused = true;
  balance.status.running = {Copy({}, ColumnType::kUint64).record};
  EXPECT_THAT(ToText(balance, false), HasSubstr("paused; enabled"));
  EXPECT_THAT(ToText(balance, false), HasSubstr("moving now\n"));
  EXPECT_THAT(ToText(balance, false), Not(HasSubstr("progress")));
}

TEST(BalancerTextTest, AStallSaysWhoIsWaitedFor) {
  client::Balance balance;
  TransferRecord& record = balance.status.running.emplace_back();
  record = Copy({}, ColumnType::kUint64).record;
  record.id = 7;
  record.from = AeuId{3};
  record.to = AeuId{4};
  const auto text = [&](TransferPhase phase, int64_t idle_us) {
    record.phase = phase;
    record.idle_us = idle_us;
    return ToText(balance, false);
  };
  balance.status.stalls = 2;
  EXPECT_THAT(text(TransferPhase::kTarget, 12'300'000), HasSubstr("copied, 2 stalls\n"));
  EXPECT_THAT(
      text(TransferPhase::kTarget, 12'300'000),
      HasSubstr("transfer 7 has made no progress for 12.3 s: AEU 4 has not taken the rows\n"));
  EXPECT_THAT(text(TransferPhase::kSource, 1'000'000), HasSubstr("AEU 3 has not given the rows\n"));
  EXPECT_THAT(text(TransferPhase::kConclusion, 1'000'000),
              HasSubstr("AEU 3 has not heard how the step has ended\n"));
  EXPECT_THAT(text(TransferPhase::kOtherTransfer, 1'000'000),
              HasSubstr("AEU 3 gives a range of another object\n"));
  EXPECT_THAT(text(TransferPhase::kSource, 999'999), Not(HasSubstr("progress")));
  // The rate decides how long that takes.
  EXPECT_THAT(text(TransferPhase::kBetweenSteps, 12'300'000), Not(HasSubstr("progress")));
}

TEST(BalancerTextTest, OptionsSayWhatIsInForce) {
  EXPECT_EQ(ToText(BalancerOptions{.enabled = false,
                                   .algorithm = BalanceAlgorithm::kMovingAverage,
                                   .window = 3,
                                   .threshold = 0.1,
                                   .period_ms = 500,
                                   .max_pause_us = 100,
                                   .max_bytes_per_s = 200 << 20}),
            "disabled, moving_average of 3 on either side, threshold 0.1, every 500 ms; pauses of "
            "at most 100 us, at most 200.0 MiB/s moved\n");
}

TEST(BalancerTextTest, PlanSaysWhatMovesOrWhyNothingDoes) {
  client::Plan plan{.plan = {.object = "orders",
                             .imbalance_before = 1.25,
                             .shares = {{.aeu = AeuId{0}, .load_before = 1, .load_after = 0.5}},
                             .reason = "no load"}};
  EXPECT_THAT(ToText(plan, false), HasSubstr("nothing would move: no load\n"));
  EXPECT_THAT(ToText(plan, true), HasSubstr("nothing has moved: no load\n"));
  EXPECT_THAT(ToText(plan, false), HasSubstr("imbalance 1.250, 0.000 predicted\n"));
  plan.plan.transfers = {{.range = {.lo = 10, .hi = 20},
                          .from = AeuId{1},
                          .to = AeuId{0},
                          .kind = TransferKind::kLink,
                          .rows = 5,
                          .bytes = 4096}};
  plan.plan.bytes_to_copy = 0;
  plan.plan.reason.clear();
  EXPECT_THAT(ToText(plan, false), HasSubstr("link  10  20     1   0     5  4.0 KiB\n"));
  EXPECT_THAT(ToText(plan, false), HasSubstr(" to copy\n"));
  plan.plan.reason = "ranges of objects beside it follow first";
  EXPECT_THAT(ToText(plan, false),
              HasSubstr(" to copy; ranges of objects beside it follow first\n"));
}

// Sizes are rows.
TEST(BalancerTextTest, LoadsOfSizesAreWholeNumbers) {
  const client::Plan plan{
      .plan = {.object = "t",
               .algorithm = BalanceAlgorithm::kSize,
               .shares = {{.aeu = {}, .load_before = 12345, .load_after = 678}}}};
  EXPECT_THAT(ToText(plan, false), HasSubstr("12345"));
  EXPECT_THAT(ToText(plan, false), Not(HasSubstr("12345.0")));
}

}  // namespace
}  // namespace eris::cli
