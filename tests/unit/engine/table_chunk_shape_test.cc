#include "engine/table_chunk_shape.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/table_chunk_pool.h"
#include "tests/support/seed.h"

namespace eris::engine {
namespace {

TableSchema RandomSchema(std::mt19937_64& random) {
  TableSchema schema;
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
    const TableSchema schema = RandomSchema(random);
    const uint64_t limit = random() % 2 == 0 ? 0 : 1 + random() % 100'000;
    const bool with_states = random() % 2 == 0;
    const TableChunkShape shape = TableChunkShape::Of(schema, limit, with_states);
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
      const bool strings = schema.columns[i].type == ColumnType::kString;
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
  const TableSchema schema = {.columns = {{.name = "a", .type = ColumnType::kUint64}}};
  const TableChunkShape shape = TableChunkShape::Of(schema, 0, false);
  EXPECT_LE(shape.bytes, kTableChunkBytes);
  EXPECT_GT(shape.bytes, kTableChunkBytes * 9 / 10);
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
