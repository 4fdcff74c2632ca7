// What scans of tables see while writers run: one moment of all partitions.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "eris/engine.h"
#include "tests/integration/table_fixture.h"
#include "tests/support/seed.h"
#include "tests/support/table_rows.h"

namespace eris {
namespace {

using namespace expressions;  // NOLINT: operators
using test::KeyColumnsOf;
using test::Row;
using test::Rows;

class TableSnapshotTest : public test::TableTest {};
INSTANTIATE_TEST_SUITE_P(Aeus, TableSnapshotTest, testing::Values(1, 2, 8), test::NameOf);

// Money moves from one account to another: taken, and only after the acknowledgement added.
TEST_P(TableSnapshotTest, NoSnapshotSeesMoneyThatIsNotThere) {
  const Schema schema = {.columns = {{.name = "account", .type = ColumnType::kInt64},
                                          {.name = "money", .type = ColumnType::kInt64}},
                              .key = {0}};
  constexpr int64_t kWriters = 8;
  constexpr int64_t kAccounts = 64;  // of each writer
  constexpr int64_t kEach = 1000;
  constexpr int64_t kAmount = 10;
  ASSERT_TRUE(engine_
                  ->CreateTable(
                      "bank", schema,
                      {.expected = {uint64_t{1} << 63, (uint64_t{1} << 63) + kWriters * kAccounts}})
                  .ok());
  Rows rows(schema.columns);
  for (int64_t i = 0; i < kWriters * kAccounts; ++i) rows.Add({i, kEach});
  ASSERT_TRUE(session_->UpsertRows("bank", rows.batch()).ok());
  constexpr int64_t kTotal = kWriters * kAccounts * kEach;
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int64_t w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      auto session = engine_->NewSession();
      std::mt19937_64 random(seed_ + static_cast<uint64_t>(w));
      std::vector<int64_t> money(kAccounts, kEach);
      const auto write = [&](int64_t account) {
        Rows one(schema.columns);
        one.Add({w * kAccounts + account, money[account]});
        ASSERT_TRUE(session->UpsertRows("bank", one.batch()).ok());
      };
      while (!stop.load()) {
        const auto from = static_cast<int64_t>(random() % kAccounts);
        const auto to = static_cast<int64_t>(random() % kAccounts);
        money[from] -= kAmount;
        write(from);
        money[to] += kAmount;
        write(to);
      }
    });
  }
  Query sum;
  sum.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"},
                    {AggregateFunction::kSum, Column("money"), "sum"}};
  const absl::Time end = absl::Now() + absl::Milliseconds(700);
  int scans = 0;
  while (absl::Now() < end && !HasFailure()) {
    const std::vector<Row> answer = ScanAll("bank", sum);
    ASSERT_EQ(answer.size(), 1u);
    EXPECT_EQ(std::get<uint64_t>(answer[0][0]), static_cast<uint64_t>(kWriters * kAccounts));
    const int64_t seen = std::get<int64_t>(answer[0][1]);
    EXPECT_LE(seen, kTotal) << test::SeedText(seed_);
    EXPECT_GE(seen, kTotal - kWriters * kAmount) << test::SeedText(seed_);
    ++scans;
  }
  stop.store(true);
  for (std::thread& writer : writers) writer.join();
  EXPECT_GT(scans, 0);
  EXPECT_EQ(One("bank", sum, 1), kTotal);
}

// Things move from one key to another: first the new row, after the acknowledgement the old one is
// erased. Dead rows pile up and are compacted meanwhile.
TEST_P(TableSnapshotTest, RowsThatChangeTheirKeyAreNeverMissing) {
  const Schema schema = {.columns = {{.name = "place", .type = ColumnType::kUint64},
                                          {.name = "thing", .type = ColumnType::kUint64},
                                          {.name = "text", .type = ColumnType::kString}},
                              .key = {0}};
  constexpr uint64_t kWriters = 3;
  constexpr uint64_t kThings = 2000;  // of each writer
  constexpr uint64_t kPlaces = 1 << 20;
  ASSERT_TRUE(engine_->CreateTable("t", schema, {.expected = {0, kPlaces}}).ok());
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> ready{0};
  std::vector<std::thread> writers;
  for (uint64_t w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      auto session = engine_->NewSession();
      std::mt19937_64 random(seed_ + w);
      std::vector<uint64_t> place_of(kThings);
      // Places of one writer: w, w + kWriters, ...
      const auto place = [&] { return random() % (kPlaces / kWriters) * kWriters + w; };
      std::set<uint64_t> taken;
      const auto free_place = [&] {
        uint64_t at = place();
        while (!taken.insert(at).second) at = place();
        return at;
      };
      const auto put = [&](const std::vector<uint64_t>& things) {
        Rows rows(schema.columns);
        for (const uint64_t thing : things) {
          rows.Add({place_of[thing], w * kThings + thing, absl::StrCat("thing ", thing)});
        }
        ASSERT_TRUE(session->UpsertRows("t", rows.batch()).ok());
      };
      std::vector<uint64_t> things;
      for (uint64_t thing = 0; thing < kThings; ++thing) {
        place_of[thing] = free_place();
        things.push_back(thing);
      }
      put(things);
      ready.fetch_add(1);
      while (!stop.load()) {
        std::set<uint64_t> picked;
        for (int i = 0; i < 50; ++i) picked.insert(random() % kThings);
        Rows old(KeyColumnsOf(schema));
        for (const uint64_t thing : picked) {
          old.Add({place_of[thing]});
          place_of[thing] = free_place();
        }
        put({picked.begin(), picked.end()});
        ASSERT_TRUE(session->EraseRows("t", old.batch()).ok());
      }
    });
  }
  while (ready.load() < kWriters) absl::SleepFor(absl::Milliseconds(1));
  Query count;
  count.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"}};
  Query things;
  things.columns = {{Column("thing"), "thing"}, {Column("text"), "text"}};
  const absl::Time end = absl::Now() + absl::Milliseconds(500);
  while (absl::Now() < end && !HasFailure()) {
    const int64_t seen = One("t", count);
    EXPECT_GE(seen, static_cast<int64_t>(kWriters * kThings)) << test::SeedText(seed_);
    EXPECT_LE(seen, static_cast<int64_t>(kWriters * (kThings + 50))) << test::SeedText(seed_);
    std::set<uint64_t> distinct;
    for (const Row& row : ScanAll("t", things)) {
      const auto thing = std::get<uint64_t>(row[0]);
      distinct.insert(thing);
      ASSERT_EQ(std::get<std::string>(row[1]), absl::StrCat("thing ", thing % kThings));
    }
    EXPECT_EQ(distinct.size(), kWriters * kThings) << test::SeedText(seed_);
  }
  stop.store(true);
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(One("t", count), static_cast<int64_t>(kWriters * kThings));
}

}  // namespace
}  // namespace eris
