// Rows of clustered tables while ranges of keys move between AEUs: they are passed on, sent back
// and sent again with the rows that the request holds, and each takes effect exactly once. AEUs are
// stepped by hand; ranges move between their turns.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/table/table_partition.h"
#include "tests/support/hand_engine.h"
#include "tests/support/moving_ranges.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"
#include "tests/support/table_rows.h"

namespace eris {
namespace {

using test::Row;
using test::Rows;

constexpr uint32_t kTableAeus = 3;
constexpr uint64_t kFirsts = 60;
constexpr uint64_t kTableSeconds = 12;

using Pair = std::pair<uint64_t, uint64_t>;

const Schema kSchema = {
    .columns = {{.name = "first", .type = ColumnType::kUint64},
                {.name = "second", .type = ColumnType::kUint64},
                {.name = "text", .type = ColumnType::kString, .nullable = true}},
    .key = {0, 1}};
const std::vector<ColumnSchema> kKeyColumns = {kSchema.columns[0], kSchema.columns[1]};

class TableResendTest : public testing::Test {
 protected:
  TableResendTest() : random_(test::Seed()) {
    CreateOptions options{.kind = ObjectKind::kTable, .schema = kSchema};
    for (uint64_t at = 5; at < kFirsts; at += 5) options.split_points.push_back(at);
    table_ = engine_.While([&] { return test::Create(*engine_, "t", options); });
    const auto layout = (*engine_->core().catalogue.Find("t"))->layout;
    const auto make = [layout](const storage::Range& range, memory::LocalCache& cache) {
      return *storage::TablePartition::Create(range, cache, layout);
    };
    moving_.emplace(engine_, random_, "t",
                    test::MovingRanges::Options{.keys = kFirsts, .make = make});
    session_ = engine_->NewSession();
  }
  ~TableResendTest() override { moving_->Settle(); }

  std::mt19937_64 random_;
  test::HandEngine engine_{kTableAeus};
  std::optional<test::MovingRanges> moving_;
  std::unique_ptr<Session> session_;
  Object table_;
};

// Calls that wait, against a map: one caller's operations on a key have one order.
TEST_F(TableResendTest, WaitingCallsAgreeWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed() + 1);  // the caller's; random_ is the stepping thread's
  std::map<Pair, Value> model;
  std::string error;
  moving_->While([&] {
    for (int round = 0; round < 300 && error.empty(); ++round) {
      // Some stand there more than once.
      std::vector<Pair> keys;
      for (uint64_t i = 1 + random() % 300; i > 0; --i) {
        keys.emplace_back(random() % kFirsts, random() % kTableSeconds);
      }
      Rows key_rows(kKeyColumns);
      for (const auto& [first, second] : keys) key_rows.Add({first, second});
      const auto expect = [&](bool right, const char* what) {
        if (!right) error = absl::StrCat(what, " in round ", round);
      };
      switch (random() % 3) {
        case 0: {
          Rows rows(kSchema.columns);
          std::vector<Value> texts;
          for (const auto& [first, second] : keys) {
            texts.emplace_back();
            if (random() % 5 != 0) texts.back() = absl::StrCat("round ", round, " ", texts.size());
            rows.Add({first, second, texts.back()});
          }
          const BatchResult result = session_->Write(table_, {.rows = rows.batch()});
          expect(result.status.ok(), "upsert");
          for (size_t i = 0; i < keys.size(); ++i) {
            const bool there = !model.insert_or_assign(keys[i], texts[i]).second;
            expect(BitAt(result.existed, i) == there, "existed");
          }
          break;
        }
        case 1: {
          const BatchResult result =
              session_->Write(table_, {.mode = WriteMode::kErase, .rows = key_rows.batch()});
          expect(result.status.ok(), "erase");
          for (size_t i = 0; i < keys.size(); ++i) {
            expect(BitAt(result.existed, i) == (model.erase(keys[i]) > 0), "erased");
          }
          break;
        }
        default: {
          const BatchResult result = session_->Lookup(table_, {.keys = key_rows.batch()});
          expect(result.status.ok(), "lookup");
          for (size_t i = 0; i < keys.size(); ++i) {
            const auto found = model.find(keys[i]);
            expect(BitAt(result.existed, i) == (found != model.end()), "found");
            Value want;
            if (found != model.end()) want = found->second;
            expect(test::ValueAt(test::ViewOf(result.columns[0]), kSchema.columns[2], i) == want,
                   "text");
          }
        }
      }
    }
  });
  EXPECT_EQ(error, "");
  EXPECT_GT(moving_->Sum(&RoutingStats::redirected), 0u);
  moving_->Settle();
  auto scan = session_->OpenScan(table_, {});
  ASSERT_TRUE(scan.ok());
  std::vector<Row> want;
  for (const auto& [key, text] : model) want.push_back({key.first, key.second, text});
  EXPECT_EQ(test::Sorted(engine_.While([&] { return test::ReadAll(**scan); })), test::Sorted(want));
}

TEST_F(TableResendTest, RowsThatAreScannedIntoTheTableMoveAlong) {
  const Schema heap = {.columns = kSchema.columns};
  const Object from = engine_.While([&] {
    return test::Create(*engine_, "h", {.kind = ObjectKind::kHeapTable, .schema = heap});
  });
  Rows rows(heap.columns);
  for (uint64_t i = 0; i < kFirsts; ++i) {
    for (uint64_t j = 0; j < kTableSeconds; ++j) rows.Add({i, j, absl::StrCat(i, " ", j)});
  }
  const WriteBatch batch{.mode = WriteMode::kAppend, .rows = rows.batch()};
  EXPECT_TRUE(engine_.While([&] { return session_->Write(from, batch); }).status.ok());
  absl::StatusOr<uint64_t> written = 0;
  for (int round = 0; round < 30; ++round) {
    moving_->While([&] { written = session_->ScanInto(from, {}, table_); });
    ASSERT_TRUE(written.ok()) << written.status() << " " << test::SeedText(test::Seed());
    EXPECT_EQ(*written, kFirsts * kTableSeconds);
  }
  moving_->Settle();
  EXPECT_GT(moving_->Sum(&RoutingStats::redirected), 0u);
  auto copy = session_->OpenScan(table_, {});
  auto original = session_->OpenScan(from, {});
  ASSERT_TRUE(copy.ok() && original.ok());
  EXPECT_EQ(test::Sorted(engine_.While([&] { return test::ReadAll(**copy); })),
            test::Sorted(engine_.While([&] { return test::ReadAll(**original); })));
}

}  // namespace
}  // namespace eris
