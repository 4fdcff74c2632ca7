// Properties of partitions of an index, over adversarial keys: whatever commands come, the
// partitions hold what a std::map holds, are sound, and account for every byte, after each command.
// tests/fuzz/index_machine.h says what a command is and what is checked.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/tree/tree_node.h"
#include "tests/fuzz/index_command_gen.h"
#include "tests/fuzz/index_machine.h"
#include "tests/support/property.h"

namespace eris::fuzz {
namespace {

constexpr int kCases = 400;          // per family of keys
constexpr int kCommandsInCase = 80;  // the most

class IndexPartitionPropertyTest : public testing::TestWithParam<KeyFamily> {};

// What the cases have not met: every kind of command must have run, or they say little. Empty: all.
std::string NotMet(const Coverage& met) {
  for (unsigned kind = 0; kind < kCommandKinds; ++kind) {
    if (met.done[kind] == 0) return absl::StrCat("command ", kind, " was never run");
  }
  if (met.scan_forms != 0xffffu) return "not every form of scan";
  for (const CommandKind kind :
       {CommandKind::kUpsert, CommandKind::kInsertIfAbsent, CommandKind::kSplit,
        CommandKind::kAbsorb, CommandKind::kMoveChunks, CommandKind::kReload}) {
    const auto number = static_cast<unsigned>(kind);
    if (met.refused[number] == 0) {
      return absl::StrCat("command ", number, " was never refused memory");
    }
  }
  for (unsigned operation = 1; operation < 8; ++operation) {
    for (const auto state : {storage::KeyState::kAbsent, storage::KeyState::kPresent}) {
      if (met.states[operation][static_cast<unsigned>(state)] == 0) {
        return absl::StrCat("operation ", operation, " never met a key in state ",
                            static_cast<unsigned>(state));
      }
    }
  }
  return "";
}

TEST_P(IndexPartitionPropertyTest, PartitionsHoldWhatAMapHolds) {
  Coverage met;
  // Now and then something is missing: then there are more cases.
  for (uint64_t attempt = 0; attempt < 3; ++attempt) {
    const test::PropertyOptions options{
        .cases = kCases, .size = kCommandsInCase, .seed = test::Seed() + attempt};
    test::ExpectHolds(options, [&met] {
      const auto commands = *AnyCommands(GetParam());
      const absl::Status status = RunIndexCommands(commands, Plant::kNone, &met);
      if (!status.ok()) {
        RC_FAIL(std::string(status.message()) + "\nbytes: " + HexOf(EncodeCommands(commands)));
      }
    });
    if (HasFailure() || GetParam() != KeyFamily::kExisting || NotMet(met).empty()) return;
  }
  FAIL() << NotMet(met);
}

const char* const kFamilyTestNames[kKeyFamilies] = {
    "Dense", "Sparse", "Clustered", "OneByte", "ZerosAndOnes", "Extremes", "LongPrefix", "Mixed"};

INSTANTIATE_TEST_SUITE_P(AllKeys, IndexPartitionPropertyTest,
                         testing::Values(KeyFamily::kDense, KeyFamily::kSparse,
                                         KeyFamily::kClustered, KeyFamily::kOneByte,
                                         KeyFamily::kZerosAndOnes, KeyFamily::kExtremes,
                                         KeyFamily::kLongPrefix, KeyFamily::kExisting),
                         [](const auto& keys) {
                           return kFamilyTestNames[static_cast<unsigned>(keys.param)];
                         });

// Some ten thousand rows, most of which are erased in stretches. The rest lies scattered over the
// cache's spans, and is gathered while commands go on.
TEST(LargePartitionPropertyTest, WhatIsGatheredIsAsItWas) {
  constexpr unsigned kStays = 56;
  std::vector<IndexCommand> scattered;
  for (uint8_t place = 0; place < 6; ++place) {
    scattered.push_back({.kind = CommandKind::kUpsert,
                         .family = KeyFamily::kSparse,
                         .order = KeyOrder::kScattered,
                         .place = place,
                         .count = 255,
                         .scale = 2});
  }
  scattered.push_back({.kind = CommandKind::kReload, .detail = 1});  // full runs
  for (unsigned i = 0; i < 50; ++i) {
    scattered.push_back({.kind = CommandKind::kErase,
                         .family = KeyFamily::kExisting,
                         .first = static_cast<uint16_t>(i * kStays),
                         .count = 98,
                         .scale = 1});
  }
  test::ExpectHolds({.cases = 6, .size = 30}, [&scattered] {
    std::vector<IndexCommand> commands = scattered;
    const auto more = *AnyCommands(KeyFamily::kSparse);
    commands.insert(commands.end(), more.begin(), more.end());
    const absl::Status status = RunIndexCommands(commands);
    if (!status.ok()) RC_FAIL(std::string(status.message()));
  });
}

TEST(PropertyTest, OneThatDoesNotHoldIsAFailureWithItsSmallestCaseAndSeed) {
  const auto fails = [] {
    test::ExpectHolds({.cases = 100, .size = 100, .seed = 7},
                      [] { RC_ASSERT(*rc::gen::inRange(0, 1000) < 10); });
  };
  EXPECT_NONFATAL_FAILURE(fails(), "\n10\n");
  EXPECT_NONFATAL_FAILURE(fails(), "ERIS_SEED=7");
}

// --- the checks themselves: each planted fault is found, and shrunk to what it takes ---

struct Planted {
  const char* name;
  Plant plant;
};

class PlantedFaultTest : public testing::TestWithParam<Planted> {};

TEST_P(PlantedFaultTest, IsFoundAndShrunk) {
  size_t least = SIZE_MAX;
  const std::string found = test::Counterexample({.cases = 400, .size = kCommandsInCase}, [&least] {
    const auto commands = *AnyCommands(KeyFamily::kExisting);
    if (RunIndexCommands(commands, GetParam().plant).ok()) return;
    least = std::min(least, commands.size());
    RC_FAIL("a planted fault");
  });
  EXPECT_NE(found, "") << "not found; " << test::SeedText(test::Seed());
  // One to three will do; shrinking may miss the least.
  EXPECT_LE(least, 6u) << found;
}

INSTANTIATE_TEST_SUITE_P(Faults, PlantedFaultTest,
                         testing::Values(Planted{"LosesAKey", Plant::kLosesAKey},
                                         Planted{"LeaksABlock", Plant::kLeaksABlock},
                                         Planted{"WrongAnswer", Plant::kWrongAnswer},
                                         Planted{"WritesRefused", Plant::kWritesRefused},
                                         Planted{"ScanSkipsARow", Plant::kScanSkipsARow},
                                         Planted{"AggregateAddsTwice", Plant::kAggregateAddsTwice},
                                         Planted{"LosesRowOfChunk", Plant::kLosesRowOfChunk},
                                         Planted{"LosesRowTakenBack", Plant::kLosesRowTakenBack},
                                         Planted{"NeverForgets", Plant::kNeverForgets},
                                         Planted{"RehomeLeaksABlock", Plant::kRehomeLeaksABlock}),
                         [](const auto& planted) { return planted.param.name; });

}  // namespace
}  // namespace eris::fuzz
