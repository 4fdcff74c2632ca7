// Table scans over many AEUs stepped by hand: all of them work on a scan, though neither answers
// nor groups of all of them fit.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "storage/table/rows/append_pieces.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"
#include "tests/support/table_rows.h"

namespace eris {
namespace {

using namespace expressions;  // NOLINT: operators
using test::Row;
using test::Rows;

// A heap table with rows at every AEU.
class SpreadHeapTest : public testing::Test {
 protected:
  SpreadHeapTest(uint32_t aeus, const std::function<void(Options&)>& change)
      : engine_(aeus, change) {
    heap_ = engine_.Create(
        "h", {.kind = ObjectKind::kHeapTable,
              .schema = {.columns = {{.name = "id", .type = ColumnType::kUint64},
                                     {.name = "group", .type = ColumnType::kInt32}}}});
  }
  // `row(i)` for i from 0, a batch that has a piece for each AEU.
  template <class RowOf>
  void Append(RowOf row) {
    Rows rows(heap_.schema().columns);
    const uint64_t count = engine_->aeu_count() * storage::kAppendRowsMax;
    for (uint64_t i = 0; i < count; ++i) rows.Add(row(i));
    const absl::Status status = engine_.While([&] {
      return session_->Write(heap_, {.mode = WriteMode::kAppend, .rows = rows.batch()}).status;
    });
    EXPECT_TRUE(status.ok()) << status;
  }
  std::unique_ptr<Scan> Open() { return test::OrDie(session_->OpenScan(heap_, query_)); }
  std::vector<Row> ReadAll(Scan& scan, absl::Status* status = nullptr) {
    return engine_.While([&] { return test::ReadAll(scan, status); });
  }

  test::HandEngine engine_;
  std::unique_ptr<Session> session_ = engine_->NewSession();
  Object heap_;
  Query query_;
};

// More AEUs than the pool of answers has pieces for, which is 16.
class ManyAeusTest : public SpreadHeapTest {
 protected:
  static constexpr uint32_t kMany = 48;
  static constexpr uint64_t kRowsEach = 20'480;

  ManyAeusTest() : SpreadHeapTest(kMany, [](Options& options) { options.scan_chunks_max = 32; }) {
    constexpr uint64_t kBatch = kMany * storage::kAppendRowsMax;
    for (uint64_t first = 0; first < kMany * kRowsEach; first += kBatch) {
      Append([first](uint64_t i) { return Row{first + i, static_cast<int64_t>((first + i) % 7)}; });
    }
  }
  uint64_t Scanned(uint32_t aeu) { return engine_->aeu({aeu}).counters().rows_scanned.Read(); }
  // Opens a scan of which nobody reads; how many AEUs have worked on it when nobody can any more.
  uint32_t OpenAndCount() {
    std::vector<uint64_t> before;
    for (uint32_t i = 0; i < kMany; ++i) before.push_back(Scanned(i));
    scans_.push_back(Open());
    while (engine_.StepAll()) {
    }
    uint32_t at_work = 0;
    for (uint32_t i = 0; i < kMany; ++i) at_work += Scanned(i) > before[i];
    return at_work;
  }

  std::vector<std::unique_ptr<Scan>> scans_;
};

TEST_F(ManyAeusTest, EachWorksOnAScanAndReadersThatPauseLeaveRoomForOthers) {
  for (int i = 0; i < 8; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(OpenAndCount(), kMany);
  }
  EXPECT_LT(engine_->core().table_chunks->in_use(), 16u);
  for (auto& scan : scans_) {
    EXPECT_EQ(ReadAll(*scan).size(), kMany * kRowsEach);
  }
}

TEST_F(ManyAeusTest, EachWorksOnAScanThatWantsFewRows) {
  query_.filter = NotEqual(Column("id"), Column("id"));  // none, and bounds do not say so
  query_.limit = 10;
  EXPECT_EQ(OpenAndCount(), kMany);
}

// Each AEU has a row of each of 16,384 groups: what all of them add up is more than queries may
// take, what two of them do is not.
class ManyGroupsTest : public SpreadHeapTest {
 protected:
  static constexpr uint32_t kMany = 24;
  static constexpr uint64_t kGroups = 4 * uint64_t{storage::kAppendRowsMax};

  // Queries get a sixteenth of the memory.
  ManyGroupsTest()
      : SpreadHeapTest(kMany, [](Options& options) {
          options.memory_limit_bytes = 0;
          options.process_memory_bytes = uint64_t{1} << 30;
        }) {
    constexpr uint64_t kPiece = storage::kAppendRowsMax;
    for (uint64_t first = 0; first < kGroups; first += kPiece) {
      Append([first](uint64_t i) { return Row{first + i % kPiece, int64_t{3}}; });
    }
    query_.group_by = {"id"};
    for (int64_t i = 0; i < 16; ++i) {
      query_.aggregates.push_back(
          {AggregateFunction::kSum, Column("group") + Literal(i), absl::StrCat("sum", i)});
    }
    scan_ = Open();
  }
  ~ManyGroupsTest() override {
    scan_.reset();
    engine_.StepUntil([&] { return engine_->core().scans.size() == 0; });
    EXPECT_EQ(engine_->core().run_memory->used(), 0u);
  }

  std::unique_ptr<Scan> scan_;
};

TEST_F(ManyGroupsTest, WhatPartsHaveAddedUpIsMergedAsTheyEnd) {
  for (uint32_t aeu = 0; aeu < kMany; ++aeu) {
    while (engine_->aeu({aeu}).Step({})) {
    }
    if (aeu + 1 == kMany) break;
    EXPECT_EQ(scan_->Next(absl::Now() + absl::Milliseconds(1)).status().code(),
              absl::StatusCode::kDeadlineExceeded);
    // Those of one part, and at most what has come while the reader looked away.
    EXPECT_LT(engine_->core().run_memory->used(), uint64_t{24} << 20);
  }
  absl::Status status;
  const std::vector<Row> rows = ReadAll(*scan_, &status);
  EXPECT_TRUE(status.ok()) << status;
  ASSERT_EQ(rows.size(), kGroups);
  EXPECT_TRUE(test::TextOf(rows[5]).starts_with("5|72|96|")) << test::TextOf(rows[5]);
}

TEST_F(ManyGroupsTest, GroupsOfAllPartsAreBounded) {
  EXPECT_EQ(engine_->core().run_memory->bytes_max(), uint64_t{64} << 20);
  while (engine_.StepAll()) {
  }
  absl::Status status;
  ReadAll(*scan_, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
}

}  // namespace
}  // namespace eris
