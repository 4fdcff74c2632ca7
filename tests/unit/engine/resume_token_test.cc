#include "engine/reads/resume_token.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "storage/table/rows/segment_view.h"
#include "topology/placement.h"

namespace eris::engine {
namespace {

// As many AEUs as an engine may have, each with a part that has begun: the longest place there is.
TEST(ResumeTokenTest, PlaceOnTheLargestMachineIsWithinTheLimitAndReadBack) {
  TableResume resume{.object = ObjectId{7}, .query = 11, .snapshot = 13, .parts = {}};
  for (uint32_t aeu = 0; aeu < topology::kAeusMax; ++aeu) {
    resume.parts.push_back({.owner = AeuId{aeu},
                            .cursor = {.at = {.partition = aeu, .segment = ~uint64_t{0}, .row = 5},
                                       .began = {.segment = aeu, .row = storage::kBlockRows},
                                       .wrapped = true,
                                       .chosen = true,
                                       .skip = ~uint64_t{0}}});
  }
  const std::string token = ToToken(resume);
  EXPECT_GT(token.size(), size_t{64} * topology::kAeusMax);
  EXPECT_LE(token.size(), kResumeBytesMax);
  const auto read = TableResumeFrom(token);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(ToToken(*read), token);
  ASSERT_EQ(read->parts.size(), topology::kAeusMax);
  EXPECT_EQ(read->parts.back().owner, AeuId{topology::kAeusMax - 1});
  EXPECT_EQ(read->parts.back().cursor.began.row, storage::kBlockRows);
}

TEST(ResumeTokenTest, QueriesThatDifferInOnePlaceHaveOtherFingerprints) {
  using namespace expressions;  // NOLINT: the operators of expression.h
  const Expression x = Column("x");
  const Expression columns[] = {
      x,
      Cast(x, ColumnType::kInt64),
      Cast(x, ColumnType::kInt32),
      Cast(x, ColumnType::kDecimal, 1),
      Cast(x, ColumnType::kDecimal, 2),
      Literal(Value(Decimal{1, 2})),
      Literal(Value(WideDecimal{{1, 0}, 2})),
      Literal(Value(WideDecimal{{0, 1}, 2})),
      Literal(Value(WideDecimal{{1, 0}, 3})),
  };
  std::set<uint64_t> seen;
  for (const Expression& column : columns) {
    EXPECT_TRUE(seen.insert(FingerprintOf({.columns = {{column, "c"}}})).second);
  }
}

}  // namespace
}  // namespace eris::engine
