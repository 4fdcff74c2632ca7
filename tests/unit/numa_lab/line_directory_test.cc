// The access counter's directory of lines: transfers that are known, from every state of a line,
// and with threads side by side. The same known transfers find each fault planted in it.
#include "tests/numa/plugin/line_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "tests/numa/plugin/cache_model.h"

namespace eris::numa_lab {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using enum Transfer;

// Cpus 0 and 1 on NumaNode 0, 2 and 3 on NumaNode 1.
const std::vector<int> kNumaNodes = {0, 0, 1, 1};
constexpr uint64_t kLines = 256;

template <DirectoryFault fault>
class Machine {
 public:
  Transfer Load(size_t cpu, uint64_t line = 0, int home = 0) {
    return directory_.Access(cpu, line, home, false).transfer;
  }
  Transfer Store(size_t cpu, uint64_t line = 0, int home = 0) {
    return directory_.Access(cpu, line, home, true).transfer;
  }
  void Evict(size_t cpu, uint64_t line = 0) { directory_.Evict(cpu, line); }

 private:
  LineDirectory<fault> directory_{kLines, kNumaNodes};
};

// Programs whose transfers are known. The first that came out wrong; empty: none.
template <DirectoryFault fault>
std::string WrongScenario() {
  for (const size_t other : {size_t{1}, size_t{2}}) {
    const bool far = other == 2;
    Machine<fault> ping_pong;
    ping_pong.Store(0);
    for (int round = 0; round < 10; ++round) {
      for (const size_t cpu : {other, size_t{0}}) {
        if (ping_pong.Store(cpu) != (far ? kFarCache : kNear)) return "ping-pong of stores";
      }
    }
    for (int round = 0; round < 10; ++round) {
      for (const size_t cpu : {other, size_t{0}}) {
        if (ping_pong.Load(cpu) != (far ? kFarCache : kNear)) return "ping-pong: load";
        if (ping_pong.Store(cpu) != (far ? kUpgradeFar : kUpgradeNear)) return "ping-pong: store";
      }
    }
  }
  Machine<fault> stream;
  for (int pass = 0; pass < 3; ++pass) {
    for (uint64_t line = 0; line < kLines; ++line) {
      if (stream.Store(0, line) != (pass > 0 ? kUpgradeFar : kNone)) return "stream: writer";
    }
    for (uint64_t line = 0; line < kLines; ++line) {
      if (stream.Load(2, line) != kFarCache) return "stream: reader";
      if (stream.Load(2, line) != kNone) return "stream: read twice";
      if (stream.Load(3, line) != kNear) return "stream: reader beside it";
    }
  }
  Machine<fault> apart;
  for (int round = 0; round < 10; ++round) {
    for (size_t cpu = 0; cpu < 4; ++cpu) {
      const int home = kNumaNodes[cpu];
      if (apart.Load(cpu, cpu, home) != kNone || apart.Store(cpu, cpu, home) != kNone) {
        return "private work";
      }
    }
  }
  Machine<fault> small_cache;
  small_cache.Store(0);
  small_cache.Evict(0);
  if (small_cache.Store(0) != kNone) return "own line, evicted";
  small_cache.Evict(0);
  if (small_cache.Load(2) != kFarMemory) return "evicted line from another NumaNode's memory";
  small_cache.Evict(2);
  if (small_cache.Load(2) != kFarMemory) return "evicted line, again";
  return "";
}

TEST(LineDirectoryTest, KnownTransfersAreToldExactly) {
  EXPECT_EQ(WrongScenario<DirectoryFault::kNone>(), "");
}

TEST(LineDirectoryTest, PlantedFaultsAreFoundByKnownTransfers) {
  EXPECT_NE(WrongScenario<DirectoryFault::kKeepCopies>(), "");
  EXPECT_NE(WrongScenario<DirectoryFault::kKeepDirty>(), "");
  EXPECT_NE(WrongScenario<DirectoryFault::kKeepEvicted>(), "");
}

using Good = Machine<DirectoryFault::kNone>;

TEST(LineDirectoryTest, LineNobodyHasComesFromItsMemory) {
  Good machine;
  EXPECT_EQ(machine.Load(0, 0, 0), kNone);
  EXPECT_EQ(machine.Load(0, 1, 1), kFarMemory);
  EXPECT_EQ(machine.Store(0, 2, 0), kNone);
  EXPECT_EQ(machine.Store(0, 3, 1), kFarMemory);
}

TEST(LineDirectoryTest, LoadedLineThatNobodyElseHasIsWrittenWithoutATransfer) {
  Good machine;
  machine.Load(0);
  EXPECT_EQ(machine.Store(0), kNone);
}

TEST(LineDirectoryTest, CleanLineIsTakenFromTheOwnNumaNodeBeforeAnyOther) {
  Good machine;
  machine.Load(0, 0, 1);
  machine.Load(2, 0, 1);
  EXPECT_EQ(machine.Load(1, 0, 1), kNear);
}

TEST(LineDirectoryTest, CleanLineComesFromItsMemoryAlsoIfAnotherNumaNodeHasIt) {
  Good machine;
  machine.Load(2, 0, 0);
  EXPECT_EQ(machine.Load(0, 0, 0), kNone);
  machine.Load(0, 1, 0);
  EXPECT_EQ(machine.Load(2, 1, 0), kFarMemory);
}

TEST(LineDirectoryTest, DirtyLineComesFromTheCacheThatHasItAlsoToItsOwnNumaNode) {
  Good machine;
  machine.Store(2, 0, 0);
  EXPECT_EQ(machine.Load(0, 0, 0), kFarCache);
  EXPECT_EQ(machine.Load(1, 0, 0), kNear);
}

TEST(LineDirectoryTest, StoreWithoutACopyTakesThoseOfOtherNumaNodes) {
  Good machine;
  machine.Load(2, 0, 0);
  EXPECT_EQ(machine.Store(0, 0, 0), kClaimFar);
  EXPECT_EQ(machine.Load(2, 0, 0), kFarCache);
}

TEST(LineDirectoryTest, UpgradeIsFarIfAnyCopyIs) {
  Good machine;
  for (const size_t cpu : {0, 1, 2}) machine.Load(cpu);
  EXPECT_EQ(machine.Store(0), kUpgradeFar);
  for (const size_t cpu : {0, 1}) machine.Load(cpu);
  EXPECT_EQ(machine.Store(0), kUpgradeNear);
}

TEST(LineDirectoryTest, EvictionOfALostCopyChangesNothing) {
  Good machine;
  machine.Store(0);
  machine.Store(2);
  machine.Evict(0);
  EXPECT_EQ(machine.Load(0), kFarCache);
}

// Each thread stores to all lines, over and over: a line goes from one to the other and back, so
// the two cannot have taken it a different number of times, but for one.
TEST(LineDirectoryTest, RacingCpusTakeALineInTurn) {
  LineDirectory<> directory(kLines, kNumaNodes);
  constexpr int kPasses = 20'000;
  std::latch begin(2);
  std::array<std::vector<uint64_t>, 2> taken;
  const auto store = [&](size_t number) {
    taken[number].resize(kLines);
    begin.arrive_and_wait();
    for (int pass = 0; pass < kPasses; ++pass) {
      for (uint64_t line = 0; line < kLines; ++line) {
        const Transfer transfer = directory.Access(2 * number, line, 0, true).transfer;
        taken[number][line] += transfer == kFarCache;
      }
    }
  };
  std::thread other([&] { store(1); });
  store(0);
  other.join();
  for (uint64_t line = 0; line < kLines; ++line) {
    const uint64_t most = std::max(taken[0][line], taken[1][line]);
    EXPECT_GE(most, 1U) << "line " << line;
    EXPECT_LE(most - std::min(taken[0][line], taken[1][line]), 1U) << "line " << line;
  }
}

TEST(CacheModelTest, LineUsedLeastRecentlyIsEvicted) {
  CacheModel cache(4 * CacheModel::kLineBytes, 2);  // two sets of two lines
  std::vector<uint64_t> evicted;
  for (const uint64_t line : {0, 2, 0, 4, 2, 1}) evicted.push_back(cache.Touch(line).evicted);
  constexpr uint64_t kNothing = CacheModel::kNoLine;
  EXPECT_THAT(evicted, ElementsAre(kNothing, kNothing, kNothing, 2, 0, kNothing));
  EXPECT_FALSE(cache.Touch(4).missed);
  EXPECT_TRUE(cache.Touch(0).missed);
}

TEST(CacheModelTest, WithoutSetsNothingIsEvicted) {
  CacheModel cache;
  std::vector<uint64_t> evicted;
  for (uint64_t line = 0; line < 1000; ++line) evicted.push_back(cache.Touch(line).evicted);
  EXPECT_THAT(evicted, Each(CacheModel::kNoLine));
}

}  // namespace
}  // namespace eris::numa_lab
