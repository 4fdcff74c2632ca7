// Where a running engine's memory lies and where its AEUs run, asked of the kernel page by page.
// Means something only on a machine with several NumaNodes: ./dev numa.
//
// ERIS_LAB_KEYS: how many keys the churn upserts, default 3000000 (three seconds in the emulated
// machine).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/numa/lab_engine.h"
#include "tests/numa/lab_machine.h"

namespace eris::numa_lab {
namespace {

constexpr uint64_t kHugePageBytes = 2 << 20;

uint64_t ChurnKeys() {
  const char* text = std::getenv("ERIS_LAB_KEYS");
  return text == nullptr ? 3'000'000 : std::strtoull(text, nullptr, 10);
}

// The thread of an AEU, by its name. It may run on one cpu only.
struct Pinned {
  uint32_t allowed = 0;    // that cpu
  uint32_t last_seen = 0;  // the one it was last seen on
  uint64_t ran_ns = 0;
};
// By thread number.
std::map<std::string, Pinned> PinnedThreads() {
  std::map<std::string, Pinned> threads;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name.rfind("eris-aeu-", 0) != 0) continue;
    std::ifstream status(task.path() / "status");
    std::string allowed;
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("Cpus_allowed_list:", 0) == 0) allowed = line.substr(line.find('\t') + 1);
    }
    if (allowed.empty() || allowed.find_first_not_of("0123456789") != std::string::npos) continue;
    // Field 39 of stat; the name, field 2, ends with the last parenthesis.
    std::ifstream stat(task.path() / "stat");
    std::string text;
    std::getline(stat, text);
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    std::string field;
    for (int number = 3; number <= 39; ++number) fields >> field;
    uint64_t ran_ns = 0;
    std::ifstream(task.path() / "schedstat") >> ran_ns;
    threads[task.path().filename()] = {.allowed = static_cast<uint32_t>(std::stoul(allowed)),
                                       .last_seen = static_cast<uint32_t>(std::stoul(field)),
                                       .ran_ns = ran_ns};
  }
  return threads;
}

class PlacementTest : public LabEngineTest {
 protected:
  // Where an AEU's data belongs, by the system's number.
  uint32_t NumaNodeOf(const AeuStats& aeu) { return lab_->OsIndex(aeu.numa_node); }
};

TEST_F(PlacementTest, EveryAeuRunsOnItsOwnCpuAndStaysThere) {
  std::vector<uint32_t> expected;
  for (const AeuStats& aeu : lab_->engine().Stats().aeus) {
    ASSERT_GE(aeu.cpu, 0);
    expected.push_back(static_cast<uint32_t>(aeu.cpu));
  }
  EXPECT_EQ(expected.size(), lab_->topology().cores().size());
  for (uint64_t round = 0; round < 5; ++round) {
    ASSERT_TRUE(lab_->Upsert(round * 2000, 2000).ok());  // every AEU has had a turn since
    std::vector<uint32_t> allowed;
    for (const auto& [thread, cpus] : PinnedThreads()) {
      allowed.push_back(cpus.allowed);
      EXPECT_EQ(cpus.last_seen, cpus.allowed) << "thread " << thread;
    }
    EXPECT_THAT(allowed, testing::UnorderedElementsAreArray(expected));
  }
}

TEST_F(PlacementTest, EveryAeuRunsNextToItsMemory) {
  const topology::Topology& topology = lab_->topology();
  const absl::StatusOr<ObjectInfo> object = lab_->engine().Describe(kObject);
  ASSERT_TRUE(object.ok());
  const EngineStats stats = lab_->engine().Stats();
  for (size_t i = 0; i < object->partition_starts.size(); ++i) {
    const AeuStats& aeu = stats.aeus[object->partition_owners[i].value];
    // The thread that runs when there is work for this AEU alone.
    std::vector<uint64_t> keys;
    for (uint64_t k = 0; k < 50'000; ++k) {
      keys.push_back(object->partition_starts[i] + (KeyOf(k) >> 8));
    }
    const auto before = PinnedThreads();
    ASSERT_TRUE(lab_->session().Upsert(lab_->object(), keys, keys).ok());
    uint64_t longest_ns = 0;
    uint32_t cpu = 0;
    for (const auto& [thread, now] : PinnedThreads()) {
      const uint64_t ran_ns = now.ran_ns - before.at(thread).ran_ns;
      if (ran_ns > longest_ns) longest_ns = ran_ns, cpu = now.allowed;
    }
    EXPECT_EQ(cpu, static_cast<uint32_t>(aeu.cpu)) << "AEU " << aeu.id.value;
    for (const topology::Core& core : topology.cores()) {
      if (std::find(core.cpus.begin(), core.cpus.end(), static_cast<uint32_t>(aeu.cpu)) ==
          core.cpus.end()) {
        continue;
      }
      const NumaNodeId nearest = topology.NearestWithMemory(core.home_numa_node);
      EXPECT_EQ(aeu.numa_node, nearest) << "AEU " << aeu.id.value << " on cpu " << aeu.cpu;
    }
  }
}

// A session belongs to the NumaNode where it is made; its callbacks come on a cpu of that.
TEST_F(PlacementTest, CallbacksRunOnTheNumaNodeOfTheirSession) {
  std::map<uint32_t, NumaNodeId> numa_node_of;  // by cpu
  for (const topology::Core& core : lab_->topology().cores()) {
    for (const uint32_t cpu : core.cpus) numa_node_of[cpu] = core.numa_node;
  }
  for (const auto& [cpu, numa_node] : numa_node_of) {
    std::thread([&, cpu = cpu, numa_node = numa_node] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
      const auto session = lab_->engine().NewSession();
      EXPECT_EQ(session->numa_node(), numa_node) << "cpu " << cpu;
      std::atomic<int> called_on;
      for (uint64_t i = 0; i < 50; ++i) {
        const std::vector<uint64_t> keys = {KeyOf(i), ~KeyOf(i)};
        called_on.store(-1);
        ASSERT_TRUE(session
                        ->UpsertAsync(lab_->object(), keys, keys,
                                      [&](const BatchResult& result) {
                                        EXPECT_TRUE(result.status.ok()) << result.status;
                                        called_on.store(sched_getcpu());
                                        called_on.notify_all();
                                      })
                        .ok());
        called_on.wait(-1);
        ASSERT_EQ(numa_node_of.at(static_cast<uint32_t>(called_on.load())), numa_node)
            << "a callback of a session of cpu " << cpu << " on cpu " << called_on.load();
      }
    }).join();
  }
}

TEST_F(PlacementTest, EveryIncomingBufferLiesOnItsAeusNumaNode) {
  // Only AEUs write into each other's incoming buffers: a join makes them. The value of row i is
  // the key of row i + 1, mostly another AEU's.
  std::vector<uint64_t> keys, values;
  for (uint64_t i = 0; i < 20'000; ++i) {
    keys.push_back(KeyOf(i));
    values.push_back(KeyOf(i + 1));
  }
  ASSERT_TRUE(lab_->session().Upsert(lab_->object(), keys, values).ok());
  auto join = lab_->session().OpenJoin(lab_->object(), lab_->object(), {});
  ASSERT_TRUE(join.ok()) << join.status();
  uint64_t rows = 0;
  for (;;) {
    auto chunk = (*join)->Next();
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    if (!*chunk) break;
    rows += (*chunk)->rows();
  }
  EXPECT_EQ(rows, keys.size() - 1);

  const std::vector<PoolRange> ranges = PoolRanges();
  for (const AeuStats& aeu : lab_->engine().Stats().aeus) {
    const auto memory = lab_->impl().core().directory[aeu.id].incoming.memory();
    const auto begin = reinterpret_cast<uintptr_t>(memory.data());
    const uintptr_t end = begin + memory.size();
    // Where its pages have to be, those too that nothing has been written to yet.
    uint64_t bound_bytes = 0;
    for (const PoolRange& range : ranges) {
      if (range.os_numa_node != NumaNodeOf(aeu)) continue;
      const uintptr_t from = std::max(begin, range.begin), to = std::min(end, range.end);
      if (from < to) bound_bytes += to - from;
    }
    EXPECT_EQ(bound_bytes, memory.size()) << "AEU " << aeu.id.value;
    uint64_t present = 0;
    for (const int location : PageLocations(begin, end)) {
      if (location == kAbsent) continue;
      ++present;
      EXPECT_EQ(location, static_cast<int>(NumaNodeOf(aeu))) << "AEU " << aeu.id.value;
    }
    EXPECT_GT(present, 0u) << "AEU " << aeu.id.value << ": nobody has written to it";
  }
}

// Each value says which AEU it was sent to, and is looked for in the memory of all pools.
TEST_F(PlacementTest, WhatAnAeuStoresLiesOnItsNumaNode) {
  constexpr uint64_t kKeys = 20'000;
  constexpr uint64_t kTag = 0xe8150000'00000000;
  constexpr int kAeuShift = 32;
  const absl::StatusOr<ObjectInfo> object = lab_->engine().Describe(kObject);
  ASSERT_TRUE(object.ok());
  for (size_t i = 0; i < object->partition_starts.size(); ++i) {
    std::vector<uint64_t> keys, values;
    for (uint64_t k = 0; k < kKeys; ++k) {
      // Far apart, so that each has TreeNodes of its own.
      keys.push_back(object->partition_starts[i] + (KeyOf(k) >> 8));
      values.push_back(kTag + (uint64_t{object->partition_owners[i].value} << kAeuShift) + k);
    }
    ASSERT_TRUE(lab_->session().Upsert(lab_->object(), keys, values).ok());
  }

  const EngineStats stats = lab_->engine().Stats();
  std::vector<std::vector<bool>> seen(stats.aeus.size(), std::vector<bool>(kKeys));
  uint64_t elsewhere = 0;
  for (const PoolRange& range : PoolRanges()) {
    uintptr_t page = range.begin;
    for (const int location : PageLocations(range.begin, range.end)) {
      const auto* words = reinterpret_cast<const uint64_t*>(page);
      page += kPageBytes;
      if (location == kAbsent) continue;
      for (size_t i = 0; i < kPageBytes / sizeof(uint64_t); ++i) {
        if (words[i] >> 48 != kTag >> 48) continue;
        const uint64_t aeu = (words[i] - kTag) >> kAeuShift;
        const uint64_t k = words[i] & 0xffffffff;
        if (aeu >= stats.aeus.size() || k >= kKeys) continue;
        seen[aeu][k] = true;
        elsewhere += location != static_cast<int>(NumaNodeOf(stats.aeus[aeu]));
      }
    }
  }
  EXPECT_EQ(elsewhere, 0u);
  for (size_t aeu = 0; aeu < seen.size(); ++aeu) {
    EXPECT_EQ(std::count(seen[aeu].begin(), seen[aeu].end(), true), kKeys) << "AEU " << aeu;
  }
  ExpectEveryPageInPlace(*lab_);
}

// Three generations of keys: each is upserted while the one before is erased, so that blocks,
// spans and superblocks are freed and used again.
TEST_F(PlacementTest, EveryPageStaysInPlaceThroughUpsertsAndErases) {
  constexpr uint64_t kStep = kBatchKeys;
  const uint64_t keys = ChurnKeys(), generation = keys / 3 / kStep * kStep;
  ASSERT_GE(generation, kStep) << "ERIS_LAB_KEYS is too small";
  const auto began = std::chrono::steady_clock::now();
  for (uint64_t first = 0; first < 3 * generation; first += kStep) {
    ASSERT_TRUE(lab_->Upsert(first, kStep).ok());
    if (first >= generation) {
      ASSERT_TRUE(lab_->Erase(first - generation, kStep).ok());
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::cout << 3 * generation << " upserts and " << 2 * generation << " erases in " << took.count()
            << " s\n";

  ExpectEveryPageInPlace(*lab_);
  // Where the machine has reserved huge pages, they were the ones to use.
  const std::optional<LabMachine> machine = LabMachine::Get();
  if (machine && !std::all_of(machine->huge_pages.begin(), machine->huge_pages.end(),
                              [](uint32_t pages) { return pages == 0; })) {
    std::map<uint32_t, uint64_t> huge_pages_on;
    for (const PoolRange& range : PoolRanges()) {
      if (range.page_bytes != kHugePageBytes) continue;
      for (const auto& [numa_node, pages] : range.pages_on) huge_pages_on[numa_node] += pages;
    }
    for (uint32_t i = 0; i < machine->huge_pages.size(); ++i) {
      if (machine->huge_pages[i] == 0) continue;
      EXPECT_GT(huge_pages_on[i], 0u) << "NumaNode " << i;
    }
  }
  for (const AeuStats& aeu : lab_->engine().Stats().aeus) {
    EXPECT_GE(aeu.keys, 5 * generation / lab_->impl().aeu_count() / 2) << "AEU " << aeu.id.value;
  }
  const auto gone = lab_->CountCorrect(generation, kStep);
  const auto kept = lab_->CountCorrect(3 * generation - kStep, kStep);
  ASSERT_TRUE(gone.ok() && kept.ok());
  EXPECT_EQ(*gone, 0u);
  EXPECT_EQ(*kept, kStep);
}

// What an object's live blocks take on each NumaNode.
std::map<NumaNodeId, uint64_t> UsedBytes(LabEngine& lab) {
  std::map<NumaNodeId, uint64_t> used;
  for (const ObjectMemory& one : lab.engine().Memory().objects) {
    used[one.numa_node] += one.used_bytes;
  }
  return used;
}

// A leap's rows come to their new owner, and nothing of them stays behind; a link's stay.
TEST_F(PlacementTest, RangesThatChangeHandsLieWithTheirNewOwner) {
  ASSERT_TRUE(lab_->engine().SetBalancer({.enabled = false}).ok());
  constexpr uint64_t kKeys = 200'000;
  ASSERT_TRUE(lab_->Upsert(0, kKeys).ok());
  const EngineStats stats = lab_->engine().Stats();
  const AeuStats& source = stats.aeus.front();
  const absl::StatusOr<ObjectInfo> object = lab_->engine().Describe(kObject);
  ASSERT_TRUE(object.ok());
  const KeyRange range{.lo = object->partition_starts[0], .hi = object->partition_starts[1]};
  uint64_t rows_beside = 0;  // on the source's NumaNode
  for (const AeuStats& aeu : stats.aeus) {
    if (aeu.numa_node == source.numa_node) rows_beside += aeu.rows;
  }
  ASSERT_GT(source.rows, 0u);
  for (const AeuStats& target : stats.aeus) {
    if (target.id == source.id) continue;
    const bool same = target.numa_node == source.numa_node;
    const auto before = UsedBytes(*lab_);
    const absl::Status moved = lab_->engine().MoveRange(kObject, range, target.id);
    ASSERT_TRUE(moved.ok()) << moved;
    AwaitHome(*lab_);
    const std::vector<TransferRecord> history = lab_->engine().TransferHistory();
    ASSERT_FALSE(history.empty());
    EXPECT_EQ(history.front().kind, same ? TransferKind::kLink : TransferKind::kLeap);
    EXPECT_EQ(history.front().rows, source.rows);
    const uint64_t share = before.at(source.numa_node) * source.rows / rows_beside;
    // What is given up is freed in the turns after it.
    for (int i = 0; !same && i < 1000; ++i) {
      if (UsedBytes(*lab_)[source.numa_node] + share / 2 < before.at(source.numa_node)) break;
      absl::SleepFor(absl::Milliseconds(10));
    }
    const auto after = UsedBytes(*lab_);
    if (same) {
      EXPECT_NEAR(static_cast<double>(after.at(source.numa_node)),
                  static_cast<double>(before.at(source.numa_node)), 1e5);
    } else {
      EXPECT_LT(after.at(source.numa_node) + share / 2, before.at(source.numa_node));
      EXPECT_GT(after.at(target.numa_node), before.at(target.numa_node) + share / 2);
    }
    const auto correct = lab_->CountCorrect(0, kKeys);
    ASSERT_TRUE(correct.ok()) << correct.status();
    EXPECT_EQ(*correct, kKeys);
    ExpectEveryPageInPlace(*lab_);
    ASSERT_TRUE(lab_->engine().MoveRange(kObject, range, source.id).ok());
    AwaitHome(*lab_);
  }
}

// The check itself: a page that lies elsewhere is found, and nothing once it is back.
TEST_F(PlacementTest, PlantedMisplacementIsFound) {
  ASSERT_TRUE(lab_->Upsert(0, 50'000).ok());
  const std::vector<PoolRange> ranges = PoolRanges();
  ASSERT_THAT(TakeCensus(ranges).misplaced, testing::IsEmpty());
  std::vector<uint32_t> with_memory;
  for (const topology::NumaNode& node : lab_->topology().numa_nodes()) {
    if (node.memory_bytes > 0) with_memory.push_back(node.os_index);
  }
  int planted = 0;
  for (const PoolRange& range : ranges) {
    const std::vector<int> locations = PageLocations(range.begin, range.end);
    const auto present =
        std::find(locations.begin(), locations.end(), static_cast<int>(range.os_numa_node));
    if (present == locations.end()) continue;
    const uintptr_t page =
        range.begin + static_cast<uintptr_t>(present - locations.begin()) * kPageBytes;
    const uint32_t other =
        with_memory.front() == range.os_numa_node ? with_memory.back() : with_memory.front();
    ASSERT_NE(other, range.os_numa_node);
    ASSERT_TRUE(MovePage(page, other));
    EXPECT_EQ(PageLocations(page, page + kPageBytes).front(), static_cast<int>(other));
    EXPECT_THAT(TakeCensus(ranges).misplaced, testing::Contains(page));
    ASSERT_TRUE(MovePage(page, range.os_numa_node));
    ++planted;
  }
  EXPECT_GT(planted, 0);
  EXPECT_THAT(TakeCensus(ranges).misplaced, testing::IsEmpty());
}

}  // namespace
}  // namespace eris::numa_lab
