// Table scans of one AEU while its partitions come and go: ranges leave and arrive in chunks,
// shrink to nothing, come back, and partitions that keep old rows alone are walked until nobody
// needs them. Each scan has every row that was here at its snapshot once, also when it is ended and
// resumed at its cursor. Turns are taken by the test.
#include "aeu/recollection.h"
#include "aeu/runners/table_scan_runner.h"
#include "aeu/state/query_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "storage/table/plan/table_plan.h"
#include "storage/table/rows/table_layout.h"
#include "tests/support/aeu_lab.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"
#include "tests/unit/table/table_rows.h"

namespace eris::aeu {
namespace {

using routing::PartOutcome;
using storage::CellOf;
using storage::ExchangeChunk;
using storage::Key;
using storage::Partition;
using storage::Range;
using storage::TablePartition;

constexpr uint64_t kTableKeys = 40'000;
constexpr uint32_t kChunkRows = 700;

// At both ends of the key space, and apart from one another.
uint64_t KeyOf(uint64_t i) {
  return i < kTableKeys / 2 ? i * 3 : ~uint64_t{0} - (kTableKeys - 1 - i) * 1'000'000'007;
}

struct TestChunk final : routing::TableChunk {
  TestChunk() : keys(kChunkRows), values(kChunkRows), validity(2 * (kChunkRows / 64 + 1)) {
    columns[0] = {.type = ColumnType::kUint64, .values = keys.data(), .validity = validity.data()};
    columns[1] = {.type = ColumnType::kInt64,
                  .values = values.data(),
                  .validity = validity.data() + kChunkRows / 64 + 1};
    rows_out.columns = columns;
    capacity = kChunkRows;
    Clear();
  }
  std::vector<uint64_t> keys;
  std::vector<int64_t> values;
  std::vector<uint64_t> validity;
  storage::ResultColumn columns[2];
};

struct TestPart final : routing::TableScanPart {
  static void Ended(routing::Reply* reply, uint32_t n) noexcept {
    static_cast<TestPart*>(reply)->ended += n;
  }
  uint32_t ended = 0;
};

using RowsByKey = std::map<uint64_t, int64_t>;

class TableScanRunnerTest : public testing::Test {
 protected:
  struct Scan {
    routing::SnapshotRegistry::Held snapshot;
    RowsByKey expected{};
    RowsByKey rows{};
    std::unique_ptr<TestPart> part{};
    std::vector<std::unique_ptr<TestChunk>> chunks{};
    std::vector<TestChunk*> kept{};  // by a slow reader
    routing::TableCursor behind{};
    bool stopped = false;  // to be resumed
    bool again = false;    // was resumed behind its end
  };

  TableScanRunnerTest()
      : random_(test::Seed()),
        layout_(
            *storage::TableLayout::Create({.columns = {{.name = "k", .type = ColumnType::kUint64},
                                                       {.name = "v", .type = ColumnType::kInt64}},
                                           .key = {0}})),
        plan_(*storage::TablePlan::Create(layout_->schema().columns, {})) {
    Turn();
    Add(theirs_, Range{}, *their_cache_);
    std::vector<uint64_t> all(kTableKeys);
    for (uint64_t i = 0; i < kTableKeys; ++i) all[i] = KeyOf(i);
    Write(*theirs_[0], all);
    while (TheirRange() > 0 && mine_.size() < kTableKeys / 2) Take(10'000);
  }
  ~TableScanRunnerTest() override {
    for (const auto& scan : scans_) registry().End(scan->snapshot.slot);
  }

  routing::SnapshotRegistry& registry() { return endpoints_.directory().snapshots(); }
  uint64_t Below(uint64_t bound) { return random_() % bound; }

  void Turn() {
    const auto mark = registry().Now();
    if (mark == mark_) return;
    registry().Read(mark, view_);
    mark_ = mark;
  }

  // --- rows

  TablePartition& Add(std::vector<std::unique_ptr<TablePartition>>& to, const Range& range,
                      memory::LocalCache& cache) {
    to.push_back(*TablePartition::Create(range, cache, layout_));
    to.back()->SetSnapshots(&view_);
    return *to.back();
  }
  void Write(TablePartition& table, const std::vector<uint64_t>& keys, RowsByKey* model = nullptr) {
    std::vector<storage::Row> rows;
    for (const uint64_t key : keys) {
      rows.push_back({CellOf(key), CellOf(++value_)});
      if (model != nullptr) (*model)[key] = value_;
      if (model == nullptr) values_[key] = value_;
    }
    const storage::RowColumns columns(*layout_, rows);
    std::vector<uint32_t> positions(rows.size());
    for (uint32_t i = 0; i < positions.size(); ++i) positions[i] = i;
    std::vector<storage::KeyState> states(rows.size());
    const storage::BatchPart part{.count = static_cast<uint32_t>(rows.size()),
                                  .keys = columns.heads(),
                                  .positions = positions.data(),
                                  .states_out = states.data(),
                                  .rows = &columns.batch()};
    table.Execute(
        {.operation = storage::Operation::kPutRows, .parts = {&part, 1}, .snapshots = &view_});
  }
  TablePartition& TableOf(const OwnedRange& owned) {
    return static_cast<TablePartition&>(*owned.partition);
  }
  void WriteSome() {
    for (const OwnedRange& owned : slot_.ranges()) {
      std::vector<uint64_t> keys;
      const auto from = mine_.lower_bound(owned.partition->range().lo.head);
      for (auto at = from; at != mine_.end() && keys.size() < 40; ++at) {
        if (!owned.partition->range().ContainsU64(at->first)) break;
        if (Below(3) == 0) keys.push_back(at->first);
      }
      if (!keys.empty()) Write(TableOf(owned), keys, &mine_);
    }
  }

  // --- ranges

  uint64_t TheirRange() const {
    return static_cast<uint64_t>(std::count_if(theirs_.begin(), theirs_.end(),
                                               [](const auto& t) { return !t->range().Empty(); }));
  }
  ExchangeChunk Lend(TablePartition& table, uint32_t rows_max) {
    ExchangeChunk chunk;
    EXPECT_TRUE(table
                    .Lend(table.range(),
                          Below(2) == 0 ? Partition::End::kLow : Partition::End::kHigh, rows_max,
                          chunk)
                    .ok());
    return chunk;
  }
  static bool Touches(const Range& range, const Range& covers) {
    return range.Empty() || range.hi == covers.lo || covers.hi == range.lo;
  }
  // From here to elsewhere.
  void Give() {
    std::vector<OwnedRange*> with_rows;
    for (OwnedRange& owned : slot_.ranges()) {
      if (!owned.partition->range().Empty()) with_rows.push_back(&owned);
    }
    if (with_rows.empty()) return;
    TablePartition& table = TableOf(*with_rows[Below(with_rows.size())]);
    const ExchangeChunk chunk = Lend(table, static_cast<uint32_t>(1 + Below(12'000)));
    Advance();
    if (Below(4) == 0) return table.TakeBack();
    ASSERT_TRUE(Add(theirs_, {chunk.covers.lo, chunk.covers.lo}, *their_cache_).Ingest(chunk).ok());
    Advance();
    table.Forget(view_, 1);
    for (const uint64_t key : chunk.keys) values_[key] = mine_.extract(key).mapped();
    ++given_;
  }
  // From elsewhere to here.
  void Take(uint32_t rows_max) {
    std::erase_if(theirs_, [&](const auto& table) { return table->CanGo(view_); });
    std::vector<TablePartition*> with_rows;
    for (const auto& table : theirs_) {
      if (!table->range().Empty()) with_rows.push_back(table.get());
    }
    if (with_rows.empty()) return;
    TablePartition& from = *with_rows[Below(with_rows.size())];
    const ExchangeChunk chunk = Lend(from, rows_max);
    std::vector<OwnedRange>& ranges = slot_.ranges();
    const auto beside = std::find_if(ranges.begin(), ranges.end(), [&](const OwnedRange& owned) {
      return Touches(owned.partition->range(), chunk.covers) && Below(3) != 0;
    });
    if (beside != ranges.end()) {
      came_back_ += beside->partition->version_bytes() > 0;
      ASSERT_TRUE(beside->partition->Ingest(chunk).ok());
    } else {
      auto table = *TablePartition::Create({chunk.covers.lo, chunk.covers.lo}, *my_cache_, layout_);
      table->SetSnapshots(&view_);
      ASSERT_TRUE(table->Ingest(chunk).ok());
      ranges.push_back({std::move(table), nullptr});
    }
    std::stable_sort(ranges.begin(), ranges.end(), [](const OwnedRange& a, const OwnedRange& b) {
      return a.partition->range().lo < b.partition->range().lo;
    });
    Advance();
    from.Forget(view_, 1);
    for (const uint64_t key : chunk.keys) mine_[key] = values_[key];
  }
  void Background() {
    for (const OwnedRange& owned : slot_.ranges()) {
      owned.partition->FreeVersions(view_, 5'000);
      owned.partition->Maintain(view_, 3'000);
    }
    gone_ += std::erase_if(slot_.ranges(),
                           [&](const OwnedRange& owned) { return TableOf(owned).CanGo(view_); });
  }

  // --- scans

  void Open() {
    auto scan = std::make_unique<Scan>();
    scan->snapshot = *registry().Begin();
    scan->expected = mine_;
    for (int i = 0; i < 2; ++i) scan->chunks.push_back(std::make_unique<TestChunk>());
    Turn();  // the command comes after the snapshot
    Send(*scan, {});
    scans_.push_back(std::move(scan));
  }
  void Send(Scan& scan, const routing::TableCursor& from) {
    scan.part = std::make_unique<TestPart>();
    scan.part->owner = AeuId{0};
    scan.part->plan = plan_;
    scan.part->from = from;
    scan.stopped = false;
    scan.kept.clear();
    for (const auto& chunk : scan.chunks) {
      chunk->Clear();
      scan.part->GiveChunk(chunk.get());
    }
    struct Record {
      routing::CommandHeader header;
      routing::TableScanSegment segment;
    };
    routing::TableScanPart* const parts[] = {scan.part.get()};
    Record record{{}, {parts, 1}};
    record.header.type = routing::CommandType::kTableScan;
    record.header.snapshot = scan.snapshot.epoch;
    record.header.complete = &TestPart::Ended;
    record.header.context = scan.part.get();
    record.header.count = 1;
    runner_.Begin(&record.header, &slot_);
  }
  void Advance() {
    runner_.Advance(0);  // as few blocks as can be
    acknowledgements_.Send();
  }
  // True: it is at its end.
  bool Read(Scan& scan) {
    TestPart& part = *scan.part;
    const bool ended = part.ended > 0;
    while (routing::TableChunk* filled = part.TakeFilled()) {
      auto* const chunk = static_cast<TestChunk*>(filled);
      if (!scan.stopped) {
        for (uint32_t i = 0; i < chunk->rows_out.rows; ++i) {
          if (!scan.rows.emplace(chunk->keys[i], chunk->values[i]).second) ++twice_;
        }
        scan.behind = chunk->behind;
      }
      chunk->Clear();
      scan.kept.push_back(chunk);
      if (!scan.stopped && Below(20) == 0) {
        scan.stopped = true;
        part.SetCancelled();
      }
    }
    if (ended && !scan.stopped) {
      EXPECT_EQ(part.outcome(), PartOutcome::kAnswered);
      // Behind the last chunk there is nothing more.
      if (scan.again || !scan.behind.chosen || Below(2) == 0) return true;
      scan.again = true;
    }
    if (ended) {
      ++resumed_;
      Send(scan, scan.behind);
      return false;
    }
    if (Below(2) == 0) return false;  // it is slow
    for (TestChunk* const chunk : scan.kept) part.GiveChunk(chunk);
    scan.kept.clear();
    return false;
  }
  void ReadAll() {
    for (size_t i = 0; i < scans_.size();) {
      Scan& scan = *scans_[i];
      if (!Read(scan)) {
        ++i;
        continue;
      }
      ++ended_;
      ASSERT_EQ(twice_, 0u);
      ASSERT_EQ(scan.rows.size(), scan.expected.size());
      ASSERT_TRUE(scan.rows == scan.expected);
      registry().End(scan.snapshot.slot);
      scans_.erase(scans_.begin() + static_cast<ptrdiff_t>(i));
    }
  }

  std::mt19937_64 random_;
  test::LabMemory memory_;
  test::TestEndpoints endpoints_{1, 64 << 10};
  routing::Port port_{endpoints_.directory(), {}};
  memory::MemoryManager my_manager_{ObjectId{7}, memory_.pool};
  memory::MemoryManager their_manager_{ObjectId{7}, memory_.pool};
  memory::LocalCache* my_cache_ = my_manager_.NewCache();
  memory::LocalCache* their_cache_ = their_manager_.NewCache();
  routing::ObjectRoute route_{
      0, ObjectId{7},
      std::make_unique<routing::RangeTable>(1, std::vector<uint64_t>{0}, std::vector{AeuId{0}})};
  LoadCounters counters_;
  Acknowledgements acknowledgements_{counters_.answered};
  std::shared_ptr<const storage::TableLayout> layout_;
  std::shared_ptr<const storage::TablePlan> plan_;
  storage::SnapshotView view_;
  routing::SnapshotRegistry::Mark mark_{};
  std::vector<std::unique_ptr<TablePartition>> theirs_;
  ObjectSlot slot_{ObjectId{7}, route_, *my_cache_, true};
  std::vector<std::unique_ptr<Scan>> scans_;
  Recollection recollection_{endpoints_.directory()[AeuId{0}].waker};
  QueryCache query_cache_{recollection_};
  TableScanRunner runner_{AeuId{0},          port_,   registry(), query_cache_,
                          acknowledgements_, counters_};
  RowsByKey mine_;    // what this AEU owns
  RowsByKey values_;  // of what others own
  int64_t value_ = 0;
  uint64_t twice_ = 0, ended_ = 0, resumed_ = 0, given_ = 0, gone_ = 0, came_back_ = 0;
};

TEST_F(TableScanRunnerTest, PartitionsComeAndGoDuringAPassAndRowsComeOnce) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  const uint64_t scans = test::Fewer(300, 40);
  for (int turns = 0; ended_ < scans && !HasFatalFailure(); ++turns) {
    ASSERT_LT(turns, 1'000'000);
    Turn();
    switch (Below(24)) {
      case 0:
        if (scans_.size() < 5) Open();
        break;
      case 1:
        Give();
        break;
      case 2:
        Take(static_cast<uint32_t>(1 + Below(12'000)));
        break;
      case 3:
        WriteSome();
        break;
      case 4:
        Background();
        break;
      default:
        Advance();
        ReadAll();
        break;
    }
  }
  for (const auto& scan : scans_) scan->part->SetCancelled();
  while (runner_.running() > 0) Advance();
  std::printf("%lu scans, %lu resumed, %lu chunks given, %lu partitions gone, %lu came back\n",
              ended_, resumed_, given_, gone_, came_back_);
  for (const uint64_t times : {resumed_, given_, gone_, came_back_}) EXPECT_GT(times, 0u);
}

// A partition keeps old rows alone, and a scan that comes to it finds them; then it goes while a
// scan stands in it.
TEST_F(TableScanRunnerTest, APartitionWithoutARangeIsWalkedWhileASnapshotNeedsIt) {
  Open();
  const auto has_range = [](const OwnedRange& owned) { return !owned.partition->range().Empty(); };
  while (std::any_of(slot_.ranges().begin(), slot_.ranges().end(), has_range)) Give();
  EXPECT_TRUE(mine_.empty());
  for (const OwnedRange& owned : slot_.ranges()) {
    EXPECT_TRUE(owned.partition->range().Empty());
    EXPECT_FALSE(TableOf(owned).CanGo(view_));
  }
  for (int i = 0; i < 20; ++i) Advance();
  EXPECT_FALSE(slot_.ranges().empty());
  // A second scan, of a later snapshot, finds nothing here.
  Open();
  EXPECT_TRUE(scans_[1]->expected.empty());
  while (!scans_.empty() && !HasFatalFailure()) {
    Advance();
    ReadAll();
  }
  EXPECT_EQ(ended_, 2u);
  Turn();
  for (int i = 0; i < 20; ++i) Background();  // a bounded number of old rows each
  EXPECT_TRUE(slot_.ranges().empty());
}

}  // namespace
}  // namespace eris::aeu
