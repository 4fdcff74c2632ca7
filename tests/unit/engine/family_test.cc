// Objects that lie beside each other: how they are made, and that they are cut alike after any
// number of moves, of whichever of them is asked for.
#include "engine/objects/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/engine_impl.h"
#include "engine/moving/balancer_loop.h"
#include "engine/moving/object_admin.h"
#include "engine/moving/step_sender.h"
#include "engine/moving/transfer_executor.h"
#include "eris/key_encoding.h"
#include "tests/support/seed.h"
#include "tests/support/table_rows.h"

namespace eris::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Code = absl::StatusCode;

constexpr uint64_t kFamilyRows = 4'000;

// Columns k0, k1, ..., all of the key, and a number.
CreateOptions Table(const std::vector<ColumnType>& key, std::string beside = {}) {
  CreateOptions options{.kind = ObjectKind::kTable, .schema = {}, .beside = std::move(beside)};
  for (const ColumnType type : key) {
    const auto number = static_cast<uint32_t>(options.schema.columns.size());
    options.schema.columns.push_back({.name = absl::StrCat("k", number), .type = type});
    options.schema.key.push_back(number);
  }
  options.schema.columns.push_back({.name = "n", .type = ColumnType::kInt64});
  return options;
}
CreateOptions Index(ColumnType key, std::string beside = {}, ObjectKind kind = ObjectKind::kIndex) {
  return {.kind = kind, .schema = KeyValueSchema(key), .beside = std::move(beside)};
}

// AEUs, one of which has no memory for one object.
class RefusingAeus final : public StepSender {
 public:
  RefusingAeus(EngineImpl& engine, std::string object, AeuId target)
      : admin_(engine.core(), engine.memory(),
               {NumaNodeId{0}, NumaNodeId{0}, NumaNodeId{1}, NumaNodeId{1}}),
        aeus_(engine.core(), admin_),
        object_(std::move(object)),
        target_(target) {}

  absl::Status Reserve(ObjectEntry& object, AeuId target) override {
    if (object.name == object_ && target == target_) {
      return absl::ResourceExhaustedError("no memory left");
    }
    return aeus_.Reserve(object, target);
  }
  void PrepareMemory(AeuId target, uint64_t bytes) override { aeus_.PrepareMemory(target, bytes); }
  absl::Status Give(ObjectEntry& object, routing::TransferStep& step,
                    absl::FunctionRef<bool()> goes_on) override {
    return aeus_.Give(object, step, goes_on);
  }
  void Conclude(ObjectEntry& object, routing::TransferStep& step) override {
    aeus_.Conclude(object, step);
  }

 private:
  ObjectAdmin admin_;
  AeuStepSender aeus_;
  const std::string object_;
  const AeuId target_;
};

class FamilyTest : public testing::Test {
 protected:
  void SetUp() override { RecordProperty("seed", std::to_string(seed_)); }
  void Open(const std::function<void(Options&)>& change = nullptr) {
    Options options = test::SmallOptions();
    if (change) change(options);
    auto engine = EngineImpl::Open(options, EngineImpl::Threads::kStart);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }
  Engine& engine() { return *engine_; }  // with its default arguments
  absl::Status Create(const std::string& name, const CreateOptions& options) {
    return engine_->Create(name, options).status();
  }
  ObjectRef Find(const std::string& name) { return *engine_->core().catalogue.Find(name); }
  Family FamilyOfObject(const std::string& name) {
    return FamilyOf(engine_->core().catalogue, Find(name)->family);
  }
  // Rows with first key columns 0, 1, ..., two of each where the key has another column.
  void Fill(const std::string& name, uint64_t rows = kFamilyRows) {
    const eris::Object object = test::Open(*engine_, name);
    test::Rows batch(object.schema().columns);
    const bool pairs = object.schema().key.size() > 1;
    for (uint64_t i = 0; i < rows; ++i) {
      test::Row row{First(object.schema().columns[0].type, pairs ? i / 2 : i)};
      if (pairs) row.push_back(First(object.schema().columns[1].type, i % 2));
      while (row.size() < object.schema().columns.size()) {
        row.push_back(First(object.schema().columns[row.size()].type, i));
      }
      batch.Add(row);
    }
    const BatchResult written = session().Write(object, {.rows = batch.batch()});
    ASSERT_TRUE(written.status.ok()) << written.status;
  }
  uint64_t RowsOf(const std::string& name) { return engine_->Describe(name)->keys; }
  Session& session() {
    if (session_ == nullptr) session_ = engine_->NewSession();
    return *session_;
  }
  // As after transfers of the others that were refused.
  void MoveAlone(const char* name, const KeyRange& range, AeuId from, AeuId to) {
    const PlannedTransfer transfer{.object = name, .range = range, .from = from, .to = to};
    const TransferStop::Ticket ticket = engine_->core().transfer_stop.Begin({});
    const ObjectRef object = Find(name);
    ASSERT_TRUE(engine_->transfers().Run(*object, transfer, ticket).status.ok());
    EXPECT_FALSE(InLine(FamilyOfObject(name)));
  }
  static Value First(ColumnType type, uint64_t number) {
    if (type == ColumnType::kUint64) return number;
    return static_cast<int64_t>(number);
  }

  const uint64_t seed_ = test::Seed();
  std::mt19937_64 random_{seed_};
  std::unique_ptr<EngineImpl> engine_;
  std::unique_ptr<Session> session_;
};

TEST_F(FamilyTest, ANewObjectIsCutLikeTheOneBesideIt) {
  Open();
  CreateOptions orders = Table({ColumnType::kInt64});
  orders.expected = Int64Range(0, 4'000);
  ASSERT_TRUE(Create("orders", orders).ok());
  Fill("orders");
  ASSERT_TRUE(engine().MoveRange("orders", {0, KeyFromInt64(500)}, AeuId{3}, {}).ok());
  ASSERT_TRUE(Create("lineitem", Table({ColumnType::kInt64, ColumnType::kInt32}, "orders")).ok());
  ASSERT_TRUE(Create("totals", Index(ColumnType::kInt64, "lineitem")).ok());
  ASSERT_TRUE(Create("other", orders).ok());
  const ObjectInfo first = *engine_->Describe("orders");
  for (const char* name : {"lineitem", "totals"}) {
    const ObjectInfo info = *engine_->Describe(name);
    EXPECT_EQ(info.partition_starts, first.partition_starts) << name;
    EXPECT_EQ(info.partition_owners, first.partition_owners) << name;
  }
  EXPECT_THAT(first.beside, ElementsAre("lineitem", "totals"));
  EXPECT_THAT(engine_->Describe("totals")->beside, ElementsAre("lineitem", "orders"));
  EXPECT_TRUE(engine_->Describe("other")->beside.empty());
}

TEST_F(FamilyTest, WhatCannotLieBesideIsRefusedWithBothNames) {
  Open();
  ASSERT_TRUE(Create("numbers", Index(ColumnType::kUint64)).ok());
  ASSERT_TRUE(Create("days", Index(ColumnType::kDate)).ok());
  ASSERT_TRUE(Create("heap", {.kind = ObjectKind::kHeapTable, .schema = Table({}).schema}).ok());
  CreateOptions prices = Table({ColumnType::kDecimal});
  prices.schema.columns[0].scale = 2;
  ASSERT_TRUE(Create("prices", prices).ok());
  CreateOptions finer = prices;
  finer.schema.columns[0].scale = 4;
  finer.beside = "prices";
  CreateOptions heap{.kind = ObjectKind::kHeapTable, .schema = Table({}).schema};
  heap.beside = "numbers";
  const struct {
    CreateOptions options;
    std::string why;
  } refused[] = {
      {Table({ColumnType::kInt64}, "numbers"),
       "its keys begin with int64, those of \"numbers\" with uint64; give both the same type"},
      {Table({ColumnType::kDate}, "numbers"),
       "its keys begin with date, those of \"numbers\" with uint64; give both the same type"},
      {finer, "its keys begin with decimal(4), those of \"prices\" with decimal(2)"},
      {Table({ColumnType::kDate}, "days"),
       "keys that begin with date are cut otherwise in a table than in an index or a hash; make "
       "both "
       "tables, or neither of them"},
      {heap, "\"new\" has no key"},
      {Index(ColumnType::kUint64, "heap"), "\"heap\" has no key"},
  };
  for (const auto& [options, why] : refused) {
    const absl::Status status = Create("new", options);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
    EXPECT_THAT(std::string(status.message()), HasSubstr("\"new\""));
    EXPECT_THAT(std::string(status.message()), HasSubstr(options.beside));
  }
  for (CreateOptions options :
       {Index(ColumnType::kUint64, "numbers"), Index(ColumnType::kUint64, "numbers")}) {
    options.expected = {0, 5};
    EXPECT_EQ(Create("new", options).code(), Code::kInvalidArgument);
    options.expected = {};
    options.split_points = {7};
    EXPECT_EQ(Create("new", options).code(), Code::kInvalidArgument);
  }
  EXPECT_EQ(Create("new", Index(ColumnType::kUint64, "none")).code(), Code::kNotFound);
  EXPECT_EQ(Create("new", Index(ColumnType::kUint64, "new")).code(), Code::kNotFound);
  EXPECT_EQ(Create("numbers", Index(ColumnType::kUint64, "numbers")).code(), Code::kAlreadyExists);
  EXPECT_EQ(engine_->List().size(), 4u);
}

TEST_F(FamilyTest, TheOthersGoOnTogetherWhenOneIsDropped) {
  Open();
  CreateOptions first = Index(ColumnType::kUint64);
  first.expected = {0, kFamilyRows};
  ASSERT_TRUE(Create("a", first).ok());
  ASSERT_TRUE(Create("b", Index(ColumnType::kUint64, "a")).ok());
  ASSERT_TRUE(Create("c", Index(ColumnType::kUint64, "a", ObjectKind::kHash)).ok());
  ASSERT_TRUE(engine_->Drop("a").ok());
  ASSERT_TRUE(Create("a", first).ok());  // another one, beside none
  ASSERT_TRUE(Create("d", Index(ColumnType::kUint64, "c")).ok());
  EXPECT_THAT(engine_->Describe("b")->beside, ElementsAre("c", "d"));
  EXPECT_TRUE(engine_->Describe("a")->beside.empty());
  const auto before = engine_->Describe("a")->partition_owners;
  ASSERT_TRUE(engine().MoveRange("c", {0, 1'000}, AeuId{2}, {}).ok());
  for (const char* name : {"b", "c", "d"}) {
    EXPECT_EQ(Find(name)->route.Pin()->OwnerOf(500), AeuId{2}) << name;
  }
  EXPECT_EQ(engine_->Describe("a")->partition_owners, before);
}

TEST_F(FamilyTest, ACallOnOneMovesAllAndTheKindIsThatOfTheOneAlone) {
  Open([](Options& options) { options.topology = "numa:1 core:4 pu:1"; });
  CreateOptions first = Table({ColumnType::kUint64});
  first.expected = {0, kFamilyRows};
  ASSERT_TRUE(Create("rows", first).ok());
  ASSERT_TRUE(Create("index", Index(ColumnType::kUint64, "rows")).ok());
  Fill("rows");
  Fill("index");
  ASSERT_TRUE(engine().MoveRange("index", {0, 500}, AeuId{2}, TransferKind::kLink).ok());
  const std::vector<TransferRecord> history = engine_->TransferHistory();
  ASSERT_EQ(history.size(), 2u);  // the newest first
  EXPECT_EQ(history[1].object, "rows");
  EXPECT_EQ(history[1].kind, TransferKind::kCopy);
  EXPECT_EQ(history[0].object, "index");
  EXPECT_EQ(history[0].kind, TransferKind::kLink);
  EXPECT_EQ(history[0].rows, history[1].rows);
  const absl::Status link = engine().MoveRange("rows", {500, 1'000}, AeuId{2}, TransferKind::kLink);
  EXPECT_EQ(link.code(), Code::kFailedPrecondition) << link;
  // A table is cut at its ends alone, and so is what lies beside it.
  const absl::Status inside = engine().MoveRange("index", {1'200, 1'400}, AeuId{3}, {});
  EXPECT_EQ(inside.code(), Code::kFailedPrecondition) << inside;
  EXPECT_EQ(engine().MoveRange("none", {0, 1}, AeuId{3}, {}).code(), Code::kNotFound);
  EXPECT_EQ(engine_->TransferHistory().size(), 2u);
}

TEST_F(FamilyTest, PlansNameTheObjectOfEachTransferAndAddUp) {
  Open();
  CreateOptions first = Index(ColumnType::kUint64);
  first.split_points = {1'000'000, 2'000'000, 3'000'000};
  ASSERT_TRUE(Create("a", first).ok());
  ASSERT_TRUE(Create("b", Index(ColumnType::kUint64, "a")).ok());
  Fill("a");
  Fill("b", 2 * kFamilyRows);
  ASSERT_TRUE(engine_->SetBalancer({.enabled = false, .algorithm = BalanceAlgorithm::kSize}).ok());
  const BalancePlan plan = *engine_->PlanBalance("b");
  EXPECT_EQ(plan.object, "b");
  ASSERT_FALSE(plan.transfers.empty());
  ASSERT_EQ(plan.transfers.size() % 2, 0u);
  uint64_t rows = 0;
  for (const AeuShare& share : plan.shares) rows += share.rows_before;
  EXPECT_EQ(rows, 3 * kFamilyRows);
  for (size_t i = 0; i < plan.transfers.size(); i += 2) {
    EXPECT_EQ(plan.transfers[i].object, "a");
    EXPECT_EQ(plan.transfers[i + 1].object, "b");
    EXPECT_EQ(plan.transfers[i].range, plan.transfers[i + 1].range);
    EXPECT_EQ(plan.transfers[i].to, plan.transfers[i + 1].to);
  }
  ASSERT_TRUE(engine().Rebalance("a").ok());
  EXPECT_TRUE(InLine(FamilyOfObject("a")));
  EXPECT_GT(Find("b")->route.Pin()->PartitionsOf(AeuId{3}).size(), 0u);
  EXPECT_LT(Find("b")->route.Pin()->starts().back(), 2 * kFamilyRows);
}

TEST_F(FamilyTest, AMemberThatIsCutOtherwiseFollowsInTheNextPeriodOrCall) {
  Open();
  CreateOptions first = Index(ColumnType::kUint64);
  first.expected = {0, kFamilyRows};
  ASSERT_TRUE(Create("a", first).ok());
  ASSERT_TRUE(Create("b", Table({ColumnType::kUint64, ColumnType::kInt32}, "a")).ok());
  Fill("a");
  Fill("b");
  MoveAlone("a", {0, 500}, AeuId{0}, AeuId{3});
  engine_->PauseBalancer();
  engine_->balancer_loop().RunCycle();
  EXPECT_FALSE(InLine(FamilyOfObject("a")));
  engine_->ResumeBalancer();
  engine_->balancer_loop().RunCycle();
  EXPECT_TRUE(InLine(FamilyOfObject("a")));
  EXPECT_EQ(Find("b")->route.Pin()->OwnerOf(499), AeuId{3});
  // What the first one has is what counts, whichever has moved.
  MoveAlone("b", {0, 500}, AeuId{3}, AeuId{1});
  ASSERT_TRUE(engine().MoveRange("b", {500, 1'000}, AeuId{2}, {}).ok());
  EXPECT_TRUE(InLine(FamilyOfObject("a")));
  EXPECT_EQ(Find("b")->route.Pin()->OwnerOf(499), AeuId{3});
  EXPECT_EQ(Find("a")->route.Pin()->OwnerOf(500), AeuId{2});
  EXPECT_EQ(RowsOf("a") + RowsOf("b"), 2 * kFamilyRows);
}

// As when they are created while ranges of the first one move.
TEST_F(FamilyTest, TablesAndHashesFollowIntoTheMiddleOfARange) {
  Open();
  CreateOptions first = Index(ColumnType::kUint64);
  first.expected = {0, kFamilyRows};
  ASSERT_TRUE(Create("a", first).ok());
  ASSERT_TRUE(Create("b", Table({ColumnType::kUint64}, "a")).ok());
  ASSERT_TRUE(Create("c", Index(ColumnType::kUint64, "a", ObjectKind::kHash)).ok());
  for (const char* name : {"a", "b", "c"}) Fill(name);
  const auto part = [&](uint32_t shift) {
    for (uint64_t i = 1; i < 4; ++i) {
      MoveAlone("a", {shift + 100 * i, shift + 100 * (i + 1)}, AeuId{shift / 1'000},
                AeuId{static_cast<uint32_t>((shift / 1'000 + i) % 4)});
    }
  };
  part(0);
  const BalancePlan plan = *engine_->PlanBalance("b");
  EXPECT_THAT(plan.reason, HasSubstr("follow first"));
  EXPECT_FALSE(plan.transfers.empty());
  for (const PlannedTransfer& one : plan.transfers) EXPECT_NE(one.object, "a");
  ASSERT_TRUE(engine().MoveRange("b", {0, 50}, AeuId{1}, {}).ok());
  ASSERT_TRUE(InLine(FamilyOfObject("a")));
  EXPECT_EQ(Find("b")->route.Pin()->OwnerOf(250), AeuId{2});
  part(1'000);
  engine_->balancer_loop().RunCycle();
  EXPECT_TRUE(InLine(FamilyOfObject("a")));
  EXPECT_EQ(Find("c")->route.Pin()->OwnerOf(1'150), AeuId{2});
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(RowsOf(name), kFamilyRows) << name;
}

TEST_F(FamilyTest, WhereOneCannotFollowAMoveTakesTheOthersBack) {
  Open();
  CreateOptions first = Index(ColumnType::kUint64);
  first.expected = {0, kFamilyRows};
  ASSERT_TRUE(Create("a", first).ok());
  ASSERT_TRUE(Create("b", Table({ColumnType::kUint64}, "a")).ok());
  ASSERT_TRUE(Create("c", Index(ColumnType::kUint64, "a")).ok());
  for (const char* name : {"a", "b", "c"}) Fill(name);
  RefusingAeus aeus(*engine_, "b", AeuId{3});
  TransferExecutor executor(engine_->core(), aeus);
  balancer::PlanWorld machine;
  machine.numa_nodes = {NumaNodeId{0}, NumaNodeId{0}, NumaNodeId{1}, NumaNodeId{1}};
  BalancerLoop loop(
      engine_->core(), executor,
      [this](const ObjectEntry& object) { return engine_->SampleLoad(object.name); },
      [](const ObjectEntry&) { return false; }, [] { return 0.0; }, [] {}, machine, {});
  const auto ranges_at = [&](uint64_t key) {
    std::vector<AeuId> owners;
    for (const char* name : {"a", "b", "c"})
      owners.push_back(Find(name)->route.Pin()->OwnerOf(key));
    return owners;
  };
  const absl::Status refused = loop.MoveRange("a", {0, 500}, AeuId{3}, {}, {});
  EXPECT_EQ(refused.code(), Code::kResourceExhausted) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("object \"b\", beside \"a\": "));
  EXPECT_THAT(ranges_at(0), ElementsAre(AeuId{3}, AeuId{0}, AeuId{0}));
  EXPECT_EQ(loop.Rebalance("c", {}).status().code(), Code::kResourceExhausted);
  // Elsewhere it helps nothing, and the reason is told.
  const absl::Status elsewhere = loop.MoveRange("c", {600, 1'000}, AeuId{1}, {}, {});
  EXPECT_EQ(elsewhere.code(), Code::kResourceExhausted) << elsewhere;
  EXPECT_THAT(std::string(elsewhere.message()), HasSubstr("object \"b\", beside \"c\": "));
  EXPECT_THAT(ranges_at(600), ElementsAre(AeuId{0}, AeuId{0}, AeuId{0}));
  // Whichever of them is named.
  ASSERT_TRUE(loop.MoveRange("b", {0, 500}, AeuId{0}, {}, {}).ok());
  EXPECT_TRUE(InLine(FamilyOfObject("a")));
  EXPECT_THAT(ranges_at(0), ElementsAre(AeuId{0}, AeuId{0}, AeuId{0}));
  ASSERT_TRUE(loop.MoveRange("a", {0, 500}, AeuId{2}, {}, {}).ok());
  EXPECT_THAT(ranges_at(0), ElementsAre(AeuId{2}, AeuId{2}, AeuId{2}));
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(RowsOf(name), kFamilyRows) << name;
}

// Equal first columns that are the upper half of a word: (i32) and (i32, i32).
TEST_F(FamilyTest, NarrowKeysAreCutBetweenTheirFirstColumns) {
  Open();
  CreateOptions first = Table({ColumnType::kInt32, ColumnType::kInt32});
  const uint64_t zero = uint64_t{1} << 63;
  const auto word = [&](uint64_t number) { return zero + (number << 32); };
  // One cut lies between rows of one first column, one just behind its rows.
  first.split_points = {word(500) + (uint64_t{1} << 31) + 1, word(1'000), word(1'500) + 5};
  ASSERT_TRUE(Create("pairs", first).ok());
  Fill("pairs");
  ASSERT_TRUE(Create("single", Table({ColumnType::kInt32}, "pairs")).ok());
  Fill("single", kFamilyRows / 2);
  EXPECT_EQ(GrainOf(FamilyOfObject("pairs")), uint64_t{1} << 32);
  engine_->balancer_loop().RunCycle();
  ASSERT_TRUE(InLine(FamilyOfObject("pairs")));
  const auto together = [&] {
    for (uint64_t number = 0; number < kFamilyRows / 2; ++number) {
      const AeuId owner = Find("single")->route.Pin()->OwnerOf(word(number));
      for (const uint64_t second : {zero >> 32, (zero >> 32) + 1}) {
        if (Find("pairs")->route.Pin()->OwnerOf(word(number) + second) != owner) return false;
      }
    }
    return true;
  };
  EXPECT_TRUE(together());
  ASSERT_TRUE(engine().MoveRange("pairs", {0, word(100) + 7}, AeuId{3}, {}).ok());
  EXPECT_EQ(Find("single")->route.Pin()->OwnerOf(word(100)), AeuId{3});
  EXPECT_TRUE(together());
  EXPECT_EQ(engine().MoveRange("single", {word(0) + 1, word(0) + 9}, AeuId{1}, {}).code(),
            Code::kInvalidArgument);
  ASSERT_TRUE(engine().Presplit("single", {0, std::nullopt}, 4).ok());
  EXPECT_TRUE(together());
  ASSERT_TRUE(engine_->Drop("single").ok());
  EXPECT_EQ(GrainOf(FamilyOfObject("pairs")), 1u);
}

TEST_F(FamilyTest, MembersAreCutAlikeAfterAnyMoves) {
  SCOPED_TRACE(test::SeedText(seed_));
  Open();
  CreateOptions first = Index(ColumnType::kInt64);
  first.expected = Int64Range(0, kFamilyRows);
  ASSERT_TRUE(Create("a", first).ok());
  ASSERT_TRUE(Create("b", Table({ColumnType::kInt64, ColumnType::kInt32}, "a")).ok());
  Fill("a");
  Fill("b");
  std::vector<std::string> names{"a", "b"};
  ASSERT_TRUE(engine_->SetBalancer({.enabled = false, .algorithm = BalanceAlgorithm::kSize}).ok());
  uint32_t moved = 0;
  for (int step = 0; step < 120; ++step) {
    const std::string& name = names[random_() % names.size()];
    const uint64_t lo = random_() % kFamilyRows;
    const KeyRange range =
        Int64Range(static_cast<int64_t>(lo), static_cast<int64_t>(lo + 4 + random_() % 800));
    absl::Status status;
    switch (random_() % 6) {
      case 0:
        status = engine().Presplit(name, range, 1 + static_cast<uint32_t>(random_() % 4));
        break;
      case 1:
        status = engine().Rebalance(name).status();
        break;
      case 2:
        if (names.size() < 5) {
          const std::string added = absl::StrCat("more", step);
          ASSERT_TRUE(Create(added, Index(ColumnType::kInt64, name,
                                          random_() % 2 ? ObjectKind::kIndex : ObjectKind::kHash))
                          .ok());
          Fill(added);
          names.push_back(added);
        } else {
          const size_t at = random_() % names.size();
          ASSERT_TRUE(engine_->Drop(names[at]).ok());
          names.erase(names.begin() + static_cast<ptrdiff_t>(at));
        }
        break;
      default:
        status = engine().MoveRange(name, range, AeuId{static_cast<uint32_t>(random_() % 4)}, {});
    }
    // Tables and hashes are cut at their ends alone.
    ASSERT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
    moved += status.ok();
    ASSERT_TRUE(InLine(FamilyOfObject(names[0]))) << "step " << step;
  }
  EXPECT_GT(moved, 20u);
  for (const std::string& name : names) EXPECT_EQ(RowsOf(name), kFamilyRows) << name;
}

TEST_F(FamilyTest, TheLoadOfAllPlacesTheRangesOfAll) {
  Open([](Options& options) {
    options.balancer.enabled = true;
    options.balancer.period_ms = 20;
  });
  CreateOptions first = Index(ColumnType::kUint64);
  first.expected = {0, kFamilyRows};
  ASSERT_TRUE(Create("a", first).ok());
  ASSERT_TRUE(Create("b", Index(ColumnType::kUint64, "a")).ok());
  Fill("a");
  Fill("b");
  // Reads of b's first quarter alone, until it has several owners; a, which is not read, follows.
  const eris::Object b = test::Open(*engine_, "b");
  std::vector<uint64_t> keys(kFamilyRows / 4);
  for (uint64_t i = 0; i < keys.size(); ++i) keys[i] = i;
  std::vector<uint64_t> values(keys.size());
  std::vector<uint8_t> found(keys.size());
  const absl::Time end = absl::Now() + absl::Seconds(60);
  const auto spread = [&] {
    const auto table = Find("a")->route.Pin();
    return table->OwnerOf(0) != table->OwnerOf(kFamilyRows / 4 - 1) && InLine(FamilyOfObject("a"));
  };
  while (!spread()) {
    ASSERT_LT(absl::Now(), end);
    ASSERT_TRUE(session().Lookup(b, keys, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
    ASSERT_EQ(values, keys);
  }
  const BalancerStatus status = engine_->Balancer();
  ASSERT_EQ(status.objects.size(), 2u);
  EXPECT_EQ(status.objects[0].loads, status.objects[1].loads);
}

}  // namespace
}  // namespace eris::engine
