// Runs the fuzzer's seeds, what it has ever found, and faults planted for it, without libFuzzer.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "storage/tree/tree_node.h"
#include "tests/fuzz/index_machine.h"
#include "tests/fuzz/index_seeds.h"
#include "tests/support/seed.h"

namespace eris::fuzz {
namespace {

absl::Status Replay(const std::string& hex) {
  const std::vector<uint8_t> bytes = BytesOfHex(hex);
  return RunIndexCommands(bytes.data(), bytes.size());
}

TEST(IndexFuzzTest, SeedsPassAndMeetEveryKindOfBlockAndEveryCommand) {
  Coverage met;
  for (const SeedCase& seed : SeedCases()) {
    EXPECT_EQ(RunIndexCommands(seed.commands, Plant::kNone, &met), absl::OkStatus()) << seed.name;
  }
  for (unsigned kind = 1; kind <= static_cast<unsigned>(storage::TreeNodeKind::k256); ++kind) {
    EXPECT_NE(met.kinds & 1u << kind, 0u) << "no block of kind " << kind;
  }
  for (unsigned kind = 0; kind < kCommandKinds; ++kind) {
    // Replacing shares its code with comparing.
    if (static_cast<CommandKind>(kind) == CommandKind::kReplaceIfPresent) continue;
    EXPECT_GT(met.done[kind], 0u) << "command " << kind;
  }
}

TEST(IndexFuzzTest, BytesAndCommandsAreTheSame) {
  for (const SeedCase& seed : SeedCases()) {
    const std::vector<uint8_t> bytes = EncodeCommands(seed.commands);
    EXPECT_EQ(DecodeCommands(bytes), seed.commands) << seed.name;
    EXPECT_EQ(BytesOfHex(HexOf(bytes)), bytes);
  }
}

// What a fuzzer begins with: bytes without sense.
TEST(IndexFuzzTest, AnyBytesAreACase) {
  const uint64_t number = test::Seed();
  SCOPED_TRACE(test::SeedText(number));
  std::mt19937_64 random(number);
  for (int i = 0; i < 200; ++i) {
    std::vector<uint8_t> bytes(random() % 500);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    ASSERT_EQ(RunIndexCommands(bytes.data(), bytes.size()), absl::OkStatus()) << HexOf(bytes);
  }
}

// The bytes must reach RunIndexCommands as the machine that the fuzzer runs, faults and all.
TEST(IndexFuzzTest, ReplayFindsAPlantedFault) {
  const std::vector<IndexCommand> commands = {
      {.kind = CommandKind::kUpsert, .count = 30},
      {.kind = CommandKind::kSplit, .family = KeyFamily::kExisting, .first = 10},
      {.kind = CommandKind::kAbsorb}};
  const std::vector<uint8_t> bytes = EncodeCommands(commands);
  EXPECT_EQ(RunIndexCommands(bytes.data(), bytes.size()), absl::OkStatus());
  const absl::Status found = RunIndexCommands(bytes.data(), bytes.size(), Plant::kLosesAKey);
  EXPECT_EQ(found.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(RunIndexCommands(bytes.data(), bytes.size(), Plant::kLeaksABlock).code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(Replay(HexOf(bytes)), absl::OkStatus());
}

// A split that is refused, of a partition whose forgotten rows could not be cut off before.
TEST(IndexFuzzTest, ARefusedSplitKeepsNoBlock) {
  EXPECT_EQ(Replay("0103000039000000"    // upsert of 57 keys
                   "10070000010e0000"    // lend
                   "11070000000000c0"    // conclude, without memory for the cut
                   "08030000000000cd"),  // split, refused at its third request
            absl::OkStatus());
}

}  // namespace
}  // namespace eris::fuzz
