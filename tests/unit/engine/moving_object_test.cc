// Objects of every kind whose ranges are moved by Engine::MoveRange, link and copy, while a caller
// reads, writes, scans and holds snapshots. AEUs are stepped by hand in a seeded order; calls run
// on threads of their own. The caller knows what each answer must be.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/any_object.h"
#include "tests/support/hand_engine.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

using test::AnyKey;
using test::AnyKind;
using test::AnyObject;
using test::AnyRows;

constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kMovingAeus = 4;
const std::vector<uint64_t> kSplits = {1'000, 1'700, 2'500, 1u << 30, uint64_t{1} << 63};

class MovingObjectTest : public testing::TestWithParam<AnyKind> {
 protected:
  MovingObjectTest() : random_(test::Seed()) {
    EXPECT_TRUE(engine_
                    .While([&] {
                      return object_.Create(
                          GetParam() == AnyKind::kHeapTable ? std::vector<uint64_t>{} : kSplits);
                    })
                    .ok());
  }

  Engine& engine() { return *engine_; }

  // Some keys close together, some far apart, and both ends of the key space.
  static AnyKey KeyFrom(std::mt19937_64& random) {
    const uint64_t second = GetParam() == AnyKind::kTwoParts ? random() % 5 : 0;
    switch (random() % 8) {
      case 0:
        return {kLast - random() % 20, second};
      case 1:
        return {random() % 50 << 58, second};
      case 2:
        return {random() % 400 * 10'000'019, second};
      default:
        return {random() % 3'000, second};
    }
  }
  static uint64_t BoundFrom(std::mt19937_64& random) {
    return random() % 4 == 0 ? random() : KeyFrom(random).first;
  }

  // Runs each on a thread of its own, and steps AEUs, until all have returned.
  void Beside(std::vector<std::function<void()>> calls) {
    std::atomic<size_t> left{calls.size()};
    std::vector<std::thread> threads;
    for (std::function<void()>& call : calls) {
      threads.emplace_back([&left, call = std::move(call)] {
        call();
        left.fetch_sub(1);
      });
    }
    while (left.load() > 0) {
      const AeuId aeu{static_cast<uint32_t>(random_() % kMovingAeus)};
      if (!engine_->aeu(aeu).Step({})) sched_yield();
    }
    for (std::thread& thread : threads) thread.join();
  }

  // A piece that the kind allows to move: of an index anything, else an end of a range.
  KeyRange PieceFrom(std::mt19937_64& random) {
    if (object_.links()) {
      uint64_t lo = BoundFrom(random), hi = BoundFrom(random);
      if (lo > hi) std::swap(lo, hi);
      if (random() % 8 == 0) lo = 0;
      if (random() % 8 == 0 || lo == hi) return {.lo = lo};
      return {.lo = lo, .hi = hi};
    }
    const ObjectInfo info = *engine_->Describe(object_.name());
    const size_t i = random() % info.partition_starts.size();
    KeyRange piece{.lo = info.partition_starts[i]};
    if (i + 1 < info.partition_starts.size()) piece.hi = info.partition_starts[i + 1];
    const uint64_t cut = BoundFrom(random);
    if (random() % 4 == 0 || cut <= piece.lo || (piece.hi && cut >= *piece.hi)) return piece;
    (random() % 2 == 0 ? piece.lo : *(piece.hi = cut)) = cut;
    return piece;
  }

  // Rows of a heap table have no range to be named by.
  absl::Status MoveRows(std::mt19937_64& random) {
    engine::Core& core = engine_->core();
    if (!core.administration.TryEnter()) return absl::UnavailableError("");
    const AeuId from{static_cast<uint32_t>(random() % kMovingAeus)};
    const PlannedTransfer transfer{
        .from = from,
        .to = {static_cast<uint32_t>((from.value + 1 + random() % (kMovingAeus - 1)) %
                                     kMovingAeus)},
        .kind = kTransferKinds[random() % kTransferKindCount],
        .rows = 1 + random() % 500};
    const auto result = engine_->transfers().Run(**core.catalogue.Find(object_.name()), transfer,
                                                 core.transfer_stop.Begin({}));
    core.administration.Leave();
    return result.status;
  }

  // Moves until `stop`; what is refused for another reason than its shape is a failure.
  void MoveUntil(const std::atomic<bool>& stop, uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!stop.load()) {
      if (!object_.has_keys()) {
        const absl::Status status = MoveRows(random);
        ASSERT_TRUE(status.ok()) << status;
        ++moves_;
        continue;
      }
      const KeyRange piece = PieceFrom(random);
      const AeuId to{static_cast<uint32_t>(random() % kMovingAeus)};
      std::optional<TransferKind> kind;
      if (random() % 2 == 0) kind = TransferKind::kCopy;
      const absl::Status status = engine().MoveRange(object_.name(), piece, to, kind);
      if (status.ok()) {
        ++moves_;
      } else if (!absl::IsFailedPrecondition(status) || object_.links()) {
        ADD_FAILURE() << status << " [" << piece.lo << ", " << piece.hi.value_or(0) << ") to "
                      << to.value;
        return;
      }
    }
  }

  // One caller: each operation's answer follows from those before.
  void Write(std::mt19937_64& random, std::map<AnyKey, uint64_t>& model) {
    std::set<AnyKey> distinct;
    for (uint64_t i = 1 + random() % 200; i > 0; --i) distinct.insert(KeyFrom(random));
    if (!object_.has_keys()) {  // all new
      distinct.clear();
      for (uint64_t i = 1 + random() % 200; i > 0; --i) distinct.insert({next_row_++, 0});
    }
    const std::vector<AnyKey> keys(distinct.begin(), distinct.end());
    std::vector<uint8_t> existed;
    if (!object_.has_keys() || random() % 3 != 0) {
      AnyRows rows;
      for (const AnyKey& key : keys) rows.push_back({key, random() % 1'000'000});
      const absl::Status status = object_.Put(rows, existed);
      ASSERT_TRUE(status.ok()) << status;
      for (size_t i = 0; i < rows.size(); ++i) {
        const bool was = !model.insert_or_assign(rows[i].first, rows[i].second).second;
        ASSERT_EQ(existed[i] != 0, was) << "key " << rows[i].first.first;
      }
    } else {
      const absl::Status status = object_.Erase(keys, existed);
      ASSERT_TRUE(status.ok()) << status;
      for (size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(existed[i], model.erase(keys[i])) << "key " << keys[i].first;
      }
    }
  }
  void Read(std::mt19937_64& random, const std::map<AnyKey, uint64_t>& model) {
    if (!object_.has_keys()) return;
    std::vector<AnyKey> keys;
    for (uint64_t i = 1 + random() % 300; i > 0; --i) keys.push_back(KeyFrom(random));
    std::vector<std::optional<uint64_t>> values;
    const absl::Status status = object_.Get(keys, values);
    ASSERT_TRUE(status.ok()) << status;
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto found = model.find(keys[i]);
      const bool right = found == model.end() ? !values[i] : values[i] == found->second;
      ASSERT_TRUE(right) << "key " << keys[i].first << " " << keys[i].second << ": "
                         << values[i].value_or(kLast);
    }
  }
  void ExpectAll(const std::map<AnyKey, uint64_t>& model, std::shared_ptr<Snapshot> snapshot,
                 bool backward = false) {
    if (!object_.scans()) return;
    backward = backward && !object_.is_table();
    auto rows = object_.All(std::move(snapshot),
                            backward ? ScanDirection::kBackward : ScanDirection::kForward);
    ASSERT_TRUE(rows.ok()) << rows.status();
    AnyRows wanted(model.begin(), model.end());
    if (backward) std::reverse(wanted.begin(), wanted.end());
    ASSERT_EQ(rows->size(), wanted.size());
    ASSERT_TRUE(*rows == wanted);
  }

  std::mt19937_64 random_;  // the stepping thread's
  test::HandEngine engine_{kMovingAeus, [](Options& options) {
                             options.topology = "numa:2 core:2 pu:1";
                             options.balancer.max_pause_us = 10;  // chunks of a few rows
                           }};
  AnyObject object_{*engine_, GetParam(), "o"};
  std::atomic<uint64_t> moves_{0};
  uint64_t next_row_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Kinds, MovingObjectTest,
                         testing::Values(AnyKind::kIndex, AnyKind::kBytes, AnyKind::kTwoParts,
                                         AnyKind::kHash, AnyKind::kTable, AnyKind::kHeapTable),
                         [](const auto& of) { return test::NameOf(of.param); });

TEST_P(MovingObjectTest, EveryAnswerIsRightWhileRangesMove) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::map<AnyKey, uint64_t> model;
  std::atomic<bool> stop{false};
  const auto call = [&] {
    std::mt19937_64 random(test::Seed() + 1);
    // As many rounds and moves as say something.
    const auto enough = [&](int round) {
      const BalancerStatus status = engine_->Balancer();
      return round >= test::Fewer(300, 100) && moves_.load() > 40 &&
             status.transfers[TransferKind::kCopy] > 20 && status.rows_moved > 1'000 &&
             (status.transfers[TransferKind::kLink] > 20 || !object_.links());
    };
    for (int round = 0; !enough(round) && !HasFatalFailure(); ++round) {
      SCOPED_TRACE(absl::StrCat("round ", round));
      switch (random() % 5) {
        case 0: {
          // What is written afterwards is not in it.
          auto snapshot = engine_->TakeSnapshot();
          ASSERT_TRUE(snapshot.ok()) << snapshot.status();
          const std::map<AnyKey, uint64_t> then = model;
          for (int i = 0; i < 4 && !HasFatalFailure(); ++i) Write(random, model);
          ExpectAll(then, *snapshot, random() % 2 == 0);
          break;
        }
        case 1:
          ExpectAll(model, nullptr, random() % 2 == 0);
          break;
        case 2:
          Read(random, model);
          break;
        default:
          Write(random, model);
      }
    }
  };
  Beside({[&] {
            call();
            stop.store(true);
          },
          [&] { MoveUntil(stop, test::Seed() + 2); }});
  if (HasFatalFailure()) return;
  Beside({[&] {
    ExpectAll(model, nullptr);
    std::vector<AnyKey> keys;
    for (const auto& [key, value] : model) keys.push_back(key);
    if (!object_.has_keys()) return;
    std::vector<std::optional<uint64_t>> values;
    ASSERT_TRUE(object_.Get(keys, values).ok());
    for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(values[i], model[keys[i]]) << keys[i].first;
  }});
  engine_.StepUntil([&] { return engine_->core().in_flight.count() == 0; });
  const BalancerStatus status = engine_->Balancer();
  // Segments of a heap table link while no snapshot is held, which is a matter of luck.
  if (GetParam() != AnyKind::kHeapTable) {
    EXPECT_EQ(status.transfers[TransferKind::kLink] > 0, object_.links());
  }
  EXPECT_GT(status.rows_moved, 1'000u);
  EXPECT_EQ(engine_->Describe(object_.name())->keys, model.size());
}

// Joins and aggregates of two indexes, both of which move: each outer row is looked up once, each
// row counts once.
class MovingIndexesTest : public MovingObjectTest {};
INSTANTIATE_TEST_SUITE_P(Index, MovingIndexesTest, testing::Values(AnyKind::kIndex),
                         [](const auto& of) { return test::NameOf(of.param); });

TEST_P(MovingIndexesTest, JoinsAndAggregatesAreExact) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  constexpr uint64_t kRows = 2'000;  // fewer than there are keys to choose from
  AnyObject inner(*engine_, AnyKind::kIndex, "i");
  std::mt19937_64 random(test::Seed() + 1);
  std::map<AnyKey, uint64_t> model;
  AnyRows outer_rows, inner_rows;
  while (model.size() < kRows) model[KeyFrom(random)] = 0;
  std::multimap<uint64_t, uint64_t> joined;  // outer key -> inner value
  for (auto& [key, value] : model) {
    value = random() % (2 * kRows);  // half of them find nothing
    outer_rows.push_back({key, value});
    if (value < kRows) joined.emplace(key.first, value * value);
  }
  for (uint64_t i = 0; i < kRows; ++i) inner_rows.push_back({{i, 0}, i * i});
  __extension__ typedef unsigned __int128 Wide;
  Wide sum = 0;
  for (const auto& [key, value] : model) sum += value;
  std::vector<uint8_t> existed;
  Beside({[&] {
    ASSERT_TRUE(inner.Create({kRows / 3, kRows / 2}).ok());
    ASSERT_TRUE(object_.Put(outer_rows, existed).ok());
    ASSERT_TRUE(inner.Put(inner_rows, existed).ok());
  }});

  std::atomic<bool> stop{false};
  const auto call = [&] {
    const auto enough = [&](int round) {
      const BalancerStatus status = engine_->Balancer();
      return round >= 12 && status.transfers[TransferKind::kCopy] > 20 &&
             status.transfers[TransferKind::kLink] > 20;
    };
    for (int round = 0; !enough(round); ++round) {
      auto join = object_.session().OpenJoin(object_.object(), inner.object(), {});
      ASSERT_TRUE(join.ok()) << join.status();
      std::multimap<uint64_t, uint64_t> seen;
      for (;;) {
        const auto chunk = (*join)->Next();
        ASSERT_TRUE(chunk.ok()) << chunk.status();
        if (*chunk == nullptr) break;
        const auto keys = (*chunk)->Uint64s(0), values = (*chunk)->Uint64s(2);
        for (size_t i = 0; i < keys.size(); ++i) seen.emplace(keys[i], values[i]);
      }
      ASSERT_TRUE(seen == joined) << seen.size() << " rows of " << joined.size();
      for (int i = 0; i < 5; ++i) {
        const auto aggregate = object_.session().Aggregate(object_.object(), {});
        ASSERT_TRUE(aggregate.ok()) << aggregate.status();
        ASSERT_EQ(aggregate->count, kRows);
        ASSERT_TRUE((Wide{aggregate->sum_high} << 64 | aggregate->sum_low) == sum);
      }
    }
  };
  const auto move_inner = [&] {
    std::mt19937_64 random(test::Seed() + 3);
    while (!stop.load()) {
      const uint64_t lo = random() % kRows;
      const absl::Status status =
          engine().MoveRange("i", {.lo = lo, .hi = lo + 1 + random() % kRows},
                             AeuId{static_cast<uint32_t>(random() % kMovingAeus)});
      ASSERT_TRUE(status.ok()) << status;
    }
  };
  Beside({[&] {
            call();
            stop.store(true);
          },
          [&] { MoveUntil(stop, test::Seed() + 2); }, move_inner});
}

}  // namespace
}  // namespace eris
