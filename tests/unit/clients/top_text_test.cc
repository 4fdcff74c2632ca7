#include "clients/cli/watching/top_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace eris::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TopSample SampleAt(int seconds, uint64_t keys, uint64_t busy_ns) {
  TopSample sample;
  sample.time = absl::FromUnixSeconds(1000 + seconds);
  sample.server.version = "1.2";
  sample.server.calls = keys / 10;
  sample.stats.aeus.resize(2);
  for (uint32_t i = 0; i < 2; ++i) {
    AeuStats& aeu = sample.stats.aeus[i];
    aeu.id = AeuId{i};
    aeu.numa_node = NumaNodeId{i};
    aeu.cpu = static_cast<int32_t>(i) + 4;
    aeu.keys = keys;
    aeu.busy_ns = busy_ns;
    NumaNodeStats numa_node;
    numa_node.id = NumaNodeId{i};
    numa_node.keys_sent_to = {keys, 3 * keys};
    sample.stats.numa_nodes.push_back(numa_node);
  }
  for (uint64_t i = 0; i < 30; ++i) {
    ObjectInfo object;
    object.name = absl::StrCat("object", i);
    object.memory_bytes = i << 20;
    object.keys = i;
    sample.stats.objects.push_back(object);
  }
  sample.balance.status.objects.push_back({.object = "object29", .imbalance = 0.25, .loads = {}});
  return sample;
}

TEST(TopTextTest, RatesAreThoseBetweenTheSamples) {
  const TopSample before = SampleAt(0, 1000, 0);
  const TopSample now = SampleAt(2, 5000, 1'000'000'000);
  const std::string text = TopText(before, now);
  EXPECT_THAT(text, AllOf(HasSubstr("eris 1.2"), HasSubstr("200 calls/s"), HasSubstr("4000 keys/s"),
                          HasSubstr("1.0 of 2 AEUs busy"), HasSubstr("50 %"), HasSubstr("2000"),
                          HasSubstr("TO NUMANODE 1"), HasSubstr("6000")));
  EXPECT_THAT(text, AllOf(HasSubstr("object29"), HasSubstr("0.25"), HasSubstr("object10"),
                          Not(HasSubstr("object9 ")), HasSubstr("and 10 objects")));
  const std::string json = TopJson(before, now).Dump();
  EXPECT_THAT(json, AllOf(HasSubstr("\"keys_per_s\""), HasSubstr("\"object29\"")));
}

TEST(TopTextTest, AServerThatWasStartedAgainCountsFromItsStart) {
  EXPECT_THAT(TopText(SampleAt(0, 5000, 9), SampleAt(1, 1000, 0)), HasSubstr("2000 keys/s"));
}

TEST(TopTextTest, SamplesOfOneMomentHaveNoRates) {
  EXPECT_THAT(TopText(SampleAt(0, 0, 0), SampleAt(0, 1000, 5)), HasSubstr("0 keys/s"));
}

TEST(TopTextTest, OneNumaNodeHasNoTableOfThem) {
  TopSample one = SampleAt(1, 1, 1);
  one.stats.numa_nodes.resize(1);
  EXPECT_THAT(TopText(one, one), Not(HasSubstr("KEYS/S FROM")));
}

TEST(TopTextTest, ATextIsCutToTheScreen) {
  EXPECT_EQ(CutToScreen("abc\nd\ne\n", 2, 2), "ab\nd\n");
  EXPECT_EQ(CutToScreen("\xc3\xa4\xc3\xb6\xc3\xbc", 1, 2),
            "\xc3\xa4\xc3\xb6\n");  // whole characters
}

}  // namespace
}  // namespace eris::cli
