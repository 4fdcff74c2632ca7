// Rows that come in key order, under a balancer that looks at them all the time; rows that lie
// unevenly, and nobody uses them, or everybody scans all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "eris/engine.h"
#include "tests/integration/table_fixture.h"
#include "tests/support/load_samples.h"
#include "tests/support/sanitized.h"

namespace eris::test {
namespace {

constexpr uint64_t kRows = 1'500'000;
constexpr uint32_t kPeriodMs = 100;
// An import takes so many periods at least.
constexpr uint64_t kImportPeriods = 20;

class ImportOrderTest : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    Options options;
    options.aeu_count = GetParam();
    options.memory_limit_bytes = uint64_t{2} << 30;
    options.balancer.period_ms = kPeriodMs;
    auto engine = Engine::Open(options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    session_ = engine_->NewSession();
  }
  double RowsMaxOverMean() {
    std::vector<double> rows;
    for (const AeuStats& aeu : engine_->Stats().aeus) {
      rows.push_back(static_cast<double>(aeu.rows));
    }
    return MaxOverMean(rows);
  }
  uint64_t Transfers() {
    const BalancerStatus status = engine_->Balancer();
    return status.links + status.copies;
  }
  // Even shares of keys 0 to kRows.
  std::vector<uint64_t> SplitPoints() const {
    std::vector<uint64_t> points;
    for (uint32_t i = 1; i < GetParam(); ++i) points.push_back(kRows * i / GetParam());
    return points;
  }
  void UpsertInOrder() {
    std::vector<uint64_t> keys(4096);
    const absl::Time began = absl::Now();
    for (uint64_t first = 0; first < kRows; first += keys.size()) {
      keys.resize(std::min<uint64_t>(keys.size(), kRows - first));
      std::iota(keys.begin(), keys.end(), first);
      ASSERT_TRUE(session_->Upsert("o", keys, keys).ok());
      Pace(first, began);
    }
  }
  static Schema Schema() {
    Schema schema = HeapOfTwo();
    schema.key = {0};
    return schema;
  }
  void UpsertRowsInOrder() {
    constexpr uint64_t kBatch = 8192;
    const absl::Time began = absl::Now();
    for (uint64_t first = 0; first < kRows; first += kBatch) {
      Rows rows = HeapRows(first, std::min(kBatch, kRows - first));
      ASSERT_TRUE(session_->UpsertRows("t", rows.batch()).ok());
      Pace(first, began);
    }
  }
  // Not before its time: the balancer has to look meanwhile.
  static void Pace(uint64_t rows, absl::Time began) {
    const absl::Duration whole = absl::Milliseconds(kPeriodMs) * kImportPeriods;
    absl::SleepFor(began + whole * (static_cast<double>(rows) / kRows) - absl::Now());
  }
  void ScanAll() {
    Query query;
    query.aggregates.emplace_back().function = AggregateFunction::kCount;
    auto scan = session_->OpenTableScan("t", query);
    ASSERT_TRUE(scan.ok()) << scan.status();
    absl::Status status;
    ReadAll(**scan, &status);
    ASSERT_TRUE(status.ok()) << status;
  }
  // Whether that becomes true within a minute; `meanwhile` is done over and over.
  static bool Becomes(const std::function<bool()>& what, const std::function<void()>& meanwhile) {
    const absl::Time end = absl::Now() + absl::Minutes(1);
    while (!what()) {
      if (absl::Now() > end || HasFailure()) return false;
      meanwhile();
    }
    return true;
  }
  static void Rest() { absl::SleepFor(absl::Milliseconds(kPeriodMs)); }

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
};

TEST_P(ImportOrderTest, AnIndexInKeyOrderStaysWhereItComes) {
  ASSERT_TRUE(engine_->Create("o", {.split_points = SplitPoints()}).ok());
  const uint64_t cycles = engine_->Balancer().cycles;
  UpsertInOrder();
  EXPECT_GE(engine_->Balancer().cycles - cycles, kImportPeriods / 2);
  absl::SleepFor(10 * absl::Milliseconds(kPeriodMs));
  EXPECT_LE(RowsMaxOverMean(), 1.2);
  EXPECT_EQ(Transfers(), 0u);
}

TEST_P(ImportOrderTest, ATableInKeyOrderStaysWhereItComes) {
  TableOptions options;
  for (const uint64_t point : SplitPoints()) options.split_points.push_back(point);
  ASSERT_TRUE(engine_->CreateTable("t", Schema(), options).ok());
  const uint64_t cycles = engine_->Balancer().cycles;
  UpsertRowsInOrder();
  EXPECT_GE(engine_->Balancer().cycles - cycles, kImportPeriods / 2);
  absl::SleepFor(10 * absl::Milliseconds(kPeriodMs));
  EXPECT_LE(RowsMaxOverMean(), 1.2);
  EXPECT_EQ(Transfers(), 0u);
}

TEST_P(ImportOrderTest, WhatOneAeuGotIsEvenedOutAtRest) {
  ASSERT_TRUE(engine_->Create("o", {}).ok());
  UpsertInOrder();
  EXPECT_TRUE(Becomes([&] { return RowsMaxOverMean() <= 1.2; }, Rest)) << RowsMaxOverMean();
}

TEST_P(ImportOrderTest, ScansEvenOutATableThatOneAeuHas) {
  BalancerOptions options = engine_->Balancer().options;
  options.enabled = false;
  ASSERT_TRUE(engine_->SetBalancer(options).ok());
  ASSERT_TRUE(engine_->CreateTable("t", Schema()).ok());
  UpsertRowsInOrder();
  ASSERT_GT(RowsMaxOverMean(), GetParam() * 0.9);
  options.enabled = true;
  ASSERT_TRUE(engine_->SetBalancer(options).ok());
  // What counts is CPU time, which more AEUs than cores have unequally for equal rows.
  // And what a sanitizer adds to it has nothing to do with rows.
  const double uneven = kSanitized ? std::max(1.6, GetParam() / 2.0) : 1.6;
  const double enough = GetParam() <= 2 ? 1.25 : uneven;
  EXPECT_TRUE(Becomes([&] { return RowsMaxOverMean() <= enough; }, [&] { ScanAll(); }))
      << RowsMaxOverMean();
}

INSTANTIATE_TEST_SUITE_P(Aeus, ImportOrderTest, testing::Values(2, 3, 8), NameOf);

}  // namespace
}  // namespace eris::test
