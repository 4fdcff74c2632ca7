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
    Options options = SmallOptions(GetParam(), "");
    options.memory_limit_bytes = uint64_t{2} << 30;
    options.balancer.enabled = true;
    options.balancer.period_ms = kPeriodMs;
    engine_ = OpenEngine(options);
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
    return status.transfers.sum();
  }
  // Even shares of keys 0 to kRows.
  std::vector<uint64_t> SplitPoints() const {
    std::vector<uint64_t> points;
    for (uint32_t i = 1; i < GetParam(); ++i) points.push_back(kRows * i / GetParam());
    return points;
  }
  // An index, or a table.
  static CreateOptions OptionsOf(bool table) {
    Schema schema = HeapOfTwo();
    schema.key = {0};
    return table ? TableOptions(schema) : CreateOptions{};
  }
  void UpsertInOrder(const Object& object) {
    constexpr uint64_t kBatch = 8192;
    std::vector<uint64_t> keys;
    const absl::Time began = absl::Now();
    for (uint64_t first = 0; first < kRows; first += kBatch) {
      const uint64_t count = std::min(kBatch, kRows - first);
      if (object.kind() == ObjectKind::kTable) {
        Rows rows = HeapRows(first, count);
        ASSERT_TRUE(session_->Write(object, {.rows = rows.batch()}).status.ok());
      } else {
        keys.resize(count);
        std::iota(keys.begin(), keys.end(), first);
        ASSERT_TRUE(session_->Upsert(object, keys, keys).ok());
      }
      Pace(first, began);
    }
  }
  // Not before its time: the balancer has to look meanwhile.
  static void Pace(uint64_t rows, absl::Time began) {
    const absl::Duration whole = absl::Milliseconds(kPeriodMs) * kImportPeriods;
    absl::SleepFor(began + whole * (static_cast<double>(rows) / kRows) - absl::Now());
  }
  void ScanAll(const Object& table) {
    Query query;
    query.aggregates.emplace_back().function = AggregateFunction::kCount;
    ReadAll(*OrDie(session_->OpenScan(table, query)));
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

TEST_P(ImportOrderTest, WhatComesInKeyOrderStaysWhereItComes) {
  for (const bool table : {false, true}) {
    CreateOptions options = OptionsOf(table);
    options.split_points = SplitPoints();
    const Object object = Create(*engine_, "o", options);
    const uint64_t cycles = engine_->Balancer().cycles;
    UpsertInOrder(object);
    EXPECT_GE(engine_->Balancer().cycles - cycles, kImportPeriods / 2);
    absl::SleepFor(10 * absl::Milliseconds(kPeriodMs));
    EXPECT_LE(RowsMaxOverMean(), 1.2);
    EXPECT_EQ(Transfers(), 0u);
    ASSERT_TRUE(engine_->Drop("o").ok());
  }
}

TEST_P(ImportOrderTest, WhatOneAeuGotIsEvenedOutAtRest) {
  UpsertInOrder(Create(*engine_, "o"));
  EXPECT_TRUE(Becomes([&] { return RowsMaxOverMean() <= 1.2; }, Rest)) << RowsMaxOverMean();
}

TEST_P(ImportOrderTest, ScansEvenOutATableThatOneAeuHas) {
  BalancerOptions options = engine_->Balancer().options;
  options.enabled = false;
  ASSERT_TRUE(engine_->SetBalancer(options).ok());
  const Object table = Create(*engine_, "t", OptionsOf(/*table=*/true));
  UpsertInOrder(table);
  ASSERT_GT(RowsMaxOverMean(), GetParam() * 0.9);
  options.enabled = true;
  ASSERT_TRUE(engine_->SetBalancer(options).ok());
  // What counts is CPU time, which more AEUs than cores have unequally for equal rows.
  // And what a sanitizer adds to it has nothing to do with rows.
  const double uneven = kSanitized ? std::max(1.6, GetParam() / 2.0) : 1.6;
  const double enough = GetParam() <= 2 ? 1.25 : uneven;
  EXPECT_TRUE(Becomes([&] { return RowsMaxOverMean() <= enough; }, [&] { ScanAll(table); }))
      << RowsMaxOverMean();
}

INSTANTIATE_TEST_SUITE_P(Aeus, ImportOrderTest, testing::Values(2, 3, 8), AeusOf);

}  // namespace
}  // namespace eris::test
