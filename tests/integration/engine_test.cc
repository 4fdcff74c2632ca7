// The embedding interface against a map, with running AEUs: what a program that links eris::engine
// sees.
#include "eris/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"

namespace eris {
namespace {

constexpr uint64_t kMaxKey = std::numeric_limits<uint64_t>::max();

uint64_t Seed() {
  const char* given = std::getenv("ERIS_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
}

Options SmallOptions(uint32_t aeus, std::string topology = "") {
  Options options;
  options.topology = std::move(topology);
  options.aeu_count = aeus;
  options.memory_limit_bytes = uint64_t{2} << 30;
  options.balancer.enabled = false;  // counts miss rows that are under way
  options.memory_decay_ms = 200;
  return options;
}

std::unique_ptr<Engine> OpenOrDie(const Options& options) {
  auto engine = Engine::Open(options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return engine.ok() ? *std::move(engine) : nullptr;
}

// Every row of `range`, chunk by chunk.
std::vector<std::pair<uint64_t, uint64_t>> ScanAll(Session& session, absl::string_view object,
                                                   const ScanOptions& options) {
  std::vector<std::pair<uint64_t, uint64_t>> rows;
  auto scan = session.OpenScan(object, options);
  EXPECT_TRUE(scan.ok()) << scan.status();
  if (!scan.ok()) return rows;
  for (;;) {
    auto chunk = (*scan)->Next();
    EXPECT_TRUE(chunk.ok()) << chunk.status();
    if (!chunk.ok() || !*chunk) return rows;
    for (size_t i = 0; i < (*chunk)->keys().size(); ++i) {
      rows.emplace_back((*chunk)->keys()[i], (*chunk)->values()[i]);
    }
  }
}

struct Machine {
  const char* name;
  uint32_t aeus;
  const char* topology;
};

class EngineOnMachineTest : public testing::TestWithParam<Machine> {
 protected:
  std::unique_ptr<Engine> engine_ = OpenOrDie(SmallOptions(GetParam().aeus, GetParam().topology));
};

TEST_P(EngineOnMachineTest, RandomBatchesAgreeWithAMap) {
  const uint64_t seed = Seed();
  SCOPED_TRACE(absl::StrCat("ERIS_SEED=", seed));
  std::mt19937_64 random(seed);
  ASSERT_TRUE(engine_->Create("o", {.expected = {0, 100'000}}).ok());
  auto session = engine_->NewSession();
  std::map<uint64_t, uint64_t> model;
  const auto key = [&]() -> uint64_t {
    switch (random() % 8) {
      case 0:
        return 0;
      case 1:
        return kMaxKey - random() % 3;
      case 2:
        return random();
      default:
        return random() % 100'000;
    }
  };
  for (int round = 0; round < 300; ++round) {
    const size_t n = 1 + random() % 700;
    std::vector<uint64_t> keys(n), values(n);
    for (size_t i = 0; i < n; ++i) keys[i] = key(), values[i] = random();
    std::vector<uint8_t> flags(n);
    switch (random() % 4) {
      case 0:
      case 1: {
        // The presence of a key that stands twice in the batch depends on its own first copy.
        std::vector<uint8_t> expected(n);
        ASSERT_TRUE(session->Upsert("o", keys, values, absl::MakeSpan(flags)).ok());
        for (size_t i = 0; i < n; ++i) {
          expected[i] = model.contains(keys[i]);
          model[keys[i]] = values[i];
        }
        ASSERT_EQ(flags, expected);
        break;
      }
      case 2: {
        std::vector<uint8_t> expected(n);
        ASSERT_TRUE(session->Erase("o", keys, absl::MakeSpan(flags)).ok());
        for (size_t i = 0; i < n; ++i) expected[i] = model.erase(keys[i]) > 0;
        ASSERT_EQ(flags, expected);
        break;
      }
      default: {
        ASSERT_TRUE(session->Lookup("o", keys, absl::MakeSpan(values), absl::MakeSpan(flags)).ok());
        for (size_t i = 0; i < n; ++i) {
          const auto found = model.find(keys[i]);
          ASSERT_EQ(flags[i], found != model.end()) << keys[i];
          if (found != model.end()) {
            ASSERT_EQ(values[i], found->second) << keys[i];
          }
        }
      }
    }
    if (round % 50 == 49) {
      ASSERT_EQ(ScanAll(*session, "o", {}),
                (std::vector<std::pair<uint64_t, uint64_t>>(model.begin(), model.end())));
    }
  }
  const auto info = engine_->Describe("o");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->keys, model.size());
}

TEST_P(EngineOnMachineTest, ScansHonourRangeLimitAndRest) {
  ASSERT_TRUE(engine_->Create("o", {.expected = {0, 200'000}}).ok());
  auto session = engine_->NewSession();
  std::vector<uint64_t> keys, values;
  for (uint64_t k = 0; k < 200'000; k += 2) keys.push_back(k), values.push_back(k + 7);
  keys.push_back(kMaxKey), values.push_back(1);
  ASSERT_TRUE(session->Upsert("o", keys, values).ok());

  EXPECT_EQ(ScanAll(*session, "o", {}).size(), keys.size());
  const auto some = ScanAll(*session, "o", {.range = {99'999, 100'005}});
  EXPECT_EQ(some, (std::vector<std::pair<uint64_t, uint64_t>>{
                      {100'000, 100'007}, {100'002, 100'009}, {100'004, 100'011}}));
  EXPECT_EQ(ScanAll(*session, "o", {.range = {1, std::nullopt}, .limit = 90'000}).size(), 90'000u);
  EXPECT_TRUE(ScanAll(*session, "o", {.range = {5, 5}}).empty());
  EXPECT_EQ(ScanAll(*session, "o", {.range = {kMaxKey, std::nullopt}}).size(), 1u);
  EXPECT_EQ(session->OpenScan("o", {.range = {5, 4}}).status().code(),
            absl::StatusCode::kInvalidArgument);

  // Chunk by chunk, each opened anew behind the last.
  std::vector<uint64_t> seen;
  std::optional<KeyRange> rest = KeyRange{};
  while (rest) {
    auto scan = session->OpenScan("o", {.range = *rest});
    ASSERT_TRUE(scan.ok());
    auto chunk = (*scan)->Next();
    ASSERT_TRUE(chunk.ok());
    if (!*chunk) break;
    seen.insert(seen.end(), (*chunk)->keys().begin(), (*chunk)->keys().end());
    rest = (*chunk)->rest();
  }
  EXPECT_EQ(seen, keys);
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
    ASSERT_TRUE(
        engine_->Create("o", {.split_points = {100, 200, 300, 400, 500, 600, 700, 800}}).ok());
    EXPECT_EQ(engine_->Create("o", {}).status().code(), absl::StatusCode::kAlreadyExists);
    std::vector<uint64_t> keys(50'000);
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
    ASSERT_TRUE(session->Upsert("o", keys, keys).ok());
    std::vector<uint8_t> found(keys.size());
    ASSERT_TRUE(session->Lookup("o", keys, absl::MakeSpan(keys), absl::MakeSpan(found)).ok());
    EXPECT_EQ(std::count(found.begin(), found.end(), 1), 50'000);
    ASSERT_TRUE(engine_->Drop("o").ok());
    EXPECT_EQ(session->Lookup("o", keys, absl::MakeSpan(keys), absl::MakeSpan(found)).code(),
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
void ExpectDroppedOnlyBy(Engine& engine, const ObjectInfo& info, uint64_t rows) {
  for (const uint64_t other : {rows - 1, rows + 1}) {
    EXPECT_EQ(engine.DropIfWritten(info.name, info.id, other).code(),
              absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(engine.DropIfWritten(info.name, ObjectId{info.id.value + 1}, rows).code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(engine.Describe(info.name).ok());
  EXPECT_TRUE(engine.DropIfWritten(info.name, info.id, rows).ok());
  EXPECT_EQ(engine.DropIfWritten(info.name, info.id, rows).code(), absl::StatusCode::kNotFound);
}

TEST_P(EngineOnMachineTest, ADropThatExpectsWrittenRowsCountsReplacedAndErasedOnes) {
  auto session = engine_->NewSession();
  auto index = engine_->Create("o", {.expected = {0, 1000}});
  ASSERT_TRUE(index.ok());
  const std::vector<uint64_t> keys{1, 500, 999};
  std::vector<uint64_t> values(3);
  std::vector<uint8_t> found(3);
  ASSERT_TRUE(session->Upsert("o", keys, keys).ok());
  ASSERT_TRUE(session->Upsert("o", keys, keys).ok());
  ASSERT_TRUE(session->Erase("o", keys).ok());
  ASSERT_TRUE(
      session->Write("o", {.mode = WriteMode::kAdd, .keys = keys, .values = keys}, {}).ok());
  absl::Notification done;
  ASSERT_TRUE(session->UpsertAsync("o", keys, keys, [&](BatchResult) { done.Notify(); }).ok());
  done.WaitForNotification();
  ASSERT_TRUE(session->Lookup("o", keys, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
  ExpectDroppedOnlyBy(*engine_, *index, 15);

  const Schema heap{.columns = {{.name = "a", .type = ColumnType::kInt64}}};
  auto table = engine_->CreateTable("t", heap);
  auto copy = engine_->CreateTable("copy", heap);
  ASSERT_TRUE(table.ok() && copy.ok());
  const ColumnView column{.values = keys.data()};
  ASSERT_TRUE(session->AppendRows("t", {.rows = 3, .columns = {&column, 1}}).ok());
  ASSERT_TRUE(session->ScanInto("t", {}, "copy").ok());
  EXPECT_EQ(engine_->DropIfWritten("copy", copy->id, 0).code(),
            absl::StatusCode::kFailedPrecondition);
  ExpectDroppedOnlyBy(*engine_, *table, 3);
}

TEST_P(EngineOnMachineTest, NoWriteIsAcknowledgedThatADropDidNotExpect) {
  for (int round = 0; round < 20; ++round) {
    auto created = engine_->Create("o", {.expected = {0, 1000}});
    ASSERT_TRUE(created.ok());
    std::atomic<uint64_t> acknowledged = 0;  // relaxed: read after join, or to guess
    std::thread writer([&] {
      auto session = engine_->NewSession();
      for (uint64_t key = 0; key < 1000; ++key) {
        const std::vector<uint64_t> one{key};
        if (!session->Upsert("o", one, one).ok()) return;
        acknowledged.fetch_add(1, std::memory_order_relaxed);
      }
    });
    uint64_t expected = 0;
    absl::Status dropped = absl::FailedPreconditionError("not tried");
    while (absl::IsFailedPrecondition(dropped)) {
      expected = acknowledged.load(std::memory_order_relaxed);
      dropped = engine_->DropIfWritten("o", created->id, expected);
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

TEST(EngineTest, BadInputIsRefusedAndChangesNothing) {
  auto engine = OpenOrDie(SmallOptions(2));
  ASSERT_TRUE(engine->Create("o", {.expected = {0, 1000}}).ok());
  auto session = engine->NewSession();
  std::vector<uint64_t> one{1}, two{1, 2}, none;
  std::vector<uint8_t> flag(1);
  const auto code = [](const absl::Status& status) { return status.code(); };
  EXPECT_EQ(code(session->Upsert("o", none, none)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(session->Upsert("o", two, one)), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(session->Upsert("x", one, one)), absl::StatusCode::kNotFound);
  EXPECT_EQ(code(session->Lookup("o", two, absl::MakeSpan(two), absl::MakeSpan(flag))),
            absl::StatusCode::kInvalidArgument);
  std::vector<uint64_t> many(kBatchKeysMax + 1);
  EXPECT_EQ(code(session->Upsert("o", many, many)), absl::StatusCode::kInvalidArgument);
  for (const std::string& name :
       {std::string(), std::string(256, 'a'), std::string("a\nb"), std::string("\xff")}) {
    EXPECT_EQ(code(engine->Create(name, {}).status()), absl::StatusCode::kInvalidArgument) << name;
  }
  EXPECT_EQ(code(engine->Create("p", {.expected = {5, 4}}).status()),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(engine->Create("p", {.split_points = {3, 3}}).status()),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(engine->Create("p", {.split_points = {0, 3}}).status()),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(engine->List().size(), 1u);
  EXPECT_EQ(engine->Describe("o")->keys, 0u);
}

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

TEST(EngineTest, AtTheMemoryLimitNewKeysAreRefusedAndReadsGoOn) {
  Options options = SmallOptions(2);
  options.memory_limit_bytes = 12 << 20;
  auto engine = OpenOrDie(options);
  ASSERT_TRUE(engine->Create("o", {}).ok());
  auto session = engine->NewSession();
  std::mt19937_64 random(1);
  std::vector<uint64_t> keys(10'000), kept;
  std::vector<uint8_t> found(keys.size());
  absl::Status status;
  for (int round = 0; round < 1000 && status.ok(); ++round) {
    for (uint64_t& key : keys) key = random();
    status = session->Upsert("o", keys, keys);
    if (status.ok()) kept = keys;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  for (const char* part : {"memory limit of 12 MiB for data (option memory_limit_bytes, "
                           "--memory-limit): ",
                           " of 10000 keys were refused"}) {
    EXPECT_NE(status.message().find(part), absl::string_view::npos) << part << " in " << status;
  }
  ASSERT_FALSE(kept.empty());
  std::vector<uint64_t> values(kept.size());
  ASSERT_TRUE(session->Lookup("o", kept, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
  EXPECT_EQ(values, kept);
  // Keys that are there can still be replaced and erased.
  ASSERT_TRUE(session->Upsert("o", kept, values).ok());
  ASSERT_TRUE(session->Erase("o", kept, absl::MakeSpan(found)).ok());
  EXPECT_EQ(std::count(found.begin(), found.end(), 1), 10'000);
}

TEST(EngineTest, CallbacksRunOffTheAeusAndOncePerCall) {
  auto engine = OpenOrDie(SmallOptions(3));
  ASSERT_TRUE(engine->Create("o", {.expected = {0, 30'000}}).ok());
  auto session = engine->NewSession();
  std::atomic<int> calls{0};
  std::vector<uint64_t> keys(100);
  for (int round = 0; round < 300; ++round) {
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = round * 100 + i;
    ASSERT_TRUE(session
                    ->UpsertAsync("o", keys, keys,
                                  [&](BatchResult result) {
                                    EXPECT_TRUE(result.status.ok()) << result.status;
                                    calls.fetch_add(1);
                                  })
                    .ok());
  }
  while (calls.load() < 300) absl::SleepFor(absl::Milliseconds(1));
  absl::Notification done;
  keys = {5, 29'999, 30'001};
  ASSERT_TRUE(session
                  ->LookupAsync("o", keys,
                                [&](BatchResult result) {
                                  EXPECT_TRUE(result.status.ok());
                                  EXPECT_EQ(result.present, std::string("\x03"));
                                  EXPECT_EQ(result.values.size(), 24u);
                                  EXPECT_EQ(
                                      reinterpret_cast<const uint64_t*>(result.values.data())[1],
                                      29'999u);
                                  done.Notify();
                                })
                  .ok());
  done.WaitForNotification();
  EXPECT_EQ(calls.load(), 300);
}

TEST(EngineTest, CloseAnswersWhatIsUnderWay) {
  auto engine = OpenOrDie(SmallOptions(2));
  ASSERT_TRUE(engine->Create("o", {.expected = {0, 1'000'000}}).ok());
  std::atomic<int> sent{0}, answered{0};
  auto session = engine->NewSession();
  std::vector<uint64_t> keys(1000);
  for (int round = 0; round < 200; ++round) {
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = round * 1000 + i;
    const auto call = session->UpsertAsync("o", keys, keys, [&](BatchResult result) {
      EXPECT_TRUE(result.status.ok());
      answered.fetch_add(1);
    });
    if (call.ok()) sent.fetch_add(1);
  }
  auto scan = session->OpenScan("o", {});
  ASSERT_TRUE(scan.ok());
  engine->Close();
  EXPECT_EQ(sent.load(), 200);
  EXPECT_EQ(answered.load(), sent.load());
  EXPECT_EQ(session->Upsert("o", keys, keys).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ((*scan)->Next().status().code(), absl::StatusCode::kUnavailable);
}

TEST(EngineTest, SessionsInManyThreadsSeeTheirOwnAcknowledgedWrites) {
  auto engine = OpenOrDie(SmallOptions(4));
  ASSERT_TRUE(engine->Create("o", {.expected = {0, 400'000}}).ok());
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&engine, t] {
      auto session = engine->NewSession();
      std::mt19937_64 random(t);
      std::vector<uint64_t> keys(64), values(64), read(64);
      std::vector<uint8_t> found(64);
      for (int round = 0; round < 400; ++round) {
        for (size_t i = 0; i < keys.size(); ++i)
          keys[i] = (random() % 100'000) * 4 + t, values[i] = random();
        std::map<uint64_t, uint64_t> last;
        for (size_t i = 0; i < keys.size(); ++i) last[keys[i]] = values[i];
        ASSERT_TRUE(session->Upsert("o", keys, values).ok());
        ASSERT_TRUE(session->Lookup("o", keys, absl::MakeSpan(read), absl::MakeSpan(found)).ok());
        for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(read[i], last[keys[i]]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace eris
