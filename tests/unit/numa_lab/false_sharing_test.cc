// The access counter's monitor of false sharing, with accesses of which it is known whether a line
// was taken for nothing.
#include "tests/numa/plugin/false_sharing.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "tests/numa/plugin/line_directory.h"

namespace eris::numa_lab {
namespace {

constexpr uint64_t kSharedLines = 4;
constexpr uint64_t kFirstWord = 0;
constexpr uint64_t kSecondWord = 8;

// Four cpus on one NumaNode, with the monitor and a directory of lines, as in the counter. A
// cpu's phase is its number.
class FalseSharingTest : public ::testing::Test {
 protected:
  void Load(uint8_t cpu, uint64_t offset, uint64_t line = 0) { Access(cpu, offset, line, false); }
  void Store(uint8_t cpu, uint64_t offset, uint64_t line = 0) { Access(cpu, offset, line, true); }
  uint64_t Takes(uint8_t cpu) const {
    uint64_t all = 0;
    for (const auto& [place, count] : taken_[cpu].CountFalse()) all += count;
    return all;
  }

 private:
  void Access(uint8_t cpu, uint64_t offset, uint64_t line, bool store) {
    const LineAccess moved = directory_.Access(cpu, line, 0, store);
    monitor_.Access(cpu, taken_[cpu], line, BytesOfLine(offset, 8), store, moved, {cpu, 0, 0});
  }

  LineDirectory<> directory_{kSharedLines, {0, 0, 0, 0}};
  FalseSharing monitor_{kSharedLines};
  std::array<FalseSharing::Taken, 4> taken_;
};

TEST(BytesOfLineTest, AreThoseOfTheLineAlone) {
  EXPECT_EQ(BytesOfLine(64, 8), 0xffU);
  EXPECT_EQ(BytesOfLine(65, 1), 2U);
  EXPECT_EQ(BytesOfLine(64, 64), ~uint64_t{0});
  EXPECT_EQ(BytesOfLine(124, 8), uint64_t{0xf} << 60);
}

TEST_F(FalseSharingTest, WordThatIsReadWhereItWasWrittenIsShared) {
  for (int round = 0; round < 10; ++round) {
    Store(0, kFirstWord);
    Load(1, kFirstWord);
  }
  EXPECT_EQ(Takes(0), 0U);
  EXPECT_EQ(Takes(1), 0U);
}

TEST_F(FalseSharingTest, WordsOfTwoWritersInOneLineAreTakenForNothing) {
  Store(0, kFirstWord);
  for (int round = 0; round < 10; ++round) {
    Store(1, kSecondWord);
    Store(0, kFirstWord);
  }
  EXPECT_EQ(Takes(0), 10U);
  EXPECT_EQ(Takes(1), 10U);
}

TEST_F(FalseSharingTest, LineWhoseWrittenWordIsReadLaterIsShared) {
  for (int round = 0; round < 10; ++round) {
    Store(0, kFirstWord);
    Store(1, kSecondWord);
    Load(1, kFirstWord);
    Load(0, kSecondWord);
  }
  EXPECT_EQ(Takes(0), 0U);
  EXPECT_EQ(Takes(1), 0U);
}

TEST_F(FalseSharingTest, TakerThatReadsTheWordOnlyAfterTheLineWasWrittenAnewHadTakenItForNothing) {
  Store(0, kFirstWord);
  Load(1, kSecondWord);  // for nothing
  Store(0, kFirstWord);
  Load(1, kFirstWord);  // another take
  EXPECT_EQ(Takes(1), 1U);
}

TEST_F(FalseSharingTest, TakeEndsAlsoWhereTheLineIsTakenAnewFromACleanCopy) {
  Store(0, kFirstWord);
  Load(1, kSecondWord);  // for nothing
  Store(0, kFirstWord);
  Load(2, kFirstWord);
  Load(1, kFirstWord);  // another take, of a clean line
  EXPECT_EQ(Takes(1), 1U);
}

TEST_F(FalseSharingTest, WriterOfTheWholeLineIsABlindSpot) {
  for (uint64_t word = 0; word < 64; word += 8) Store(0, word);
  Load(1, kSecondWord);
  Store(0, kFirstWord);
  Load(1, kSecondWord);
  EXPECT_EQ(Takes(1), 0U);
}

TEST_F(FalseSharingTest, SecondReaderOfACleanLineHasTakenItFromNoWriter) {
  Store(0, kFirstWord);
  Load(1, kSecondWord);
  Load(2, kSecondWord);
  EXPECT_EQ(Takes(1), 1U);
  EXPECT_EQ(Takes(2), 0U);
  Load(1, kFirstWord);  // the other reader has changed nothing
  EXPECT_EQ(Takes(1), 0U);
}

TEST_F(FalseSharingTest, LinesOfCpusOfTheirOwnAreNotTaken) {
  for (int round = 0; round < 10; ++round) {
    for (uint8_t cpu = 0; cpu < 4; ++cpu) {
      Store(cpu, kFirstWord, cpu);
      Load(cpu, kSecondWord, cpu);
    }
  }
  for (uint8_t cpu = 0; cpu < 4; ++cpu) EXPECT_EQ(Takes(cpu), 0U);
}

TEST(FalseSharingPlaceTest, IsThatOfTheTake) {
  LineDirectory<> directory(kSharedLines, {0, 0});
  FalseSharing monitor(kSharedLines);
  std::array<FalseSharing::Taken, 2> taken;
  directory.Access(0, 0, 0, true);
  monitor.Access(0, taken[0], 0, BytesOfLine(0, 8), true, {}, {1, 10, 20});
  monitor.Access(1, taken[1], 0, BytesOfLine(8, 8), false, directory.Access(1, 0, 0, false),
                 {2, 30, 40});
  monitor.Access(1, taken[1], 0, BytesOfLine(16, 8), false, {}, {3, 50, 60});
  ASSERT_EQ(taken[1].CountFalse().size(), 1U);
  EXPECT_EQ(taken[1].CountFalse().begin()->first, (FalseSharing::Place{2, 30, 40}));
}

}  // namespace
}  // namespace eris::numa_lab
