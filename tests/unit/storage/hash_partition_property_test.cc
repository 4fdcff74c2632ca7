// Properties of partitions of a hash object, over adversarial keys: whatever commands come, also
// while rows are prepared to leave, the partitions hold what a std::map holds and are sound, after
// each command. tests/fuzz/hash_machine.h says what a command is.
#include <gtest/gtest.h>

#include <string>

#include "tests/fuzz/hash_machine.h"
#include "tests/fuzz/index_command_gen.h"
#include "tests/support/property.h"

namespace eris::fuzz {
namespace {

constexpr int kCases = 200;  // per family of keys
constexpr int kCommandsInCase = 80;

class HashPartitionPropertyTest : public testing::TestWithParam<KeyFamily> {};

TEST_P(HashPartitionPropertyTest, PartitionsHoldWhatAMapHolds) {
  Coverage met;
  test::ExpectHolds({.cases = kCases, .size = kCommandsInCase}, [&met] {
    const auto commands = *AnyCommands(GetParam());
    const absl::Status status = RunHashCommands(commands, Plant::kNone, &met);
    if (!status.ok()) RC_FAIL(std::string(status.message()));
  });
  if (HasFailure() || GetParam() != KeyFamily::kExisting) return;
  for (const CommandKind kind :
       {CommandKind::kUpsert, CommandKind::kScan, CommandKind::kSplit, CommandKind::kAbsorb,
        CommandKind::kHandOver, CommandKind::kMoveChunks, CommandKind::kReload, CommandKind::kLend,
        CommandKind::kConclude}) {
    EXPECT_GT(met.done[static_cast<unsigned>(kind)], 0u) << static_cast<unsigned>(kind);
  }
  EXPECT_GT(met.refused[static_cast<unsigned>(CommandKind::kUpsert)], 0u);
}

INSTANTIATE_TEST_SUITE_P(AllKeys, HashPartitionPropertyTest,
                         testing::Values(KeyFamily::kDense, KeyFamily::kSparse,
                                         KeyFamily::kClustered, KeyFamily::kOneByte,
                                         KeyFamily::kZerosAndOnes, KeyFamily::kExtremes,
                                         KeyFamily::kLongPrefix, KeyFamily::kExisting));

TEST(HashPartitionPlantedFaultTest, EachIsFound) {
  for (const Plant plant :
       {Plant::kLosesRowOfChunk, Plant::kLosesRowTakenBack, Plant::kNeverForgets}) {
    EXPECT_NE(test::Counterexample({.cases = 400, .size = kCommandsInCase},
                                   [plant] {
                                     const auto commands = *AnyCommands(KeyFamily::kExisting);
                                     RC_ASSERT(RunHashCommands(commands, plant).ok());
                                   }),
              "")
        << static_cast<int>(plant);
  }
}

}  // namespace
}  // namespace eris::fuzz
