// Objects whose keys have two parts, through running AEUs: every operation, scan and aggregate
// against a map of pairs, with many first parts on each AEU and many rows under one of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "eris/engine.h"
#include "eris/key_encoding.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"
#include "tests/support/write_model.h"

namespace eris {
namespace {

using storage::KeyState;
using storage::Operation;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kFirsts = 64;    // 16 on each AEU, and the largest ones on the last
constexpr uint64_t kManyRows = 20;  // the first part with more rows than a chunk has room for
constexpr KeyTypes kTwoParts = {ColumnType::kUint64, ColumnType::kUint64};

using Pair = std::pair<uint64_t, uint64_t>;
struct Row {
  uint64_t first = 0;
  uint64_t second = 0;
  uint64_t value = 0;
  friend bool operator==(const Row&, const Row&) = default;
};

bool Bit(const std::string& bits, size_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }

// A scan's rows, and in how many chunks they came.
struct Scanned {
  std::vector<Row> rows;
  int chunks = 0;
};

class TwoPartKeysTest : public testing::Test {
 protected:
  TwoPartKeysTest() : random_(test::Seed()) { Open({}); }

  void Open(Options options) {
    session_.reset();
    options.topology = "numa:2 core:2 pu:1";
    options.aeu_count = 4;
    options.memory_limit_bytes = uint64_t{1} << 30;
    options.balancer.enabled = false;  // counts miss rows that are under way
    auto engine = Engine::Open(options);
    EXPECT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    Create("o", {.expected = {0, kFirsts}, .key_type = kTwoParts});
    session_ = engine_->NewSession();
  }

  void Create(const std::string& name, const CreateOptions& options) {
    const auto info = engine_->Create(name, options);
    EXPECT_TRUE(info.ok()) << info.status();
  }
  uint64_t AnyFirst() { return random_() % 10 == 0 ? kMax - random_() % 2 : random_() % kFirsts; }
  uint64_t AnySecond() { return random_() % 10 == 0 ? kMax - random_() % 2 : random_() % 30; }

  // Rows under every first part, those of kManyRows in the thousands.
  void Fill() {
    for (uint64_t first = 0; first < kFirsts; ++first) {
      const uint64_t rows = first == kManyRows ? 50'000 : first % 5 == 0 ? 1 : first * 40;
      for (uint64_t i = 0; i < rows; ++i) Put(first, 2 * i);
    }
    for (const uint64_t first : {uint64_t{0}, kManyRows, uint64_t{15}, uint64_t{16}, kMax}) {
      for (const uint64_t second : {uint64_t{0}, kMax - 1, kMax}) Put(first, second);
    }
    std::vector<uint64_t> firsts, seconds, values;
    for (const auto& [key, value] : rows_) {
      firsts.push_back(key.first), seconds.push_back(key.second), values.push_back(value);
      if (firsts.size() < 10'000 && key != Pair{kMax, kMax}) continue;
      ASSERT_TRUE(session_->Upsert("o", {firsts, seconds}, values).ok());
      firsts.clear(), seconds.clear(), values.clear();
    }
  }
  void Put(uint64_t first, uint64_t second) { rows_[{first, second}] = random_() % 1000; }

  std::vector<Row> Expected(const ScanOptions& options) const {
    std::vector<Row> rows;
    const KeyRange& range = options.range;
    for (const auto& [key, value] : rows_) {
      if (key < Pair{range.lo, range.lo_second}) continue;
      if (range.hi && key >= Pair{*range.hi, range.hi_second}) continue;
      if (options.values && !options.values->Contains(value)) continue;
      rows.push_back({key.first, key.second, options.keys_only ? 0 : value});
    }
    if (options.direction == ScanDirection::kBackward) std::reverse(rows.begin(), rows.end());
    if (options.limit > 0 && rows.size() > options.limit) rows.resize(options.limit);
    return rows;
  }
  // One scan to its end; or each chunk by a scan of its own, opened on the rest of the one before.
  Scanned Read(ScanOptions options, bool resume) {
    Scanned got;
    for (;;) {
      auto scan = session_->OpenScan("o", options);
      EXPECT_TRUE(scan.ok()) << scan.status();
      if (!scan.ok()) return got;
      for (;;) {
        auto chunk = (*scan)->Next();
        EXPECT_TRUE(chunk.ok()) << chunk.status();
        if (!chunk.ok() || !*chunk) return got;
        const auto firsts = (*chunk)->keys(), seconds = (*chunk)->second_keys();
        EXPECT_EQ(seconds.size(), firsts.size());
        EXPECT_EQ((*chunk)->values().size(), options.keys_only ? 0 : firsts.size());
        ++got.chunks;
        for (size_t i = 0; i < firsts.size(); ++i) {
          got.rows.push_back(
              {firsts[i], seconds[i], options.keys_only ? 0 : (*chunk)->values()[i]});
        }
        if (!resume) continue;
        if (!(*chunk)->rest()) return got;
        options.range = *(*chunk)->rest();
        if (options.limit > 0) options.limit -= firsts.size();
        break;
      }
    }
  }
  // Bounds mostly inside first parts, often those of partitions' ends.
  KeyRange AnyRange() {
    const auto bound = [&]() -> Pair {
      switch (random_() % 5) {
        case 0:
          return {16 * (random_() % 5), random_() % 3 == 0 ? 0 : random_() % 1500};
        case 1:
          return {kManyRows, random_() % 110'000};
        case 2:
          return {AnyFirst(), 0};
        case 3:
          return {AnyFirst(), kMax - random_() % 2};
        default:
          return {AnyFirst(), random_() % 3000};
      }
    };
    const auto [lo, hi] = std::minmax({bound(), bound()});
    KeyRange range{.lo = lo.first, .hi = hi.first, .lo_second = lo.second, .hi_second = hi.second};
    if (random_() % 5 == 0) range.lo = range.lo_second = 0;
    if (random_() % 5 == 0) range.hi.reset(), range.hi_second = 0;
    return range;
  }
  std::optional<ValueRange> AnyValues() {
    if (random_() % 3 != 0) return std::nullopt;
    return random_() % 2 == 0 ? ValueRange{500, 509} : ValueRange{100, 900};
  }

  std::mt19937_64 random_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  std::map<Pair, uint64_t> rows_;
};

// Waiting and asynchronous calls in turn; keys that stand twice in a batch are written in order.
TEST_F(TwoPartKeysTest, EveryOperationAgreesWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::map<uint64_t, std::map<uint64_t, uint64_t>> model;  // by first part
  for (int round = 0; round < 300; ++round) {
    const size_t n = 1 + random_() % (round % 20 == 0 ? 20'000 : 300);
    const auto operation = static_cast<Operation>(1 + random_() % 7);
    std::vector<uint64_t> firsts(n), seconds(n), values(n), expected;
    const uint64_t one = AnyFirst();
    const bool all_of_one = random_() % 4 == 0;
    for (size_t i = 0; i < n; ++i) {
      firsts[i] = all_of_one ? one : AnyFirst();
      seconds[i] = AnySecond();
      values[i] = random_() % 3;
    }
    if (operation == Operation::kCompareAndSet) {
      for (size_t i = 0; i < n; ++i) expected.push_back(random_() % 3);
    }
    const KeyColumns keys(firsts, seconds);
    std::vector<uint8_t> existed(n), applied(n, 1);
    std::vector<uint64_t> answers(n);
    const bool conditional = storage::IsConditional(operation);
    if (round % 2 == 0) {
      absl::Status status;
      if (operation == Operation::kLookup) {
        status = session_->Lookup("o", keys, absl::MakeSpan(answers), absl::MakeSpan(existed));
      } else if (operation == Operation::kUpsert) {
        status = session_->Upsert("o", keys, values, absl::MakeSpan(existed));
      } else if (operation == Operation::kErase) {
        status = session_->Erase("o", keys, absl::MakeSpan(existed));
      } else {
        status = session_->Write(
            "o", {static_cast<WriteMode>(static_cast<int>(operation) - 3), keys, values, expected},
            {.applied = absl::MakeSpan(applied),
             .existed = absl::MakeSpan(existed),
             .values = absl::MakeSpan(answers)});
      }
      ASSERT_TRUE(status.ok()) << status;
    } else {
      std::promise<BatchResult> promise;
      const auto done = [&](BatchResult result) { promise.set_value(std::move(result)); };
      absl::StatusOr<std::shared_ptr<Pending>> pending;
      if (operation == Operation::kLookup) {
        pending = session_->LookupAsync("o", keys, done);
      } else if (operation == Operation::kUpsert) {
        pending = session_->UpsertAsync("o", keys, values, done);
      } else if (operation == Operation::kErase) {
        pending = session_->EraseAsync("o", keys, done);
      } else {
        pending = session_->WriteAsync(
            "o", {static_cast<WriteMode>(static_cast<int>(operation) - 3), keys, values, expected},
            done);
      }
      ASSERT_TRUE(pending.ok()) << pending.status();
      const BatchResult result = promise.get_future().get();
      ASSERT_TRUE(result.status.ok()) << result.status;
      for (size_t i = 0; i < n; ++i) {
        existed[i] = Bit(result.present, i);
        if (conditional) applied[i] = Bit(result.applied, i);
      }
      if (!result.values.empty()) std::memcpy(answers.data(), result.values.data(), 8 * n);
    }
    for (size_t i = 0; i < n; ++i) {
      const auto at = [&] {
        return "row " + std::to_string(i) + " of round " + std::to_string(round) + ", operation " +
               std::to_string(static_cast<int>(operation));
      };
      const test::ModelAnswer want = test::RunOnModel(
          model[firsts[i]], operation, seconds[i], values[i], expected.empty() ? 0 : expected[i]);
      ASSERT_EQ(existed[i] != 0, want.state != KeyState::kAbsent) << at();
      if (want.value) {
        ASSERT_EQ(answers[i], *want.value) << at();
      }
      if (!conditional) continue;
      const bool absent = want.state == KeyState::kAbsent;
      const bool applies = operation == Operation::kAdd ? true
                           : operation == Operation::kInsertIfAbsent
                               ? absent
                               : want.state == KeyState::kPresent;
      ASSERT_EQ(applied[i] != 0, applies) << at();
    }
  }
  for (const auto& [first, group] : model) {
    for (const auto& [second, value] : group) rows_[{first, second}] = value;
  }
  EXPECT_EQ(Read({}, false).rows, Expected({}));
  EXPECT_EQ(engine_->Describe("o")->keys, rows_.size());
}

TEST_F(TwoPartKeysTest, ScansAgreeWithAMapAlsoFromEveryRest) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  Fill();
  for (int round = 0; round < test::Fewer(60, 20); ++round) {
    ScanOptions options{.range = AnyRange(), .values = AnyValues()};
    if (round % 2 == 0) options.direction = ScanDirection::kBackward;
    if (random_() % 2 == 0) options.limit = 1 + random_() % 60'000;
    options.keys_only = random_() % 3 == 0;
    const std::vector<Row> expected = Expected(options);
    ASSERT_EQ(Read(options, false).rows, expected) << "round " << round;
    ASSERT_EQ(Read(options, true).rows, expected) << "round " << round;
  }
  // Chunks end inside the first part that has more rows than one.
  for (const auto direction : {ScanDirection::kForward, ScanDirection::kBackward}) {
    const ScanOptions options{.range = {.lo = kManyRows, .hi = kManyRows + 1},
                              .direction = direction};
    const Scanned got = Read(options, true);
    EXPECT_GE(got.chunks, 3);
    EXPECT_EQ(got.rows, Expected(options));
  }
}

TEST_F(TwoPartKeysTest, ARangeEndsBeforeItsSecondPartAndBeginsAtIt) {
  const std::vector<uint64_t> firsts{15, 15, 16, 16, 16, 17}, seconds{7, kMax, 0, 1, kMax, 0};
  ASSERT_TRUE(session_->Upsert("o", {firsts, seconds}, firsts).ok());
  // Partitions are cut at 16.
  const auto read = [&](const KeyRange& range) {
    std::vector<Pair> keys, back;
    for (const Row& row : Read({.range = range}, false).rows)
      keys.emplace_back(row.first, row.second);
    for (const Row& row :
         Read({.range = range, .direction = ScanDirection::kBackward}, true).rows) {
      back.emplace_back(row.first, row.second);
    }
    std::reverse(back.begin(), back.end());
    EXPECT_EQ(keys, back);
    return keys;
  };
  using Pairs = std::vector<Pair>;
  EXPECT_EQ(read({.lo = 15, .hi = 16, .lo_second = 8, .hi_second = 1}),
            (Pairs{{15, kMax}, {16, 0}}));
  EXPECT_EQ(read({.lo = 15, .hi = 16, .lo_second = kMax}), (Pairs{{15, kMax}}));
  EXPECT_EQ(read({.lo = 16, .hi = 16, .hi_second = kMax}), (Pairs{{16, 0}, {16, 1}}));
  EXPECT_EQ(read({.lo = 16, .hi = 17, .lo_second = kMax}), (Pairs{{16, kMax}}));
  EXPECT_EQ(read({.lo = 16, .hi = 17}), (Pairs{{16, 0}, {16, 1}, {16, kMax}}));
  EXPECT_EQ(read({.lo = 16, .hi = 16}), Pairs{});
  EXPECT_EQ(read({.lo = 16, .hi = 16, .lo_second = 1, .hi_second = 1}), Pairs{});
  EXPECT_EQ(read({.lo = 17, .lo_second = 0}), (Pairs{{17, 0}}));
}

TEST_F(TwoPartKeysTest, TheLastKeyOfAllHasNoRest) {
  const std::vector<uint64_t> firsts{kMax, kMax}, seconds{kMax - 1, kMax};
  ASSERT_TRUE(session_->Upsert("o", {firsts, seconds}, firsts).ok());
  auto scan = session_->OpenScan("o", {.range = {.lo = kMax, .lo_second = kMax}});
  ASSERT_TRUE(scan.ok());
  const auto chunk = (*scan)->Next();
  ASSERT_TRUE(chunk.ok() && *chunk);
  EXPECT_EQ((*chunk)->second_keys(), (std::vector<uint64_t>{kMax}));
  EXPECT_FALSE((*chunk)->rest());
}

TEST_F(TwoPartKeysTest, AggregatesAgreeWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  Fill();
  for (int round = 0; round < test::Fewer(80, 25); ++round) {
    AggregateOptions options{.range = AnyRange(), .values = AnyValues()};
    RangeAggregate expected;
    for (const Row& row : Expected({.range = options.range, .values = options.values})) {
      expected.Add(
          {1, row.value, row.value, row.value, 0, row.first, row.first, row.second, row.second});
    }
    auto got = session_->Aggregate("o", options);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(*got, expected) << "round " << round;
    options.count_only = true;
    got = session_->Aggregate("o", options);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->count, expected.count) << "round " << round;
  }
}

// The pool's chunks change their columns with the scan that has them.
TEST_F(TwoPartKeysTest, ChunksServeScansOfBothWidthsInTurn) {
  Fill();
  Create("one", {.expected = {0, 70'000}});
  std::vector<uint64_t> keys(70'000);
  for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = i;
  ASSERT_TRUE(session_->Upsert("one", keys, keys).ok());
  for (int round = 0; round < 4; ++round) {
    ASSERT_EQ(Read({}, false).rows, Expected({}));
    std::vector<uint64_t> got;
    auto scan = session_->OpenScan("one", {});
    ASSERT_TRUE(scan.ok());
    for (;;) {
      const auto chunk = (*scan)->Next();
      ASSERT_TRUE(chunk.ok()) << chunk.status();
      if (!*chunk) break;
      ASSERT_TRUE((*chunk)->second_keys().empty());
      ASSERT_EQ((*chunk)->keys(), (*chunk)->values());
      got.insert(got.end(), (*chunk)->keys().begin(), (*chunk)->keys().end());
    }
    ASSERT_EQ(got, keys);
  }
}

TEST_F(TwoPartKeysTest, ABatchOfTheWrongWidthIsRefusedBeforeAnythingIsSent) {
  Create("one", {});
  const std::vector<uint64_t> keys{1, 2, 3}, two{1, 2};
  std::vector<uint64_t> values(3);
  std::vector<uint8_t> found(3);
  const absl::Status narrow =
      absl::InvalidArgumentError("keys of object \"o\" have two parts, the batch has one");
  const absl::Status wide =
      absl::InvalidArgumentError("keys of object \"one\" have one part, the batch has two");
  const absl::Status unequal =
      absl::InvalidArgumentError("as many second parts as keys are needed: 2 for 3 keys");
  const auto never = [](BatchResult) { ADD_FAILURE() << "called back"; };
  const auto all = [&](const char* object, const KeyColumns& columns) {
    const WriteBatch add{.mode = WriteMode::kAdd, .keys = columns, .values = values};
    const std::vector<absl::Status> statuses{
        session_->Lookup(object, columns, absl::MakeSpan(values), absl::MakeSpan(found)),
        session_->Upsert(object, columns, values),
        session_->Erase(object, columns),
        session_->Write(object, add),
        session_->LookupAsync(object, columns, never).status(),
        session_->UpsertAsync(object, columns, values, never).status(),
        session_->EraseAsync(object, columns, never).status(),
        session_->WriteAsync(object, add, never).status()};
    for (const absl::Status& status : statuses) EXPECT_EQ(status, statuses[0]);
    return statuses[0];
  };
  EXPECT_EQ(all("o", keys), narrow);
  EXPECT_EQ(all("one", {keys, keys}), wide);
  EXPECT_EQ(all("o", {keys, two}), unequal);
  EXPECT_EQ(session_->Erase("o", KeyColumns({}, keys)),
            absl::InvalidArgumentError("as many second parts as keys are needed: 3 for 0 keys"));
  EXPECT_EQ(session_->Erase("o", KeyColumns(absl::Span<const uint64_t>(), {})).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->Describe("o")->keys, 0u);
  EXPECT_EQ(engine_->Describe("one")->keys, 0u);
}

TEST_F(TwoPartKeysTest, SecondPartsCountAsBytesInFlight) {
  Options options;
  options.session_in_flight_bytes_max = 45'000;
  Open(options);
  Create("one", {});
  const std::vector<uint64_t> keys(1000, 5);
  std::vector<uint64_t> values(1000);
  std::vector<uint8_t> found(1000);
  EXPECT_EQ(
      session_->Lookup("o", {keys, keys}, absl::MakeSpan(values), absl::MakeSpan(found)).code(),
      absl::StatusCode::kResourceExhausted);
  // What is refused holds nothing.
  EXPECT_TRUE(session_->Lookup("one", keys, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
}

TEST_F(TwoPartKeysTest, RangesThatDoNotFitTheKeysAreRefused) {
  Create("one", {});
  const auto both = [&](const char* object, const KeyRange& range) {
    const absl::Status scan = session_->OpenScan(object, {.range = range}).status();
    EXPECT_EQ(session_->Aggregate(object, {.range = range}).status(), scan);
    EXPECT_EQ(scan.code(), absl::StatusCode::kInvalidArgument) << scan;
    return std::string(scan.message());
  };
  EXPECT_EQ(both("one", {.lo = 1, .hi = 5, .lo_second = 2}),
            "keys of object \"one\" have one part, the range has second parts: lo_second 2, "
            "hi_second 0");
  EXPECT_EQ(both("one", {.lo = 1, .hi = 5, .hi_second = 3}),
            "keys of object \"one\" have one part, the range has second parts: lo_second 0, "
            "hi_second 3");
  EXPECT_EQ(both("o", {.lo = 5, .hi = 5, .lo_second = 3, .hi_second = 2}),
            "inverted range: lo and hi are both 5, hi_second 2 is below lo_second 3");
  EXPECT_EQ(both("o", {.lo = 5, .hi = 4, .hi_second = 9}), "inverted range: hi 4 is below lo 5");
  EXPECT_EQ(both("o", {.lo = 5, .hi_second = 9}), "range without hi: hi_second is 9, must be 0");
}

TEST_F(TwoPartKeysTest, WhatCannotHaveTwoPartsIsRefusedAtCreate) {
  const auto refused = [&](const CreateOptions& options) {
    const absl::Status status = engine_->Create("new", options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(refused({.kind = ObjectKind::kHash, .key_type = kTwoParts}),
            "kind is hash and key_type has two parts: a hash has keys of one part");
  EXPECT_EQ(refused({.key_type = kTwoParts, .value_type = ColumnType::kString}),
            "value_type is bytes and key_type has two parts: under keys of two parts stand values "
            "of u64");
  EXPECT_EQ(refused({.key_type = {ColumnType::kInt64, static_cast<ColumnType>(7)}}),
            "key_type's second part 7 is none of 1 (u64), 2 (i64), 3 (f64), 4 (date)");
  EXPECT_EQ(refused({.expected = {.lo = 0, .hi = 9, .hi_second = 4}, .key_type = kTwoParts}),
            "the expected range is one of first parts: its second parts are 0 and 4, must be 0");
  EXPECT_EQ(engine_->Describe("new").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(TwoPartKeysTest, BoundariesAreThoseOfTheFirstPartsType) {
  Create("typed",
         {.expected = Int64Range(-100, 100), .key_type = {ColumnType::kInt64, ColumnType::kDate}});
  const auto info = engine_->Describe("typed");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->key_type, (KeyTypes{ColumnType::kInt64, ColumnType::kDate}));
  ASSERT_EQ(info->partition_starts.size(), 4u);
  EXPECT_EQ(Int64FromKey(info->partition_starts[1]), -50);
}

TEST_F(TwoPartKeysTest, JoinsRefuseThemOnEitherSide) {
  Create("one", {});
  const auto message = [&](const char* outer, const char* inner) {
    const absl::Status status = session_->OpenJoin(outer, inner, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    return std::string(status.message());
  };
  const std::string refused = "keys of object \"o\" have two parts: it cannot be a side of a join";
  EXPECT_EQ(message("o", "one"), refused);
  EXPECT_EQ(message("one", "o"), refused);
  EXPECT_EQ(session_->OpenJoin("one", "one", {.range = {.lo = 1, .hi = 2, .hi_second = 1}})
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(session_->OpenJoin("one", "one", {}).ok());
}

// Keys that were encoded for one object never reach another of its name, whichever of several names
// was asked last.
TEST_F(TwoPartKeysTest, TypesToldOfTwoNamesInTurnAreKeptApart) {
  Create("a", {.key_type = ColumnType::kInt64});
  Create("b", {.key_type = kTwoParts});
  ASSERT_EQ(*session_->KeyTypesOf("a"), KeyTypes(ColumnType::kInt64));
  ASSERT_EQ(*session_->KeyTypesOf("b"), kTwoParts);
  ASSERT_TRUE(engine_->Drop("a").ok());
  ASSERT_TRUE(engine_->Drop("b").ok());
  Create("a", {.key_type = ColumnType::kDate});
  Create("b", {.key_type = {ColumnType::kDate, ColumnType::kInt64}});
  const std::vector<uint64_t> keys{KeyFromInt64(-1)}, values{1};
  EXPECT_EQ(session_->Upsert("a", keys, values).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(session_->Upsert("b", {keys, keys}, values).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(engine_->Describe("a")->keys + engine_->Describe("b")->keys, 0u);
  // Who asks again is told of the new ones.
  EXPECT_EQ(*session_->KeyTypesOf("b"), (KeyTypes{ColumnType::kDate, ColumnType::kInt64}));
  EXPECT_EQ(*session_->KeyTypesOf("a"), KeyTypes(ColumnType::kDate));
  EXPECT_TRUE(session_->Upsert("b", {keys, keys}, values).ok());
  EXPECT_TRUE(session_->Upsert("a", keys, values).ok());
  // Also where it asks between the drop and its next request.
  ASSERT_TRUE(engine_->Drop("a").ok());
  EXPECT_EQ(session_->KeyTypesOf("a").status().code(), absl::StatusCode::kNotFound);
  Create("a", {.key_type = kTwoParts});
  EXPECT_EQ(*session_->KeyTypesOf("a"), kTwoParts);
  EXPECT_TRUE(session_->Upsert("a", {keys, keys}, values).ok());
}

// Several sessions on the same few keys: adds count once each, and scans beside them see each row
// of a first part that nobody writes.
TEST_F(TwoPartKeysTest, SessionsBesideEachOtherLoseNothing) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  constexpr int kThreads = 3, kRounds = 60;
  const std::vector<uint64_t> still_first(500, 40);
  std::vector<uint64_t> still_second(500);
  for (uint64_t i = 0; i < still_second.size(); ++i) still_second[i] = i;
  ASSERT_TRUE(session_->Upsert("o", {still_first, still_second}, still_second).ok());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      auto session = engine_->NewSession();
      std::mt19937_64 random(test::Seed() + static_cast<uint64_t>(thread));
      std::vector<uint64_t> firsts(200), seconds(200), ones(200, 1);
      for (int round = 0; round < kRounds; ++round) {
        for (size_t i = 0; i < firsts.size(); ++i) {
          firsts[i] = 38 + random() % 5;
          if (firsts[i] == 40) firsts[i] = 3;
          seconds[i] = random() % 100;
        }
        EXPECT_TRUE(
            session
                ->Write("o", {.mode = WriteMode::kAdd, .keys = {firsts, seconds}, .values = ones})
                .ok());
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    const ScanOptions options{.range = {.lo = 40, .hi = 40, .hi_second = 500},
                              .direction = static_cast<ScanDirection>(round % 2)};
    ASSERT_EQ(Read(options, false).rows.size(), 500u);
  }
  for (std::thread& thread : threads) thread.join();
  const auto all = session_->Aggregate("o", {});
  const auto still = session_->Aggregate("o", {.range = {.lo = 40, .hi = 41}});
  ASSERT_TRUE(all.ok() && still.ok());
  EXPECT_EQ(still->count, 500u);
  EXPECT_EQ(still->first_second, 0u);
  EXPECT_EQ(still->last_second, 499u);
  EXPECT_EQ(all->sum_low - still->sum_low, uint64_t{kThreads} * kRounds * 200);
}

}  // namespace
}  // namespace eris
