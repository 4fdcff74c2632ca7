// Shares of a table, with AEUs stepped by hand: together they are the rows of the snapshot, each
// once, while ranges move and writers write; and other AEUs do nothing for one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"
#include "tests/support/table_rows.h"

namespace eris {
namespace {

using namespace expressions;  // NOLINT: operators
using test::Row;
using test::Rows;
using testing::HasSubstr;

constexpr uint32_t kAeus = 3;
constexpr uint64_t kShareKeys = uint64_t{1} << 40;

const Schema kColumns = {.columns = {{.name = "id", .type = ColumnType::kUint64},
                                     {.name = "value", .type = ColumnType::kInt64}},
                         .key = {0}};

class TableShareTest : public testing::Test {
 protected:
  using Contents = std::map<uint64_t, int64_t>;

  TableShareTest() : random_(test::Seed()) {}

  Object Create(const char* name, ObjectKind kind) {
    Schema schema = kColumns;
    if (kind == ObjectKind::kHeapTable) schema.key.clear();
    CreateOptions options{.kind = kind, .schema = schema};
    if (kind != ObjectKind::kHeapTable) options.expected = {.hi = kShareKeys};
    return engine_.Create(name, options);
  }
  void Write(const Object& object, WriteMode mode, Rows& rows) {
    const absl::Status status = engine_.While(
        [&] { return session_->Write(object, {.mode = mode, .rows = rows.batch()}).status; });
    ASSERT_TRUE(status.ok()) << status;
  }
  void Load(uint64_t rows) {
    Rows all(kColumns.columns);
    while (contents_.size() < rows) {
      const uint64_t key = random_() % kShareKeys;
      if (contents_.emplace(key, key % 1000).second) {
        all.Add({key, static_cast<int64_t>(key % 1000)});
      }
    }
    Write(table_, WriteMode::kUpsert, all);
  }
  // Other values for all rows, and ranges that go to other AEUs.
  void Change() {
    Rows all(kColumns.columns);
    for (const auto& [key, value] : contents_) all.Add({key, int64_t{-1}});
    Write(table_, WriteMode::kUpsert, all);
    // A third of each partition goes to the next one's owner.
    Engine& engine = *engine_;
    for (size_t right = 1; right < kAeus; ++right) {
      const ObjectInfo info = test::OrDie(engine.Describe("t"));
      const uint64_t lo = info.partition_starts[right - 1], bound = info.partition_starts[right];
      const KeyRange piece{.lo = bound - (bound - lo) / 3, .hi = bound};
      const absl::Status moved =
          engine_.While([&] { return engine.MoveRange("t", piece, info.partition_owners[right]); });
      ASSERT_TRUE(moved.ok()) << moved;
    }
  }
  Query ShareOf(uint32_t aeu, uint32_t index = 0, uint32_t count = 1) {
    Query query;
    query.snapshot = snapshot_;
    query.share = {AeuId{aeu}, index, count};
    return query;
  }
  std::vector<Row> Read(const Object& object, const Query& query) {
    auto scan = test::OrDie(session_->OpenScan(object, query));
    absl::Status status;
    std::vector<Row> rows = engine_.While([&] { return test::ReadAll(*scan, &status); });
    EXPECT_TRUE(status.ok()) << status;
    return rows;
  }
  std::vector<ObjectShare> Shares(const Object& object, const Query& query) {
    return test::OrDie(engine_.While([&] { return session_->Shares(object, query); }));
  }
  std::string Refusal(const Object& object, const Query& query) {
    const auto scan = session_->OpenScan(object, query);
    return scan.ok() ? "" : scan.status().ToString();
  }
  uint64_t BlockRuns(uint32_t aeu) {
    return engine_->aeu({aeu}).counters().table_block_runs.Read();
  }
  void TakeSnapshot() { snapshot_ = test::OrDie(engine_->TakeSnapshot()); }

  std::mt19937_64 random_;
  test::HandEngine engine_{kAeus, [](Options& options) { options.balancer.enabled = false; }};
  std::unique_ptr<Session> session_ = engine_->NewSession();
  Object table_ = Create("t", ObjectKind::kTable);
  Contents contents_;
  std::shared_ptr<Snapshot> snapshot_;
};

TEST_F(TableShareTest, TogetherTheyAreTheSnapshotWhileRangesMove) {
  constexpr uint32_t kParts = 3;
  Load(400'000);
  TakeSnapshot();
  Contents found;
  uint32_t with_rows = 0;
  const auto read = [&](uint32_t aeu) {
    for (uint32_t part = 0; part < kParts; ++part) {
      const std::vector<Row> rows = Read(table_, ShareOf(aeu, part, kParts));
      with_rows += !rows.empty();
      for (const Row& row : rows) {
        ASSERT_TRUE(found.emplace(std::get<uint64_t>(row[0]), std::get<int64_t>(row[1])).second)
            << "twice";
      }
    }
  };
  read(0);
  Change();
  read(1);
  Change();
  read(2);
  EXPECT_EQ(found.size(), contents_.size());
  EXPECT_TRUE(found == contents_);
  EXPECT_GT(with_rows, kAeus) << "some AEU's parts have rows, more than one each";
}

// AEU 1's rows are its own until the snapshot ends, though it owns no key since.
TEST_F(TableShareTest, AnAeuThatOwnsNothingAnyMoreHasItsShare) {
  Load(30'000);
  TakeSnapshot();
  Query query;
  query.snapshot = snapshot_;
  const auto before = Shares(table_, query);
  ASSERT_EQ(before.size(), kAeus);
  Engine& engine = *engine_;
  const absl::Status moved =
      engine_.While([&] { return engine.MoveRange("t", before[1].range, AeuId{2}); });
  ASSERT_TRUE(moved.ok()) << moved;
  uint64_t rows = 0;
  for (const ObjectShare& share : Shares(table_, query)) {
    EXPECT_EQ(Read(table_, ShareOf(share.aeu.value)).size(), share.rows);
    rows += share.rows;
  }
  EXPECT_EQ(rows, contents_.size()) << "a member is left out";
}

TEST_F(TableShareTest, OtherAeusRunNoBlock) {
  Load(20'000);
  TakeSnapshot();
  std::vector<uint64_t> before;
  for (uint32_t i = 0; i < kAeus; ++i) before.push_back(BlockRuns(i));
  EXPECT_FALSE(Read(table_, ShareOf(1)).empty());
  EXPECT_EQ(BlockRuns(0), before[0]);
  EXPECT_GT(BlockRuns(1), before[1]);
  EXPECT_EQ(BlockRuns(2), before[2]);
}

TEST_F(TableShareTest, AggregatesAreOfTheShare) {
  Load(50'000);
  TakeSnapshot();
  Change();
  int64_t rows = 0;
  for (uint32_t aeu = 0; aeu < kAeus; ++aeu) {
    for (uint32_t part = 0; part < 2; ++part) {
      Query query = ShareOf(aeu, part, 2);
      query.filter = Column("value") < Literal(500);
      query.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"}};
      const std::vector<Row> counted = Read(table_, query);
      ASSERT_EQ(counted.size(), 1u);
      rows += static_cast<int64_t>(std::get<uint64_t>(counted[0][0]));
    }
  }
  int64_t wanted = 0;
  for (const auto& [key, value] : contents_) wanted += value < 500;
  EXPECT_EQ(rows, wanted);
}

TEST_F(TableShareTest, AnAeuWithoutRowsHasSharesWithoutRows) {
  const Object heap = Create("h", ObjectKind::kHeapTable);
  Rows few(kColumns.columns);
  few.Add({uint64_t{7}, int64_t{7}});
  Write(heap, WriteMode::kAppend, few);
  TakeSnapshot();
  size_t rows = 0;
  int64_t counted = 0;
  for (uint32_t aeu = 0; aeu < kAeus; ++aeu) {
    rows += Read(heap, ShareOf(aeu)).size();
    Query count = ShareOf(aeu, 0, 1);
    count.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"}};
    const std::vector<Row> answer = Read(heap, count);
    ASSERT_EQ(answer.size(), 1u);
    counted += static_cast<int64_t>(std::get<uint64_t>(answer[0][0]));
  }
  EXPECT_EQ(rows, 1u);
  EXPECT_EQ(counted, 1);
}

TEST_F(TableShareTest, ATokenGoesOnInItsShareAlone) {
  Load(300'000);
  TakeSnapshot();
  const size_t rows = Read(table_, ShareOf(1, 0, 1)).size();
  Query query = ShareOf(1, 0, 1);
  uint64_t first = 0;
  {
    auto scan = test::OrDie(session_->OpenScan(table_, query));
    const auto chunk = test::OrDie(engine_.While([&] { return scan->Next(); }));
    first = chunk->rows();
    query.resume = chunk->resume();
  }
  ASSERT_FALSE(query.resume.empty());
  Change();
  EXPECT_EQ(Read(table_, query).size() + first, rows);
  query.share->count = 2;
  EXPECT_THAT(Refusal(table_, query), HasSubstr("not one of this query"));
  query.share.reset();
  EXPECT_THAT(Refusal(table_, query), HasSubstr("not one of this query"));
}

TEST_F(TableShareTest, SharesTellWhereRowsAre) {
  Load(30'000);
  TakeSnapshot();
  Query query;
  query.snapshot = snapshot_;
  const auto shares = Shares(table_, query);
  ASSERT_EQ(shares.size(), kAeus);
  uint64_t rows = 0;
  for (uint32_t i = 0; i < kAeus; ++i) {
    EXPECT_EQ(shares[i].aeu, AeuId{i});
    EXPECT_EQ(shares[i].rows, Read(table_, ShareOf(i)).size());
    EXPECT_EQ(shares[i].range, (KeyRange{.lo = i == 0 ? 0 : shares[i - 1].range.hi.value_or(0),
                                         .hi = shares[i].range.hi}));
    rows += shares[i].rows;
  }
  EXPECT_EQ(rows, contents_.size());
  // What no segment of an AEU can have, it is not asked for. Rows that have moved since are still
  // those of the AEU that has given them away.
  query.filter = Column("id") < Literal(Value(*shares[0].range.hi));
  const auto some = Shares(table_, query);
  ASSERT_EQ(some.size(), 1u);
  EXPECT_EQ(some[0].aeu, AeuId{0});
  Change();
  EXPECT_EQ(Shares(table_, query)[0].aeu, AeuId{0});
  EXPECT_EQ(Shares(table_, query)[0].rows, shares[0].rows);
  query.filter = Column("value") > Literal(5000);
  EXPECT_TRUE(Shares(table_, query).empty());
}

TEST_F(TableShareTest, SharesOfSegmentsThatOthersScanCountOnce) {
  Load(200'000);
  TakeSnapshot();
  Query query;
  query.snapshot = snapshot_;
  std::vector<std::unique_ptr<Scan>> others;
  for (int i = 0; i < 4; ++i) {
    Query sum;
    sum.aggregates = {{AggregateFunction::kSum, Column("value"), "sum"}};
    others.push_back(test::OrDie(session_->OpenScan(table_, sum)));
    for (uint32_t aeu = 0; aeu < kAeus; ++aeu) engine_->aeu({aeu}).Step({.scan_ns = 0});
  }
  uint64_t rows = 0;
  for (const ObjectShare& share : Shares(table_, query)) rows += share.rows;
  EXPECT_EQ(rows, contents_.size());
}

TEST_F(TableShareTest, SharesOfAnIndexAreItsPartitions) {
  const Object index = engine_.Create("i", {.expected = {.hi = kShareKeys}});
  std::vector<uint64_t> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back(random_() % (kShareKeys / 2));
  const absl::Status written = engine_.While([&] { return session_->Upsert(index, keys, keys); });
  ASSERT_TRUE(written.ok()) << written;
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  TakeSnapshot();
  Query query;
  query.snapshot = snapshot_;
  query.range.lo = keys[10];
  const auto shares = Shares(index, query);
  ASSERT_FALSE(shares.empty());
  EXPECT_LT(shares.size(), kAeus) << "the last partition has no rows";
  uint64_t rows = 0;
  for (const ObjectShare& share : shares) {
    query.range = share.range;
    EXPECT_EQ(Read(index, query).size(), share.rows);
    rows += share.rows;
  }
  EXPECT_EQ(rows, keys.size() - 10);
}

TEST_F(TableShareTest, WhatIsNoShareIsRefused) {
  Load(10);
  EXPECT_THAT(Refusal(table_, ShareOf(0)), HasSubstr("needs a snapshot"));
  TakeSnapshot();
  EXPECT_THAT(Refusal(table_, ShareOf(kAeus)), HasSubstr("a share of AEU 3, the engine has 3"));
  EXPECT_THAT(Refusal(table_, ShareOf(0, 0, 0)), HasSubstr("between 1 and 65536"));
  EXPECT_THAT(Refusal(table_, ShareOf(0, 0, kTableSharesMax + 1)), HasSubstr("between 1 and"));
  EXPECT_THAT(Refusal(table_, ShareOf(0, 2, 2)), HasSubstr("index is 2, must be below its count"));
  const Object index = engine_.Create("i");
  EXPECT_THAT(Refusal(index, ShareOf(0)), HasSubstr("a share of a table"));
  const auto refused = [&](const Query& query) {
    return session_->Shares(table_, query).status().ToString();
  };
  EXPECT_THAT(refused({}), HasSubstr("shares are of a snapshot"));
  EXPECT_THAT(refused(ShareOf(0)), HasSubstr("has no share, limit"));
  Query unknown;
  unknown.snapshot = snapshot_;
  unknown.filter = Column("nothing") < Literal(1);
  EXPECT_THAT(refused(unknown), HasSubstr("nothing"));
}

}  // namespace
}  // namespace eris
