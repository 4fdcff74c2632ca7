// Snapshots of a running engine: writers move money from account to account, and what a scan adds
// up never shows more money than there is, nor less than what is just under way. On real threads,
// with accounts in the partitions of several AEUs, in objects of every kind that is scanned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "engine/engine_impl.h"
#include "eris/engine.h"
#include "tests/support/any_object.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

constexpr uint64_t kWriters = 8;
constexpr uint64_t kAccountsOfWriter = 64;
constexpr uint64_t kMoneyOfAccount = 100;
constexpr uint64_t kTransferMax = 20;
constexpr uint64_t kAccountSpan = 1'000'000;
constexpr uint64_t kAll = kWriters * kAccountsOfWriter * kMoneyOfAccount;
using test::AnyKey;
using test::AnyKind;
using test::AnyObject;
using test::AnyRows;
using ::testing::HasSubstr;

class SnapshotTest : public testing::TestWithParam<AnyKind> {
 protected:
  void Open(const Options& options = test::SmallOptions()) {
    auto engine = engine::EngineImpl::Open(options, engine::EngineImpl::Threads::kStart);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    accounts_.emplace(*engine_, GetParam(), "accounts");
    ASSERT_TRUE(accounts_->Create({kAccountSpan / 4, kAccountSpan / 2, kAccountSpan / 4 * 3}).ok());
    ASSERT_TRUE(accounts_->Ready().ok());
  }
  ~SnapshotTest() override { Stop(); }

  // Writer w owns the accounts w, w + kWriters, ... times this: each has some at every AEU.
  static AnyKey KeyOf(uint64_t account) {
    return {account * (kAccountSpan / (kWriters * kAccountsOfWriter)), 0};
  }

  // Takes from one account, waits for the answer, then gives to another one. An account without
  // money is not there.
  void Write(uint64_t writer) {
    std::mt19937_64 random(test::Seed() + writer);
    AnyObject accounts(*engine_, GetParam(), "accounts");
    std::vector<uint64_t> money(kAccountsOfWriter, kMoneyOfAccount);
    const auto put = [&](size_t i) {
      const absl::Status status = accounts
                                      .Write(money[i] == 0 ? WriteMode::kErase : WriteMode::kUpsert,
                                             {{KeyOf(i * kWriters + writer), money[i]}})
                                      .status;
      EXPECT_TRUE(status.ok()) << status;
    };
    for (size_t i = 0; i < money.size(); ++i) put(i);
    ready_.fetch_add(1);
    while (!stop_.load(std::memory_order_relaxed)) {
      const size_t from = random() % money.size();
      const size_t to = random() % money.size();
      if (from == to || money[from] == 0) continue;
      const uint64_t amount = random() % 2 == 0
                                  ? std::min(money[from], kTransferMax)
                                  : 1 + random() % std::min(money[from], kTransferMax);
      money[from] -= amount;
      put(from);
      money[to] += amount;
      put(to);
      transfers_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void StartWriters() {
    for (uint64_t w = 0; w < kWriters; ++w) writers_.emplace_back([this, w] { Write(w); });
    while (ready_.load() < kWriters) std::this_thread::yield();
  }
  void Stop() {
    stop_.store(true);
    for (std::thread& writer : writers_) writer.join();
    writers_.clear();
  }

  static void ExpectWhatIsThere(uint64_t money) {
    EXPECT_LE(money, kAll);
    EXPECT_GE(money, kAll - kWriters * kTransferMax);
  }
  AnyRows Read(std::shared_ptr<Snapshot> snapshot = nullptr,
               ScanDirection direction = ScanDirection::kForward) {
    auto rows = accounts_->All(std::move(snapshot), direction);
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.ok() ? *std::move(rows) : AnyRows();
  }
  static uint64_t MoneyOf(const AnyRows& rows) {
    uint64_t money = 0;
    for (const auto& [key, value] : rows) money += value;
    return money;
  }
  // What the AEUs add up themselves; strings are counted alone.
  struct Sum {
    uint64_t rows = 0;
    uint64_t money = 0;
  };
  absl::StatusOr<Sum> Aggregate(const std::shared_ptr<Snapshot>& snapshot = nullptr) {
    Session& session = accounts_->session();
    if (accounts_->is_table()) {
      Query query{.snapshot = snapshot};
      query.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"},
                          {AggregateFunction::kSum, expressions::Column("value"), "sum"}};
      auto scan = session.OpenScan(accounts_->object(), query);
      if (!scan.ok()) return scan.status();
      Sum sum;
      const absl::Status end = test::ForEachChunk(**scan, [&](const Chunk& chunk) {
        sum = {chunk.Uint64s(0)[0], test::ReadAt<uint64_t>(chunk.column(1).values, 0)};
      });
      if (!end.ok()) return end;
      return sum;
    }
    const bool strings = GetParam() == AnyKind::kBytes;
    const auto sum =
        session.Aggregate(accounts_->object(), {.count_only = strings, .snapshot = snapshot});
    if (!sum.ok()) return sum.status();
    return Sum{sum->count, strings ? MoneyOf(Read(snapshot)) : sum->sum_low};
  }
  absl::StatusOr<std::unique_ptr<Scan>> OpenScan(const std::shared_ptr<Snapshot>& snapshot) {
    return accounts_->session().OpenScan(accounts_->object(), {.snapshot = snapshot});
  }
  int64_t VersionBytes() { return engine_->core().directory.snapshots().version_bytes(); }

  std::unique_ptr<engine::EngineImpl> engine_;
  std::optional<AnyObject> accounts_;
  std::vector<std::thread> writers_;
  std::atomic<uint64_t> ready_{0};
  std::atomic<uint64_t> transfers_{0};
  std::atomic<bool> stop_{false};
};

INSTANTIATE_TEST_SUITE_P(Kinds, SnapshotTest, testing::ValuesIn(test::KindsThat([](AnyKind kind) {
                           return kind != AnyKind::kHash && test::HasKeys(kind);
                         })),
                         test::kNameOfKind);

TEST_P(SnapshotTest, NoScanSeesMoreMoneyThanThereIsNorLessThanWhatIsUnderWay) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  Open();
  StartWriters();
  for (int i = 0; i < test::Fewer(1000, 300); ++i) {
    const auto sum = Aggregate();
    ASSERT_TRUE(sum.ok()) << sum.status();
    ExpectWhatIsThere(sum->money);
    const bool backward = i % 2 == 0 && !accounts_->is_table();
    ExpectWhatIsThere(
        MoneyOf(Read(nullptr, backward ? ScanDirection::kBackward : ScanDirection::kForward)));
  }
  EXPECT_GT(transfers_.load(), 0u);
  Stop();
  const auto sum = Aggregate();
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(sum->money, kAll);
}

TEST_P(SnapshotTest, OneSnapshotShowsTheSameHoweverOftenItIsRead) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  Open();
  StartWriters();
  for (int round = 0; round < 30; ++round) {
    auto snapshot = engine_->TakeSnapshot();
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    const AnyRows first = Read(*snapshot);
    ExpectWhatIsThere(MoneyOf(first));
    const uint64_t transfers = transfers_.load();
    while (transfers_.load() < transfers + 200) std::this_thread::yield();
    EXPECT_EQ(Read(*snapshot), first);
    if (!accounts_->is_table()) {
      AnyRows backward = Read(*snapshot, ScanDirection::kBackward);
      std::reverse(backward.begin(), backward.end());
      EXPECT_EQ(backward, first);
    }
    const auto sum = Aggregate(*snapshot);
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_EQ(sum->money, MoneyOf(first));
    EXPECT_EQ(sum->rows, first.size());
    EXPECT_FALSE((*snapshot)->aborted());
  }
}

TEST_P(SnapshotTest, OldRowsAreFreedWhenTheirSnapshotEnds) {
  Open();
  StartWriters();
  auto snapshot = engine_->TakeSnapshot();
  ASSERT_TRUE(snapshot.ok());
  const uint64_t transfers = transfers_.load();
  while (transfers_.load() < transfers + 200) std::this_thread::yield();
  Stop();
  EXPECT_GT(VersionBytes(), 0);
  snapshot->reset();
  // AEUs that sleep are woken for it.
  while (VersionBytes() > 0) std::this_thread::yield();
}

TEST_P(SnapshotTest, BeyondTheMemoryForOldRowsTheOldestIsGivenUp) {
  Options options = test::SmallOptions();
  options.version_bytes_max = 1 << 20;
  Open(options);
  AnyRows rows;
  for (uint64_t i = 0; i < 50'000; ++i) rows.push_back({{i * 20, 0}, 1});
  ASSERT_TRUE(accounts_->Put(rows).ok());
  auto old = engine_->TakeSnapshot();
  ASSERT_TRUE(old.ok());
  auto other = engine_->TakeSnapshot();
  ASSERT_TRUE(other.ok());
  // A scan of it that has begun, and that its reader leaves alone.
  auto scan = OpenScan(*old);
  ASSERT_TRUE(scan.ok());
  for (int i = 0; i < 1000 && !(*old)->aborted(); ++i) {
    ASSERT_TRUE(accounts_->Put(rows).ok());
  }
  EXPECT_TRUE((*old)->aborted());
  const absl::Status given_up = OpenScan(*old).status();
  EXPECT_EQ(given_up.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(given_up.message()), HasSubstr("version_bytes_max (1048576 bytes)"));
  EXPECT_EQ(Aggregate(*old).status().code(), absl::StatusCode::kAborted);
  // A new one is as good as ever.
  const auto sum = Aggregate();
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(sum->money, rows.size());
}

// Things move from one key to another: first the new row, after the acknowledgement the old one is
// erased. Dead rows pile up and are compacted meanwhile.
TEST_P(SnapshotTest, RowsThatChangeTheirKeyAreNeverMissing) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  constexpr uint64_t kMovers = 3;
  constexpr uint64_t kThings = 2000;  // of each mover
  constexpr uint64_t kMoved = 50;     // at a time
  Open();
  for (uint64_t w = 0; w < kMovers; ++w) {
    writers_.emplace_back([this, w] {
      AnyObject places(*engine_, GetParam(), "accounts");
      std::mt19937_64 random(test::Seed() + w);
      std::vector<AnyKey> place_of(kThings);
      // Places of one mover: w, w + kMovers, ...; none is used twice.
      std::set<uint64_t> taken;
      const auto free_place = [&]() -> AnyKey {
        for (;;) {
          const uint64_t at = random() % (kAccountSpan * 100 / kMovers) * kMovers + w;
          if (taken.insert(at).second) return {at, 0};
        }
      };
      AnyRows put;
      std::vector<AnyKey> old;
      const auto move = [&](uint64_t thing) {
        old.push_back(place_of[thing]);
        place_of[thing] = free_place();
        put.push_back({place_of[thing], w * kThings + thing});
      };
      for (uint64_t thing = 0; thing < kThings; ++thing) move(thing);
      ASSERT_TRUE(places.Put(put).ok());
      ready_.fetch_add(1);
      while (!stop_.load()) {
        std::set<uint64_t> picked;
        while (picked.size() < kMoved) picked.insert(random() % kThings);
        put.clear(), old.clear();
        for (const uint64_t thing : picked) move(thing);
        ASSERT_TRUE(places.Put(put).ok());
        ASSERT_TRUE(places.Erase(old).ok());
      }
    });
  }
  while (ready_.load() < kMovers) std::this_thread::yield();
  const absl::Time end = absl::Now() + absl::Milliseconds(500);
  while (absl::Now() < end && !HasFailure()) {
    const auto sum = Aggregate();
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_GE(sum->rows, kMovers * kThings);
    EXPECT_LE(sum->rows, kMovers * (kThings + kMoved));
    std::set<uint64_t> things;
    for (const auto& [place, thing] : Read()) things.insert(thing);
    EXPECT_EQ(things.size(), kMovers * kThings);
  }
  Stop();
  EXPECT_EQ(Read().size(), kMovers * kThings);
}

TEST_P(SnapshotTest, TooOldOneIsGivenUp) {
  Options options = test::SmallOptions();
  options.snapshot_age_ms_max = 20;
  Open(options);
  auto snapshot = engine_->TakeSnapshot();
  ASSERT_TRUE(snapshot.ok());
  while (!(*snapshot)->aborted()) std::this_thread::yield();
  const absl::Status given_up = OpenScan(*snapshot).status();
  EXPECT_EQ(given_up.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(given_up.message()),
              HasSubstr("given up: it got older than snapshot_age_ms_max (20 ms)"));
}

TEST_P(SnapshotTest, AsManyAsTheRegistryHolds) {
  Open();
  std::vector<std::shared_ptr<Snapshot>> held;
  for (;;) {
    auto snapshot = engine_->TakeSnapshot();
    if (!snapshot.ok()) {
      EXPECT_EQ(snapshot.status().code(), absl::StatusCode::kResourceExhausted);
      break;
    }
    held.push_back(*std::move(snapshot));
  }
  EXPECT_EQ(held.size(), routing::SnapshotRegistry::kSlots);
  EXPECT_EQ(OpenScan(nullptr).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(OpenScan(held[3]).ok());
  held.pop_back();
  EXPECT_TRUE(Aggregate().ok());
}

}  // namespace
}  // namespace eris
