// Transfers of tables: what is made ready for a chunk, whom a step holds up, and rows of heap
// tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/engine/played_aeus.h"

namespace eris::engine {
namespace {

class TransferTablesTest : public TransferExecutorTest {
 protected:
  // Until chunks may have that many rows, each of which costs so many ns.
  void LearnChunkSize(uint32_t rows, uint64_t row_ns) {
    base::MutexLock lock(&object_->publisher_mu());
    ChunkSize& size = object_->chunk_size();
    while (size.rows() < rows) size.Learn(size.rows(), row_ns * size.rows(), 1, 1'000'000);
  }
};

TEST_F(TransferTablesTest, OfATableNoScanOfALaterSnapshotBeginsWithinAStep) {
  object_ = NewEntry(ObjectKind::kTable,
                     {.columns = {{.name = "k", .type = ColumnType::kUint64}}, .key = {0}});
  const TransferExecutor::Result result = Run(Copy(Keys(0)));
  ASSERT_TRUE(result.status.ok()) << result.status;
  aeus_.JoinBeginner();
  // One in each step, and each was let in at its end.
  EXPECT_EQ(aeus_.scans_begun.load(), aeus_.gives);
  ExpectTableAndRowsAgree();
}

// However long a pause may be, and however many columns may have the long strings.
TEST_F(TransferTablesTest, OfATablesFirstChunkSoMuchIsMadeReadyAndNoMore) {
  object_ = NewEntry(ObjectKind::kTable, {.columns = {{.name = "k", .type = ColumnType::kUint64},
                                                      {.name = "s", .type = ColumnType::kString},
                                                      {.name = "t", .type = ColumnType::kString}},
                                          .key = {0}});
  executor_.SetBudget(1'000'000, 0);
  LearnChunkSize(1 << 16, 2'000);
  uint64_t made_ready = 0;
  aeus_.on_give = [&](const TransferStep& step) {
    if (aeus_.gives > 1) return;
    for (const ColumnBuffers& column : step.chunk.rows.columns) {
      made_ready += column.values.capacity() + column.offsets.capacity();
    }
  };
  EXPECT_TRUE(Run(Copy(Keys(0))).status.ok());
  EXPECT_GT(made_ready, 1u << 20);
  EXPECT_LT(made_ready, 64u << 20);
}

// Columns of numbers are as wide as they are, however long a row may be.
TEST_F(TransferTablesTest, OfATableOfManyColumnsAllOfAChunkIsMadeReady) {
  Schema schema;
  schema.key = {0};
  for (int i = 0; i < 200; ++i) {
    schema.columns.push_back({.name = absl::StrCat("c", i), .type = ColumnType::kUint64});
  }
  object_ = NewEntry(ObjectKind::kTable, schema);
  LearnChunkSize(1'000, 1'600);
  // What is ready, PlayedAeus looks at.
  EXPECT_TRUE(Run(Copy(Keys(0))).status.ok());
  EXPECT_GE(aeus_.rows_max.front(), 1'000u);
  ExpectTableAndRowsAgree();
}

TEST_F(TransferTablesTest, OfAHeapTableSoManyRowsMoveAndTheTargetBecomesAHolder) {
  const std::vector<AeuId> holders{AeuId{0}};
  object_ =
      NewEntry(ObjectKind::kHeapTable, {.columns = {{.name = "v", .type = ColumnType::kUint64}}},
               {0}, std::make_unique<routing::BitmapTable>(1, /*aeus=*/4, holders));
  PlannedTransfer transfer = Copy({});
  transfer.rows = 1'000;
  EXPECT_TRUE(Run(transfer).status.ok());
  EXPECT_EQ(aeus_.moved.size(), 1'000u);
  EXPECT_EQ(object_->holders.Pin()->Owners(), (std::vector<AeuId>{AeuId{0}, AeuId{1}}));
  EXPECT_EQ(object_->holders.Pin()->version(), 2u);  // once
  // More than there are.
  transfer.rows = 1'000'000;
  EXPECT_TRUE(Run(transfer).status.ok());
  EXPECT_EQ(aeus_.moved, all_);
}

// A snapshot is held, or no segment has as few rows: what does not go over whole is copied.
TEST_F(TransferTablesTest, OfAHeapTableWhatHasNoWholeSegmentIsCopied) {
  const std::vector<AeuId> holders{AeuId{0}};
  object_ =
      NewEntry(ObjectKind::kHeapTable, {.columns = {{.name = "v", .type = ColumnType::kUint64}}},
               {0}, std::make_unique<routing::BitmapTable>(1, /*aeus=*/4, holders));
  for (const int linked : {0, 2}) {
    aeus_.refusal = absl::FailedPreconditionError("no segment has as few rows");
    aeus_.rows = all_;
    aeus_.moved.clear();
    aeus_.gives = 0;
    std::vector<TransferKind> kinds;
    aeus_.on_give = [&](const TransferStep& step) { kinds.push_back(step.kind); };
    aeus_.segment_rows = 700;
    aeus_.outcome = [&](int give) {
      return give == linked + 1 ? StepOutcome::kRefused : StepOutcome::kInstalled;
    };
    PlannedTransfer transfer = Copy({});
    transfer.kind = TransferKind::kLeap;
    transfer.rows = 3'000;
    const TransferExecutor::Result result = Run(transfer);
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(aeus_.moved.size(), 3'000u);
    EXPECT_EQ(result.record.rows, 3'000u);
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), TransferKind::kLeap), linked + 1);
    EXPECT_EQ(kinds.back(), TransferKind::kCopy);
    EXPECT_EQ(result.record.kind, linked == 0 ? TransferKind::kCopy : TransferKind::kLeap);
    EXPECT_EQ(result.record.bytes, 16u * (3'000 - 700 * linked));
  }
}

// While a snapshot is held a chunk is copied, and segments are tried again after it.
TEST_F(TransferTablesTest, OfAHeapTableSegmentsAreTriedAgainAfterASnapshot) {
  const std::vector<AeuId> holders{AeuId{0}};
  object_ =
      NewEntry(ObjectKind::kHeapTable, {.columns = {{.name = "v", .type = ColumnType::kUint64}}},
               {0}, std::make_unique<routing::BitmapTable>(1, /*aeus=*/4, holders));
  std::vector<TransferKind> kinds;
  aeus_.on_give = [&](const TransferStep& step) { kinds.push_back(step.kind); };
  aeus_.segment_rows = 700;
  aeus_.refusal = absl::AbortedError("a snapshot is held");
  aeus_.outcome = [](int give) {
    return give == 1 || give == 4 ? StepOutcome::kRefused : StepOutcome::kInstalled;
  };
  PlannedTransfer transfer = Copy({});
  transfer.kind = TransferKind::kLink;
  transfer.rows = 700 * 4;
  executor_.SetBudget(1, 0);  // small chunks
  const TransferExecutor::Result result = Run(transfer);
  ASSERT_TRUE(result.status.ok()) << result.status;
  ASSERT_GE(kinds.size(), 6u);
  kinds.resize(6);
  const TransferKind link = TransferKind::kLink, copy = TransferKind::kCopy;
  EXPECT_EQ(kinds, (std::vector<TransferKind>{link, copy, link, link, copy, link}));
  EXPECT_EQ(aeus_.moved.size(), transfer.rows);
  EXPECT_EQ(result.record.kind, link);
}

}  // namespace
}  // namespace eris::engine
