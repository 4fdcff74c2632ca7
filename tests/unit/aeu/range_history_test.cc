#include "aeu/state/range_history.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace eris::aeu {
namespace {

using storage::Range;

constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();

TEST(RangeHistoryTest, CommandsOfOlderTablesAreTooOldForWhatHasBeenTakenInSince) {
  RangeHistory history;
  EXPECT_TRUE(history.Knows(0));
  EXPECT_FALSE(history.TooOld(7, 0));
  history.Reserve();
  history.TookIn(Range::FromPublic({10, 20}), 5);
  history.TookIn(Range::FromPublic({15, std::nullopt}), 9);
  history.TookIn(Range::FromPublic({30, 30}), 12);  // nothing
  EXPECT_TRUE(history.Knows(9));
  EXPECT_FALSE(history.Knows(8));
  for (uint64_t version = 0; version < 12; ++version) {
    EXPECT_FALSE(history.TooOld(9, version)) << version;
    EXPECT_EQ(history.TooOld(10, version), version < 5) << version;
    EXPECT_EQ(history.TooOld(14, version), version < 5) << version;
    EXPECT_EQ(history.TooOld(15, version), version < 9) << version;
    EXPECT_EQ(history.TooOld(kLargest, version), version < 9) << version;
  }
}

// Whatever has been forgotten counts for every key.
TEST(RangeHistoryTest, ASenderThatIsTooFarBehindIsRefusedOnAllKeys) {
  RangeHistory history;
  history.Reserve();
  const uint64_t ranges = RangeHistory::kRangesMax + 3;
  for (uint64_t i = 1; i <= ranges; ++i) history.TookIn(Range::FromPublic({i, i + 1}), i);
  EXPECT_TRUE(history.TooOld(kLargest, 2));
  EXPECT_FALSE(history.TooOld(kLargest, 3));
  EXPECT_TRUE(history.TooOld(1, 2));
  EXPECT_TRUE(history.TooOld(4, 3));
  EXPECT_FALSE(history.TooOld(4, 4));
  EXPECT_TRUE(history.TooOld(ranges, ranges - 1));
}

}  // namespace
}  // namespace eris::aeu
