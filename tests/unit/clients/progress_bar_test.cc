// The text of a bar.
#include "clients/cli/text/progress_bar.h"

#include <string>

#include "gtest/gtest.h"

namespace eris::cli {
namespace {

TEST(ProgressBarTest, TheTextHasPartRowsRateAndTimeLeft) {
  EXPECT_EQ(ProgressText({.done = 40, .total = 100, .rows = 4000}, 2),
            "[########............]  40 %  4000 rows, 2000 rows/s, 3 s left");
  EXPECT_EQ(ProgressText({.done = 1, .total = 101, .rows = 1}, 3),
            "[....................]   1 %  1 rows, 0 rows/s, 5 min 00 s left");
  EXPECT_EQ(ProgressText({.done = 1, .total = 2001, .rows = 1}, 5),
            "[....................]   0 %  1 rows, 0 rows/s, 2 h 46 min left");
  // Done, or more than was expected.
  EXPECT_EQ(ProgressText({.done = 100, .total = 100, .rows = 100}, 4),
            "[####################] 100 %  100 rows, 25 rows/s, 0 s left");
  EXPECT_EQ(ProgressText({.done = 300, .total = 100, .rows = 300}, 4),
            "[####################] 100 %  300 rows, 75 rows/s, 0 s left");
}

TEST(ProgressBarTest, WithoutATotalThereAreRowsAndRate) {
  EXPECT_EQ(ProgressText({.done = 40, .total = 0, .rows = 40}, 4), "40 rows, 10 rows/s");
}

TEST(ProgressBarTest, NothingIsGuessedFromNothing) {
  EXPECT_EQ(ProgressText({.done = 0, .total = 100, .rows = 0}, 4),
            "[....................]   0 %  0 rows, 0 rows/s");
  // Months say nothing.
  EXPECT_EQ(ProgressText({.done = 1, .total = 100'000'000, .rows = 1}, 4),
            "[....................]   0 %  1 rows, 0 rows/s");
}

TEST(ProgressBarTest, TheLongestTextFitsIntoAWindowOfEightyColumns) {
  EXPECT_LT(ProgressText({.done = 99, .total = 100, .rows = 999'999'999}, 100).size(), 80u);
}

}  // namespace
}  // namespace eris::cli
