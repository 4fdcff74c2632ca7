// Table scans with AEUs stepped by hand: passes that scans share, attach to and fall out of, rows
// that go into other objects, and what tokens and groups come to. What all readers promise:
// reader_test.cc.
#include "engine/reads/table_scan_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "engine/core/snapshot.h"
#include "storage/table/rows/append_pieces.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"
#include "tests/support/table_rows.h"

namespace eris {
namespace {

using namespace expressions;  // NOLINT: operators
using test::Row;
using test::Rows;

constexpr uint32_t kTwoAeus = 2;
// Some segments at each AEU.
constexpr uint64_t kTableRows = 900'000;  // more than the chunks of one scan hold
constexpr uint64_t kBlocks = kTableRows / storage::kBlockRows;  // and some that are not full

const Schema kHeap = {.columns = {{.name = "id", .type = ColumnType::kUint64},
                                  {.name = "group", .type = ColumnType::kInt32}}};

class TableScanStateTest : public testing::Test {
 protected:
  TableScanStateTest() : random_(test::Seed()) {
    session_ = engine_->NewSession();
    heap_ = Create("h", kHeap);
    for (Rows* rows : AllRows()) Append(*rows);
  }
  ~TableScanStateTest() override { ExpectNothingLeft(); }

  Object Create(const char* name, const Schema& schema, const KeyRange& expected = {}) {
    return engine_.Create(name,
                          {.kind = schema.has_key() ? ObjectKind::kTable : ObjectKind::kHeapTable,
                           .schema = schema,
                           .expected = expected});
  }
  static Rows RowsFrom(uint64_t first, uint64_t count) {
    Rows rows(kHeap.columns);
    for (uint64_t i = first; i < first + count; ++i) rows.Add({i, static_cast<int64_t>(i % 7)});
    return rows;
  }
  // Made once: that takes longer than to append them.
  static const std::vector<Rows*>& AllRows() {
    static const auto& all = *[] {
      auto* const rows = new std::vector<Rows*>;
      for (uint64_t first = 0; first < kTableRows; first += 50'000) {
        rows->push_back(new Rows(RowsFrom(first, 50'000)));
      }
      return rows;
    }();
    return all;
  }
  void Append(uint64_t first, uint64_t count) {
    Rows rows = RowsFrom(first, count);
    Append(rows);
  }
  void Append(Rows& rows) { Append(heap_, rows); }
  void Append(const Object& object, Rows& rows) {
    const absl::Status status = engine_.While([&] {
      return session_->Write(object, {.mode = WriteMode::kAppend, .rows = rows.batch()}).status;
    });
    EXPECT_TRUE(status.ok()) << status;
  }
  std::unique_ptr<Scan> Open(const Query& query = {}) {
    return test::OrDie(session_->OpenScan(heap_, query));
  }
  // The token of the scan's first chunk.
  std::string FirstToken(const Query& query) {
    auto scan = Open(query);
    return (*test::OrDie(engine_.While([&] { return scan->Next(); }))).resume();
  }
  static Query Count() {
    Query query;
    query.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"},
                        {AggregateFunction::kSum, Column("id"), "sum"}};
    return query;
  }
  // One turn of AEU `aeu` that runs as few blocks as a turn can.
  void StepBlock(uint32_t aeu = 0) { engine_->aeu({aeu}).Step({.scan_ns = 0}); }
  std::vector<Row> ReadAll(Scan& scan, absl::Status* status = nullptr) {
    return engine_.While([&] { return test::ReadAll(scan, status); });
  }
  void ExpectWhole(Scan& scan) {
    const std::vector<Row> rows = ReadAll(scan);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(test::TextOf(rows[0]),
              absl::StrCat(kTableRows, "|", kTableRows * (kTableRows - 1) / 2, "|"));
  }
  uint64_t Blocks() { return Sum(&aeu::LoadCounters::table_blocks); }
  uint64_t BlockRuns() { return Sum(&aeu::LoadCounters::table_block_runs); }
  uint64_t Sum(base::Counter aeu::LoadCounters::*counter) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < kTwoAeus; ++i) sum += (engine_->aeu({i}).counters().*counter).Read();
    return sum;
  }
  size_t Running() {
    size_t running = 0;
    for (uint32_t i = 0; i < kTwoAeus; ++i) running += engine_->aeu({i}).table_scans_running();
    return running;
  }
  void ExpectNothingLeft() {
    engine_.StepUntil([&] {
      return engine_->core().in_flight.count() == 0 && engine_->core().scans.size() == 0;
    });
    EXPECT_EQ(engine_->core().table_chunks->in_use(), 0u);
    EXPECT_EQ(Running(), 0u);
  }

  std::mt19937_64 random_;
  // A scan that replaces the rows of another table again and again keeps the old ones meanwhile.
  test::HandEngine engine_{kTwoAeus,
                           [](Options& options) { options.version_bytes_max = uint64_t{1} << 30; }};
  std::unique_ptr<Session> session_;
  Object heap_;
};

TEST_F(TableScanStateTest, ScansThatBeginTogetherReadEachBlockOnce) {
  std::vector<std::unique_ptr<Scan>> scans;
  for (int i = 0; i < 8; ++i) scans.push_back(Open(Count()));
  const uint64_t blocks = Blocks(), runs = BlockRuns();
  for (auto& scan : scans) ExpectWhole(*scan);
  EXPECT_GE(Blocks() - blocks, kBlocks);
  EXPECT_LE(Blocks() - blocks, kBlocks + 20);
  EXPECT_EQ(BlockRuns() - runs, 8 * (Blocks() - blocks));
}

TEST_F(TableScanStateTest, ALateScanAttachesWhereThePassIsAndWrapsAround) {
  const uint64_t blocks = Blocks(), runs = BlockRuns();
  auto first = Open(Count());
  // How many blocks are in a step depends on the machine's speed.
  while (Blocks() - blocks <= 40) {
    StepBlock(0);
    StepBlock(1);
  }
  const uint64_t alone = Blocks() - blocks;
  EXPECT_LT(alone, 100u);
  auto second = Open(Count());
  ExpectWhole(*first);
  ExpectWhole(*second);
  // What the first had read before is read once more.
  EXPECT_LE(Blocks() - blocks, kBlocks + alone + 20);
  EXPECT_GE(BlockRuns() - runs, 2 * kBlocks);
}

TEST_F(TableScanStateTest, ScansThatComeAndGoAtAnyMomentSeeEachRowOnce) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::vector<std::unique_ptr<Scan>> scans;
  std::vector<std::unique_ptr<Scan>> readers;
  for (int round = 0; round < 60; ++round) {
    switch (random_() % 4) {
      case 0:
        scans.push_back(Open(Count()));
        break;
      case 1: {
        Query query;
        query.columns = {{Column("id"), "id"}};
        if (readers.size() < 4) readers.push_back(Open(query));
        break;
      }
      case 2:
        if (!scans.empty() && random_() % 4 == 0) scans.erase(scans.begin());
        break;
      default:
        break;
    }
    for (uint64_t steps = random_() % 30; steps > 0; --steps) {
      StepBlock(static_cast<uint32_t>(random_() % kTwoAeus));
    }
  }
  for (auto& scan : scans) ExpectWhole(*scan);
  // These have paused long ago.
  for (auto& reader : readers) {
    std::vector<uint64_t> ids;
    for (const Row& row : ReadAll(*reader)) ids.push_back(std::get<uint64_t>(row[0]));
    ASSERT_EQ(ids.size(), kTableRows);
    std::sort(ids.begin(), ids.end());
    for (uint64_t i = 0; i < kTableRows; ++i) ASSERT_EQ(ids[i], i);
  }
}

TEST_F(TableScanStateTest, AReaderThatPausesHoldsUpNobodyAndCostsNoTurn) {
  auto paused = Open();
  engine_.StepUntil([&] { return !engine_->aeu({0}).HasWork() && !engine_->aeu({1}).HasWork(); });
  EXPECT_EQ(Running(), 2u);
  auto other = Open(Count());
  ExpectWhole(*other);
  EXPECT_EQ(Running(), 2u);
  // Point commands are served between blocks of a scan that has them.
  EXPECT_EQ(ReadAll(*paused).size(), kTableRows);
}

TEST_F(TableScanStateTest, ACancelledScanEndsThoughItHasPaused) {
  auto paused = Open();
  engine_.StepUntil([&] { return !engine_->aeu({0}).HasWork() && !engine_->aeu({1}).HasWork(); });
  paused->Cancel();
  EXPECT_EQ(paused->Next().status().code(), absl::StatusCode::kCancelled);
  engine_.StepUntil([&] { return Running() == 0; });
}

TEST_F(TableScanStateTest, ASnapshotThatIsGivenUpEndsItsScans) {
  auto scan = Open(Count());
  StepBlock(0);
  StepBlock(1);
  auto& registry = engine_->core().directory.snapshots();
  ASSERT_TRUE(registry.AbortEpoch(scan->snapshot()->epoch()));
  absl::Status status;
  ReadAll(*scan, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
  engine_.StepUntil([&] { return Running() == 0; });
  // The part itself says so, too, when nobody asks before it ends.
  auto second = Open(Count());
  StepBlock(0);
  ASSERT_TRUE(registry.AbortEpoch(second->snapshot()->epoch()));
  engine_.StepUntil([&] { return Running() == 0; });
  EXPECT_EQ(second->Next().status().code(), absl::StatusCode::kAborted);
}

TEST_F(TableScanStateTest, ADropEndsScansThatHaveBegunAndThoseThatHaveNot) {
  auto begun = Open();
  StepBlock(0);
  auto waiting = Open();
  EXPECT_TRUE(engine_.While([&] { return engine_->Drop("h"); }).ok());
  absl::Status status;
  ReadAll(*begun, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  ReadAll(*waiting, &status);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
}

TEST_F(TableScanStateTest, RowsWrittenAfterTheScanBeganAreNotInIt) {
  auto scan = Open(Count());
  StepBlock(0);
  Append(kTableRows, 50'000);
  ExpectWhole(*scan);
}

TEST_F(TableScanStateTest, ALimitEndsTheScanAndWhatIsBehindIsNotRead) {
  Query query;
  query.limit = 100;
  auto scan = Open(query);
  const uint64_t blocks = Blocks();
  EXPECT_EQ(ReadAll(*scan).size(), 100u);
  scan.reset();
  ExpectNothingLeft();
  EXPECT_LE(Blocks() - blocks, 20u);
}

TEST_F(TableScanStateTest, TokensThatDoNotFitAreRefused) {
  Query query;
  query.snapshot = *engine_->TakeSnapshot();
  const std::string token = FirstToken(query);
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  query.resume = token;
  EXPECT_TRUE(session_->OpenScan(heap_, query).ok());
  for (size_t i = 0; i < token.size(); ++i) {
    query.resume = token;
    query.resume[i] = static_cast<char>(query.resume[i] ^ 4);
    EXPECT_EQ(session_->OpenScan(heap_, query).status().code(), kInvalid) << i;
    query.resume = token.substr(0, i);
    if (i == 0) continue;
    EXPECT_EQ(session_->OpenScan(heap_, query).status().code(), kInvalid) << i;
  }
  query.resume = token;
  const Object other = Create("other", kHeap);
  EXPECT_EQ(session_->OpenScan(other, query).status().code(), kInvalid);
  query.snapshot = nullptr;
  EXPECT_EQ(session_->OpenScan(heap_, query).status().code(), kInvalid);
  // Places that no AEU has given are safe, if of no use.
  query.snapshot = *engine_->TakeSnapshot();
  auto resume = *engine::TableResumeFrom(token);
  resume.snapshot = query.snapshot->epoch();
  for (engine::TablePartState& part : resume.parts) {
    part.done = false;
    part.cursor.chosen = true;
    part.cursor.at = {random_() % 3, random_() % 5, random_() % (storage::kSegmentRows + 1)};
    part.cursor.began = {random_() % 3, random_() % 5, 0};
    if (part.cursor.at < part.cursor.began) part.cursor.began = {};
    part.cursor.skip = random_() % 100'000;
  }
  auto backwards = resume;
  backwards.parts[0].cursor.at = {};
  backwards.parts[0].cursor.began = {1, 1, 0};
  backwards.parts[0].cursor.wrapped = false;
  query.resume = engine::ToToken(backwards);
  EXPECT_EQ(session_->OpenScan(heap_, query).status().code(), kInvalid);
  query.resume = engine::ToToken(resume);
  auto scan = Open(query);
  EXPECT_LE(ReadAll(*scan).size(), kTableRows);
}

// A token names the members of its moment; those that have been added since are asked, too.
TEST_F(TableScanStateTest, TokensOfFewerMembersAreGood) {
  Query query;
  query.snapshot = *engine_->TakeSnapshot();
  const std::string token = FirstToken(query);
  const auto all = *engine::TableResumeFrom(token);
  ASSERT_EQ(all.parts.size(), kTwoAeus);
  uint64_t rows = 0;
  for (uint32_t i = 0; i < kTwoAeus; ++i) {
    auto one = all;
    one.parts = {{.owner = AeuId{i}, .cursor = {}, .done = true}};
    query.resume = engine::ToToken(one);
    auto scan = Open(query);
    const uint64_t others = ReadAll(*scan).size();
    EXPECT_GT(others, 0u);
    EXPECT_LT(others, kTableRows);
    rows += others;
  }
  EXPECT_EQ(rows, (kTwoAeus - 1) * kTableRows);
  const auto refused = [&](std::vector<engine::TablePartState> parts) {
    auto other = all;
    other.parts = std::move(parts);
    query.resume = engine::ToToken(other);
    EXPECT_EQ(session_->OpenScan(heap_, query).status().code(), absl::StatusCode::kInvalidArgument);
  };
  refused({});
  refused({all.parts[0], all.parts[1], {.owner = AeuId{kTwoAeus}, .cursor = {}}});
  refused({all.parts[1], all.parts[0]});
  refused({all.parts[0], all.parts[0]});
}

TEST_F(TableScanStateTest, AScanIntoAnotherObjectPausesWhereItsOwnersTakeNothing) {
  const Schema target = {.columns = {{.name = "id", .type = ColumnType::kUint64},
                                     {.name = "group", .type = ColumnType::kInt32}},
                         .key = {0}};
  const Object into = Create("t", target, {0, kTableRows});
  std::optional<absl::StatusOr<uint64_t>> end;
  std::atomic<bool> done{false};
  auto pending = session_->ScanIntoAsync(heap_, {}, into, [&](absl::StatusOr<uint64_t> rows) {
    end = std::move(rows);
    done.store(true);
  });
  ASSERT_TRUE(pending.ok()) << pending.status();
  // AEU 1 does nothing: what AEU 0 sends it piles up to its bound, and AEU 0 goes on draining.
  for (int i = 0; i < 200; ++i) engine_->aeu({0}).Step({});
  EXPECT_FALSE(done.load());
  engine_.StepUntil([&] { return done.load(); });
  ASSERT_TRUE(end->ok()) << end->status();
  EXPECT_EQ(**end, kTableRows);
  EXPECT_EQ(engine_->Describe("t")->keys, kTableRows);
}

TEST_F(TableScanStateTest, AScanIntoAnotherObjectCanBeCancelledAtAnyMoment) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  for (const bool heap : {true, false}) {
    Schema target = kHeap;
    if (!heap) target.key = {0};
    const char* const name = heap ? "th" : "tc";
    const Object into = Create(name, target);
    for (int round = 0; round < test::Fewer(10, 3); ++round) {
      std::atomic<bool> done{false};
      absl::Status status;
      auto pending = session_->ScanIntoAsync(heap_, {}, into, [&](absl::StatusOr<uint64_t> rows) {
        status = rows.status();
        done.store(true);
      });
      ASSERT_TRUE(pending.ok()) << pending.status();
      for (uint64_t steps = random_() % 500; steps > 0; --steps) {
        StepBlock(static_cast<uint32_t>(random_() % kTwoAeus));
      }
      (*pending)->Cancel(absl::CancelledError("enough"));
      engine_.StepUntil([&] { return done.load(); });
      EXPECT_TRUE(status.ok() || status.code() == absl::StatusCode::kCancelled) << status;
      pending->reset();
      ExpectNothingLeft();
    }
  }
}

TEST_F(TableScanStateTest, NullsDoNotGoWhereTheTargetHasNone) {
  Schema nullable = kHeap;
  nullable.columns[1].nullable = true;
  const Object from = Create("n", nullable), to = Create("t", kHeap);
  Rows rows(nullable.columns);
  rows.Add({uint64_t{1}, int64_t{2}});
  Append(from, rows);
  auto written = engine_.While([&] { return session_->ScanInto(from, {}, to); });
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(*written, 1u);
  rows.Add({uint64_t{2}, Value{}});
  Append(from, rows);
  written = engine_.While([&] { return session_->ScanInto(from, {}, to); });
  EXPECT_EQ(written.status().code(), absl::StatusCode::kInvalidArgument) << written.status();
}

TEST_F(TableScanStateTest, ATargetThatDoesNotFitIsRefused) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const Schema pair_schema = {.columns = {{.name = "k", .type = ColumnType::kUint64},
                                          {.name = "v", .type = ColumnType::kUint64}}};
  const Object pairs = Create("pairs", pair_schema);
  const Object numbers = engine_.Create("i", {.schema = KeyValueSchema()});
  const auto code = [&](const Object& from, const Object& to, const Query& query = {}) {
    return engine_.While([&] { return session_->ScanInto(from, query, to).status().code(); });
  };
  EXPECT_EQ(code(pairs, numbers), absl::StatusCode::kOk);
  EXPECT_EQ(code(heap_, numbers), kInvalid);
  EXPECT_EQ(code(pairs, pairs), kInvalid);
  EXPECT_EQ(code(pairs, heap_), kInvalid);
  EXPECT_EQ(code(numbers, pairs), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(pairs, numbers, {.limit = 7}), kInvalid);
  EXPECT_EQ(code(pairs, numbers, Count()), kInvalid);
  for (const Schema& schema : {KeyValueSchema(ColumnType::kInt64),
                               KeyValueSchema({ColumnType::kUint64, ColumnType::kUint64}),
                               KeyValueSchema(ColumnType::kUint64, ColumnType::kString)}) {
    const std::string name =
        absl::StrCat("i", schema.columns.size(), static_cast<int>(schema.columns[0].type),
                     static_cast<int>(schema.columns.back().type));
    EXPECT_EQ(code(pairs, engine_.Create(name, {.schema = schema})),
              absl::StatusCode::kFailedPrecondition);
  }
}

// A piece of many rows would be a long step of one AEU.
TEST_F(TableScanStateTest, LongStringsAreAppendedAndSentOnInPiecesOfFewRows) {
  const Schema long_rows = {.columns = {{.name = "s", .type = ColumnType::kString}}};
  const Object from = Create("long", long_rows), copy = Create("copy", long_rows);
  Rows rows(long_rows.columns);
  for (int i = 0; i < 200; ++i) rows.Add({std::string(60'000, 'a')});
  Append(from, rows);
  Query query;
  query.aggregates = {{AggregateFunction::kCount, Column("s"), "n"}};
  const auto expect_spread = [&](const Object& object) {
    const auto scanned = [&](uint32_t aeu) {
      return engine_->aeu({aeu}).counters().rows_scanned.Read();
    };
    const uint64_t before[] = {scanned(0), scanned(1)};
    auto scan = session_->OpenScan(object, query);
    ASSERT_TRUE(scan.ok()) << scan.status();
    EXPECT_EQ(test::TextOf(ReadAll(**scan)[0]), "200|");
    EXPECT_GT(scanned(0) - before[0], 50u);
    EXPECT_GT(scanned(1) - before[1], 50u);
  };
  expect_spread(from);
  auto written = engine_.While([&] { return session_->ScanInto(from, {}, copy); });
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(*written, 200u);
  expect_spread(copy);
}

}  // namespace
}  // namespace eris
