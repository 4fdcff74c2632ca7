// Segments of a heap table go to an AEU on another NumaNode, and their memory follows them. With
// AEUs that the test steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

constexpr uint64_t kAppendRows = 4'096;
constexpr uint64_t kRowsAppended = 64 * kAppendRows;

class HeapLeapTest : public testing::Test {
 protected:
  HeapLeapTest()
      : engine_(2, [](Options& options) { options.topology = "numa:2 core:1 pu:1"; }),
        session_(engine_->NewSession()) {
    CreateOptions options;
    options.kind = ObjectKind::kHeapTable;
    options.schema = Schema{.columns = {{.name = "n", .type = ColumnType::kUint64},
                                        {.name = "text", .type = ColumnType::kString},
                                        {.name = "same", .type = ColumnType::kString}}};
    table_ = engine_.Create("rows", options);
    Append(kRowsAppended);
  }
  void Append(uint64_t rows) {
    for (uint64_t first = appended_; first < appended_ + rows; first += kAppendRows) {
      std::vector<uint64_t> numbers(kAppendRows);
      test::StringsColumn texts, same;
      for (uint64_t i = 0; i < kAppendRows; ++i) {
        numbers[i] = first + i;
        texts.Add(TextOf(first + i));
        same.Add(i % 2 == 0 ? "even" : "odd");
      }
      const std::vector<ColumnView> columns{test::ColumnOf(numbers), texts.view(), same.view()};
      const auto done = engine_.While([&] {
        return session_->Write(table_,
                               {.mode = WriteMode::kAppend, .rows = {kAppendRows, columns}});
      });
      ASSERT_TRUE(done.status.ok()) << done.status;
    }
    appended_ += rows;
  }
  // Rows have no range to be named by.
  TransferRecord Move(uint32_t from, TransferKind kind, uint64_t rows) {
    const PlannedTransfer transfer{
        .from = AeuId{from}, .to = AeuId{1 - from}, .kind = kind, .rows = rows};
    engine::Core& core = engine_->core();
    const auto result = engine_.While([&] {
      EXPECT_TRUE(core.administration.TryEnter());
      auto done = engine_->transfers().Run(**core.catalogue.Find("rows"), transfer,
                                           core.transfer_stop.Begin({}));
      core.administration.Leave();
      return done;
    });
    EXPECT_TRUE(result.status.ok()) << result.status;
    return result.record;
  }
  static std::string TextOf(uint64_t number) {
    return absl::StrCat("a text that is long enough for an array of its own ", number);
  }
  // Every row once.
  void ExpectAllRows() {
    std::vector<bool> seen(appended_);
    uint64_t wrong = 0;
    const absl::Status status = engine_.While([&] {
      auto scan = session_->OpenScan(table_, {});
      if (!scan.ok()) return scan.status();
      return test::ForEachChunk(**scan, [&](const Chunk& chunk) {
        const auto numbers = chunk.Uint64s(0);
        for (uint64_t row = 0; row < chunk.rows(); ++row) {
          const uint64_t number = numbers[row];
          const bool right = number < appended_ && !seen[number] &&
                             chunk.String(1, row) == TextOf(number) &&
                             chunk.String(2, row) == (number % 2 == 0 ? "even" : "odd");
          wrong += !right;
          if (right) seen[number] = true;
        }
      });
    });
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<int64_t>(appended_));
  }
  // What the AEU finds in its segments.
  RowMemory Measure(uint32_t aeu) {
    const auto verified = engine_.While([&] {
      return engine_->VerifyMemory({.pages_max = 1, .rows = true}, absl::InfiniteFuture());
    });
    EXPECT_TRUE(verified.ok()) << verified.status();
    for (const RowMemory& one : verified->rows) {
      if (one.aeu.value == aeu) return one;
    }
    ADD_FAILURE() << "AEU " << aeu << " has no part";
    return {};
  }
  uint64_t Brought(uint32_t aeu) {
    return engine_->aeu({aeu}).counters().bytes_brought_home.Read();
  }
  void StepUntilAllIsHome() {
    engine_.StepUntil([&] {
      return engine_->aeu({0}).counters().homecomings.Read() == 0 &&
             engine_->aeu({1}).counters().homecomings.Read() == 0;
    });
  }

  test::HandEngine engine_;
  std::unique_ptr<Session> session_;
  Object table_;
  uint64_t appended_ = 0;
};

TEST_F(HeapLeapTest, SegmentsLeapAndTheirMemoryComesHome) {
  EXPECT_GT(Measure(0).bytes, kRowsAppended / 2 * 70);
  for (const uint32_t from : {0u, 1u, 0u}) {
    const uint32_t to = 1 - from;
    const uint64_t before = Brought(to);
    const uint64_t bytes = Measure(from).bytes + Measure(to).bytes;
    const TransferRecord record = Move(from, TransferKind::kLeap, 10 * kRowsAppended);
    EXPECT_EQ(record.kind, TransferKind::kLeap);
    EXPECT_LT(record.bytes, 64u) << "no row is copied";
    EXPECT_GE(record.rows, kRowsAppended / 2);
    ExpectAllRows();
    StepUntilAllIsHome();
    ExpectAllRows();
    EXPECT_EQ(Measure(to).remote_bytes, 0u);
    EXPECT_LT(Measure(from).bytes, 4'096u);
    EXPECT_GT(Brought(to) - before, bytes / 4);
    EXPECT_LE(Measure(to).bytes, bytes + 4'096);
    EXPECT_EQ(engine_->aeu({to}).counters().homecomings_refused.Read(), 0u);
    Append(kAppendRows);
  }
  EXPECT_GT(engine_->aeu({1}).counters().bytes_remapped.Read() +
                engine_->aeu({0}).counters().bytes_remapped.Read(),
            0u);
  ExpectAllRows();
}

TEST_F(HeapLeapTest, WhileASnapshotIsHeldRowsAreCopied) {
  auto held = engine_.While([&] { return engine_->TakeSnapshot(); });
  ASSERT_TRUE(held.ok()) << held.status();
  const TransferRecord record = Move(0, TransferKind::kLeap, 10'000);
  EXPECT_EQ(record.kind, TransferKind::kCopy);
  EXPECT_EQ(record.rows, 10'000u);
  EXPECT_GT(record.bytes, 10'000u * 70);
  ExpectAllRows();
  held->reset();
  const TransferRecord after = Move(0, TransferKind::kLeap, 100'000);
  EXPECT_EQ(after.kind, TransferKind::kLeap);
  EXPECT_EQ(after.rows, 100'000u) << "a segment, and the rest by copy";
  EXPECT_GT(after.bytes, 0u);
  ExpectAllRows();
}

}  // namespace
}  // namespace eris
