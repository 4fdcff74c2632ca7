// Joins with running AEUs against a join of std::unordered_map; the inner side is an index or a
// hash.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "eris/engine.h"
#include "tests/support/objects.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

constexpr uint64_t kMaxKey = std::numeric_limits<uint64_t>::max();

using JoinRows = std::unordered_map<uint64_t, uint64_t>;
using Joined = std::tuple<uint64_t, uint64_t, uint64_t>;  // outer key, join key, inner value

void Fill(Session& session, const Object& object, const JoinRows& rows) {
  std::vector<uint64_t> keys, values;
  for (const auto& [key, value] : rows) keys.push_back(key), values.push_back(value);
  for (size_t i = 0; i < keys.size(); i += 50'000) {
    ASSERT_TRUE(session
                    .Upsert(object, absl::MakeConstSpan(keys).subspan(i, 50'000),
                            absl::MakeConstSpan(values).subspan(i, 50'000))
                    .ok());
  }
}

void Append(const Chunk& chunk, std::vector<Joined>& rows) {
  EXPECT_GT(chunk.rows(), 0u);
  for (uint64_t i = 0; i < chunk.rows(); ++i) {
    rows.emplace_back(chunk.Uint64s(0)[i], chunk.Uint64s(1)[i], chunk.Uint64s(2)[i]);
  }
}

// Every row, sorted.
std::vector<Joined> JoinAll(Session& session, const Object& outer, const Object& inner,
                            const JoinOptions& options) {
  std::vector<Joined> rows;
  const auto join = test::OrDie(session.OpenJoin(outer, inner, options));
  const absl::Status end =
      test::ForEachChunk(*join, [&](const Chunk& chunk) { Append(chunk, rows); });
  EXPECT_TRUE(end.ok()) << end;
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<Joined> Expected(const JoinRows& outer, const JoinRows& inner,
                             const JoinOptions& options) {
  std::vector<Joined> rows;
  for (const auto& [key, value] : outer) {
    const auto found = inner.find(value);
    if (!options.range.Contains(key) || found == inner.end()) continue;
    if (options.inner_values && !options.inner_values->Contains(found->second)) continue;
    rows.emplace_back(key, value, found->second);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// A join ends when the last AEU has let go of it.
bool NoChunkInUse(Engine& engine) {
  for (int i = 0; i < 10'000 && engine.Stats().scan_chunks_in_use > 0; ++i) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  return engine.Stats().scan_chunks_in_use == 0;
}

struct JoinMachine {
  const char* name;
  uint32_t aeus;
  const char* topology = "";
  ObjectKind inner = ObjectKind::kIndex;
};

class JoinOnMachineTest : public testing::TestWithParam<JoinMachine> {
 protected:
  // Ten orders a customer, a third of whom are not there; keys of orders have gaps.
  void FillOrders(uint64_t customers) {
    for (uint64_t customer = 1; customer <= customers; ++customer) {
      if (customer % 3 != 0) customers_[customer] = random_() % 25;
    }
    for (uint64_t order = 0; order < 10 * customers; ++order) {
      orders_[order / 8 * 32 + order % 8] = 1 + random_() % customers;
    }
    outer_ = Make("orders", {.expected = {0, 40 * customers}}, orders_);
    inner_ = MakeInner("customers", {.expected = {0, customers}}, customers_);
  }

  Object Make(const char* name, const CreateOptions& options, const JoinRows& rows) {
    const Object object = test::Create(*engine_, name, options);
    Fill(*session_, object, rows);
    return object;
  }
  Object MakeInner(const char* name, CreateOptions options, const JoinRows& rows) {
    options.kind = GetParam().inner;
    return Make(name, options, rows);
  }

  const uint64_t seed_ = test::Seed();
  std::mt19937_64 random_{seed_};
  JoinRows orders_, customers_;
  std::unique_ptr<Engine> engine_ =
      test::OpenEngine(test::SmallOptions(GetParam().aeus, GetParam().topology));
  std::unique_ptr<Session> session_ = engine_->NewSession();
  Object outer_, inner_;
};

TEST_P(JoinOnMachineTest, OrdersFindTheirCustomersAsInAHashJoin) {
  SCOPED_TRACE(test::SeedText(seed_));
  FillOrders(test::Fewer<uint64_t>(20'000, 6'000));
  for (const JoinOptions& options :
       {JoinOptions{}, JoinOptions{.range = {12'345, 68'765}, .inner_values = {}},
        JoinOptions{.range = {}, .inner_values = KeyRange{7, 8}},
        JoinOptions{.range = {150'000, std::nullopt}, .inner_values = KeyRange{3, std::nullopt}},
        JoinOptions{.range = {}, .inner_values = KeyRange{0, kMaxKey}},
        JoinOptions{.range = {77, 77}, .inner_values = {}},
        JoinOptions{.range = {}, .inner_values = KeyRange{5, 5}},
        JoinOptions{.range = {}, .inner_values = KeyRange{25, std::nullopt}},
        JoinOptions{.range = {9'000'000, std::nullopt}, .inner_values = {}}}) {
    EXPECT_EQ(JoinAll(*session_, outer_, inner_, options), Expected(orders_, customers_, options));
  }
}

TEST_P(JoinOnMachineTest, KeysAtTheEndsOfTheKeySpaceAreJoined) {
  const JoinRows outer{
      {0, kMaxKey}, {1, 0}, {kMaxKey - 1, 1}, {kMaxKey, kMaxKey}, {5, kMaxKey - 1}};
  const JoinRows inner{{0, 0}, {kMaxKey, kMaxKey}, {kMaxKey - 1, 3}};
  const Object a = Make("a", {}, outer);
  const Object b = MakeInner("b", {.split_points = {1, 2, kMaxKey - 1, kMaxKey}}, inner);
  for (const JoinOptions& options :
       {JoinOptions{}, JoinOptions{.range = {kMaxKey, std::nullopt}, .inner_values = {}},
        JoinOptions{.range = {0, kMaxKey}, .inner_values = {}},
        JoinOptions{.range = {}, .inner_values = KeyRange{kMaxKey, std::nullopt}}}) {
    EXPECT_EQ(JoinAll(*session_, a, b, options), Expected(outer, inner, options));
    if (GetParam().inner == ObjectKind::kHash) continue;
    EXPECT_EQ(JoinAll(*session_, b, a, options), Expected(inner, outer, options));
  }
}

TEST_P(JoinOnMachineTest, AnObjectIsJoinedWithItself) {
  JoinRows rows;
  for (uint64_t key = 0; key < 30'000; ++key) rows[key] = key * 7 % 45'000;
  const Object o = Make("o", {.expected = {0, 30'000}}, rows);
  EXPECT_EQ(JoinAll(*session_, o, o, {}), Expected(rows, rows, {}));
}

// Each callback asks for the next chunk.
class Chain {
 public:
  explicit Chain(Scan& join) : join_(join) {}
  void Ask() {
    join_.NextAsync([this](Scan::NextResult chunk) {
      EXPECT_TRUE(chunk.ok()) << chunk.status();
      if (!chunk.ok() || !*chunk) return done_.store(true);
      Append(**chunk, rows_);
      chunk->reset();
      Ask();
    });
  }
  std::vector<Joined> Await() {
    while (!done_.load()) absl::SleepFor(absl::Milliseconds(1));
    std::sort(rows_.begin(), rows_.end());
    return std::move(rows_);
  }

 private:
  Scan& join_;
  std::vector<Joined> rows_;
  std::atomic<bool> done_{false};
};

TEST_P(JoinOnMachineTest, AChainOfNextAsyncReadsEverything) {
  SCOPED_TRACE(test::SeedText(seed_));
  FillOrders(test::Fewer<uint64_t>(10'000, 4'000));
  auto join = session_->OpenJoin(outer_, inner_, {});
  ASSERT_TRUE(join.ok());
  Chain chain(**join);
  chain.Ask();
  EXPECT_EQ(chain.Await(), Expected(orders_, customers_, {}));
}

TEST_P(JoinOnMachineTest, JoinsSideBySideDoNotDisturbOneAnother) {
  SCOPED_TRACE(test::SeedText(seed_));
  FillOrders(5'000);
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      auto session = engine_->NewSession();
      const JoinOptions options{.range = {t * 1000, std::nullopt}, .inner_values = {}};
      const auto expected = Expected(orders_, customers_, options);
      for (int round = 0; round < test::Fewer(4, 2); ++round) {
        ASSERT_EQ(JoinAll(*session, outer_, inner_, options), expected);
        // One that ends somewhere on its way.
        auto join = session->OpenJoin(outer_, inner_, {});
        ASSERT_TRUE(join.ok());
        for (uint64_t i = 0; i < t; ++i) ASSERT_TRUE((*join)->Next().ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(NoChunkInUse(*engine_));
}

// JoinRows with even keys stay as they are; what happens to the others while the join runs decides
// whether and how they are seen, but they are seen at most once.
TEST_P(JoinOnMachineTest, RowsThatNobodyWritesAreExactUnderConcurrentWrites) {
  SCOPED_TRACE(test::SeedText(seed_));
  constexpr uint64_t kOuter = 60'000, kInner = 20'000;
  JoinRows outer, inner;
  for (uint64_t key = 0; key < kOuter; ++key) outer[key] = key % kInner;
  for (uint64_t key = 0; key < kInner; ++key) inner[key] = key + 1;
  const Object a = Make("a", {.expected = {0, kOuter}}, outer);
  const Object b = MakeInner("b", {.expected = {0, kInner}}, inner);

  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (uint64_t t = 0; t < 2; ++t) {
    writers.emplace_back([&, t] {
      auto session = engine_->NewSession();
      std::mt19937_64 random(seed_ + t);
      std::vector<uint64_t> keys(200), values(200);
      while (!stop.load()) {
        for (size_t i = 0; i < keys.size(); ++i) {
          keys[i] = random() % (t == 0 ? kOuter : kInner) | 1;
          values[i] = t == 0 ? random() % kInner | 1 : keys[i] + kInner * (random() % 3);
        }
        ASSERT_TRUE(session->Upsert(t == 0 ? a : b, keys, values).ok());
        for (size_t i = 0; i < keys.size(); ++i)
          keys[i] = random() % (t == 0 ? kOuter : kInner) | 1;
        ASSERT_TRUE(session->Erase(t == 0 ? a : b, keys).ok());
      }
    });
  }
  for (int round = 0; round < 5; ++round) {
    const std::vector<Joined> rows = JoinAll(*session_, a, b, {});
    uint64_t untouched = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto [key, join_key, value] = rows[i];
      if (i > 0) {
        ASSERT_LT(std::get<0>(rows[i - 1]), key) << "seen twice";
      }
      if (key % 2 == 0) {
        ++untouched;
        ASSERT_EQ(join_key, key % kInner);
        ASSERT_EQ(value, join_key + 1);
      } else {
        ASSERT_EQ(join_key % 2, 1u);
        ASSERT_TRUE(value == join_key + 1 || value % kInner == join_key) << value;
      }
    }
    ASSERT_EQ(untouched, kOuter / 2);
  }
  stop.store(true);
  for (std::thread& writer : writers) writer.join();
}

INSTANTIATE_TEST_SUITE_P(Machines, JoinOnMachineTest,
                         testing::Values(JoinMachine{"OneAeu", 1}, JoinMachine{"TwoAeus", 2},
                                         JoinMachine{"FourAeus", 4}, JoinMachine{"SevenAeus", 7},
                                         JoinMachine{"FourNumaNodes", 8, "numa:4 core:2 pu:1"},
                                         JoinMachine{"Hash", 4, "", ObjectKind::kHash}),
                         [](const auto& machine) { return machine.param.name; });

class JoinTest : public testing::Test {
 protected:
  void Build(const Options& options, uint64_t rows) {
    session_.reset();
    engine_ = test::OpenEngine(options);
    session_ = engine_->NewSession();
    JoinRows all;
    for (uint64_t key = 0; key < rows; ++key) all[key] = key;
    outer_ = test::Create(*engine_, "a", {.expected = {0, rows}});
    inner_ = test::Create(*engine_, "b", {.expected = {0, rows}});
    for (const Object& object : {outer_, inner_}) Fill(*session_, object, all);
  }
  std::unique_ptr<Scan> Open() { return test::OrDie(session_->OpenJoin(outer_, inner_, {})); }
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  Object outer_, inner_;
};

TEST_F(JoinTest, BadInputIsRefused) {
  Build(test::SmallOptions(2, ""), 10);
  const auto code = [&](const JoinOptions& options) {
    return session_->OpenJoin(outer_, inner_, options).status().code();
  };
  EXPECT_EQ(code({.range = {5, 4}, .inner_values = {}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.range = {}, .inner_values = KeyRange{5, 4}}),
            absl::StatusCode::kInvalidArgument);
  engine_->Close();
  EXPECT_EQ(code({}), absl::StatusCode::kUnavailable);
}

// A pool of one chunk gives a join five blocks, for 64 AEUs.
TEST_F(JoinTest, FewBlocksServeManyAeusInTurn) {
  Options options = test::SmallOptions(64, "");
  options.memory_limit_bytes = uint64_t{4} << 30;
  options.incoming_buffer_bytes = 64 << 10;
  options.outgoing_buffer_bytes = 4 << 10;
  options.port_buffers_bytes_max = 64 << 10;
  options.scan_chunks_max = 1;
  Build(options, 200'000);
  const std::vector<Joined> rows = JoinAll(*session_, outer_, inner_, {});
  ASSERT_EQ(rows.size(), 200'000u);
  for (uint64_t key = 0; key < rows.size(); ++key) {
    if (rows[key] != Joined{key, key, key}) FAIL() << key;
  }
  ASSERT_TRUE(NoChunkInUse(*engine_));
  auto first = Open();
  EXPECT_EQ(session_->OpenJoin(outer_, inner_, {}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(JoinTest, ObjectsDroppedMidWayAreNotFound) {
  for (const char* dropped : {"a", "b"}) {
    Build(test::SmallOptions(3, ""), 400'000);
    auto join = Open();
    auto chunk = join->Next();
    ASSERT_TRUE(chunk.ok());
    ASSERT_TRUE(engine_->Drop(dropped).ok());
    // What had been looked up may still come.
    while (chunk.ok() && *chunk) chunk = join->Next();
    EXPECT_EQ(chunk.status().code(), absl::StatusCode::kNotFound) << chunk.status();
  }
}

TEST_F(JoinTest, CloseEndsJoinsUnderWay) {
  Build(test::SmallOptions(3, ""), 400'000);
  auto join = Open();
  auto chunk = join->Next();
  ASSERT_TRUE(chunk.ok() && *chunk);
  engine_->Close();
  EXPECT_EQ(join->Next().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*chunk)->Uint64s(0)[0], (*chunk)->Uint64s(1)[0]);
}

TEST_F(JoinTest, CancelFromAnotherThreadEndsAReadingJoin) {
  Build(test::SmallOptions(2, ""), 300'000);
  for (int round = 0; round < 20; ++round) {
    auto join = Open();
    std::thread canceller([&] { join->Cancel(); });
    auto chunk = join->Next();
    while (chunk.ok() && *chunk) chunk = join->Next();
    EXPECT_TRUE(chunk.ok() || chunk.status().code() == absl::StatusCode::kCancelled)
        << chunk.status();
    canceller.join();
  }
}

}  // namespace
}  // namespace eris
