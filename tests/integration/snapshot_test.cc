// Snapshots of a running engine: writers move money from account to account, and what a scan adds
// up never shows more money than there is, nor less than what is just under way. On real threads,
// with accounts in the partitions of several AEUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine_impl.h"
#include "eris/engine.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

constexpr uint64_t kWriters = 8;
constexpr uint64_t kAccountsOfWriter = 64;
constexpr uint64_t kMoneyOfAccount = 100;
constexpr uint64_t kTransferMax = 20;
constexpr uint64_t kSpan = 1'000'000;
constexpr uint64_t kAll = kWriters * kAccountsOfWriter * kMoneyOfAccount;
using ::testing::HasSubstr;
using Rows = std::vector<std::pair<uint64_t, uint64_t>>;

class SnapshotTest : public testing::Test {
 protected:
  void Open(const Options& changed = {}) {
    Options options = changed;
    options.topology = "numa:2 core:2 pu:1";
    options.aeu_count = 4;
    options.memory_limit_bytes = uint64_t{1} << 30;
    auto engine = engine::EngineImpl::Open(options, engine::EngineImpl::Threads::kStart);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    ASSERT_TRUE(engine_->Create("accounts", {.expected = {0, kSpan}}).ok());
  }
  ~SnapshotTest() override { Stop(); }

  // Writer w owns the accounts w, w + kWriters, ... times this: each has some at every AEU.
  static uint64_t KeyOf(uint64_t account) {
    return account * (kSpan / (kWriters * kAccountsOfWriter));
  }

  // Takes from one account, waits for the answer, then gives to another one. An account without
  // money is not there.
  void Write(uint64_t writer) {
    std::mt19937_64 random(test::Seed() + writer);
    const auto session = engine_->NewSession();
    std::vector<uint64_t> money(kAccountsOfWriter, kMoneyOfAccount);
    const auto put = [&](size_t i) {
      const uint64_t key[] = {KeyOf(i * kWriters + writer)};
      uint8_t existed[1];
      const absl::Status status =
          money[i] == 0 ? session->Erase("accounts", key, existed)
                        : session->Upsert("accounts", key, absl::MakeConstSpan(&money[i], 1));
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
  Rows Read(Session& session, ScanOptions options) {
    Rows rows;
    auto scan = session.OpenScan("accounts", options);
    EXPECT_TRUE(scan.ok()) << scan.status();
    for (;;) {
      auto chunk = (*scan)->Next();
      EXPECT_TRUE(chunk.ok()) << chunk.status();
      if (!chunk.ok() || !*chunk) return rows;
      for (size_t i = 0; i < (*chunk)->keys().size(); ++i) {
        rows.emplace_back((*chunk)->keys()[i], (*chunk)->values()[i]);
      }
    }
  }
  static uint64_t MoneyOf(const Rows& rows) {
    uint64_t money = 0;
    for (const auto& [key, value] : rows) money += value;
    return money;
  }
  int64_t VersionBytes() { return engine_->core().directory.snapshots().version_bytes(); }

  std::unique_ptr<engine::EngineImpl> engine_;
  std::vector<std::thread> writers_;
  std::atomic<uint64_t> ready_{0};
  std::atomic<uint64_t> transfers_{0};
  std::atomic<bool> stop_{false};
};

TEST_F(SnapshotTest, NoScanSeesMoreMoneyThanThereIsNorLessThanWhatIsUnderWay) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  Open();
  StartWriters();
  const auto session = engine_->NewSession();
  for (int i = 0; i < 1500; ++i) {
    const auto sum = session->Aggregate("accounts", {});
    ASSERT_TRUE(sum.ok()) << sum.status();
    ExpectWhatIsThere(sum->sum_low);
    ScanOptions options;
    if (i % 2 == 0) options.direction = ScanDirection::kBackward;
    ExpectWhatIsThere(MoneyOf(Read(*session, options)));
  }
  std::printf("%llu transfers\n", static_cast<unsigned long long>(transfers_.load()));
  EXPECT_GT(transfers_.load(), 0u);
  Stop();
  const auto sum = session->Aggregate("accounts", {});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(sum->sum_low, kAll);
}

TEST_F(SnapshotTest, OneSnapshotShowsTheSameHoweverOftenItIsRead) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  Open();
  StartWriters();
  const auto session = engine_->NewSession();
  for (int round = 0; round < 30; ++round) {
    auto snapshot = engine_->TakeSnapshot();
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    const Rows first = Read(*session, {.snapshot = *snapshot});
    ExpectWhatIsThere(MoneyOf(first));
    const uint64_t transfers = transfers_.load();
    while (transfers_.load() < transfers + 200) std::this_thread::yield();
    EXPECT_EQ(Read(*session, {.snapshot = *snapshot}), first);
    Rows backward = Read(*session, {.direction = ScanDirection::kBackward, .snapshot = *snapshot});
    std::reverse(backward.begin(), backward.end());
    EXPECT_EQ(backward, first);
    const auto sum = session->Aggregate("accounts", {.snapshot = *snapshot});
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_EQ(sum->sum_low, MoneyOf(first));
    const auto count = session->Aggregate("accounts", {.count_only = true, .snapshot = *snapshot});
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(count->count, first.size());
    EXPECT_FALSE((*snapshot)->aborted());
  }
}

TEST_F(SnapshotTest, OldRowsAreFreedWhenTheirSnapshotEnds) {
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

TEST_F(SnapshotTest, BeyondTheMemoryForOldRowsTheOldestIsGivenUp) {
  Options options;
  options.version_bytes_max = 1 << 20;
  Open(options);
  const auto session = engine_->NewSession();
  std::vector<uint64_t> keys(50'000), values(50'000, 1);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 20;
  ASSERT_TRUE(session->Upsert("accounts", keys, values).ok());
  auto old = engine_->TakeSnapshot();
  ASSERT_TRUE(old.ok());
  auto other = engine_->TakeSnapshot();
  ASSERT_TRUE(other.ok());
  // A scan of it that has begun, and that its reader leaves alone.
  auto scan = session->OpenScan("accounts", {.snapshot = *old});
  ASSERT_TRUE(scan.ok());
  for (int i = 0; i < 1000 && !(*old)->aborted(); ++i) {
    ASSERT_TRUE(session->Upsert("accounts", keys, values).ok());
  }
  EXPECT_TRUE((*old)->aborted());
  const absl::Status given_up = session->OpenScan("accounts", {.snapshot = *old}).status();
  EXPECT_EQ(given_up.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(given_up.message()), HasSubstr("version_bytes_max (1048576 bytes)"));
  EXPECT_EQ(session->Aggregate("accounts", {.snapshot = *old}).status().code(),
            absl::StatusCode::kAborted);
  // A new one is as good as ever.
  const auto sum = session->Aggregate("accounts", {});
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(sum->sum_low, keys.size());
}

TEST_F(SnapshotTest, TooOldOneIsGivenUp) {
  Options options;
  options.snapshot_age_ms_max = 20;
  Open(options);
  auto snapshot = engine_->TakeSnapshot();
  ASSERT_TRUE(snapshot.ok());
  while (!(*snapshot)->aborted()) std::this_thread::yield();
  const auto session = engine_->NewSession();
  const absl::Status given_up = session->OpenScan("accounts", {.snapshot = *snapshot}).status();
  EXPECT_EQ(given_up.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(given_up.message()),
              HasSubstr("given up: it got older than snapshot_age_ms_max (20 ms)"));
}

TEST_F(SnapshotTest, AsManyAsTheRegistryHolds) {
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
  const auto session = engine_->NewSession();
  EXPECT_EQ(session->OpenScan("accounts", {}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(session->OpenScan("accounts", {.snapshot = held[3]}).ok());
  held.pop_back();
  EXPECT_TRUE(session->Aggregate("accounts", {}).ok());
}

}  // namespace
}  // namespace eris
