// A query reads all of its tables as of one moment. Writers take money from a row of one table and,
// when that is acknowledged, give it to a row of the other one. So at any moment nothing is missing
// but what is just under way, and never is there more than in the beginning. On real threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "eris/engine.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

using namespace eris::expressions;  // operators

constexpr const char* kTables[] = {"a", "b"};
constexpr uint64_t kWriters = 3;
constexpr uint64_t kAccounts = 32;  // of a writer, in each table
constexpr uint64_t kMoney = 1000;   // of an account at first
constexpr uint64_t kTransferMax = 20;
constexpr uint64_t kAll = 2 * kWriters * kAccounts * kMoney;
constexpr int kQueries = 1000;

Measure SumOf(uint32_t field) { return {AggregateFunction::kSum, Field(field)}; }

// Adds up all rows of both tables.
QueryPlan OneSum() {
  return {{ReadNode{"a", {1}}, ReadNode{"b", {1}}, UnionNode{{0, 1}},
           AggregateNode{.input = 2, .measures = {SumOf(0)}}},
          {}};
}
// Adds up each table, then the two sums.
QueryPlan TwoSums() {
  return {{ReadNode{"a"}, AggregateNode{.input = 0, .measures = {SumOf(1)}}, ReadNode{"b"},
           AggregateNode{.input = 2, .measures = {SumOf(1)}}, JoinNode{.left = 1, .right = 3},
           ProjectNode{.input = 4, .columns = {Field(0) + Field(1)}}},
          {}};
}

class QueryMomentTest : public testing::Test {
 protected:
  QueryMomentTest() {
    for (const char* const table : kTables) {
      test::Create(*engine_, table,
                   {.kind = ObjectKind::kTable, .expected = {0, kWriters * kAccounts}});
    }
    for (uint64_t w = 0; w < kWriters; ++w) writers_.emplace_back([this, w] { Write(w); });
    while (ready_.load() < kWriters) std::this_thread::yield();
  }
  ~QueryMomentTest() override {
    stop_.store(true);
    for (std::thread& writer : writers_) writer.join();
    EXPECT_GT(transfers_.load(), 0u);
  }

  // The accounts `writer`, `writer` + kWriters, ...: some at each AEU.
  void Write(uint64_t writer) {
    std::mt19937_64 random(test::Seed() + writer);
    const auto session = engine_->NewSession();
    const Object objects[] = {test::Open(*session, kTables[0]), test::Open(*session, kTables[1])};
    std::vector<uint64_t> money[] = {std::vector<uint64_t>(kAccounts, kMoney),
                                     std::vector<uint64_t>(kAccounts, kMoney)};
    const auto put = [&](size_t table, uint64_t account) {
      const std::vector<uint64_t> key = {account * kWriters + writer};
      const std::vector<uint64_t> value = {money[table][account]};
      const ColumnView columns[] = {test::ColumnOf(key), test::ColumnOf(value)};
      const absl::Status status = session->Write(objects[table], {.rows = {1, columns}}).status;
      EXPECT_TRUE(status.ok()) << status;
    };
    for (const size_t table : {0, 1}) {
      for (uint64_t i = 0; i < kAccounts; ++i) put(table, i);
    }
    ready_.fetch_add(1);
    // Many transfers go the same way, so that two moments would have sums far apart.
    size_t from = writer % 2;
    while (!stop_.load(std::memory_order_relaxed)) {
      if (random() % 64 == 0) from = 1 - from;
      const uint64_t payer = random() % kAccounts;
      const uint64_t payee = random() % kAccounts;
      const uint64_t amount = 1 + random() % kTransferMax;
      if (money[from][payer] < amount) continue;
      money[from][payer] -= amount;
      put(from, payer);
      money[1 - from][payee] += amount;
      put(1 - from, payee);
      transfers_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  uint64_t Answer(const QueryPlan& plan) {
    const auto query = test::OrDie(session_->OpenQuery(plan));
    uint64_t sum = 0;
    const absl::Status end = test::ForEachChunk(*query, [&](const Chunk& chunk) {
      EXPECT_EQ(chunk.rows(), 1u);
      sum = test::ReadAt<uint64_t>(chunk.column(0).values, 0);  // the low half
    });
    EXPECT_TRUE(end.ok()) << end;
    return sum;
  }

  const std::unique_ptr<Engine> engine_ =
      test::OpenEngine(test::SmallOptions(3, "numa:1 core:3 pu:1"));
  const std::unique_ptr<Session> session_ = engine_->NewSession();

 private:
  std::vector<std::thread> writers_;
  // Relaxed: `stop_` and `transfers_` publish nothing; the default order of `ready_` shows the
  // rows.
  std::atomic<uint64_t> ready_{0};
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> transfers_{0};
};

TEST_F(QueryMomentTest, SumsOverTwoTablesAreThoseOfOneMoment) {
  const QueryPlan plans[] = {OneSum(), TwoSums()};
  for (int i = 0; i < kQueries; ++i) {
    const uint64_t sum = Answer(plans[i % 2]);
    ASSERT_LE(sum, kAll) << test::SeedText(test::Seed()) << " query " << i;
    ASSERT_GE(sum, kAll - kWriters * kTransferMax)
        << test::SeedText(test::Seed()) << " query " << i;
  }
}

}  // namespace
}  // namespace eris
