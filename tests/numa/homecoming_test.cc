// Ranges leap between the NumaNodes of a machine while rows are written: in the end every page and
// every row is at home, and the accounts say so. Means something only on a machine with several
// NumaNodes: ./dev numa. Paper: page leap, 3.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "tests/numa/lab_engine.h"
#include "tests/numa/lab_machine.h"
#include "tests/support/seed.h"

namespace eris::numa_lab {
namespace {

constexpr uint64_t kKeys = 300'000;
constexpr int kLeaps = 100;
constexpr uint64_t kOperations = 1'000'000;

class HomecomingTest : public LabEngineTest {
 protected:
  absl::Status Leap(const KeyRange& range, AeuId to) {
    return lab_->engine().MoveRange(kObject, range, to, TransferKind::kLeap);
  }
  // What the AEUs find in their trees, by NumaNode.
  std::map<NumaNodeId, uint64_t> MeasuredBytes() {
    std::map<NumaNodeId, uint64_t> bytes;
    const auto verified = lab_->engine().VerifyMemory({.pages_max = 1, .rows = true});
    EXPECT_TRUE(verified.ok()) << verified.status();
    for (const RowMemory& one : verified->rows) bytes[one.numa_node] += one.bytes;
    return bytes;
  }
  // What the accounts of the managers say.
  std::map<NumaNodeId, uint64_t> UsedBytes() {
    std::map<NumaNodeId, uint64_t> bytes;
    for (const ObjectMemory& one : lab_->engine().Memory().objects) {
      bytes[one.numa_node] += one.used_bytes;
    }
    return bytes;
  }
  void ExpectAllAtHome() {
    const auto verified = lab_->engine().VerifyMemory({.pages_max = 0, .rows = true});
    ASSERT_TRUE(verified.ok()) << verified.status();
    for (const NumaNodePlacement& one : verified->numa_nodes) {
      EXPECT_EQ(one.pages_elsewhere, 0u) << "NumaNode " << one.id.value;
    }
    ASSERT_FALSE(verified->rows.empty());
    for (const RowMemory& one : verified->rows) {
      EXPECT_EQ(one.remote_bytes, 0u) << "AEU " << one.aeu.value << " of " << one.bytes;
    }
    for (const ObjectMemory& one : lab_->engine().Memory().objects) {
      EXPECT_EQ(one.spilled_bytes, 0u) << "NumaNode " << one.numa_node.value;
    }
    // Freed blocks are still on their way for some turns.
    for (int i = 0; i < 1'000 && MeasuredBytes() != UsedBytes(); ++i) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    EXPECT_EQ(MeasuredBytes(), UsedBytes());
    ExpectEveryPageInPlace(*lab_);
  }
};

// Writes the upper half of the keys anew, over and over, and looks the lower half up.
class Load {
 public:
  explicit Load(LabEngine& lab) : lab_(lab), thread_([this] { Run(); }) {}
  ~Load() { Stop(); }
  void Stop() {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  uint64_t operations() const { return operations_.load(); }

 private:
  void Run() {
    const auto session = lab_.engine().NewSession();
    constexpr uint64_t kBatch = 2'000;
    std::vector<uint64_t> keys(kBatch), numbers(kBatch), values(kBatch);
    std::vector<uint8_t> found(kBatch);
    for (uint64_t first = 0; !stop_.load(); first = (first + kBatch) % (kKeys / 2)) {
      const uint64_t written = kKeys / 2 + first;
      for (uint64_t i = 0; i < kBatch; ++i) {
        keys[i] = KeyOf(written + i);
        numbers[i] = written + i;
      }
      ASSERT_TRUE(session->Erase(lab_.object(), keys).ok());
      ASSERT_TRUE(session->Upsert(lab_.object(), keys, numbers).ok());
      for (uint64_t i = 0; i < kBatch; ++i) keys[i] = KeyOf(first + i);
      ASSERT_TRUE(
          session->Lookup(lab_.object(), keys, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
      for (uint64_t i = 0; i < kBatch; ++i) {
        ASSERT_TRUE(found[i] == 1 && values[i] == first + i) << "key " << keys[i];
      }
      operations_.fetch_add(3 * kBatch);
    }
  }

  LabEngine& lab_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> operations_{0};
  std::thread thread_;
};

TEST_F(HomecomingTest, AfterAHundredLeapsUnderLoadEveryPageIsAtHome) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  ASSERT_TRUE(lab_->Upsert(0, kKeys).ok());
  const uint64_t aeus = lab_->impl().aeu_count();
  Load load(*lab_);
  for (int i = 0; i < kLeaps; ++i) {
    KeyRange range{.lo = random()};
    // Some go over the end of the key space, some are all that there is.
    if (i % 10 == 5) {
      range = {};
    } else if (const uint64_t hi = range.lo + random() % (uint64_t{1} << 62); hi > range.lo) {
      range.hi = hi;
    }
    const absl::Status moved = Leap(range, AeuId{static_cast<uint32_t>(random() % aeus)});
    ASSERT_TRUE(moved.ok()) << moved;
    if (i % 3 == 0) AwaitHome(*lab_);
  }
  while (load.operations() < kOperations) absl::SleepFor(absl::Milliseconds(10));
  load.Stop();
  AwaitHome(*lab_);
  uint64_t bytes = 0, remapped = 0;
  for (const TransferRecord& record : lab_->engine().TransferHistory()) {
    EXPECT_NE(record.home, MemoryFollows::kStays) << "transfer " << record.id;
    bytes += record.home_bytes;
    remapped += record.home_bytes_remapped;
  }
  EXPECT_GT(remapped, 0u);
  EXPECT_GT(bytes, remapped);
  std::cout << load.operations() << " operations, " << bytes << " bytes came home, " << remapped
            << " by remapping\n";
  const auto correct = lab_->CountCorrect(0, kKeys);
  ASSERT_TRUE(correct.ok()) << correct.status();
  EXPECT_EQ(*correct, kKeys);
  ExpectAllAtHome();
}

// Whole ranges go from NumaNode to NumaNode with their pages: addresses stay, pages do not.
TEST_F(HomecomingTest, PagesGoRoundAllNumaNodesAndComeBack) {
  ASSERT_TRUE(lab_->Upsert(0, kKeys).ok());
  const EngineStats stats = lab_->engine().Stats();
  for (int round = 0; round < 3; ++round) {
    for (const AeuStats& aeu : stats.aeus) {
      ASSERT_TRUE(Leap({}, aeu.id).ok());
      AwaitHome(*lab_);
      ExpectAllAtHome();
    }
  }
  const auto correct = lab_->CountCorrect(0, kKeys);
  ASSERT_TRUE(correct.ok()) << correct.status();
  EXPECT_EQ(*correct, kKeys);
}

// Verification finds a page of a superblock that has leapt, and lies elsewhere.
TEST_F(HomecomingTest, VerificationFindsAPlantedMisplacement) {
  ASSERT_TRUE(lab_->Upsert(0, kKeys).ok());
  ASSERT_TRUE(Leap({}, lab_->engine().Stats().aeus.back().id).ok());
  AwaitHome(*lab_);
  ExpectAllAtHome();
  const auto elsewhere = [&] {
    uint64_t pages = 0;
    const auto verified = lab_->engine().VerifyMemory({.pages_max = 0});
    EXPECT_TRUE(verified.ok()) << verified.status();
    for (const NumaNodePlacement& one : verified->numa_nodes) pages += one.pages_elsewhere;
    return pages;
  };
  const uint32_t home = lab_->OsIndex(lab_->engine().Stats().aeus.back().numa_node);
  const uint32_t other = lab_->OsIndex(lab_->engine().Stats().aeus.front().numa_node);
  ASSERT_NE(home, other);
  for (const PoolRange& range : PoolRanges()) {
    if (!IsCounted(range) || range.os_numa_node != home) continue;
    const std::vector<int> locations = PageLocations(range.begin, range.end);
    const auto present = std::find(locations.begin(), locations.end(), static_cast<int>(home));
    if (present == locations.end()) continue;
    const uintptr_t page =
        range.begin + static_cast<uintptr_t>(present - locations.begin()) * kPageBytes;
    ASSERT_TRUE(MovePage(page, other));
    EXPECT_GE(elsewhere(), 1u);
    ASSERT_TRUE(MovePage(page, home));
    EXPECT_EQ(elsewhere(), 0u);
    return;
  }
  FAIL() << "no page of NumaNode " << home;
}

}  // namespace
}  // namespace eris::numa_lab
