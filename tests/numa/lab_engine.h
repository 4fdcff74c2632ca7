// An engine with running AEUs on this machine, and load for all of them, for tests of placement.
#ifndef ERIS_TESTS_NUMA_LAB_ENGINE_H_
#define ERIS_TESTS_NUMA_LAB_ENGINE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "engine/engine_impl.h"
#include "memory/numa_node_pool.h"
#include "tests/numa/pool_ranges.h"
#include "topology/topology.h"

namespace eris::numa_lab {

inline constexpr char kObject[] = "object";
inline constexpr size_t kBatchKeys = 16 << 10;

// A bijection of the 64-bit integers: i-th key, spread evenly over all partitions.
inline uint64_t KeyOf(uint64_t i) {
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9ull;
  i = (i ^ (i >> 27)) * 0x94d049bb133111ebull;
  return i ^ (i >> 31);
}

class LabEngine {
 public:
  // One AEU per core, and one object whose partitions divide all keys evenly. Errors: the engine's.
  static absl::StatusOr<std::unique_ptr<LabEngine>> Open(const Options& options = {});

  Engine& engine() { return *engine_; }
  engine::EngineImpl& impl() { return *engine_; }
  Session& session() { return *session_; }
  const Object& object() const { return object_; }
  const topology::Topology& topology() const { return topology_; }
  uint32_t OsIndex(NumaNodeId id) const { return topology_.numa_nodes()[id.value].os_index; }

  // Keys KeyOf(first) .. KeyOf(first + count - 1), each with its number as value. Errors: the
  // session's, at the first batch that has one.
  absl::Status Upsert(uint64_t first, uint64_t count);
  absl::Status Erase(uint64_t first, uint64_t count);
  // How many of these keys are there with their number as value.
  absl::StatusOr<uint64_t> CountCorrect(uint64_t first, uint64_t count);

 private:
  LabEngine() = default;

  topology::Topology topology_;
  std::unique_ptr<engine::EngineImpl> engine_;
  std::unique_ptr<Session> session_;
  Object object_;
};

inline absl::StatusOr<std::unique_ptr<LabEngine>> LabEngine::Open(const Options& options) {
  std::unique_ptr<LabEngine> lab(new LabEngine);
  absl::StatusOr<topology::Topology> topology = topology::Topology::Discover();
  if (!topology.ok()) return topology.status();
  lab->topology_ = *std::move(topology);
  Options fixed = options;
  fixed.balancer.enabled = false;  // partitions stay where the tests look for them
  auto engine = engine::EngineImpl::Open(fixed, engine::EngineImpl::Threads::kStart);
  if (!engine.ok()) return engine.status();
  lab->engine_ = *std::move(engine);
  const absl::Status created = lab->engine_->Create(kObject, {}).status();
  if (!created.ok()) return created;
  lab->session_ = lab->engine_->NewSession();
  auto object = lab->session_->Open(kObject);
  if (!object.ok()) return object.status();
  lab->object_ = *std::move(object);
  return lab;
}

// For tests that mean something only with several NumaNodes.
class LabEngineTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<LabEngine>> lab = LabEngine::Open();
    ASSERT_TRUE(lab.ok()) << lab.status();
    lab_ = *std::move(lab);
    if (lab_->topology().numa_nodes().size() < 2) {
      GTEST_SKIP() << "one NumaNode only: nothing can lie on the wrong one; ./dev numa has more";
    }
    ASSERT_TRUE(lab_->engine().Notes().empty()) << lab_->engine().Notes().front();  // refused
  }
  void TearDown() override {
    if (lab_) lab_->engine().Close();
  }

  std::unique_ptr<LabEngine> lab_;
};

// Calls `batch` with the keys and their numbers, kBatchKeys at a time.
template <class Batch>
absl::Status ForEachBatch(uint64_t first, uint64_t count, Batch batch) {
  std::vector<uint64_t> keys, numbers;
  for (uint64_t i = first; i < first + count;) {
    keys.clear();
    numbers.clear();
    for (; i < first + count && keys.size() < kBatchKeys; ++i) {
      keys.push_back(KeyOf(i));
      numbers.push_back(i);
    }
    const absl::Status status = batch(keys, numbers);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

inline absl::Status LabEngine::Upsert(uint64_t first, uint64_t count) {
  return ForEachBatch(first, count, [&](const auto& keys, const auto& numbers) {
    return session_->Upsert(object_, keys, numbers);
  });
}

inline absl::Status LabEngine::Erase(uint64_t first, uint64_t count) {
  return ForEachBatch(
      first, count, [&](const auto& keys, const auto&) { return session_->Erase(object_, keys); });
}

inline absl::StatusOr<uint64_t> LabEngine::CountCorrect(uint64_t first, uint64_t count) {
  uint64_t correct = 0;
  const absl::Status status =
      ForEachBatch(first, count, [&](const auto& keys, const auto& numbers) {
        std::vector<uint64_t> values(keys.size());
        std::vector<uint8_t> found(keys.size());
        const absl::Status looked_up =
            session_->Lookup(object_, keys, absl::MakeSpan(values), absl::MakeSpan(found));
        for (size_t i = 0; i < keys.size(); ++i)
          correct += found[i] == 1 && values[i] == numbers[i];
        return looked_up;
      });
  if (!status.ok()) return status;
  return correct;
}

// Waits until no memory follows a transfer any more.
inline void AwaitHome(LabEngine& lab) {
  for (int i = 0; i < 6'000; ++i) {
    const std::vector<TransferRecord> history = lab.engine().TransferHistory();
    const bool under_way = std::any_of(history.begin(), history.end(), [](const auto& record) {
      return record.home == MemoryFollows::kUnderWay;
    });
    if (!under_way) return;
    absl::SleepFor(absl::Milliseconds(10));
  }
  FAIL() << "memory is still under way after a minute";
}

// What the pools say that they have taken, by the system's NumaNode number; none with 0 bytes.
inline std::map<uint32_t, uint64_t> ReservedBytes(LabEngine& lab) {
  std::map<uint32_t, uint64_t> reserved;
  for (const NumaNodeStats& node : lab.engine().Stats().numa_nodes) {
    if (node.reserved_bytes > 0) reserved[lab.OsIndex(node.id)] = node.reserved_bytes;
  }
  return reserved;
}

inline std::map<uint32_t, uint64_t> BytesOf(const std::vector<PoolRange>& ranges) {
  std::map<uint32_t, uint64_t> bytes;
  for (const PoolRange& range : ranges) bytes[range.os_numa_node] += range.bytes();
  return bytes;
}

// Whether it is memory that pools count: whole superblocks. What else is bound to a NumaNode are
// the stacks of AEUs, behind their guards, and each pool's table of owners.
inline bool IsCounted(const PoolRange& range) {
  return (range.begin | range.bytes() | range.guard_bytes) % memory::kSuperblockBytes == 0;
}

// Every page of every pool lies on its NumaNode; and by the pools' own accounting the ranges looked
// at are all of their memory, with no page that they do not know of. The AEUs are at rest.
inline void ExpectEveryPageInPlace(LabEngine& lab) {
  constexpr int kAttemptsMax = 50;
  for (int attempt = 1;; ++attempt) {
    const std::map<uint32_t, uint64_t> reserved = ReservedBytes(lab);
    std::vector<PoolRange> counted, beside;
    for (const PoolRange& range : PoolRanges())
      (IsCounted(range) ? counted : beside).push_back(range);
    Census census = TakeCensus(counted);
    const Census rest = TakeCensus(beside);
    // Pools make memory ready, and give it back, in the background.
    if (reserved != ReservedBytes(lab) && attempt < kAttemptsMax) continue;
    std::map<uint32_t, uint64_t> bound = BytesOf(counted);
    for (const auto& [numa_node, bytes] : reserved) {
      EXPECT_LE(bytes, bound[numa_node]) << "NumaNode " << numa_node;
      EXPECT_LE(census.present_on[numa_node] * kPageBytes, bytes) << "NumaNode " << numa_node;
    }
    EXPECT_GT(census.present, 0u);
    EXPECT_EQ(census.unknown.size() + rest.unknown.size(), 0u);
    const uint64_t present = census.present + rest.present;
    EXPECT_EQ(census.misplaced.size() + rest.misplaced.size(), 0u) << "of " << present << " pages";
    std::cout << present << " pages looked at\n";
    return;
  }
}

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_LAB_ENGINE_H_
