// Batches while ranges move between AEUs: keys are passed on, sent back and sent again with all of
// their columns, and each takes effect exactly once; scans see each row once. AEUs are stepped by
// hand; ranges move between their turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/index/bytes_partition.h"
#include "storage/index/two_part_partition.h"
#include "tests/support/any_model.h"
#include "tests/support/any_object.h"
#include "tests/support/hand_engine.h"
#include "tests/support/moving_ranges.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

using test::AnyBatch;
using test::AnyKey;
using test::AnyKind;
using test::AnyObject;
using test::AnyRows;

constexpr uint32_t kResendAeus = 3;
constexpr uint64_t kResendSeconds = 12;

class ResendTest : public testing::TestWithParam<AnyKind> {
 protected:
  ResendTest() : random_(test::Seed()) {
    CreateOptions options = test::OptionsOf(GetParam());
    options.expected = {0, Firsts()};
    EXPECT_TRUE(engine_.While([&] { return object_.Create(options); }).ok());
    EXPECT_TRUE(object_.Ready().ok());
    test::MovingRanges::Options moves{.keys = Firsts()};
    if (GetParam() == AnyKind::kTwoParts) moves.make = Make<storage::TwoPartPartition>;
    if (GetParam() == AnyKind::kBytes) moves.make = Make<storage::BytesPartition>;
    moving_.emplace(engine_, random_, "o", std::move(moves));
  }
  ~ResendTest() override { moving_->Settle(); }

  template <class Partition>
  static std::unique_ptr<storage::Partition> Make(const storage::Range& range,
                                                  memory::LocalCache& cache) {
    return *Partition::Create(range, cache);
  }
  static bool TwoParts() { return GetParam() == AnyKind::kTwoParts; }
  static uint64_t Firsts() { return TwoParts() ? 60 : 600; }
  static AnyKey KeyFrom(std::mt19937_64& random) {
    return {random() % Firsts(), TwoParts() ? random() % kResendSeconds : 0};
  }
  // Some stand there more than once.
  static std::vector<AnyKey> KeysFrom(std::mt19937_64& random, size_t keys_max) {
    std::vector<AnyKey> keys(1 + random() % keys_max);
    for (AnyKey& key : keys) key = KeyFrom(random);
    return keys;
  }

  std::mt19937_64 random_;
  test::HandEngine engine_{kResendAeus};
  AnyObject object_{*engine_, GetParam(), "o"};
  std::optional<test::MovingRanges> moving_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, ResendTest,
                         testing::Values(AnyKind::kIndex, AnyKind::kSigned, AnyKind::kBytes,
                                         AnyKind::kTwoParts),
                         [](const auto& of) { return test::NameOf(of.param); });

// Each add of 1 answers the new count: over all adds of a counter that is 1, 2, 3 ..., each once.
TEST_P(ResendTest, EveryAddCountsOnceAndNoTwoAnswerTheSameSum) {
  if (!test::Takes(GetParam(), WriteMode::kAdd)) return;
  SCOPED_TRACE(test::SeedText(test::Seed()));
  struct Adds {
    std::vector<AnyKey> keys;
    BatchResult result;
    std::atomic<bool> done{false};
  };
  std::vector<std::unique_ptr<Adds>> calls;
  std::mt19937_64 random(test::Seed() + 1);  // the caller's; random_ is the stepping thread's
  moving_->While([&] {
    for (int i = 0; i < 400; ++i) {
      Adds& call = *calls.emplace_back(std::make_unique<Adds>());
      call.keys = KeysFrom(random, 200);
      // The columns are gone before the answers come, or are kept by the call.
      const auto batch = std::make_shared<AnyBatch>(GetParam());
      for (const AnyKey& key : call.keys) batch->Add(key, 1);
      WriteBatch adds = batch->write(WriteMode::kAdd);
      if (i % 2 == 0) adds.holder = batch;
      const auto pending =
          object_.session().WriteAsync(object_.object(), adds, [&call](BatchResult result) {
            call.result = std::move(result);
            call.done.store(true);
          });
      EXPECT_TRUE(pending.ok()) << pending.status();
    }
  });
  for (int i = 0; i < 2000; ++i) moving_->StepOne();
  moving_->Settle();
  EXPECT_GT(moving_->Sum(&RoutingStats::redirected), 0u);
  std::map<AnyKey, std::multiset<uint64_t>> sums;
  for (const auto& call : calls) {
    test::HandEngine::Await([&] { return call->done.load(); });
    ASSERT_TRUE(call->result.status.ok()) << call->result.status;
    const std::vector<uint64_t> answers = test::NumbersOf(call->result.columns[0]);
    for (size_t i = 0; i < call->keys.size(); ++i) {
      sums[call->keys[i]].insert(answers[i]);
      ASSERT_TRUE(BitAt(call->result.applied, i));
      ASSERT_EQ(BitAt(call->result.existed, i), answers[i] > 1);
    }
  }
  for (const auto& [key, of_key] : sums) {
    uint64_t next = 1;
    for (const uint64_t sum : of_key) {
      ASSERT_EQ(sum, next++) << "counter " << key.first << ", " << key.second;
    }
  }
}

// Calls that wait, with every mode, against a map: one caller's operations on a key have one order.
TEST_P(ResendTest, WaitingCallsAgreeWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed() + 1);  // the caller's; random_ is the stepping thread's
  test::AnyModel model(*engine_, GetParam(), "o");
  moving_->While([&] {
    for (int round = 0; round < 400 && !HasFailure(); ++round) {
      SCOPED_TRACE(round);
      std::optional<WriteMode> mode = static_cast<WriteMode>(random() % 7);
      if (mode == WriteMode{}) mode.reset();  // a lookup
      if (mode && !test::Takes(GetParam(), *mode)) continue;
      AnyRows rows;
      std::vector<uint64_t> wanted;
      for (const AnyKey& key : KeysFrom(random, 300)) {
        rows.emplace_back(key, random() % 3);
        if (mode == WriteMode::kCompareAndSet) wanted.push_back(random() % 3);
      }
      model.Run(mode, rows, wanted);
    }
  });
  EXPECT_GT(moving_->Sum(&RoutingStats::redirected), 0u);
}

// Bounds inside first parts, in both directions, over ranges that go away under the scan.
TEST_P(ResendTest, ScansAndAggregatesSeeEachRowOnce) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed() + 1);
  std::map<AnyKey, uint64_t> model;
  for (uint64_t i = 0; i < Firsts() * (TwoParts() ? kResendSeconds : 1); ++i) {
    if (random() % 3 == 0) continue;
    model[TwoParts() ? AnyKey(i / kResendSeconds, i % kResendSeconds) : AnyKey(i, 0)] = i;
  }
  std::string error;
  moving_->While([&] {
    if (!object_.Put(AnyRows(model.begin(), model.end())).ok()) error = "upsert";
    for (int round = 0; round < 200 && error.empty(); ++round) {
      const auto [lo, hi] = std::minmax({KeyFrom(random), KeyFrom(random)});
      const KeyRange range{
          .lo = lo.first, .hi = hi.first, .lo_second = lo.second, .hi_second = hi.second};
      const bool backward = round % 2 == 0;
      AnyRows expected(model.lower_bound(lo), model.lower_bound(hi));
      RangeAggregate total;
      for (const auto& [key, value] : expected) {
        total.Add({1, value, value, value, 0, key.first, key.first, key.second, key.second});
      }
      if (!TwoParts()) total.first_second = ~uint64_t{0};
      if (backward) std::reverse(expected.begin(), expected.end());
      const auto rows = object_.Read(
          {.range = range,
           .direction = backward ? ScanDirection::kBackward : ScanDirection::kForward});
      if (!rows.ok() || *rows != expected) error = absl::StrCat("scan of round ", round);
      const bool numbers = GetParam() != AnyKind::kBytes;
      const auto sum =
          object_.session().Aggregate(object_.object(), {.range = range, .count_only = !numbers});
      if (!sum.ok() || (numbers ? *sum != total : sum->count != total.count)) {
        error = absl::StrCat("aggregate of round ", round);
      }
    }
  });
  EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace eris
