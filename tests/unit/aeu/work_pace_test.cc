#include "aeu/state/work_pace.h"

#include <gtest/gtest.h>

namespace eris::aeu {
namespace {

constexpr uint64_t kTurnNs = 200'000;

TEST(WorkPaceTest, BeginsWithFewRowsAndAtMostDoubles) {
  WorkPace pace;
  uint32_t rows = pace.Rows(kTurnNs, 8192);
  EXPECT_EQ(rows, WorkPace::kRowsFirst);
  while (rows < 8192) {
    pace.Learn(rows, rows, /*complete=*/false);
    EXPECT_EQ(pace.Rows(kTurnNs, 8192), 2 * rows);
    rows *= 2;
  }
  EXPECT_EQ(pace.Rows(kTurnNs, 1024), 1024u);
}

// Whatever rows cost, no piece takes longer than the turn, from the first one on.
TEST(WorkPaceTest, NoPieceTakesLongerThanTheTurn) {
  for (const uint64_t row_ns : {2, 100, 1'000, 10'000}) {
    WorkPace pace;
    for (int piece = 0; piece < 100; ++piece) {
      const uint32_t rows = pace.Rows(kTurnNs, 8192);
      ASSERT_LE(rows * row_ns, kTurnNs) << row_ns << " ns a row, piece " << piece;
      pace.Learn(rows, rows * row_ns, /*complete=*/false);
    }
    EXPECT_TRUE(pace.Rows(kTurnNs, 8192) == 8192 ||
                pace.Rows(kTurnNs, 8192) * row_ns > kTurnNs / 4);
  }
}

TEST(WorkPaceTest, RowsThatAreDearerThanTheTurnGoOneByOne) {
  WorkPace pace;
  pace.Learn(16, 16 * 10 * kTurnNs, /*complete=*/false);
  EXPECT_EQ(pace.Rows(kTurnNs, 8192), 1u);
}

TEST(WorkPaceTest, AShortLastPieceDoesNotMakeRowsCheap) {
  WorkPace pace;
  pace.Learn(16, 160'000, /*complete=*/false);
  const uint32_t rows = pace.Rows(kTurnNs, 8192);
  pace.Learn(1024, 100, /*complete=*/true);
  EXPECT_EQ(pace.Rows(kTurnNs, 8192), rows);
  pace.Learn(16, 1'600'000, /*complete=*/true);
  EXPECT_LT(pace.Rows(kTurnNs, 8192), rows);
}

}  // namespace
}  // namespace eris::aeu
