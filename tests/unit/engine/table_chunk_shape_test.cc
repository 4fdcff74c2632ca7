#include "engine/reads/table_chunk_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/core/table_chunk_pool.h"
#include "tests/support/seed.h"

namespace eris::engine {
namespace {

Schema RandomSchema(std::mt19937_64& random) {
  Schema schema;
  const uint64_t columns = 1 + random() % (random() % 8 == 0 ? kTableColumnsMax : 12);
  for (uint64_t i = 0; i < columns; ++i) {
    schema.columns.push_back({.name = absl::StrCat("c", i),
                              .type = static_cast<ColumnType>(1 + random() % 8),
                              .nullable = random() % 2 == 0});
  }
  return schema;
}

// Written in full, so that the address sanitizer sees what lies outside, and another pattern in
// each array, so that none overlaps another.
TEST(TableChunkShapeTest, ArraysOfAnySchemaLieInTheMemoryAndApart) {
  const uint64_t seed = test::Seed();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(test::SeedText(seed));
    const Schema schema = RandomSchema(random);
    const uint64_t limit = random() % 2 == 0 ? 0 : 1 + random() % 100'000;
    const bool with_states = random() % 2 == 0;
    const size_t bytes_max = random() % 2 == 0 ? kTableChunkBytes : random() % kTableChunkBytes;
    const TableChunkShape shape = TableChunkShape::Of(schema, limit, with_states, bytes_max);
    ASSERT_GT(shape.capacity, 0u);
    if (limit > 0) {
      EXPECT_LE(shape.capacity, limit);
    }
    EXPECT_GE(shape.string_bytes, kTableStringBytesMax);
    TableChunkPool pool(2 * kTableColumnsMax);
    auto memory = pool.Take(1, 1, shape.bytes);
    ASSERT_EQ(memory.size(), 1u);
    storage::KeyState* states = nullptr;
    const auto columns = ColumnsIn(memory[0].get(), schema, shape, states);
    ASSERT_EQ(columns.size(), schema.columns.size());
    EXPECT_EQ(states != nullptr, with_states);
    std::vector<std::pair<unsigned char*, size_t>> arrays;
    const auto add = [&](void* array, size_t bytes) {
      arrays.emplace_back(static_cast<unsigned char*>(array), bytes);
    };
    for (size_t i = 0; i < columns.size(); ++i) {
      const bool strings = IsByteString(schema.columns[i].type);
      add(columns[i].values, strings ? columns[i].bytes_max
                                     : shape.capacity * ColumnValueBytes(schema.columns[i].type));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(columns[i].values) % 64, 0u);
      add(columns[i].validity, (size_t{shape.capacity} + 7) / 8);
      if (strings) add(columns[i].offsets, (size_t{shape.capacity} + 1) * 4);
    }
    if (states != nullptr) add(states, shape.capacity);
    for (size_t i = 0; i < arrays.size(); ++i) {
      std::fill_n(arrays[i].first, arrays[i].second, static_cast<unsigned char>(i));
    }
    for (size_t i = 0; i < arrays.size(); ++i) {
      for (size_t at : {size_t{0}, arrays[i].second - 1}) {
        ASSERT_EQ(arrays[i].first[at], static_cast<unsigned char>(i));
      }
    }
    pool.Return(std::move(memory), shape.bytes);
    EXPECT_EQ(pool.in_use(), 0u);
  }
}

TEST(TableChunkShapeTest, NarrowRowsFillAMebibyte) {
  const Schema schema = {.columns = {{.name = "a", .type = ColumnType::kUint64}}};
  const TableChunkShape shape = TableChunkShape::Of(schema, 0, false, kTableChunkBytes);
  EXPECT_LE(shape.bytes, kTableChunkBytes);
  EXPECT_GT(shape.bytes, kTableChunkBytes * 9 / 10);
}

Schema Numbers(size_t columns) {
  Schema schema;
  for (size_t i = 0; i < columns; ++i) {
    schema.columns.push_back({.name = absl::StrCat("c", i), .type = ColumnType::kUint64});
  }
  return schema;
}

TEST(TableChunkPlanTest, FewPartsGetTwoChunksOfAPieceEach) {
  for (const uint32_t parts : {1u, 2u, 8u}) {
    const auto plan = TableChunkPlan::Of(Numbers(4), {.parts = parts}, 64);
    EXPECT_EQ(plan.chunks, 2 * parts);
    EXPECT_EQ(plan.slabs, 2 * parts);
    EXPECT_GT(plan.shape.bytes, kTableChunkBytes * 9 / 10);
  }
}

TEST(TableChunkPlanTest, HoweverManyPartsEachGetsAChunkWithinAQuarterOfWhatIsLeft) {
  for (const size_t columns : {1, 4, 16}) {
    const Schema schema = Numbers(columns);
    for (const uint32_t parts : {2u, 16u, 33u, 64u, 512u, 1000u}) {
      for (const uint32_t left : {4u, 8u, 17u, 64u}) {
        for (const uint64_t limit : {0u, 1u, 100u, 50'000u, 10'000'000u}) {
          SCOPED_TRACE(
              absl::StrCat(columns, " columns, ", parts, " parts, ", left, " left, limit ", limit));
          const auto plan = TableChunkPlan::Of(schema, {.limit = limit, .parts = parts}, left);
          // As many as fit with rows of 16 columns: 64 of them have 8 KiB and their bits.
          const uint32_t fit = left / 4 * (kTableChunkBytes / (columns * (64 * 8 + 64)));
          EXPECT_GE(plan.chunks, std::min(parts, fit));
          EXPECT_LE(plan.slabs, left / 4);
          EXPECT_LE(plan.slab_bytes, kTableChunkBytes);
          EXPECT_LE(plan.chunks, plan.slabs * plan.per_slab);
          EXPECT_LE(plan.shape.bytes, plan.chunk_bytes);
          EXPECT_LE(plan.per_slab * plan.chunk_bytes, plan.slab_bytes);
          EXPECT_LE(plan.slabs_least, plan.slabs);
        }
      }
    }
  }
}

TEST(TableChunkPlanTest, AScanOf512PartsHasTwoChunksForEach) {
  const auto plan = TableChunkPlan::Of(Numbers(4), {.parts = 512}, 64);
  EXPECT_EQ(plan.chunks, 1024u);
  EXPECT_LE(plan.slabs, 16u);
  EXPECT_GT(plan.shape.bytes, size_t{14} << 10);
}

TEST(TableChunkPlanTest, TheLongestStringsFitAndFewerPartsRun) {
  Schema schema;
  for (int i = 0; i < 3; ++i) {
    schema.columns.push_back({.name = absl::StrCat("c", i), .type = ColumnType::kString});
  }
  const auto plan = TableChunkPlan::Of(schema, {.parts = 512}, 64);
  EXPECT_GE(plan.shape.string_bytes, kTableStringBytesMax);
  EXPECT_EQ(plan.slabs, 16u);
  EXPECT_GE(plan.chunks, 5u * 16u);
  // Larger than a piece: each counts as several.
  schema = {};
  for (int i = 0; i < 40; ++i) {
    schema.columns.push_back({.name = absl::StrCat("c", i), .type = ColumnType::kString});
  }
  const auto large = TableChunkPlan::Of(schema, {.parts = 512}, 64);
  EXPECT_GT(large.slab_bytes, kTableChunkBytes);
  EXPECT_EQ(large.chunks, large.slabs);
  EXPECT_GE(large.slabs, 2u);
  EXPECT_LE(large.slabs * large.slab_bytes, 64 * kTableChunkBytes / 4);
}

TEST(TableChunkPlanTest, AggregatesTakeTwoChunksWhateverPartsThereAre) {
  const auto plan = TableChunkPlan::Of(Numbers(4), {.parts = 512, .aggregates = true}, 64);
  EXPECT_EQ(plan.chunks, 2u);
  EXPECT_EQ(plan.slabs, 2u);
  const auto last = TableChunkPlan::Of(Numbers(4), {.parts = 512, .aggregates = true}, 1);
  EXPECT_EQ(last.chunks, 2u);
  EXPECT_EQ(last.slabs, 1u);
}

TEST(TableChunkPoolTest, IsBoundedAndGivesLeastOrNothing) {
  TableChunkPool pool(5);
  auto first = pool.Take(2, 4, kTableChunkBytes);
  EXPECT_EQ(first.size(), 4u);
  EXPECT_TRUE(pool.Take(2, 2, kTableChunkBytes).empty());
  EXPECT_TRUE(pool.Take(1, 1, kTableChunkBytes + 1).empty());
  auto second = pool.Take(1, 9, 1);
  EXPECT_EQ(second.size(), 1u);
  EXPECT_EQ(pool.in_use(), 5u);
  pool.Return(std::move(first), kTableChunkBytes);
  auto large = pool.Take(2, 2, 2 * kTableChunkBytes);
  EXPECT_EQ(large.size(), 2u);
  EXPECT_EQ(pool.in_use(), 5u);
  pool.Return(std::move(large), 2 * kTableChunkBytes);
  pool.Return(std::move(second), 1);
  EXPECT_EQ(pool.in_use(), 0u);
}

}  // namespace
}  // namespace eris::engine
