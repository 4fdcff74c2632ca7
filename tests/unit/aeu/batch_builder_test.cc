#include "aeu/batch_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "storage/index/index_partition.h"
#include "tests/support/aeu_lab.h"

namespace eris::aeu {
namespace {

using routing::CommandHeader;
using routing::CommandType;
using storage::Key;
using storage::Range;
using test::TestReply;

constexpr uint64_t kLargestKey = std::numeric_limits<uint64_t>::max();

class BatchBuilderTest : public testing::Test {
 protected:
  BatchBuilderTest()
      : manager_({1}, memory_.pool),
        route_(0, {1},
               std::make_unique<routing::RangeTable>(1, std::vector<uint64_t>{0},
                                                     std::vector<AeuId>{{0}})),
        slot_({1}, route_, *manager_.NewCache()) {}

  static std::vector<uint64_t> KeysOf(const OtherKeys& others) {
    return {others.keys.begin(), others.keys.end()};
  }
  void Own(uint64_t lo, std::optional<uint64_t> hi) {
    const Range range = Range::FromPublic({lo, hi});
    auto partition = storage::IndexPartition::Create(range, slot_.cache());
    ASSERT_TRUE(partition.ok());
    slot_.ranges().push_back({*std::move(partition), std::make_shared<PartitionLoad>(range)});
  }
  // A command as it stands in an incoming buffer.
  const CommandHeader* Command(CommandType type, const std::vector<uint64_t>& keys,
                               TestReply& reply, uint8_t key_parts = 1, uint64_t version = 0) {
    const auto count = static_cast<uint32_t>(keys.size());
    const size_t bytes = routing::KeyedRecordBytes(type, count, 0, key_parts);
    records_.push_back(std::make_unique<uint64_t[]>(bytes / 8));
    auto* header =
        new (records_.back().get()) CommandHeader{.size_bytes = static_cast<uint32_t>(bytes),
                                                  .type = type,
                                                  .key_parts = key_parts,
                                                  .object = {1},
                                                  .table_version = version,
                                                  .count = count};
    header->context = &reply;
    uint64_t* words = records_.back().get() + sizeof(CommandHeader) / 8;
    for (uint32_t i = 0; i < count; ++i) words[i] = keys[i];
    words += count;
    if (routing::HasValues(type)) {
      for (uint32_t i = 0; i < count; ++i) words[i] = 1000 + i;
      words += count;
    }
    if (routing::HasExpected(type)) {
      for (uint32_t i = 0; i < count; ++i) words[i] = 2000 + i;
      words += count;
    }
    if (key_parts == 2) {
      for (uint32_t i = 0; i < count; ++i) words[i] = 3000 + i;
      words += count;
    }
    for (uint32_t i = 0; i < count; ++i) reinterpret_cast<uint32_t*>(words)[i] = 50 + i;
    return header;
  }
  static std::vector<uint64_t> Keys(const storage::BatchPart& part) {
    return {part.keys, part.keys + part.count};
  }
  static std::vector<uint32_t> Positions(const storage::BatchPart& part) {
    return {part.positions, part.positions + part.count};
  }

  test::LabMemory memory_;
  memory::MemoryManager manager_;
  routing::ObjectRoute route_;
  ObjectSlot slot_;
  BatchBuilder builder_;
  std::vector<std::unique_ptr<uint64_t[]>> records_;
};

TEST_F(BatchBuilderTest, KeysInsideTheOnlyRangeAreUsedWhereTheyStand) {
  Own(10, 20);
  TestReply reply(0);
  const CommandHeader* command = Command(CommandType::kLookup, {10, 19, 15}, reply);
  builder_.Build(slot_, std::vector{command}, 3);
  ASSERT_EQ(builder_.PartsOf(0).size(), 1u);
  EXPECT_EQ(builder_.PartsOf(0)[0].keys, routing::KeyedSegmentOf(command).keys);
  EXPECT_EQ(builder_.PartsOf(0)[0].states_out, reply.states);
  EXPECT_TRUE(builder_.others().empty());
}

TEST_F(BatchBuilderTest, KeysJustOutsideARangeAreSetApart) {
  Own(10, 20);
  TestReply reply(0);
  const CommandHeader* command =
      Command(CommandType::kUpsert, {9, 10, 20, kLargestKey, 0, 19}, reply);
  builder_.Build(slot_, std::vector{command}, 6);
  ASSERT_EQ(builder_.PartsOf(0).size(), 1u);
  const storage::BatchPart& part = builder_.PartsOf(0)[0];
  EXPECT_EQ(Keys(part), (std::vector<uint64_t>{10, 19}));
  EXPECT_EQ(Positions(part), (std::vector<uint32_t>{51, 55}));
  EXPECT_EQ(part.values_in[1], 1005u);
  ASSERT_EQ(builder_.others().size(), 1u);
  const OtherKeys& other = builder_.others()[0];
  EXPECT_EQ(other.command, command);
  EXPECT_EQ(std::vector<uint64_t>(other.keys.begin(), other.keys.end()),
            (std::vector<uint64_t>{9, 20, kLargestKey, 0}));
  EXPECT_EQ(std::vector<uint64_t>(other.values.begin(), other.values.end()),
            (std::vector<uint64_t>{1000, 1002, 1003, 1004}));
  EXPECT_EQ(std::vector<uint32_t>(other.positions.begin(), other.positions.end()),
            (std::vector<uint32_t>{50, 52, 53, 54}));
}

TEST_F(BatchBuilderTest, ExpectedValuesGoWithTheirKeys) {
  Own(10, 20);
  TestReply reply(0);
  const CommandHeader* inside = Command(CommandType::kCompareAndSet, {15, 12}, reply);
  const CommandHeader* both = Command(CommandType::kCompareAndSet, {9, 10, 20, 19}, reply);
  builder_.Build(slot_, std::vector{inside, both}, 6);
  ASSERT_EQ(builder_.PartsOf(0).size(), 2u);
  EXPECT_EQ(builder_.PartsOf(0)[0].expected, routing::KeyedSegmentOf(inside).expected);
  EXPECT_EQ(builder_.PartsOf(0)[0].expected[1], 2001u);
  const storage::BatchPart& part = builder_.PartsOf(0)[1];
  EXPECT_EQ(Keys(part), (std::vector<uint64_t>{10, 19}));
  EXPECT_EQ(part.values_in[1], 1003u);
  EXPECT_EQ(part.expected[0], 2001u);
  EXPECT_EQ(part.expected[1], 2003u);
  ASSERT_EQ(builder_.others().size(), 1u);
  const OtherKeys& other = builder_.others()[0];
  EXPECT_EQ(std::vector<uint64_t>(other.values.begin(), other.values.end()),
            (std::vector<uint64_t>{1000, 1002}));
  EXPECT_EQ(std::vector<uint64_t>(other.expected.begin(), other.expected.end()),
            (std::vector<uint64_t>{2000, 2002}));
}

TEST_F(BatchBuilderTest, SecondPartsGoWithTheirFirstsIntoEachRangeAndAway) {
  Own(10, 20);
  Own(20, 30);
  for (const CommandType type :
       {CommandType::kLookup, CommandType::kUpsert, CommandType::kCompareAndSet}) {
    TestReply one(0), two(0);
    const std::vector commands{Command(type, {25, 9, 10, 19, 20}, one, 2),
                               Command(type, {29, 11, 30}, two, 2)};
    builder_.Build(slot_, commands, 8);
    const auto seconds = [](const storage::BatchPart& part) {
      return std::vector<uint64_t>(part.seconds, part.seconds + part.count);
    };
    ASSERT_EQ(builder_.PartsOf(0).size(), 2u);
    EXPECT_EQ(Keys(builder_.PartsOf(0)[0]), (std::vector<uint64_t>{10, 19}));
    EXPECT_EQ(seconds(builder_.PartsOf(0)[0]), (std::vector<uint64_t>{3002, 3003}));
    EXPECT_EQ(seconds(builder_.PartsOf(0)[1]), (std::vector<uint64_t>{3001}));
    ASSERT_EQ(builder_.PartsOf(1).size(), 2u);
    EXPECT_EQ(seconds(builder_.PartsOf(1)[0]), (std::vector<uint64_t>{3000, 3004}));
    EXPECT_EQ(Positions(builder_.PartsOf(1)[0]), (std::vector<uint32_t>{50, 54}));
    if (routing::HasExpected(type)) {
      EXPECT_EQ(builder_.PartsOf(1)[0].expected[1], 2004u);
    }
    ASSERT_EQ(builder_.others().size(), 2u);
    const OtherKeys& other = builder_.others()[0];
    EXPECT_EQ(std::vector<uint64_t>(other.keys.begin(), other.keys.end()),
              std::vector<uint64_t>{9});
    EXPECT_EQ(std::vector<uint64_t>(other.seconds.begin(), other.seconds.end()),
              std::vector<uint64_t>{3001});
    EXPECT_EQ(builder_.others()[1].seconds[0], 3002u);
  }
}

TEST_F(BatchBuilderTest, SecondPartsOfACommandInPlaceAreItsOwn) {
  Own(10, 20);
  TestReply reply(0);
  const CommandHeader* wide = Command(CommandType::kErase, {10, 19}, reply, 2);
  builder_.Build(slot_, std::vector{wide}, 2);
  EXPECT_EQ(builder_.PartsOf(0)[0].seconds, routing::KeyedSegmentOf(wide).seconds);
  EXPECT_EQ(builder_.PartsOf(0)[0].seconds[1], 3001u);
  // A builder that has seen second parts gives none to commands without.
  const CommandHeader* narrow = Command(CommandType::kErase, {9, 19}, reply);
  builder_.Build(slot_, std::vector{narrow}, 2);
  EXPECT_EQ(builder_.PartsOf(0)[0].seconds, nullptr);
  EXPECT_TRUE(builder_.others()[0].seconds.empty());
}

TEST_F(BatchBuilderTest, OneKeyOutsideIsEnough) {
  Own(10, 20);
  for (const uint64_t outside :
       {uint64_t{0}, uint64_t{9}, uint64_t{20}, uint64_t{21}, kLargestKey}) {
    TestReply reply(0);
    const CommandHeader* command = Command(CommandType::kLookup, {10, outside, 19}, reply);
    builder_.Build(slot_, std::vector{command}, 3);
    ASSERT_EQ(builder_.others().size(), 1u) << outside;
    EXPECT_EQ(builder_.others()[0].keys[0], outside);
    EXPECT_EQ(Keys(builder_.PartsOf(0)[0]), (std::vector<uint64_t>{10, 19}));
  }
}

TEST_F(BatchBuilderTest, TheLastKeyOfTheKeySpaceLiesInARangeWithoutAnEnd) {
  Own(10, std::nullopt);
  TestReply reply(0);
  const CommandHeader* command = Command(CommandType::kLookup, {kLargestKey, 10}, reply);
  builder_.Build(slot_, std::vector{command}, 2);
  EXPECT_EQ(builder_.PartsOf(0).size(), 1u);
  EXPECT_TRUE(builder_.others().empty());
}

TEST_F(BatchBuilderTest, AnEmptyRangeTakesNoKey) {
  for (const uint64_t at : {uint64_t{0}, uint64_t{50}}) {
    slot_.ranges().clear();
    Own(at, at);
    TestReply reply(0);
    const CommandHeader* command =
        Command(CommandType::kLookup, {0, 49, 50, 51, kLargestKey}, reply);
    builder_.Build(slot_, std::vector{command}, 5);
    EXPECT_TRUE(builder_.PartsOf(0).empty());
    ASSERT_EQ(builder_.others().size(), 1u);
    EXPECT_EQ(builder_.others()[0].keys.size(), 5u);
  }
}

TEST_F(BatchBuilderTest, KeysInsideOneOfSeveralRangesAreUsedWhereTheyStand) {
  Own(0, 10);
  Own(10, 10);  // keeps old rows alone
  Own(10, 20);
  Own(30, std::nullopt);
  TestReply reply(0);
  const std::vector commands{Command(CommandType::kLookup, {9, 0}, reply),
                             Command(CommandType::kLookup, {10, 19, 12}, reply),
                             Command(CommandType::kLookup, {kLargestKey, 30}, reply)};
  builder_.Build(slot_, commands, 7);
  const std::vector<uint32_t> ranges{0, 2, 3};
  ASSERT_TRUE(
      std::equal(ranges.begin(), ranges.end(), builder_.ranges().begin(), builder_.ranges().end()));
  for (size_t i = 0; i < ranges.size(); ++i) {
    ASSERT_EQ(builder_.PartsOf(ranges[i]).size(), 1u);
    EXPECT_EQ(builder_.PartsOf(ranges[i])[0].keys, routing::KeyedSegmentOf(commands[i]).keys);
  }
  EXPECT_TRUE(builder_.others().empty());
}

TEST_F(BatchBuilderTest, KeysUnderTheStubAreApart) {
  Own(10, 20);
  Own(30, 40);
  slot_.SetStub(Stub{.range = Range::FromPublic({20, 30}), .target = {7}, .version = 1});
  TestReply reply(0);
  const std::vector commands{
      Command(CommandType::kUpsert, {19, 20, 30, 29, 40, 0, kLargestKey}, reply),
      Command(CommandType::kUpsert, {25, 21}, reply), Command(CommandType::kUpsert, {50}, reply)};
  builder_.Build(slot_, commands, 10);
  const auto others = builder_.others();
  ASSERT_EQ(others.size(), 4u);
  EXPECT_EQ(others[0].command, commands[0]);
  EXPECT_FALSE(others[0].send_on);
  EXPECT_EQ(KeysOf(others[0]), (std::vector<uint64_t>{40, 0, kLargestKey}));
  EXPECT_EQ(others[1].command, commands[0]);
  EXPECT_TRUE(others[1].send_on);
  EXPECT_EQ(KeysOf(others[1]), (std::vector<uint64_t>{20, 29}));
  EXPECT_EQ(others[1].values[1], 1003u);
  EXPECT_EQ(others[1].positions[1], 53u);
  EXPECT_TRUE(others[2].send_on);
  EXPECT_EQ(KeysOf(others[2]), (std::vector<uint64_t>{25, 21}));
  EXPECT_FALSE(others[3].send_on);
  EXPECT_EQ(Keys(builder_.PartsOf(0)[0]), std::vector<uint64_t>{19});
  EXPECT_EQ(Keys(builder_.PartsOf(1)[0]), std::vector<uint64_t>{30});
  slot_.SetStub(std::nullopt);
  builder_.Build(slot_, std::vector{commands[1]}, 2);
  ASSERT_EQ(builder_.others().size(), 1u);
  EXPECT_FALSE(builder_.others()[0].send_on);
}

// By the version at which the range left, the target has it already.
TEST_F(BatchBuilderTest, AStubTakesCommandsOfOlderTablesAlone) {
  slot_.SetStub(Stub{.range = Range::FromPublic({20, 30}), .target = {7}, .version = 5});
  TestReply reply(0);
  for (const uint64_t version : {4, 5, 6}) {
    const CommandHeader* command =
        Command(CommandType::kLookup, {20, 29}, reply, /*key_parts=*/1, version);
    builder_.Build(slot_, std::vector{command}, 2);
    ASSERT_EQ(builder_.others().size(), 1u);
    EXPECT_EQ(builder_.others()[0].send_on, version < 5);
  }
}

// What has been sent by a table in which the keys were another AEU's since.
TEST_F(BatchBuilderTest, KeysTakenInByANewerTableAreApart) {
  Own(10, 40);
  slot_.history().Reserve();
  slot_.history().TookIn(Range::FromPublic({20, 30}), 5);
  TestReply reply(0);
  for (const uint64_t version : {4, 5, 6}) {
    const CommandHeader* command =
        Command(CommandType::kUpsert, {19, 20, 29, 30}, reply, /*key_parts=*/1, version);
    builder_.Build(slot_, std::vector{command}, 4);
    ASSERT_EQ(builder_.PartsOf(0).size(), 1u);
    if (version >= 5) {
      EXPECT_TRUE(builder_.others().empty());
      EXPECT_EQ(builder_.PartsOf(0)[0].keys, routing::KeyedSegmentOf(command).keys);
      continue;
    }
    EXPECT_EQ(Keys(builder_.PartsOf(0)[0]), (std::vector<uint64_t>{19, 30}));
    ASSERT_EQ(builder_.others().size(), 1u);
    EXPECT_EQ(KeysOf(builder_.others()[0]), (std::vector<uint64_t>{20, 29}));
    EXPECT_FALSE(builder_.others()[0].send_on);
  }
  // Given away again: what is older than when they came is not sent on either.
  slot_.ranges().clear();
  slot_.SetStub(Stub{.range = Range::FromPublic({10, 40}), .target = {7}, .version = 8});
  const CommandHeader* old =
      Command(CommandType::kUpsert, {19, 20, 29, 30}, reply, /*key_parts=*/1, 4);
  builder_.Build(slot_, std::vector{old}, 4);
  ASSERT_EQ(builder_.others().size(), 2u);
  EXPECT_EQ(KeysOf(builder_.others()[0]), (std::vector<uint64_t>{20, 29}));
  EXPECT_FALSE(builder_.others()[0].send_on);
  EXPECT_EQ(KeysOf(builder_.others()[1]), (std::vector<uint64_t>{19, 30}));
  EXPECT_TRUE(builder_.others()[1].send_on);
}

// The slot has fewer ranges than it had for the group before, or more.
TEST_F(BatchBuilderTest, RangesMayComeAndGoBetweenGroups) {
  TestReply reply(0);
  for (const uint64_t ranges : {1, 5, 2, 0, 3}) {
    slot_.ranges().clear();
    for (uint64_t i = 0; i < ranges; ++i) Own(10 * i, 10 * i + 10);
    const CommandHeader* command = Command(CommandType::kLookup, {5, 15, 25, 35, 45, 55}, reply);
    builder_.Build(slot_, std::vector{command}, 6);
    EXPECT_EQ(builder_.ranges().size(), ranges);
    for (uint64_t i = 0; i < ranges; ++i) {
      EXPECT_EQ(Keys(builder_.PartsOf(i)[0]), std::vector<uint64_t>{10 * i + 5});
    }
    EXPECT_EQ(builder_.others()[0].keys.size(), 6 - ranges);
  }
}

TEST_F(BatchBuilderTest, SeveralCommandsAndRangesKeepTheirOrder) {
  Own(0, 10);
  Own(10, 20);
  Own(30, std::nullopt);
  TestReply one(0), two(0);
  const std::vector commands{Command(CommandType::kUpsert, {12, 3, 31, 25, 4}, one),
                             Command(CommandType::kUpsert, {5, 13}, two)};
  // A builder that has been used before holds what it borrowed then.
  builder_.Build(slot_, std::vector{commands[1]}, 2);
  builder_.Build(slot_, commands, 7);
  ASSERT_EQ(builder_.PartsOf(0).size(), 2u);
  EXPECT_EQ(Keys(builder_.PartsOf(0)[0]), (std::vector<uint64_t>{3, 4}));
  EXPECT_EQ(Keys(builder_.PartsOf(0)[1]), (std::vector<uint64_t>{5}));
  ASSERT_EQ(builder_.PartsOf(1).size(), 2u);
  EXPECT_EQ(Keys(builder_.PartsOf(1)[0]), (std::vector<uint64_t>{12}));
  EXPECT_EQ(Keys(builder_.PartsOf(1)[1]), (std::vector<uint64_t>{13}));
  ASSERT_EQ(builder_.PartsOf(2).size(), 1u);
  EXPECT_EQ(Positions(builder_.PartsOf(2)[0]), (std::vector<uint32_t>{52}));
  ASSERT_EQ(builder_.others().size(), 1u);
  EXPECT_EQ(builder_.others()[0].keys[0], 25u);
}

}  // namespace
}  // namespace eris::aeu
