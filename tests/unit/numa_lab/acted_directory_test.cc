// The access counter's directory of NumaNodes that a program acts for: known transfers, and a fault
// that they find.
#include "tests/numa/plugin/acted_directory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace eris::numa_lab {
namespace {

using enum Transfer;

constexpr uint32_t kOne = 0, kOther = 63;

// The first step that came out wrong; empty: none.
template <DirectoryFault fault>
std::string WrongStep() {
  ActedDirectory<fault> directory(2);
  for (const uint64_t line : {0, 1}) {
    if (directory.Access(kOne, line, true) != kNone) return "store to a line nobody has had";
    if (directory.Access(kOne, line, true) != kNone) return "second store";
    if (directory.Access(kOne, line, false) != kNone) return "load of an own line";
    for (int round = 0; round < 3; ++round) {
      if (directory.Access(kOther, line, false) != kFarCache) return "load of another's line";
      if (directory.Access(kOther, line, false) != kNone) return "second load";
      if (directory.Access(kOther, line, true) != kUpgradeFar) return "store to a copy";
      if (directory.Access(kOther, line, true) != kNone) return "second store to a copy";
      if (directory.Access(kOne, line, true) != kFarCache) return "store without a copy";
    }
  }
  return "";
}

TEST(ActedDirectoryTest, KnownTransfersAreToldExactly) {
  EXPECT_EQ(WrongStep<DirectoryFault::kNone>(), "");
}

TEST(ActedDirectoryTest, KeptCopiesAreFound) {
  EXPECT_NE(WrongStep<DirectoryFault::kKeepCopies>(), "");
}

TEST(ActedDirectoryTest, LoadedLineIsOfAllThatLoadedIt) {
  ActedDirectory<> directory(1);
  for (uint32_t node = 0; node < 64; ++node) {
    EXPECT_EQ(directory.Access(node, 0, false), node == 0 ? kNone : kFarCache);
  }
  EXPECT_EQ(directory.Access(5, 0, true), kUpgradeFar);
  for (uint32_t node = 0; node < 64; ++node) {
    EXPECT_EQ(directory.Access(node, 0, false), node == 5 ? kNone : kFarCache);
  }
}

}  // namespace
}  // namespace eris::numa_lab
