// Groups in the memory of a query: counted, refused with the operator's name, and used again by the
// next query.
#include "storage/query/rows/query_pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/table/plan/table_plan.h"
#include "storage/table/query/table_run.h"
#include "tests/unit/query/query_lab.h"

namespace eris::storage {
namespace {

// Rows with a number and its square, as one segment.
class Squares {
 public:
  explicit Squares(uint32_t rows) {
    for (int64_t i = 0; i < int64_t{rows}; ++i) {
      numbers_.push_back(i * 1'000'003);
      squares_.push_back(i * i);
    }
    columns_ = {{.type = ColumnType::kInt64, .values = numbers_.data()},
                {.type = ColumnType::kInt64, .values = squares_.data()}};
  }

  // A run that groups by the number.
  std::unique_ptr<TableRun> Run(PageSource& pages) const {
    const std::vector<ColumnSchema> schema = {{.name = "number", .type = ColumnType::kInt64},
                                              {.name = "square", .type = ColumnType::kInt64}};
    const Query query{.group_by = {"number"},
                      .aggregates = {{AggregateFunction::kSum, expressions::Column("square"), ""}}};
    auto plan = TablePlan::Create(schema, query);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *TableRun::Create(*plan, nullptr, kNoGroupLimits, &pages);
  }
  absl::Status Add(TableRun& run) const {
    const SegmentView view{.rows = static_cast<uint32_t>(numbers_.size()), .columns = columns_};
    EXPECT_TRUE(run.BeginSegment(view));
    for (uint32_t at = 0; at < view.rows;) {
      if (run.RunBlock(at, nullptr) == TableRun::Outcome::kError) return run.status();
    }
    return absl::OkStatus();
  }

 private:
  std::vector<int64_t> numbers_, squares_;
  std::vector<SegmentColumn> columns_;
};

TEST(QueryPagesTest, ASecondRunTakesTheMemoryOfTheFirst) {
  const Squares squares(kSegmentRows);
  QueryLab lab;
  QueryPages pages(lab.memory);
  uint64_t reserved = 0;
  for (int round = 0; round < 3; ++round) {
    const auto run = squares.Run(pages);
    ASSERT_TRUE(squares.Add(*run).ok());
    EXPECT_EQ(run->groups(), kSegmentRows);
    EXPECT_GT(lab.memory.used_bytes(), 48 * int64_t{kSegmentRows});
    if (round == 0) reserved = lab.tree.manager.reserved_bytes();
    EXPECT_EQ(lab.tree.manager.reserved_bytes(), reserved);
    // In pieces, or all at once by the destructor.
    while (round == 1 && run->FreeSome()) continue;
    if (round == 1) {
      EXPECT_EQ(lab.memory.used_bytes(), 0);
    }
  }
}

TEST(QueryPagesTest, ARefusalNamesTheOperator) {
  const Squares squares(kSegmentRows);
  uint64_t refused = 0;
  for (uint64_t budget = 64 << 10;; budget *= 2) {
    QueryLab lab(budget);
    QueryPages pages(lab.memory);
    const auto run = squares.Run(pages);
    const absl::Status status = squares.Add(*run);
    if (status.ok()) break;
    ++refused;
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(status.message().substr(0, 10), "grouping: ") << status;
    EXPECT_NE(status.message().find(std::to_string(budget)), absl::string_view::npos) << status;
  }
  EXPECT_GT(refused, 3u);
}

TEST(QueryPagesTest, EachRefusalIsAnErrorAndLeaksNothing) {
  const Squares squares(kSegmentRows);
  QueryLab lab;
  QueryPages pages(lab.memory);
  const uint64_t refused = RefuseEach(lab, [&] {
    const auto run = squares.Run(pages);
    const absl::Status status = squares.Add(*run);
    EXPECT_TRUE(status.ok() || status == lab.memory.Refusal("grouping")) << status;
    return !status.ok();
  });
  EXPECT_GT(refused, 20u);
}

}  // namespace
}  // namespace eris::storage
