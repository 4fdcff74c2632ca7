// Objects with keys of two parts while ranges of first parts move between AEUs: keys are passed on,
// sent back and sent again with their second parts, each takes effect exactly once, and scans see
// each row once. AEUs are stepped by hand; ranges move between their turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/index/two_part_partition.h"
#include "tests/support/hand_engine.h"
#include "tests/support/moving_ranges.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

constexpr uint32_t kAeus = 3;
constexpr uint64_t kFirsts = 60;
constexpr uint64_t kSeconds = 12;

using Pair = std::pair<uint64_t, uint64_t>;

class TwoPartResendTest : public testing::Test {
 protected:
  TwoPartResendTest() : random_(test::Seed()) {
    const CreateOptions options{.expected = {0, kFirsts},
                                .key_type = {ColumnType::kUint64, ColumnType::kUint64}};
    EXPECT_TRUE(engine_.While([&] { return engine_->Create("o", options).status(); }).ok());
    const auto make = [](const storage::Range& range, memory::LocalCache& cache) {
      return *storage::TwoPartPartition::Create(range, cache);
    };
    moving_.emplace(engine_, random_, "o",
                    test::MovingRanges::Options{.keys = kFirsts, .make = make});
    session_ = engine_->NewSession();
  }
  ~TwoPartResendTest() override { moving_->Settle(); }

  std::mt19937_64 random_;
  test::HandEngine engine_{kAeus};
  std::optional<test::MovingRanges> moving_;
  std::unique_ptr<Session> session_;
};

// Each add of 1 answers the new count: over all adds of a counter that is 1, 2, 3 ..., each once.
TEST_F(TwoPartResendTest, EveryAddCountsOnceAndNoTwoAnswerTheSameSum) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  struct Call {
    std::vector<uint64_t> firsts, seconds;
    BatchResult result;
    std::atomic<bool> done{false};
  };
  std::vector<std::unique_ptr<Call>> calls;
  std::mt19937_64 random(test::Seed() + 1);  // the caller's; random_ is the stepping thread's
  moving_->While([&] {
    for (int i = 0; i < 400; ++i) {
      calls.push_back(std::make_unique<Call>());
      Call& call = *calls.back();
      for (uint64_t n = 1 + random() % 200; n > 0; --n) {
        call.firsts.push_back(random() % kFirsts), call.seconds.push_back(random() % kSeconds);
      }
      const std::vector<uint64_t> ones(call.firsts.size(), 1);
      const WriteBatch adds{
          .mode = WriteMode::kAdd, .keys = {call.firsts, call.seconds}, .values = ones};
      const auto pending = session_->WriteAsync("o", adds, [&call](BatchResult result) {
        call.result = std::move(result);
        call.done.store(true);
      });
      EXPECT_TRUE(pending.ok()) << pending.status();
    }
  });
  for (int i = 0; i < 2000; ++i) moving_->StepOne();
  moving_->Settle();
  EXPECT_GT(moving_->Sum(&RoutingStats::redirected), 0u);
  std::map<Pair, std::multiset<uint64_t>> sums;
  for (const auto& call : calls) {
    test::HandEngine::Await([&] { return call->done.load(); });
    ASSERT_TRUE(call->result.status.ok()) << call->result.status;
    for (size_t i = 0; i < call->firsts.size(); ++i) {
      uint64_t sum;
      std::memcpy(&sum, call->result.values.data() + 8 * i, 8);
      sums[{call->firsts[i], call->seconds[i]}].insert(sum);
    }
  }
  for (const auto& [key, of_key] : sums) {
    uint64_t next = 1;
    for (const uint64_t sum : of_key) {
      ASSERT_EQ(sum, next++) << "counter " << key.first << ", " << key.second;
    }
  }
}

// Calls that wait, against a map: one caller's operations on a key have one order.
TEST_F(TwoPartResendTest, WaitingCallsAgreeWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed() + 1);  // the caller's; random_ is the stepping thread's
  std::map<Pair, uint64_t> model;
  std::string error;
  moving_->While([&] {
    for (int round = 0; round < 300 && error.empty(); ++round) {
      // Some stand there more than once.
      std::vector<uint64_t> firsts, seconds, values, expected;
      for (uint64_t i = 1 + random() % 300; i > 0; --i) {
        firsts.push_back(random() % kFirsts), seconds.push_back(random() % kSeconds);
        values.push_back(random() % 3), expected.push_back(random() % 3);
      }
      const size_t n = firsts.size();
      const KeyColumns keys(firsts, seconds);
      std::vector<uint8_t> there(n);
      std::vector<uint64_t> answers(n);
      absl::Status status;
      const uint64_t what = random() % 4;
      if (what == 0) {
        status = session_->Lookup("o", keys, absl::MakeSpan(answers), absl::MakeSpan(there));
      } else if (what == 1) {
        status = session_->Upsert("o", keys, values, absl::MakeSpan(there));
      } else if (what == 2) {
        status = session_->Erase("o", keys, absl::MakeSpan(there));
      } else {
        status =
            session_->Write("o", {WriteMode::kCompareAndSet, keys, values, expected},
                            {.existed = absl::MakeSpan(there), .values = absl::MakeSpan(answers)});
      }
      if (!status.ok()) error = status.ToString();
      for (size_t i = 0; i < n; ++i) {
        const Pair key(firsts[i], seconds[i]);
        const auto row = model.find(key);
        const bool was = row != model.end();
        const uint64_t before = was ? row->second : 0;
        if (there[i] != was || ((what == 0 || what == 3) && was && answers[i] != before)) {
          error = "key " + std::to_string(key.first) + ", " + std::to_string(key.second) +
                  " in round " + std::to_string(round) + ", operation " + std::to_string(what);
        }
        if (what == 1) model[key] = values[i];
        if (what == 2) model.erase(key);
        if (what == 3 && was && before == expected[i]) row->second = values[i];
      }
    }
  });
  EXPECT_EQ(error, "");
  EXPECT_GT(moving_->Sum(&RoutingStats::redirected), 0u);
}

// Bounds inside first parts, in both directions, over ranges that go away under the scan.
TEST_F(TwoPartResendTest, ScansAndAggregatesSeeEachRowOnce) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed() + 1);
  std::map<Pair, uint64_t> model;
  std::vector<uint64_t> firsts, seconds, values;
  for (uint64_t i = 0; i < kFirsts * kSeconds; ++i) {
    if (random() % 3 == 0) continue;
    firsts.push_back(i / kSeconds), seconds.push_back(i % kSeconds), values.push_back(i);
    model[{firsts.back(), seconds.back()}] = i;
  }
  std::string error;
  moving_->While([&] {
    if (!session_->Upsert("o", {firsts, seconds}, values).ok()) error = "upsert";
    for (int round = 0; round < 200 && error.empty(); ++round) {
      const auto [lo, hi] = std::minmax({Pair(random() % kFirsts, random() % kSeconds),
                                         Pair(random() % kFirsts, random() % kSeconds)});
      const KeyRange range{
          .lo = lo.first, .hi = hi.first, .lo_second = lo.second, .hi_second = hi.second};
      const bool backward = round % 2 == 0;
      std::vector<Pair> expected, got;
      RangeAggregate total;
      for (auto row = model.lower_bound(lo); row != model.lower_bound(hi); ++row) {
        expected.push_back(row->first);
        total.Add({1, row->second, row->second, row->second, 0, row->first.first, row->first.first,
                   row->first.second, row->first.second});
      }
      if (backward) std::reverse(expected.begin(), expected.end());
      auto scan = session_->OpenScan(
          "o", {.range = range,
                .direction = backward ? ScanDirection::kBackward : ScanDirection::kForward});
      for (;;) {
        const auto chunk = (*scan)->Next();
        if (!chunk.ok()) error = chunk.status().ToString();
        if (!chunk.ok() || !*chunk) break;
        for (size_t i = 0; i < (*chunk)->keys().size(); ++i) {
          got.emplace_back((*chunk)->keys()[i], (*chunk)->second_keys()[i]);
        }
      }
      if (got != expected) error = "scan of round " + std::to_string(round);
      const auto sum = session_->Aggregate("o", {.range = range});
      if (!sum.ok() || *sum != total) error = "aggregate of round " + std::to_string(round);
    }
  });
  EXPECT_EQ(error, "");
}

}  // namespace
}  // namespace eris
