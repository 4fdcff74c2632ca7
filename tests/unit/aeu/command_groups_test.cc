#include "aeu/command_groups.h"

#include <gtest/gtest.h>

#include <iterator>
#include <vector>

namespace eris::aeu {
namespace {

using routing::CommandHeader;
using routing::CommandType;

CommandHeader Command(uint32_t slot, CommandType type) {
  CommandHeader command{.type = type, .object = {1}};
  command.slot = slot;
  return command;
}

TEST(CommandGroupsTest, GroupsBySlotAndTypeInOrderOfArrival) {
  const CommandHeader a = Command(0, CommandType::kLookup), b = Command(1, CommandType::kLookup),
                      c = Command(0, CommandType::kUpsert), d = Command(0, CommandType::kLookup);
  CommandGroups groups;
  EXPECT_TRUE(groups.empty());
  for (const CommandHeader* command : {&a, &b, &c, &d}) groups.Add(command);
  ASSERT_EQ(std::distance(groups.begin(), groups.end()), 3);
  EXPECT_EQ(groups.begin()[0].commands, (std::vector<const CommandHeader*>{&a, &d}));
  EXPECT_EQ(groups.begin()[1].commands, (std::vector<const CommandHeader*>{&b}));
  EXPECT_EQ(groups.begin()[2].commands, (std::vector<const CommandHeader*>{&c}));
  EXPECT_EQ(groups.begin()[2].type, CommandType::kUpsert);
  EXPECT_EQ(groups.begin()[1].slot, 1u);
}

TEST(CommandGroupsTest, ClearLeavesNothingBehind) {
  const CommandHeader a = Command(0, CommandType::kLookup), b = Command(1, CommandType::kErase);
  CommandGroups groups;
  groups.Add(&a);
  groups.Clear();
  EXPECT_TRUE(groups.empty());
  EXPECT_EQ(groups.begin(), groups.end());
  groups.Add(&b);
  ASSERT_EQ(std::distance(groups.begin(), groups.end()), 1);
  EXPECT_EQ(groups.begin()->commands, (std::vector<const CommandHeader*>{&b}));
}

TEST(CommandGroupsTest, IsFullAtItsBound) {
  CommandGroups groups;
  const CommandHeader a = Command(0, CommandType::kLookup), b = Command(1, CommandType::kLookup);
  for (uint32_t i = 0; i < kGroupedCommandsMax; ++i) {
    ASSERT_FALSE(groups.full());
    groups.Add(i % 2 == 0 ? &a : &b);
  }
  EXPECT_TRUE(groups.full());
  groups.Clear();
  EXPECT_FALSE(groups.full());
}

}  // namespace
}  // namespace eris::aeu
