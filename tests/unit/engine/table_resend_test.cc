// Rows of clustered tables while ranges of keys move between AEUs: they are passed on, sent back
// and sent again with the rows that the request holds, and each takes effect exactly once. AEUs are
// stepped by hand; ranges move between their turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/table/table_partition.h"
#include "tests/sim/aeu_peer.h"
#include "tests/support/hand_engine.h"
#include "tests/support/seed.h"
#include "tests/support/table_rows.h"

namespace eris {
namespace {

using aeu::AeuTestPeer;
using storage::Key;
using storage::Range;
using test::Row;
using test::Rows;

constexpr uint32_t kAeus = 3;
constexpr uint64_t kFirsts = 60;
constexpr uint64_t kSeconds = 12;

using Pair = std::pair<uint64_t, uint64_t>;

const TableSchema kSchema = {
    .columns = {{.name = "first", .type = ColumnType::kUint64},
                {.name = "second", .type = ColumnType::kUint64},
                {.name = "text", .type = ColumnType::kString, .nullable = true}},
    .key = {0, 1}};
const std::vector<ColumnSchema> kKeyColumns = {kSchema.columns[0], kSchema.columns[1]};

class TableResendTest : public testing::Test {
 protected:
  TableResendTest() : random_(test::Seed()) {
    TableOptions options;
    for (uint64_t at = 5; at < kFirsts; at += 5) options.split_points.push_back(at);
    EXPECT_TRUE(
        engine_.While([&] { return engine_->CreateTable("t", kSchema, options).status(); }).ok());
    table_ = *engine_->core().catalogue.Find("t");
    session_ = engine_->NewSession();
  }
  ~TableResendTest() override { Settle(); }

  aeu::ObjectSlot& Slot(uint32_t aeu) {
    return *AeuTestPeer::SlotOf(engine_->aeu({aeu}), table_->route);
  }
  // A piece of a range changes hands; no table says so yet.
  void MoveSome() {
    const auto from = static_cast<uint32_t>(random_() % kAeus);
    if (Slot(from).ranges().empty()) return;
    Range range = Slot(from).ranges()[random_() % Slot(from).ranges().size()].partition->range();
    const Key lo = Key::FromU64(random_() % kFirsts), hi = Key::FromU64(random_() % kFirsts);
    if (cuts_ && range.Contains(lo)) range.lo = lo;
    if (cuts_ && range.Contains(hi) && range.lo < hi) range.hi = hi;
    if (range.Empty()) return;
    storage::ExchangeChunk rows;
    if (!AeuTestPeer::TakeRange(Slot(from), range, false, false, rows)) return;
    Give(Slot((from + 1 + random_() % (kAeus - 1)) % kAeus), rows);
  }
  void Give(aeu::ObjectSlot& slot, const storage::ExchangeChunk& rows) {
    auto partition = storage::TablePartition::Create({rows.covers.lo, rows.covers.lo}, slot.cache(),
                                                     table_->layout);
    ASSERT_TRUE(partition.ok());
    const absl::Status ingested = (*partition)->Ingest(rows);
    ASSERT_TRUE(ingested.ok()) << ingested;
    auto& ranges = slot.ranges();
    const auto after = std::find_if(ranges.begin(), ranges.end(), [&](const aeu::OwnedRange& one) {
      return rows.covers.lo < one.partition->range().lo;
    });
    ranges.insert(after,
                  {*std::move(partition), std::make_shared<aeu::PartitionLoad>(rows.covers)});
  }
  void Publish() {
    std::map<uint64_t, AeuId> owners;
    for (uint32_t i = 0; i < kAeus; ++i) {
      for (const aeu::OwnedRange& owned : Slot(i).ranges()) {
        if (!owned.partition->range().Empty()) owners[owned.partition->range().lo.head] = AeuId{i};
      }
    }
    std::vector<uint64_t> starts;
    std::vector<AeuId> by_start;
    for (const auto& [start, owner] : owners) starts.push_back(start), by_start.push_back(owner);
    table_->route.Publish(
        std::make_unique<routing::RangeTable>(table_->route.Pin()->version() + 1, starts, by_start),
        engine_->core().directory.table_readers());
  }
  // One AEU's turn, and now and then a move or a new table.
  void StepOne() {
    if (random_() % 8 == 0) MoveSome();
    if (random_() % 24 == 0) Publish();
    if (!engine_->aeu({static_cast<uint32_t>(random_() % kAeus)}).Step({})) sched_yield();
  }
  void Settle() {
    Publish();
    engine_.StepUntil([&] { return engine_->core().in_flight.count() == 0; });
  }
  // `call` runs beside AEUs whose ranges move.
  template <class Call>
  void WhileRangesMove(Call call) {
    std::atomic<bool> done{false};
    std::thread caller([&] {
      call();
      done.store(true);
    });
    while (!done.load()) StepOne();
    caller.join();
  }
  uint64_t Sum(uint64_t RoutingStats::*counter) {
    uint64_t sum = 0;
    for (const AeuStats& aeu : engine_->Stats().aeus) sum += aeu.routing.*counter;
    return sum;
  }

  bool cuts_ = true;  // ranges are cut where they leave; not while snapshots are held
  std::mt19937_64 random_;
  test::HandEngine engine_{kAeus};
  engine::ObjectRef table_;
  std::unique_ptr<Session> session_;
};

// Calls that wait, against a map: one caller's operations on a key have one order.
TEST_F(TableResendTest, WaitingCallsAgreeWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed() + 1);  // the caller's; random_ is the stepping thread's
  std::map<Pair, Value> model;
  std::string error;
  WhileRangesMove([&] {
    for (int round = 0; round < 300 && error.empty(); ++round) {
      // Without duplicates: keys that are sent again lose their order in the batch.
      std::set<Pair> distinct;
      for (uint64_t i = 1 + random() % 300; i > 0; --i) {
        distinct.emplace(random() % kFirsts, random() % kSeconds);
      }
      const std::vector<Pair> keys(distinct.begin(), distinct.end());
      Rows key_rows(kKeyColumns);
      for (const auto& [first, second] : keys) key_rows.Add({first, second});
      std::vector<uint8_t> existed(keys.size());
      const auto expect = [&](bool right, const char* what) {
        if (!right) error = absl::StrCat(what, " in round ", round);
      };
      switch (random() % 3) {
        case 0: {
          Rows rows(kSchema.columns);
          std::vector<Value> texts;
          for (const auto& [first, second] : keys) {
            texts.emplace_back();
            if (random() % 5 != 0) texts.back() = absl::StrCat("round ", round);
            rows.Add({first, second, texts.back()});
          }
          expect(session_->UpsertRows("t", rows.batch(), absl::MakeSpan(existed)).ok(), "upsert");
          for (size_t i = 0; i < keys.size(); ++i) {
            expect(existed[i] == !model.insert_or_assign(keys[i], texts[i]).second, "existed");
          }
          break;
        }
        case 1:
          expect(session_->EraseRows("t", key_rows.batch(), absl::MakeSpan(existed)).ok(), "erase");
          for (size_t i = 0; i < keys.size(); ++i) {
            expect(existed[i] == model.erase(keys[i]), "erased");
          }
          break;
        default: {
          std::vector<ColumnBuffers> out;
          const std::vector<std::string> asked = {"text"};
          expect(
              session_->LookupRows("t", key_rows.batch(), asked, out, absl::MakeSpan(existed)).ok(),
              "look-up");
          for (size_t i = 0; i < keys.size(); ++i) {
            const auto found = model.find(keys[i]);
            expect(existed[i] == (found != model.end()), "found");
            Value want;
            if (found != model.end()) want = found->second;
            expect(test::ValueAt(test::ViewOf(out[0]), kSchema.columns[2], i) == want, "text");
          }
        }
      }
    }
  });
  EXPECT_EQ(error, "");
  EXPECT_GT(Sum(&RoutingStats::redirected), 0u);
  EXPECT_GT(Sum(&RoutingStats::forwarded), 0u);
  Settle();
  auto scan = session_->OpenTableScan("t", {});
  ASSERT_TRUE(scan.ok());
  std::vector<Row> want;
  for (const auto& [key, text] : model) want.push_back({key.first, key.second, text});
  EXPECT_EQ(test::Sorted(engine_.While([&] { return test::ReadAll(**scan); })), test::Sorted(want));
}

TEST_F(TableResendTest, RowsThatAreScannedIntoTheTableMoveAlong) {
  cuts_ = false;
  const TableSchema heap = {.columns = kSchema.columns};
  EXPECT_TRUE(engine_.While([&] { return engine_->CreateTable("h", heap).status(); }).ok());
  Rows rows(heap.columns);
  for (uint64_t i = 0; i < kFirsts; ++i) {
    for (uint64_t j = 0; j < kSeconds; ++j) rows.Add({i, j, absl::StrCat(i, " ", j)});
  }
  EXPECT_TRUE(engine_.While([&] { return session_->AppendRows("h", rows.batch()); }).ok());
  absl::StatusOr<uint64_t> written = 0;
  for (int round = 0; round < 30; ++round) {
    WhileRangesMove([&] { written = session_->ScanInto("h", {}, "t"); });
    ASSERT_TRUE(written.ok()) << written.status() << " " << test::SeedText(test::Seed());
    EXPECT_EQ(*written, kFirsts * kSeconds);
  }
  Settle();
  EXPECT_GT(Sum(&RoutingStats::redirected) + Sum(&RoutingStats::forwarded), 0u);
  auto copy = session_->OpenTableScan("t", {});
  auto original = session_->OpenTableScan("h", {});
  ASSERT_TRUE(copy.ok() && original.ok());
  EXPECT_EQ(test::Sorted(engine_.While([&] { return test::ReadAll(**copy); })),
            test::Sorted(engine_.While([&] { return test::ReadAll(**original); })));
}

}  // namespace
}  // namespace eris
