// Scans in both directions and aggregates with AEUs stepped by hand, while ranges move between them
// behind the tables' back: each row comes once, in order, and counts once.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "eris/errors.h"
#include "tests/support/hand_engine.h"
#include "tests/support/moving_ranges.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

using OrderedRows = std::vector<std::pair<uint64_t, uint64_t>>;

constexpr uint32_t kOrderedAeus = 3;
constexpr uint64_t kOrderedKeys = 3000;

class OrderedScanTest : public testing::Test {
 protected:
  OrderedScanTest() : random_(test::Seed()) {
    EXPECT_TRUE(engine_
                    .While([&] {
                      return engine_->Create("o", {.expected = {0, kOrderedKeys}}).status();
                    })
                    .ok());
    // Turns of the shortest slices, and many moves.
    moving_.emplace(
        engine_, random_, "o",
        test::MovingRanges::Options{
            .keys = kOrderedKeys, .move_one_in = 4, .publish_one_in = 6, .budget = {.scan_ns = 0}});
    session_ = engine_->NewSession();
    object_ = test::Open(*session_, "o");
    for (uint64_t key = 0; key < kOrderedKeys; ++key) {
      if (random_() % 4 != 0) rows_.emplace_back(key, random_() % 100);
    }
    for (size_t i = 0; i < rows_.size(); i += 200) {
      std::vector<uint64_t> keys, values;
      for (size_t j = i; j < std::min(i + 200, rows_.size()); ++j) {
        keys.push_back(rows_[j].first), values.push_back(rows_[j].second);
      }
      EXPECT_TRUE(engine_.While([&] { return session_->Upsert(object_, keys, values); }).ok());
    }
  }
  ~OrderedScanTest() override {
    engine_.StepUntil([&] {
      return engine_->core().in_flight.count() == 0 && engine_->core().scans.size() == 0;
    });
    EXPECT_EQ(engine_->core().chunks->in_use(), 0u);
  }

  void StepUntil(const std::function<bool()>& done) {
    const absl::Time end = absl::Now() + absl::Minutes(1);
    while (!done()) {
      moving_->StepOne();
      ASSERT_LT(absl::Now(), end);
    }
  }

  KeyRange AnyRange() {
    KeyRange range{random_() % kOrderedKeys, std::nullopt};
    if (random_() % 4 != 0) range.hi = range.lo + random_() % (kOrderedKeys - range.lo + 1);
    if (random_() % 4 == 0) range.lo = 0;
    return range;
  }
  std::optional<ValueRange> AnyValues() {
    switch (random_() % 4) {
      case 0:
        return ValueRange{10, 19};
      case 1:
        return ValueRange{100, 200};  // none
      default:
        return std::nullopt;
    }
  }
  OrderedRows Expected(const KeyRange& range, const std::optional<ValueRange>& values) const {
    OrderedRows rows;
    for (const auto& row : rows_) {
      if (range.Contains(row.first) && (!values || values->Contains(row.second))) {
        rows.push_back(row);
      }
    }
    return rows;
  }

  std::mt19937_64 random_;
  test::HandEngine engine_{
      kOrderedAeus, [](Options& options) { options.session_in_flight_bytes_max = 12 << 10; }};
  std::optional<test::MovingRanges> moving_;
  std::unique_ptr<Session> session_;
  Object object_;
  OrderedRows rows_;
};

TEST_F(OrderedScanTest, EachRowComesOnceInOrderWhileRangesMove) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  for (int round = 0; round < 60; ++round) {
    Query options{.range = AnyRange(), .values = AnyValues()};
    if (random_() % 3 != 0) options.direction = ScanDirection::kBackward;
    const bool keys_only = random_() % 4 == 0;
    if (keys_only) options.columns = {{expressions::Column("key"), ""}};
    if (random_() % 2 == 0) options.limit = 1 + random_() % 500;
    OrderedRows expected = Expected(options.range, options.values);
    if (options.direction == ScanDirection::kBackward) {
      std::reverse(expected.begin(), expected.end());
    }
    if (options.limit > 0 && expected.size() > options.limit) expected.resize(options.limit);
    auto scan = session_->OpenScan(object_, options);
    ASSERT_TRUE(scan.ok()) << scan.status();
    OrderedRows rows;
    for (bool over = false; !over;) {
      std::atomic<bool> done{false};
      Scan::NextResult next;
      (*scan)->NextAsync([&](auto chunk) {
        next = std::move(chunk);
        done.store(true);
      });
      StepUntil([&] { return done.load(); });
      ASSERT_TRUE(next.ok()) << next.status();
      over = *next == nullptr;
      if (over) break;
      const Chunk& chunk = **next;
      ASSERT_GT(chunk.rows(), 0u);
      ASSERT_EQ(chunk.schema().columns.size(), keys_only ? 1u : 2u);
      for (uint64_t i = 0; i < chunk.rows(); ++i) {
        ASSERT_LT(rows.size(), expected.size());
        const uint64_t value = keys_only ? expected[rows.size()].second : chunk.Uint64s(1)[i];
        rows.emplace_back(chunk.Uint64s(0)[i], value);
      }
    }
    ASSERT_EQ(rows, expected) << "round " << round;
  }
  EXPECT_GT(moving_->moves(), 100u);
}

TEST_F(OrderedScanTest, EachRowCountsOnceWhileRangesMove) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  for (int round = 0; round < 150; ++round) {
    AggregateOptions options{.range = AnyRange(), .values = AnyValues()};
    options.count_only = random_() % 3 == 0;
    RangeAggregate expected;
    for (const auto& [key, value] : Expected(options.range, options.values)) {
      expected.Add({1, value, value, value, 0, key, key});
    }
    std::atomic<bool> done{false};
    absl::StatusOr<RangeAggregate> got;
    const auto pending = session_->AggregateAsync(object_, options, [&](auto aggregate) {
      got = std::move(aggregate);
      done.store(true);
    });
    ASSERT_TRUE(pending.ok()) << pending.status();
    StepUntil([&] { return done.load(); });
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->count, expected.count) << "round " << round;
    if (!options.count_only) {
      ASSERT_EQ(*got, expected) << "round " << round;
    }
  }
  EXPECT_GT(moving_->moves(), 100u);
}

TEST_F(OrderedScanTest, CancelCallsBackOnceAndNothingIsLeft) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> calls{0};
    absl::StatusOr<RangeAggregate> got;
    const auto pending = session_->AggregateAsync(object_, {}, [&](auto aggregate) {
      got = std::move(aggregate);
      calls.fetch_add(1);
    });
    ASSERT_TRUE(pending.ok());
    for (int step = 0; step < round; ++step) moving_->StepOne();
    (*pending)->Cancel(absl::AbortedError("enough"));
    (*pending)->Cancel(absl::AbortedError("enough"));
    test::HandEngine::Await([&] { return calls.load() > 0; });  // no AEU has to move for it
    if (!got.ok()) {
      EXPECT_EQ(got.status().code(), absl::StatusCode::kAborted);
    }
    StepUntil([&] { return engine_->core().in_flight.count() == 0; });
    EXPECT_EQ(calls.load(), 1);
  }
}

TEST_F(OrderedScanTest, AggregatesUnderWayAreBoundedByTheSessionsBytes) {
  std::atomic<int> calls{0};
  int started = 0;
  absl::Status status;
  // 12 KiB in flight, and three partitions of 512 bytes each.
  while (status.ok() && started < 1000) {
    status =
        session_->AggregateAsync(object_, {.count_only = true}, [&](auto) { calls.fetch_add(1); })
            .status();
    started += status.ok();
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(started, (12 << 10) / (3 * 512));
  engine_.StepUntil([&] { return calls.load() == started; });
  engine_.StepUntil([&] { return engine_->core().in_flight.count() == 0; });
  EXPECT_TRUE(engine_.While([&] { return session_->Aggregate(object_, {}); }).ok());
}

TEST_F(OrderedScanTest, ADeadlineEndsTheWaitOfAnAggregate) {
  const auto late = session_->Aggregate(object_, {}, absl::Now() + absl::Milliseconds(10));
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
  const auto got = engine_.While([&] { return session_->Aggregate(object_, {}); });
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->count, rows_.size());
}

TEST_F(OrderedScanTest, AnAggregateOfADroppedObjectIsNotFound) {
  std::atomic<bool> done{false};
  absl::StatusOr<RangeAggregate> got;
  const auto pending = session_->AggregateAsync(object_, {}, [&](auto aggregate) {
    got = std::move(aggregate);
    done.store(true);
  });
  ASSERT_TRUE(pending.ok());
  for (uint32_t i = 0; i < kOrderedAeus; ++i) engine_->aeu({i}).Step({.scan_ns = 0});
  // No AEU moves until the drop has been sent to all.
  const auto sent = [&] { return engine_->core().directory.ports().Total().sent; };
  const uint64_t before = sent();
  std::thread dropper([&] { EXPECT_TRUE(engine_->Drop("o").ok()); });
  test::HandEngine::Await([&] { return sent() == before + kOrderedAeus; });
  engine_.StepUntil([&] { return done.load(); });
  EXPECT_EQ(got.status().code(), absl::StatusCode::kNotFound);
  std::atomic<bool> dropped{false};
  std::thread waiter([&] {
    dropper.join();
    dropped.store(true);
  });
  engine_.StepUntil([&] { return dropped.load(); });
  waiter.join();
  EXPECT_EQ(session_->AggregateAsync(object_, {}, [](auto) {}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(OrderedScanTest, CloseWaitsForAnAggregateAndCallsItBack) {
  std::atomic<int> calls{0};
  const auto pending = session_->AggregateAsync(object_, {}, [&](auto aggregate) {
    EXPECT_TRUE(aggregate.ok()) << aggregate.status();
    calls.fetch_add(1);
  });
  ASSERT_TRUE(pending.ok());
  engine_.Close();
  EXPECT_EQ(calls.load(), 1);
  EXPECT_EQ(ErrorDetailsOf(session_->Aggregate(object_, {}).status()).reason, "ENGINE_CLOSING");
  (*pending)->Cancel(absl::AbortedError("too late"));
  EXPECT_EQ(calls.load(), 1);
}

}  // namespace
}  // namespace eris
