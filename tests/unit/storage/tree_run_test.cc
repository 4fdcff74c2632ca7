#include "storage/tree/tree_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

struct alignas(64) RunBlock {
  unsigned char bytes[kRunLinesMax * 64];
};

Rows RowsIn(TreeRun* run) {
  Rows rows;
  for (unsigned i = 0; i < run->count; ++i) {
    rows.emplace_back(run->pairs()[i].key, run->pairs()[i].value);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

void ExpectSound(TreeRun* run) {
  ASSERT_LE(run->sorted, run->count);
  for (unsigned i = 0; i < run->count; ++i) {
    ASSERT_EQ(run->tags()[i], TagOf(run->pairs()[i].key));
    if (i > 0 && i < run->sorted) {
      ASSERT_LT(run->pairs()[i - 1].key, run->pairs()[i].key);
    }
  }
}

class TreeRunTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(TreeRunTest, BehavesLikeAMap) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  for (const uint64_t spread : {uint64_t{200}, kKeyMax}) {
    RunBlock block;
    TreeRun* run = WriteRun(&block, GetParam(), nullptr, 0).run();
    Model model;
    for (int op = 0; op < 20'000; ++op) {
      const auto any = model.lower_bound(random());
      const uint64_t key = any != model.end() && random() % 2 == 0 ? any->first : random() % spread;
      Pair* pair = run->Find(key);
      ASSERT_EQ(pair != nullptr, model.contains(key));
      if (pair != nullptr) {
        ASSERT_EQ(pair->value, model[key]);
      }
      switch (random() % 8) {
        case 0:
          run->Sort();
          ASSERT_EQ(run->sorted, run->count);
          ASSERT_EQ(run->LowerBound(key),
                    static_cast<unsigned>(std::distance(model.begin(), model.lower_bound(key))));
          break;
        case 1:
        case 2:
        case 3:
          if (pair == nullptr) break;
          run->Remove(pair);
          model.erase(key);
          break;
        default:
          if (pair != nullptr || run->count == run->capacity()) break;
          run->Append(key, static_cast<uint64_t>(op));
          model[key] = static_cast<uint64_t>(op);
      }
      ExpectSound(run);
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(RowsIn(run), Rows(model.begin(), model.end()));
  }
}

TEST_P(TreeRunTest, HoldsItsCapacityWithinItsLines) {
  RunBlock block;
  for (size_t i = GetParam() * 64; i < sizeof block.bytes; ++i) block.bytes[i] = 0xa5;
  TreeRun* run = WriteRun(&block, GetParam(), nullptr, 0).run();
  for (unsigned i = 0; i < RunCapacity(GetParam()); ++i) run->Append(~uint64_t{i}, i);
  EXPECT_EQ(run->count, run->capacity());
  for (size_t i = GetParam() * 64; i < sizeof block.bytes; ++i) ASSERT_EQ(block.bytes[i], 0xa5);
  for (unsigned i = 0; i < run->count; ++i) ASSERT_EQ(run->Find(~uint64_t{i})->value, i);
}

TEST_P(TreeRunTest, CopyHasTheSamePairsInTheSameOrder) {
  RunBlock block, copy_block;
  TreeRun* run = WriteRun(&block, GetParam(), nullptr, 0).run();
  for (unsigned i = 0; i < RunCapacity(GetParam()); ++i) run->Append(i * 7919 % 64 + 1, i);
  const unsigned lines = std::min(GetParam() + 1, kRunLinesMax);
  TreeRun* copy = CopyRun(run, lines, &copy_block).run();
  EXPECT_EQ(copy->count, run->count);
  EXPECT_EQ(copy->sorted, run->sorted);
  EXPECT_EQ(copy->lines, lines);
  ExpectSound(copy);
  EXPECT_EQ(RowsIn(copy), RowsIn(run));
}

INSTANTIATE_TEST_SUITE_P(Lines, TreeRunTest, ::testing::Values(1u, 2u, 3u, 7u, 11u, 15u));

TEST(TreeRunCutTest, TruncateAndDropFirstKeepTheOtherPart) {
  std::vector<Pair> pairs;
  for (uint64_t i = 0; i < 40; ++i) pairs.push_back({i * 3, i});
  for (unsigned cut = 0; cut <= 40; ++cut) {
    RunBlock low_block, high_block;
    TreeRun* low = WriteRun(&low_block, 11, pairs.data(), 40).run();
    TreeRun* high = WriteRun(&high_block, 11, pairs.data(), 40).run();
    low->Truncate(cut);
    high->DropFirst(cut);
    ExpectSound(low);
    ExpectSound(high);
    Rows rows = RowsIn(low);
    EXPECT_EQ(rows.size(), cut);
    const Rows rest = RowsIn(high);
    rows.insert(rows.end(), rest.begin(), rest.end());
    ASSERT_EQ(rows.size(), 40u);
    for (uint64_t i = 0; i < 40; ++i) EXPECT_EQ(rows[i].first, i * 3);
  }
}

TEST(TreeRunCutTest, AscendingAppendsStaySorted) {
  RunBlock block;
  TreeRun* run = WriteRun(&block, 15, nullptr, 0).run();
  for (uint64_t i = 0; i < kRunPairsMax; ++i) run->Append(i, i);
  EXPECT_EQ(run->sorted, kRunPairsMax);
}

// Dense, strided and high-bit keys: a tag that many keys share makes a lookup read many pairs.
TEST(TreeRunTagTest, TagsSpread) {
  for (unsigned shift = 0; shift < 58; ++shift) {
    std::vector<unsigned> seen(256);
    for (uint64_t i = 0; i < 56; ++i) ++seen[TagOf(i << shift)];
    EXPECT_LE(*std::max_element(seen.begin(), seen.end()), 8u) << "keys apart by bit " << shift;
  }
}

}  // namespace
}  // namespace eris::storage
