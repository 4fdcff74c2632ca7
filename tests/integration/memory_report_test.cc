// The accounts of memory and the verification of where it lies, of an engine with running AEUs.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "eris/engine.h"
#include "eris/errors.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

std::unique_ptr<Engine> OpenOrDie(const std::string& topology,
                                  const std::function<void(Options&)>& change = nullptr) {
  Options options = test::SmallOptions(2, topology);
  if (change) change(options);
  return test::OpenEngine(options);
}

void Fill(Engine& engine, const std::string& object, uint64_t keys) {
  const Object created = test::Create(engine, object, {.expected = {0, keys}});
  std::vector<uint64_t> batch(keys);
  std::iota(batch.begin(), batch.end(), 0);
  ASSERT_TRUE(engine.NewSession()->Upsert(created, batch, batch).ok());
}

// Why the figures contradict each other; empty: they do not.
std::string Contradiction(const MemoryStats& stats) {
  uint64_t reserved = 0;
  for (const NumaNodeMemory& one : stats.numa_nodes) {
    reserved += one.reserved_bytes;
    uint64_t in_use = one.buffers_bytes;
    for (const ObjectMemory& object : stats.objects) {
      if (object.numa_node == one.id) in_use += object.committed_bytes;
    }
    if (in_use != one.in_use_bytes) {
      return absl::StrCat("in use ", one.in_use_bytes, ", accounted for ", in_use);
    }
    if (one.reserved_bytes != one.in_use_bytes + one.kept_bytes + one.ready_bytes) {
      return absl::StrCat("reserved ", one.reserved_bytes);
    }
  }
  if (reserved + stats.heap_bytes != stats.reserved_bytes)
    return absl::StrCat("reserved ", stats.reserved_bytes);
  for (const ObjectMemory& object : stats.objects) {
    const uint64_t parts = object.used_bytes + object.cached_bytes + object.spare_bytes +
                           object.header_bytes + object.extent_bytes;
    if (object.committed_bytes != parts) {
      return absl::StrCat("committed ", object.committed_bytes, ", parts ", parts);
    }
    uint64_t used = 0;
    for (const SizeClassMemory& one : object.classes) used += one.block_bytes * one.used_blocks;
    if (used != object.used_bytes) return absl::StrCat("used ", object.used_bytes, ", ", used);
  }
  return "";
}

// AEUs and the keeper tidy up after the answer; a minute without agreement is a failure.
MemoryStats StatsAtRest(Engine& engine) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (;;) {
    MemoryStats stats = engine.Memory();
    const std::string contradiction = Contradiction(stats);
    if (contradiction.empty()) return stats;
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << contradiction;
      return stats;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(MemoryReportTest, AccountsAddUpPerNumaNodeAndObject) {
  auto engine = OpenOrDie("numa:2 core:1 pu:1");
  Fill(*engine, "b", 100'000);
  Fill(*engine, "a", 1000);
  const MemoryStats stats = StatsAtRest(*engine);
  EXPECT_EQ(stats.limit_bytes, uint64_t{1} << 30);
  EXPECT_EQ(stats.superblock_bytes, 2u << 20);
  EXPECT_FALSE(stats.pages.empty());
  ASSERT_EQ(stats.numa_nodes.size(), 2u);
  for (const NumaNodeMemory& one : stats.numa_nodes) {
    EXPECT_FALSE(one.bound);
    EXPECT_EQ(one.buffers_bytes, 2u << 20);  // two incoming buffers of 1 MiB
    EXPECT_GE(one.mapped_bytes, one.reserved_bytes);
  }
  ASSERT_EQ(stats.objects.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const ObjectMemory& one = stats.objects[i];
    EXPECT_EQ(one.object, i < 2 ? "a" : "b");
    EXPECT_EQ(one.numa_node.value, i % 2);
    EXPECT_GT(one.used_bytes, 0u);
    EXPECT_EQ(one.spilled_bytes, 0u);
    EXPECT_EQ(one.committed_bytes % (2 << 20), 0u);
  }
  EXPECT_GT(stats.objects[2].used_bytes, 100'000 / 2 * 8u);
}

TEST(MemoryReportTest, WithoutPartsItSaysWhatIsCommitted) {
  auto engine = OpenOrDie("numa:2 core:1 pu:1");
  Fill(*engine, "a", 100'000);
  const auto committed = [](const MemoryStats& stats) {
    std::vector<uint64_t> bytes;
    for (const ObjectMemory& one : stats.objects) bytes.push_back(one.committed_bytes);
    return bytes;
  };
  MemoryStats all, stats;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  do {  // until nothing is tidied up between the two
    all = StatsAtRest(*engine);
    stats = engine->Memory({.parts = false});
  } while (committed(all) != committed(stats) && std::chrono::steady_clock::now() < end);
  EXPECT_EQ(stats.limit_bytes, all.limit_bytes);
  ASSERT_EQ(stats.numa_nodes.size(), all.numa_nodes.size());
  ASSERT_EQ(stats.objects.size(), all.objects.size());
  for (size_t i = 0; i < all.objects.size(); ++i) {
    const ObjectMemory& one = stats.objects[i];
    EXPECT_EQ(one.object, all.objects[i].object);
    EXPECT_EQ(one.id, all.objects[i].id);
    EXPECT_EQ(one.numa_node, all.objects[i].numa_node);
    EXPECT_GT(one.committed_bytes, 0u);
    EXPECT_EQ(one.committed_bytes, all.objects[i].committed_bytes);
    EXPECT_EQ(one.spilled_bytes, all.objects[i].spilled_bytes);
    EXPECT_EQ(one.used_bytes + one.cached_bytes + one.spare_bytes + one.header_bytes, 0u);
    EXPECT_TRUE(one.classes.empty());
  }
}

TEST(MemoryReportTest, DroppedObjectHasNothing) {
  auto engine = OpenOrDie("numa:2 core:1 pu:1");
  Fill(*engine, "a", 100'000);
  ASSERT_TRUE(engine->Drop("a").ok());
  const MemoryStats stats = StatsAtRest(*engine);
  EXPECT_TRUE(stats.objects.empty());
  for (const NumaNodeMemory& one : stats.numa_nodes) EXPECT_EQ(one.in_use_bytes, one.buffers_bytes);
}

TEST(MemoryReportTest, EmptyObjectsCountInTheLimitUntilTheyAreDropped) {
  auto engine = OpenOrDie("numa:2 core:1 pu:1",
                          [](Options& options) { options.memory_limit_bytes = 32 << 20; });
  EXPECT_EQ(StatsAtRest(*engine).heap_bytes, 0u);
  uint32_t made = 0;
  absl::Status status;
  for (; made < 1000 && status.ok(); ++made) {
    status = engine->Create(absl::StrCat("o", made), {}).status();
  }
  --made;  // the last one was refused
  EXPECT_EQ(ErrorDetailsOf(status).reason, "MEMORY_LIMIT") << status;
  EXPECT_GT(made, 50u);
  const MemoryStats full = StatsAtRest(*engine);
  EXPECT_LE(full.reserved_bytes, full.limit_bytes);
  EXPECT_GT(full.heap_bytes, full.limit_bytes / 2);
  // What was refused has left nothing, and what is dropped gives its share back.
  EXPECT_EQ(full.heap_bytes % made, 0u);
  for (uint32_t i = 0; i < made; ++i) ASSERT_TRUE(engine->Drop(absl::StrCat("o", i)).ok());
  EXPECT_EQ(StatsAtRest(*engine).heap_bytes, 0u);
  EXPECT_TRUE(engine->Create("again", {}).ok());
}

TEST(MemoryReportTest, AnyThreadAsksWhileObjectsComeChangeAndGo) {
  auto engine = OpenOrDie("numa:2 core:1 pu:1");
  Fill(*engine, "stays", 10'000);
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      // relaxed: a flag for the test's end, it orders nothing.
      while (!done.load(std::memory_order_relaxed)) {
        for (const ObjectMemory& one : engine->Memory().objects) {
          for (const SizeClassMemory& blocks : one.classes) {
            // Whatever moment it is, no figure is a wrapped one.
            EXPECT_LT(blocks.block_bytes * (blocks.used_blocks + blocks.cached_blocks), 1u << 30);
          }
        }
        const auto verified = engine->VerifyMemory({.pages_max = 500, .rows = true});
        if (!verified.ok()) {
          EXPECT_TRUE(absl::IsUnimplemented(verified.status()) ||
                      absl::IsFailedPrecondition(verified.status()))
              << verified.status();
        }
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    Fill(*engine, "goes", 20'000);
    EXPECT_TRUE(engine->Drop("goes").ok());
  }
  done.store(true, std::memory_order_relaxed);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(StatsAtRest(*engine).objects.size(), 2u);
}

// The sum over AEUs; there are lines of no other object.
uint64_t RemoteBytes(Engine& engine, uint64_t& all) {
  const auto verified = engine.VerifyMemory({.pages_max = 1, .rows = true});
  EXPECT_TRUE(verified.ok()) << verified.status();
  uint64_t remote = all = 0;
  for (const RowMemory& one : verified->rows) {
    EXPECT_EQ(one.object, "a");
    all += one.bytes;
    remote += one.remote_bytes;
  }
  return remote;
}

TEST(MemoryReportTest, RowsThatLeapAreElsewhereUntilTheyAreAtHome) {
  auto engine = OpenOrDie("numa:2 core:1 pu:1");
  Fill(*engine, "a", 200'000);
  test::Create(*engine, "h", {.kind = ObjectKind::kHash});  // has no line
  uint64_t all = 0;
  if (!engine->VerifyMemory().ok()) GTEST_SKIP() << "this system does not tell where pages lie";
  EXPECT_EQ(RemoteBytes(*engine, all), 0u);
  const uint64_t at_first = all;
  EXPECT_GT(at_first, 200'000u * 8);
  ASSERT_TRUE(engine->SetBalancer({.enabled = false, .max_bytes_per_s = 1}).ok());
  ASSERT_TRUE(engine->MoveRange("a", {.lo = 0, .hi = 50'000}, AeuId{1}, TransferKind::kLeap).ok());
  EXPECT_GT(RemoteBytes(*engine, all), 50'000u * 8 / 2);
  EXPECT_EQ(engine->TransferHistory().front().home, MemoryFollows::kUnderWay);
  ASSERT_TRUE(engine->SetBalancer({.enabled = false}).ok());
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (engine->TransferHistory().front().home == MemoryFollows::kUnderWay) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const TransferRecord record = engine->TransferHistory().front();
  EXPECT_EQ(record.home, MemoryFollows::kHome);
  EXPECT_GT(record.home_us, 0);
  EXPECT_GE(record.home_us, record.duration_us);
  EXPECT_GT(record.home_bytes, 50'000u * 8 / 2);
  EXPECT_GT(record.home_longest_pause_us, 0u);
  EXPECT_EQ(RemoteBytes(*engine, all), 0u);
  EXPECT_LT(all, at_first + at_first / 4);
}

TEST(MemoryReportTest, AMeasureEndsAtItsDeadlineAndWithTheEngine) {
  auto engine = OpenOrDie("numa:2 core:1 pu:1");
  Fill(*engine, "a", 200'000);
  if (!engine->VerifyMemory().ok()) GTEST_SKIP() << "this system does not tell where pages lie";
  // Whatever it ends with, it ends.
  for (int us = 0; us < 2'000; us += 50) {
    const auto verified =
        engine->VerifyMemory({.pages_max = 1, .rows = true}, absl::Now() + absl::Microseconds(us));
    EXPECT_TRUE(verified.ok() || absl::IsDeadlineExceeded(verified.status())) << verified.status();
  }
  std::thread reader([&] {
    absl::Status status;
    while (status.ok()) status = engine->VerifyMemory({.pages_max = 1, .rows = true}).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  engine->Close();
  reader.join();
}

TEST(MemoryReportTest, ClosedEngineStillHasAccountsButVerifiesNothing) {
  auto engine = OpenOrDie("numa:2 core:1 pu:1");
  Fill(*engine, "a", 1000);
  engine->Close();
  EXPECT_EQ(engine->Memory().objects.size(), 2u);
  EXPECT_TRUE(absl::IsUnavailable(engine->VerifyMemory().status()));
}

TEST(MemoryReportTest, VerificationEndsAtItsDeadline) {
  auto engine = OpenOrDie("numa:1 core:2 pu:1");
  EXPECT_TRUE(absl::IsDeadlineExceeded(engine->VerifyMemory({}, absl::InfinitePast()).status()));
}

TEST(MemoryReportTest, TooManyPagesAreRefusedWithTheLimit) {
  auto engine = OpenOrDie("numa:1 core:2 pu:1");
  const absl::Status status = engine->VerifyMemory({.pages_max = kVerifyPagesMax + 1}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_NE(status.message().find(absl::StrCat(kVerifyPagesMax)), std::string::npos) << status;
}

// nullopt: this system does not tell.
std::optional<MemoryVerification> Verify(Engine& engine, uint64_t pages_max) {
  auto verification = engine.VerifyMemory({.pages_max = pages_max});
  if (absl::IsUnimplemented(verification.status()) ||
      absl::IsFailedPrecondition(verification.status())) {
    return std::nullopt;
  }
  EXPECT_TRUE(verification.ok()) << verification.status();
  return verification.ok() ? *std::move(verification) : MemoryVerification{};
}

TEST(MemoryReportTest, PagesOfThisMachineLieWhereEachPlacementWantsThem) {
  for (const MemoryPlacement placement :
       {MemoryPlacement::kLocal, MemoryPlacement::kInterleaved, MemoryPlacement::kOneNumaNode}) {
    auto engine = OpenOrDie("", [&](Options& options) { options.memory_placement = placement; });
    Fill(*engine, "a", 100'000);
    const auto verification = Verify(*engine, 0);
    if (!verification) GTEST_SKIP() << "this system does not tell where pages lie";
    ASSERT_EQ(verification->numa_nodes.size(), engine->Memory().numa_nodes.size());
    uint64_t found = 0;
    for (const NumaNodePlacement& one : verification->numa_nodes) {
      EXPECT_EQ(one.pages_elsewhere, 0u);
      uint64_t located = 0;
      for (const LocatedMemory& pages : one.located) located += pages.pages;
      EXPECT_EQ(one.pages_asked, located + one.pages_absent);
      if (one.bound) {
        EXPECT_EQ(one.pages_local, located);
        EXPECT_FALSE(one.os_numa_nodes.empty());
      }
      EXPECT_GE(one.resident_bytes, one.anonymous_huge_bytes);
      found += located;
    }
    EXPECT_GE(found, (2u << 20) / 4096);
    const auto sampled = Verify(*engine, 100);
    for (const NumaNodePlacement& one : sampled->numa_nodes) EXPECT_EQ(one.pages_asked, 100u);
  }
}

TEST(MemoryReportTest, UnboundMemoryIsFoundButNeitherLocalNorElsewhere) {
  auto engine = OpenOrDie("numa:2 core:1 pu:1");
  Fill(*engine, "a", 1000);
  const auto verification = Verify(*engine, 0);
  if (!verification) GTEST_SKIP() << "this system does not tell where pages lie";
  ASSERT_EQ(verification->numa_nodes.size(), 2u);
  for (const NumaNodePlacement& one : verification->numa_nodes) {
    EXPECT_FALSE(one.bound);
    EXPECT_TRUE(one.os_numa_nodes.empty());
    EXPECT_EQ(one.pages_local + one.pages_elsewhere, 0u);
    ASSERT_FALSE(one.located.empty());
    EXPECT_GE(one.located[0].pages, (2u << 20) / 4096);
    EXPECT_TRUE(one.located[0].addresses.empty());
  }
}

TEST(MemoryReportTest, TopologyTellsWhereMemoryIsToLie) {
  Options options;
  options.topology = "numa:2 core:1 pu:1";
  options.memory_placement = MemoryPlacement::kOneNumaNode;
  options.memory_numa_node = 1;
  options.huge_pages = HugePages::kNone;
  options.superblock_bytes = 4 << 20;
  options.memory_limit_bytes = 64 << 20;
  const auto text = ExplainTopology(options);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_NE(text->find("at most 64 MiB, all on NumaNode 1\n"), std::string::npos) << *text;
  EXPECT_NE(text->find("Pages: anonymous; superblocks of 4 MiB\n"), std::string::npos) << *text;
}

}  // namespace
}  // namespace eris
