// An engine's options, its objects' coming and going, and its end: what a program that links
// eris::engine sees beside its sessions.
#include "eris/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

using test::OpenEngine;
using test::SmallOptions;

struct Machine {
  const char* name;
  uint32_t aeus;
  const char* topology;
};

class EngineOnMachineTest : public testing::TestWithParam<Machine> {
 protected:
  std::unique_ptr<Engine> engine_ = OpenEngine(SmallOptions(GetParam().aeus, GetParam().topology));
};

// Names, ids and AEUs are in different orders.
TEST_P(EngineOnMachineTest, ListsAndStatisticsHaveEachObjectsOwnRows) {
  auto session = engine_->NewSession();
  const auto fill = [&](const char* name, uint64_t rows) {
    const Object o = test::Create(*engine_, name, {.expected = {0, 1000}});
    std::vector<uint64_t> keys(rows);
    for (uint64_t i = 0; i < rows; ++i) keys[i] = i * (1000 / rows);
    ASSERT_TRUE(session->Upsert(o, keys, keys).ok());
  };
  fill("c", 100);
  fill("dropped", 500);
  fill("a", 20);
  fill("d", 4);
  ASSERT_TRUE(engine_->Drop("dropped").ok());
  fill("b", 1000);
  const std::map<std::string, uint64_t> rows{{"a", 20}, {"b", 1000}, {"c", 100}, {"d", 4}};
  const auto rows_of = [](const std::vector<ObjectInfo>& objects) {
    std::map<std::string, uint64_t> all;
    for (const ObjectInfo& one : objects) all[one.name] = one.keys;
    return all;
  };
  EXPECT_EQ(rows_of(engine_->List()), rows);
  const EngineStats stats = engine_->Stats();
  EXPECT_EQ(rows_of(stats.objects), rows);
  uint64_t of_aeus = 0;
  for (const AeuStats& one : stats.aeus) of_aeus += one.rows;
  EXPECT_EQ(of_aeus, 1124u);
}

TEST_P(EngineOnMachineTest, ObjectsComeAndGoWithTheirMemory) {
  auto session = engine_->NewSession();
  const auto reserved = [&] {
    uint64_t bytes = 0;
    for (const auto& node : engine_->Stats().numa_nodes) bytes += node.reserved_bytes;
    return bytes;
  };
  const uint64_t reserved_before = reserved();
  for (int round = 0; round < 5; ++round) {
    const Object o =
        test::Create(*engine_, "o", {.split_points = {100, 200, 300, 400, 500, 600, 700, 800}});
    EXPECT_EQ(engine_->Create("o", {}).status().code(), absl::StatusCode::kAlreadyExists);
    std::vector<uint64_t> keys(50'000);
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
    ASSERT_TRUE(session->Upsert(o, keys, keys).ok());
    std::vector<uint8_t> found(keys.size());
    ASSERT_TRUE(session->Lookup(o, keys, absl::MakeSpan(keys), absl::MakeSpan(found)).ok());
    EXPECT_EQ(std::count(found.begin(), found.end(), 1), 50'000);
    ASSERT_TRUE(engine_->Drop("o").ok());
    EXPECT_EQ(session->Lookup(o, keys, absl::MakeSpan(keys), absl::MakeSpan(found)).code(),
              absl::StatusCode::kNotFound);
    EXPECT_EQ(engine_->Drop("o").code(), absl::StatusCode::kNotFound);
    uint64_t used = 0;
    for (const auto& node : engine_->Stats().numa_nodes) used += node.used_bytes;
    EXPECT_EQ(used, 0u);
  }
  // What was kept for the next object goes back to the system by itself.
  for (int i = 0; i < 2000 && reserved() > reserved_before; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(reserved(), reserved_before);
}

// DropIfWritten of an object of which `rows` written rows were acknowledged refuses other counts.
void ExpectDroppedOnlyBy(Engine& engine, const Object& object, uint64_t rows) {
  for (const uint64_t other : {rows - 1, rows + 1}) {
    EXPECT_EQ(engine.DropIfWritten(object.name(), object.id(), other).code(),
              absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(engine.DropIfWritten(object.name(), ObjectId{object.id().value + 1}, rows).code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(engine.Describe(object.name()).ok());
  EXPECT_TRUE(engine.DropIfWritten(object.name(), object.id(), rows).ok());
  EXPECT_EQ(engine.DropIfWritten(object.name(), object.id(), rows).code(),
            absl::StatusCode::kNotFound);
}

TEST_P(EngineOnMachineTest, ADropThatExpectsWrittenRowsCountsReplacedAndErasedOnes) {
  auto session = engine_->NewSession();
  const Object o = test::Create(*engine_, "o", {.expected = {0, 1000}});
  const std::vector<uint64_t> keys{1, 500, 999};
  std::vector<uint64_t> values(3);
  std::vector<uint8_t> found(3);
  ASSERT_TRUE(session->Upsert(o, keys, keys).ok());
  ASSERT_TRUE(session->Upsert(o, keys, keys).ok());
  ASSERT_TRUE(session->Erase(o, keys).ok());
  ASSERT_TRUE(session->Write(o, WriteMode::kAdd, keys, keys).ok());
  ASSERT_TRUE(test::Await([&](auto done) {
                return session->UpsertAsync(o, keys, keys, std::move(done));
              }).ok());
  ASSERT_TRUE(session->Lookup(o, keys, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
  ExpectDroppedOnlyBy(*engine_, o, 15);

  const CreateOptions heap{.kind = ObjectKind::kHeapTable,
                           .schema = {.columns = {{.name = "a", .type = ColumnType::kInt64}}}};
  const Object table = test::Create(*engine_, "t", heap),
               copy = test::Create(*engine_, "copy", heap);
  const ColumnView column = test::ColumnOf(keys);
  const WriteBatch rows{.mode = WriteMode::kAppend, .rows = {3, {&column, 1}}};
  ASSERT_TRUE(session->Write(table, rows).status.ok());
  ASSERT_TRUE(session->ScanInto(table, {}, copy).ok());
  EXPECT_EQ(engine_->DropIfWritten("copy", copy.id(), 0).code(),
            absl::StatusCode::kFailedPrecondition);
  ExpectDroppedOnlyBy(*engine_, table, 3);
}

TEST_P(EngineOnMachineTest, NoWriteIsAcknowledgedThatADropDidNotExpect) {
  for (int round = 0; round < 20; ++round) {
    const Object o = test::Create(*engine_, "o", {.expected = {0, 1000}});
    std::atomic<uint64_t> acknowledged = 0;  // relaxed: read after join, or to guess
    std::thread writer([&] {
      auto session = engine_->NewSession();
      for (uint64_t key = 0; key < 1000; ++key) {
        const std::vector<uint64_t> one{key};
        if (!session->Upsert(o, one, one).ok()) return;
        acknowledged.fetch_add(1, std::memory_order_relaxed);
      }
    });
    uint64_t expected = 0;
    absl::Status dropped = absl::FailedPreconditionError("not tried");
    while (absl::IsFailedPrecondition(dropped)) {
      expected = acknowledged.load(std::memory_order_relaxed);
      dropped = engine_->DropIfWritten("o", o.id(), expected);
    }
    writer.join();
    ASSERT_TRUE(dropped.ok()) << dropped;
    EXPECT_EQ(acknowledged.load(std::memory_order_relaxed), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, EngineOnMachineTest,
                         testing::Values(Machine{"OneAeu", 1, ""}, Machine{"TwoAeus", 2, ""},
                                         Machine{"SevenAeus", 7, ""},
                                         Machine{"FourNumaNodes", 8, "numa:4 core:2 pu:1"}),
                         [](const auto& machine) { return machine.param.name; });

TEST(EngineTest, OptionsOutOfTheirLimitsAreRefused) {
  const auto refused = [](auto change) {
    Options options = SmallOptions(1);
    change(options);
    return Engine::Open(options).status().code();
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(refused([](Options& o) { o.memory_limit_bytes = uint64_t{1} << 60; }), kInvalid);
  EXPECT_EQ(refused([](Options& o) { o.incoming_buffer_bytes = 1; }), kInvalid);
  EXPECT_EQ(refused([](Options& o) { o.outgoing_buffer_bytes = o.incoming_buffer_bytes; }),
            kInvalid);
  EXPECT_EQ(refused([](Options& o) { o.topology = "nonsense"; }), kInvalid);
  EXPECT_EQ(refused([](Options& o) { o.scan_chunks_max = 1 << 17; }), kInvalid);
  EXPECT_EQ(refused([](Options& o) { o.process_memory_bytes = uint64_t{1} << 60; }), kInvalid);
  EXPECT_EQ(refused([](Options& o) { o.process_memory_bytes = 32 << 20; }), kInvalid);
  EXPECT_EQ(refused([](Options& o) { o.memory_limit_bytes = 1 << 20; }),
            absl::StatusCode::kResourceExhausted);
}

// A range that has just moved is reached by way of its old owner: what AEUs pass on counts, too.
TEST(EngineTest, KeysSentAreCountedByTheNumaNodesOfBothEnds) {
  auto engine = test::OpenEngine(test::SmallOptions(4, "numa:4 core:1 pu:1"));
  const Object o = test::Create(*engine, "o", {.expected = {0, 400}});
  const auto sent = [&] {
    std::vector<std::vector<uint64_t>> rows;
    for (const NumaNodeStats& one : engine->Stats().numa_nodes) rows.push_back(one.keys_sent_to);
    return rows;
  };
  const std::vector<std::vector<uint64_t>> before = sent();
  ASSERT_EQ(before.size(), 4u);
  for (const uint32_t from : {1u, 2u}) {
    const auto session = test::OrDie(engine->NewSession(NumaNodeId{from}));
    const std::vector<uint64_t> keys = {5, 105, 106, 305, 306, 307};
    ASSERT_TRUE(session->Upsert(o, keys, keys).ok());
    const std::vector<std::vector<uint64_t>> now = sent();
    EXPECT_EQ(now[from][0] - before[from][0], 1u);
    EXPECT_EQ(now[from][1] - before[from][1], 2u);
    EXPECT_EQ(now[from][2] - before[from][2], 0u);
    EXPECT_EQ(now[from][3] - before[from][3], 3u);
  }
  ASSERT_TRUE(engine->MoveRange("o", {.lo = 0, .hi = 50}, AeuId{3}).ok());
  const EngineStats stats = engine->Stats();  // sessions have ended, and nothing is under way
  uint64_t between = 0, all = stats.sessions_routing.sent;
  for (const NumaNodeStats& one : stats.numa_nodes) {
    ASSERT_EQ(one.keys_sent_to.size(), 4u);
    for (const uint64_t keys : one.keys_sent_to) between += keys;
  }
  for (const AeuStats& one : stats.aeus) all += one.routing.sent;
  EXPECT_EQ(between, all);
}

TEST(EngineTest, CloseAnswersWhatIsUnderWay) {
  auto engine = OpenEngine(SmallOptions(2));
  const Object o = test::Create(*engine, "o", {.expected = {0, 1'000'000}});
  std::atomic<int> sent{0}, answered{0};
  auto session = engine->NewSession();
  std::vector<uint64_t> keys(1000);
  for (int round = 0; round < 200; ++round) {
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = round * 1000 + i;
    const auto call = session->UpsertAsync(o, keys, keys, [&](BatchResult result) {
      EXPECT_TRUE(result.status.ok());
      answered.fetch_add(1);
    });
    if (call.ok()) sent.fetch_add(1);
  }
  auto scan = session->OpenScan(o, {});
  ASSERT_TRUE(scan.ok());
  engine->Close();
  EXPECT_EQ(sent.load(), 200);
  EXPECT_EQ(answered.load(), sent.load());
  EXPECT_EQ(session->Upsert(o, keys, keys).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*scan)->Next().status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace eris
