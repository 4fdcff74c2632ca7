// Plants one fault at a time in a sound table; the checker must notice each.
#include "storage/hash/hash_table_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

using ::testing::HasSubstr;

class HashTableCheckTest : public ::testing::Test {
 protected:
  HashTableCheckTest() : table_(memory_.cache, 3), checker_(table_) {
    for (uint64_t key = 0; key < 20'000; ++key) {
      EXPECT_EQ(table_.Upsert(key, key), KeyState::kAbsent);
    }
    EXPECT_EQ(CheckHashTable(table_), absl::OkStatus());
  }
  // The planted fault may have made the table unfit for a walk that frees.
  ~HashTableCheckTest() override { table_.Abandon(); }

  void ExpectFault(const char* what) {
    const absl::Status status = CheckHashTable(table_);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr(what));
  }
  // A row that stands in its first bucket, which is full, or in a later one.
  uint64_t KeyWith(bool at_home) {
    uint64_t key = 0;
    const auto stands = [&] {
      const Bucket* home = checker_.BucketOf(key);
      return home->Full(checker_.SegmentOf(key)->marker) &&
             (home->Find(key) != kBucketRows) == at_home;
    };
    while (!stands()) ++key;
    return key;
  }

  TreeMemory memory_;
  HashTable table_;
  HashTableChecker checker_;
};

TEST_F(HashTableCheckTest, NoticesAWrongCountOfRows) {
  ++checker_.RowsOf(1);
  ExpectFault("counted");
}

// What an erase that only empties the slot would leave behind.
TEST_F(HashTableCheckTest, NoticesARowThatIsNotFoundAnyMore) {
  const uint64_t key = KeyWith(/*at_home=*/false);
  checker_.BucketOf(key)->keys[kBucketRows - 1] = checker_.SegmentOf(key)->marker;
  --checker_.RowsOf(key);
  ASSERT_FALSE(table_.Lookup(key).has_value());
  ExpectFault("is not found: bucket");
}

TEST_F(HashTableCheckTest, NoticesAFreeSlotBeforeAUsedOne) {
  const uint64_t key = KeyWith(/*at_home=*/true);
  checker_.BucketOf(key)->keys[1] = checker_.SegmentOf(key)->marker;
  ExpectFault("a free slot before a used one");
}

TEST_F(HashTableCheckTest, NoticesAKeyThatIsThereTwice) {
  Bucket* bucket = checker_.BucketOf(KeyWith(/*at_home=*/true));
  bucket->keys[1] = bucket->keys[0];
  ExpectFault("is there twice");
}

TEST_F(HashTableCheckTest, NoticesARowOfAnotherSegment) {
  uint64_t other = 1;
  while (checker_.SegmentOf(other) == checker_.SegmentOf(0)) ++other;
  Bucket* bucket = checker_.BucketOf(0);
  bucket->keys[bucket->Find(0)] = other;
  ExpectFault("belongs to another segment");
}

TEST_F(HashTableCheckTest, NoticesARowFarFromItsBucket) {
  HashSegment* segment = checker_.SegmentOf(0);
  const auto at = static_cast<uint32_t>(checker_.BucketOf(0) - segment->buckets());
  Bucket* bucket = checker_.BucketOf(0);
  Bucket* far = at < kProbeBuckets ? bucket + kProbeBuckets : bucket - 1;
  std::swap(bucket->keys[0], far->keys[0]);
  ExpectFault(" in bucket ");
}

TEST_F(HashTableCheckTest, NoticesAFullLastBucket) {
  HashSegment* segment = checker_.SegmentOf(0);
  Bucket& last = segment->buckets()[SegmentBuckets(segment->size) - 1];
  last.keys[kBucketRows - 1] = segment->marker + 1;
  ExpectFault("the last bucket is full");
}

TEST_F(HashTableCheckTest, NoticesAWrongMarker) {
  ++checker_.SegmentOf(0)->marker;
  ExpectFault("marker");
}

TEST_F(HashTableCheckTest, NoticesASegmentThatStandsAtTheWrongEntry) {
  uint64_t other = 1;
  while (checker_.SegmentOf(other) == checker_.SegmentOf(0)) ++other;
  std::swap(checker_.EntryOf(0), checker_.EntryOf(other));
  ExpectFault("stand");
}

TEST_F(HashTableCheckTest, NoticesAWrongDepth) {
  --checker_.SegmentOf(0)->depth;
  ExpectFault("stands at entry");
}

}  // namespace
}  // namespace eris::storage
