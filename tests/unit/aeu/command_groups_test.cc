#include "aeu/command_groups.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/seed.h"

namespace eris::aeu {
namespace {

using routing::CommandHeader;
using routing::CommandType;

CommandHeader Command(uint32_t slot, CommandType type, uint8_t lane = 0) {
  return {.type = type, .lane = lane, .slot = slot, .object = {1}};
}

TEST(CommandGroupsTest, GroupsBySlotAndTypeInOrderOfArrival) {
  const CommandHeader a = Command(0, CommandType::kLookup), b = Command(1, CommandType::kLookup),
                      c = Command(0, CommandType::kUpsert, 1), d = Command(0, CommandType::kLookup);
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

// Every command runs after those that its Port has sent before, and groups are as large as that
// lets them be.
TEST(CommandGroupsTest, CommandsOfOnePortKeepTheirOrder) {
  const CommandHeader a = Command(0, CommandType::kUpsert, 3),
                      b = Command(0, CommandType::kErase, 3),
                      other = Command(0, CommandType::kUpsert, 4),
                      elsewhere = Command(1, CommandType::kUpsert, 3),
                      c = Command(0, CommandType::kUpsert, 3),
                      d = Command(0, CommandType::kErase, 4);
  CommandGroups groups;
  for (const CommandHeader* one : {&a, &b, &other, &elsewhere, &c, &d}) groups.Add(one);
  std::vector<std::vector<const CommandHeader*>> got;
  for (const CommandGroup& group : groups) got.push_back(group.commands);
  // `c` must run after `b`. `d` must run after `other`, so it may join the group of `b`.
  EXPECT_EQ(got, (std::vector<std::vector<const CommandHeader*>>{
                     {&a, &other}, {&b, &d}, {&elsewhere}, {&c}}));
}

TEST(CommandGroupsTest, RandomCommandsOfEachPortAndObjectRunInTheOrderOfArrival) {
  std::mt19937_64 random(test::Seed());
  const CommandType types[] = {CommandType::kLookup, CommandType::kUpsert, CommandType::kErase};
  for (int round = 0; round < 50; ++round) {
    std::vector<CommandHeader> commands;
    for (uint32_t i = 0; i < kGroupedCommandsMax; ++i) {
      const auto slot = static_cast<uint32_t>(random() % 3);
      const auto lane = static_cast<uint8_t>(random() % 5 * 60);
      commands.push_back(Command(slot, types[random() % 3], lane));
    }
    CommandGroups groups;
    for (const CommandHeader& one : commands) groups.Add(&one);
    std::map<std::pair<uint32_t, uint8_t>, const CommandHeader*> last;
    size_t seen = 0;
    for (const CommandGroup& group : groups) {
      for (const CommandHeader* one : group.commands) {
        const CommandHeader*& before = last[{one->slot, one->lane}];
        ASSERT_TRUE(before == nullptr || before < one);
        before = one;
        ++seen;
      }
    }
    EXPECT_EQ(seen, commands.size());
    groups.Clear();
  }
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
