// The balancer as an operator sees it, on running AEUs: ranges move to and fro under clients that
// check every answer; pause, drop, close and want of memory in the middle of a transfer.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "eris/engine.h"
#include "tests/support/any_model.h"
#include "tests/support/any_object.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

using test::AnyKey;
using test::AnyKind;
using test::AnyObject;
using test::AnyRows;

constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kAeus = 4;

// What moves is what the test says.
std::unique_ptr<Engine> OpenEngine(const std::function<void(Options&)>& change = nullptr) {
  Options options = test::SmallOptions(kAeus);
  options.balancer.max_pause_us = 50;
  if (change) change(options);
  return test::OpenEngine(options);
}

// --- Clients beside transfers.

class MovingUnderClientsTest : public testing::TestWithParam<AnyKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, MovingUnderClientsTest,
                         testing::ValuesIn(test::KindsThat(test::HasKeys)), test::kNameOfKind);

// A copy that waits for its rate is no reason for another object's link to wait. Both leave the
// same AEU.
TEST(TransfersOfObjectsTest, OneThatTakesLongHoldsUpNoOtherObjects) {
  auto engine = OpenEngine([](Options& options) { options.balancer.max_bytes_per_s = 64 << 10; });
  AnyObject slow(*engine, AnyKind::kIndex, "slow"), other(*engine, AnyKind::kIndex, "other");
  for (AnyObject* object : {&slow, &other}) {
    ASSERT_TRUE(object->Create({kLast / 4, kLast / 2, kLast / 4 * 3}).ok());
    AnyRows rows;
    for (uint64_t i = 0; i < 30'000; ++i) rows.push_back({{i, 0}, i});
    ASSERT_TRUE(object->Put(rows).ok());
  }
  absl::Status moved;
  std::atomic<bool> ended{false};
  std::thread mover([&] {
    moved = engine->MoveRange("slow", {.lo = 0, .hi = 30'000}, {3}, TransferKind::kCopy);
    ended.store(true);
  });
  while (engine->Balancer().running.empty() && !ended.load()) absl::SleepFor(absl::Milliseconds(1));
  const absl::Time begin = absl::Now();
  for (int i = 0; i < 10; ++i) {
    const uint32_t to = i % 2 == 0 ? 1 : 0;
    const absl::Status status =
        engine->MoveRange("other", {.lo = 0, .hi = 30'000}, {to}, TransferKind::kLink);
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_FALSE(ended.load()) << "the copy was over after " << absl::Now() - begin;
  engine->PauseBalancer();
  mover.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(moved)) << moved;
}

// Two hashes make their rows ready at one AEU, in turn, and neither undoes what the other has done.
TEST(TransfersOfObjectsTest, TwoHashesLeaveOneAeuTogether) {
  auto engine = OpenEngine();
  AnyObject one(*engine, AnyKind::kHash, "one"), two(*engine, AnyKind::kHash, "two");
  AnyRows rows;
  for (uint64_t i = 0; i < 10'000; ++i) rows.push_back({{i, 0}, i});
  for (AnyObject* object : {&one, &two}) {
    ASSERT_TRUE(object->Create({kLast / 4, kLast / 2, kLast / 4 * 3}).ok());
    ASSERT_TRUE(object->Put(rows).ok());
  }
  std::vector<std::thread> movers;
  for (const char* name : {"one", "two"}) {
    movers.emplace_back([&, name] {
      for (uint32_t to : {1, 2, 3, 0}) {
        const absl::Status status = engine->MoveRange(name, {.lo = 0, .hi = 10'000}, {to});
        EXPECT_TRUE(status.ok()) << status;
      }
    });
  }
  for (std::thread& mover : movers) mover.join();
}

// Each client has keys of its own, in every range, and knows what stands under them.
TEST_P(MovingUnderClientsTest, EachSeesWhatItHasWritten) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  constexpr uint64_t kClients = 3;
  auto engine = OpenEngine();
  AnyObject object(*engine, GetParam(), "o");
  // What client `client` calls key number `i`: all over the key space, the ends included.
  const auto key_of = [](uint64_t client, uint64_t i) {
    const uint64_t low = i % 1'000 * kClients + client;
    return AnyKey{i % 3 == 0   ? low
                  : i % 3 == 1 ? (uint64_t{1} << 62) + low * 1'000'003
                               : kLast - low,
                  0};
  };
  ASSERT_TRUE(object.Create({1'500, uint64_t{1} << 61, uint64_t{1} << 63}).ok());
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> operations{0};
  std::vector<std::thread> clients;
  for (uint64_t client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      std::mt19937_64 random(test::Seed() + client);
      test::AnyModel mine(*engine, GetParam(), "o");
      while (!stop.load() && !testing::Test::HasFailure()) {
        std::map<AnyKey, uint64_t> rows;
        for (uint64_t i = 1 + random() % 100; i > 0; --i) rows[key_of(client, random())] = random();
        std::optional<WriteMode> mode;
        if (random() % 4 > 0) mode = random() % 3 > 0 ? WriteMode::kUpsert : WriteMode::kErase;
        mine.Run(mode, AnyRows(rows.begin(), rows.end()));
        operations.fetch_add(rows.size());
      }
    });
  }
  std::mt19937_64 random(test::Seed() + 100);
  uint32_t moves = 0;
  // As many of each as say something.
  const auto enough = [&] {
    const BalancerStatus status = engine->Balancer();
    return moves >= test::Fewer(400u, 100u) && operations.load() > 1'000 &&
           status.transfers[TransferKind::kCopy] > 20 &&
           (status.transfers[TransferKind::kLink] > 20 || !object.links());
  };
  while (!enough() && !testing::Test::HasFailure()) {
    const ObjectInfo info = *engine->Describe("o");
    const size_t i = random() % info.partition_starts.size();
    KeyRange piece{.lo = info.partition_starts[i]};
    if (i + 1 < info.partition_starts.size()) piece.hi = info.partition_starts[i + 1];
    const uint64_t cut = key_of(random() % kClients, random()).first;
    if (cut > piece.lo && (!piece.hi || cut < *piece.hi)) piece.lo = cut;
    const absl::Status status =
        engine->MoveRange("o", piece, AeuId{static_cast<uint32_t>(random() % kAeus)},
                          random() % 2 == 0 ? std::optional(TransferKind::kCopy) : std::nullopt);
    ASSERT_TRUE(status.ok()) << status;
    ++moves;
  }
  stop.store(true);
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(engine->Balancer().transfers[TransferKind::kLink] > 0, object.links());
}

// --- Transfers that something ends.

class TransferEndTest : public testing::Test {
 protected:
  static constexpr uint64_t kRows = 20'000;

  TransferEndTest() {
    std::vector<uint64_t> keys(kRows);
    for (uint64_t i = 0; i < kRows; ++i) keys[i] = i;
    EXPECT_TRUE(engine_->NewSession()->Upsert(object_, keys, keys).ok());
  }
  // A copy of which one chunk has gone, and for which the next has to wait for years.
  void BeginEndlessCopy() {
    ASSERT_TRUE(engine_->SetBalancer({.enabled = false, .max_bytes_per_s = 1}).ok());
    mover_ = std::thread([this] {
      moved_ = engine_->MoveRange("o", {.lo = 0, .hi = kRows}, {3}, TransferKind::kCopy);
    });
    for (;;) {
      const BalancerStatus status = engine_->Balancer();
      if (!status.running.empty() && status.running[0].chunks == 1) break;
      std::this_thread::yield();
    }
  }
  void ExpectAllRows() {
    const auto sum = engine_->NewSession()->Aggregate(object_, {});
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_EQ(sum->count, kRows);
    EXPECT_EQ(sum->sum_low, kRows * (kRows - 1) / 2);
  }

  std::unique_ptr<Engine> engine_ = OpenEngine();
  Object object_ = test::Create(*engine_, "o", {.split_points = {kRows}});
  std::thread mover_;
  absl::Status moved_;
};

TEST_F(TransferEndTest, APauseLeavesWhatHasMovedWhereItIs) {
  BeginEndlessCopy();
  engine_->PauseBalancer();
  mover_.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(moved_)) << moved_;
  EXPECT_TRUE(engine_->Balancer().paused);
  const TransferRecord record = engine_->TransferHistory().front();
  EXPECT_EQ(record.outcome, TransferOutcome::kStopped);
  EXPECT_EQ(record.chunks, 1u);
  EXPECT_GE(record.rows, 64u);
  EXPECT_LT(record.rows, kRows);
  EXPECT_EQ(engine_->Describe("o")->partition_owners.front(), AeuId{3});
  ExpectAllRows();
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->MoveRange("o", {.lo = 0}, {2})));
  engine_->ResumeBalancer();
  ASSERT_TRUE(engine_->SetBalancer({.enabled = false}).ok());
  EXPECT_TRUE(engine_->MoveRange("o", {.lo = 0}, {2}).ok());
  EXPECT_EQ(engine_->Describe("o")->partition_owners, std::vector<AeuId>{AeuId{2}});
  ExpectAllRows();
}

TEST_F(TransferEndTest, ADropWaitsForTheChunkAlone) {
  BeginEndlessCopy();
  EXPECT_TRUE(engine_->Drop("o").ok());
  mover_.join();
  EXPECT_TRUE(absl::IsNotFound(moved_)) << moved_;
  // Nothing of it is left anywhere.
  object_ = test::Create(*engine_, "o");
  EXPECT_EQ(engine_->NewSession()->Aggregate(object_, {})->count, 0u);
}

TEST_F(TransferEndTest, AnEngineThatClosesStopsIt) {
  BeginEndlessCopy();
  engine_->Close();
  mover_.join();
  EXPECT_TRUE(absl::IsUnavailable(moved_)) << moved_;
  EXPECT_EQ(engine_->TransferHistory().front().outcome, TransferOutcome::kStopped);
  EXPECT_TRUE(absl::IsUnavailable(engine_->MoveRange("o", {.lo = 0}, {2})));
}

TEST_F(TransferEndTest, ADeadlineStopsItAndThoseThatWaitForTheirTurn) {
  BeginEndlessCopy();
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      engine_->MoveRange("o", {.lo = 0}, {2}, std::nullopt, absl::Now() + absl::Milliseconds(5))));
  EXPECT_EQ(engine_->Balancer().running.at(0).to, AeuId{3});
  engine_->PauseBalancer();
  mover_.join();
  ExpectAllRows();
}

TEST_F(TransferEndTest, WhoGivesUpEndsHisOwnCallAlone) {
  BeginEndlessCopy();
  MoveStop stop;
  absl::Status waited;
  std::thread waiter([&] {
    waited = engine_->MoveRange("o", {.lo = 0}, {2}, std::nullopt, absl::InfiniteFuture(), &stop);
  });
  stop.Stop(absl::CancelledError("the caller gave up"));
  waiter.join();
  EXPECT_EQ(waited, absl::CancelledError("the caller gave up"));
  EXPECT_EQ(engine_->Balancer().running.at(0).to, AeuId{3});
  engine_->PauseBalancer();
  mover_.join();
  ExpectAllRows();
}

TEST_F(TransferEndTest, AnotherRateHoldsAtOnce) {
  BeginEndlessCopy();
  ASSERT_TRUE(engine_->SetBalancer({.enabled = false}).ok());
  mover_.join();
  EXPECT_TRUE(moved_.ok()) << moved_;
  EXPECT_EQ(engine_->TransferHistory().front().rows, kRows);
  ExpectAllRows();
}

TEST(BalancerMemoryTest, WithoutMemoryAtTheTargetEveryRowStaysSomewhere) {
  auto engine = OpenEngine([](Options& options) {
    options.memory_limit_bytes = 64u << 20;
    options.incoming_buffer_bytes = 64 << 10;
    options.outgoing_buffer_bytes = 4 << 10;
    options.port_buffers_bytes_max = 128 << 10;
  });
  const Object o = test::Create(*engine, "o", {.split_points = {uint64_t{1} << 63}});
  auto session = engine->NewSession();
  // Fills all there is, in AEU 0's range.
  std::vector<uint64_t> keys(50'000);
  std::map<AnyKey, uint64_t> model;
  for (uint64_t next = 0;;) {
    for (uint64_t& key : keys) key = next++ * 1'000'003 % (uint64_t{1} << 63);
    std::vector<uint8_t> executed(keys.size());
    const absl::Status status = session->Write(o, WriteMode::kInsertIfAbsent, keys, keys, {},
                                               {.executed = absl::MakeSpan(executed)});
    for (size_t i = 0; i < keys.size(); ++i) {
      if (executed[i]) model[{keys[i], 0}] = keys[i];
    }
    if (!status.ok()) {
      ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
      break;
    }
  }
  const absl::Status moved =
      engine->MoveRange("o", {.lo = 0, .hi = uint64_t{1} << 63}, {3}, TransferKind::kCopy);
  EXPECT_TRUE(absl::IsResourceExhausted(moved)) << moved;
  EXPECT_EQ(engine->TransferHistory().front().outcome, TransferOutcome::kRefused);
  AnyObject object(*engine, AnyKind::kIndex, "o");
  const auto rows = object.All();
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_TRUE(*rows == AnyRows(model.begin(), model.end())) << rows->size();
  // And the source still takes what needs no memory.
  std::vector<uint8_t> existed(keys.size());
  EXPECT_TRUE(session->Erase(o, keys, absl::MakeSpan(existed)).ok());
}

// --- What may be asked.

TEST(BalancerCallsTest, OptionsOutOfTheirLimitsChangeNothing) {
  auto engine = OpenEngine();
  const absl::Status status = engine->SetBalancer({.threshold = 0});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(engine->Balancer().options.threshold, BalancerOptions{}.threshold);
  Options options;
  options.balancer.period_ms = 1;
  EXPECT_TRUE(absl::IsInvalidArgument(Engine::Open(options).status()));
}

TEST(BalancerCallsTest, ObjectsAndAeusThatAreNotThereAreRefused) {
  auto engine = OpenEngine();
  ASSERT_TRUE(engine->Create("o", {}).ok());
  EXPECT_TRUE(absl::IsNotFound(engine->PlanBalance("p").status()));
  EXPECT_TRUE(absl::IsNotFound(engine->Rebalance("p").status()));
  EXPECT_TRUE(absl::IsNotFound(engine->Presplit("p", {.lo = 0, .hi = 9}, 2)));
  EXPECT_TRUE(absl::IsNotFound(engine->MoveRange("p", {.lo = 0}, {1})));
  EXPECT_TRUE(absl::IsInvalidArgument(engine->MoveRange("o", {.lo = 0}, {kAeus})));
  EXPECT_TRUE(absl::IsInvalidArgument(engine->MoveRange("o", {.lo = 9, .hi = 9}, {1})));
  EXPECT_TRUE(absl::IsInvalidArgument(engine->Presplit("o", {.lo = 0, .hi = 9}, kAeus + 1)));
  EXPECT_TRUE(absl::IsFailedPrecondition(
      engine->MoveRange("o", {.lo = 0}, {kAeus - 1}, TransferKind::kLink)));
}

TEST(BalancerCallsTest, PlansMoveNothingAndPresplitsSpreadARange) {
  auto engine = OpenEngine();
  ASSERT_TRUE(engine->Create("o", {.expected = {0, 4'000}}).ok());
  EXPECT_TRUE(engine->PlanBalance("o").ok());
  EXPECT_TRUE(engine->TransferHistory().empty());
  ASSERT_TRUE(engine->Presplit("o", {.lo = 100, .hi = 500}, kAeus).ok());
  const ObjectInfo info = *engine->Describe("o");
  std::map<uint32_t, int> pieces;
  for (uint64_t key = 100; key < 500; ++key) {
    const auto after =
        std::upper_bound(info.partition_starts.begin(), info.partition_starts.end(), key);
    ++pieces[info.partition_owners[static_cast<size_t>(after - info.partition_starts.begin()) - 1]
                 .value];
  }
  EXPECT_EQ(pieces.size(), kAeus);
  for (const auto& [aeu, keys] : pieces) EXPECT_EQ(keys, 100) << "AEU " << aeu;
}

// --- The loop.

TEST(BalancerLoopTest, ASkewedLoadIsSpreadWithoutBeingAsked) {
  auto engine = OpenEngine([](Options& options) {
    options.balancer.enabled = true;
    options.balancer.period_ms = 20;
  });
  constexpr uint64_t kRows = 40'000;
  const Object o = test::Create(*engine, "o", {.expected = {0, kRows}});
  auto session = engine->NewSession();
  std::vector<uint64_t> keys(kRows);
  for (uint64_t i = 0; i < kRows; ++i) keys[i] = i;
  ASSERT_TRUE(session->Upsert(o, keys, keys).ok());
  // The first quarter alone, until it has several owners.
  keys.resize(kRows / 4);
  std::vector<uint64_t> values(keys.size());
  std::vector<uint8_t> found(keys.size());
  const absl::Time end = absl::Now() + absl::Seconds(60);
  const auto spread = [&] {
    const ObjectInfo info = *engine->Describe("o");
    std::map<uint32_t, uint64_t> width;
    for (size_t i = 0; i < info.partition_starts.size(); ++i) {
      const uint64_t hi =
          i + 1 < info.partition_starts.size() ? info.partition_starts[i + 1] : kRows;
      const uint64_t lo = std::min(info.partition_starts[i], kRows / 4);
      width[info.partition_owners[i].value] += std::min(hi, kRows / 4) - lo;
    }
    uint64_t most = 0;
    for (const auto& [aeu, owned] : width) most = std::max(most, owned);
    return most <= kRows / 8;
  };
  while (!spread() || engine->Balancer().cycles == 0) {
    ASSERT_LT(absl::Now(), end);
    ASSERT_TRUE(session->Lookup(o, keys, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
    ASSERT_EQ(values, keys);
  }
  const BalancerStatus status = engine->Balancer();
  EXPECT_GT(status.cycles, 0u);
  EXPECT_GT(status.transfers.sum(), 0u);
  ASSERT_EQ(status.objects.size(), 1u);
  EXPECT_EQ(status.objects[0].object, "o");
  EXPECT_EQ(status.objects[0].loads.size(), kAeus);
}

TEST(BalancerLoopTest, APauseMovesNothingAndLetsOneWatch) {
  auto engine = OpenEngine([](Options& options) {
    options.balancer.enabled = true;
    options.balancer.period_ms = 10;
  });
  engine->PauseBalancer();
  constexpr uint64_t kRows = 40'000;
  const Object o = test::Create(*engine, "o", {.expected = {0, kRows}});
  auto session = engine->NewSession();
  std::vector<uint64_t> keys(kRows / 4);  // all of the first AEU
  for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = i;
  // A single AEU of four has everything.
  const absl::Time end = absl::Now() + absl::Seconds(60);
  const auto seen = [&] {
    const BalancerStatus status = engine->Balancer();
    return status.objects.size() == 1 && status.objects[0].imbalance > 1.7 &&
           status.objects[0].reason == "the balancer is paused";
  };
  for (uint64_t cycles = 0; !seen() || cycles < 5; cycles = engine->Balancer().cycles) {
    ASSERT_LT(absl::Now(), end);
    ASSERT_TRUE(session->Upsert(o, keys, keys).ok());
  }
  // A dropped one goes, too.
  ASSERT_TRUE(engine->Drop("o").ok());
  while (!engine->Balancer().objects.empty()) ASSERT_LT(absl::Now(), end);
  EXPECT_TRUE(engine->TransferHistory().empty());
}

TEST(BalancerLoopTest, WithoutPeriodsThereAreNoLoadsToShow) {
  auto engine = OpenEngine([](Options& options) {
    options.balancer.enabled = true;
    options.balancer.period_ms = 10;
  });
  ASSERT_TRUE(engine->Create("o", {}).ok());
  const absl::Time end = absl::Now() + absl::Seconds(60);
  while (engine->Balancer().objects.empty()) ASSERT_LT(absl::Now(), end);
  BalancerOptions options = engine->Balancer().options;
  options.enabled = false;
  ASSERT_TRUE(engine->SetBalancer(options).ok());
  while (!engine->Balancer().objects.empty()) ASSERT_LT(absl::Now(), end);
}

}  // namespace
}  // namespace eris
