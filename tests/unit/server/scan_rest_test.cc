#include "server/calls/scan_rest.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

// Only its number of rows and its place.
class PlacedChunk final : public Chunk {
 public:
  PlacedChunk(uint64_t rows, std::string place) : rows_(rows), place_(std::move(place)) {}
  uint64_t rows() const override { return rows_; }
  const Schema& schema() const override { return schema_; }
  ColumnView column(size_t) const override { return {}; }
  std::string resume() const override { return place_; }

 private:
  const uint64_t rows_;
  const std::string place_;
  const Schema schema_{};
};

Query QueryOfRows(uint64_t limit) {
  Query query;
  query.limit = limit;
  return query;
}

TEST(ScanRestTest, IndexEndsWithTheChunkThatHasNoPlace) {
  ScanRest rest(ObjectKind::kIndex, QueryOfRows(0));
  const ScanRest::Behind first = rest.Take(PlacedChunk(5, "a"));
  EXPECT_FALSE(first.last);
  EXPECT_EQ(first.place, "a");
  const ScanRest::Behind second = rest.Take(PlacedChunk(5, ""));
  EXPECT_TRUE(second.last);
}

TEST(ScanRestTest, TableDoesNotKnowItsLastChunk) {
  ScanRest rest(ObjectKind::kTable, QueryOfRows(0));
  const ScanRest::Behind behind = rest.Take(PlacedChunk(5, "a"));
  EXPECT_FALSE(behind.last);
  EXPECT_EQ(behind.place, "a");
  EXPECT_EQ(rest.At("a").resume, "a");
  EXPECT_EQ(rest.At("a").limit, 0u);
}

TEST(ScanRestTest, LimitIsOfAllChunks) {
  ScanRest rest(ObjectKind::kTable, QueryOfRows(10));
  EXPECT_EQ(rest.At("").limit, 10u);
  EXPECT_FALSE(rest.Take(PlacedChunk(6, "a")).last);
  EXPECT_EQ(rest.At("a").limit, 4u);
  EXPECT_TRUE(rest.Take(PlacedChunk(4, "b")).last);
}

TEST(ScanRestTest, AggregatesAreOneRowAndGroupsHaveNoPlace) {
  Query query;
  query.aggregates.emplace_back();
  ScanRest one(ObjectKind::kTable, query);
  EXPECT_TRUE(one.Take(PlacedChunk(1, "")).last);
  query.group_by = {"day"};
  ScanRest groups(ObjectKind::kTable, query);
  const ScanRest::Behind behind = groups.Take(PlacedChunk(5, ""));
  EXPECT_FALSE(behind.last);
  EXPECT_EQ(behind.place, std::nullopt);
}

}  // namespace
}  // namespace eris::server
