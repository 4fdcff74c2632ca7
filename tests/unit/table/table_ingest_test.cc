// Chunks of a table's rows that do not fit are refused before anything has changed; others cost
// what their own rows do, however many there are already.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tests/unit/table/table_world.h"

namespace eris::storage {
namespace {

class TableIngestTest : public testing::TestWithParam<std::vector<ColumnType>> {};

TEST_P(TableIngestTest, ChunksThatDoNotFitAreRefused) {
  TableWorld world(AllTypes(GetParam()), 5);
  world.Put(world.RandomRows(300, 200));
  auto target = *TablePartition::Create(Range{Key{}, Key{}}, world.memory.cache, world.layout);
  target->SetSnapshots(&world.view);
  ExchangeChunk good;
  ASSERT_TRUE(world.partition->Lend(Range{}, Partition::End::kLow, 50, good).ok());
  const size_t rows = good.keys.size();
  const auto refused = [&](auto change) {
    ExchangeChunk chunk = good;
    change(chunk);
    const absl::Status status = target->Ingest(chunk);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(target->size(), 0u);
    EXPECT_TRUE(target->range().Empty());
  };
  refused([](ExchangeChunk& chunk) { chunk.keys[3] += 1; });
  refused([](ExchangeChunk& chunk) { chunk.keys.pop_back(); });
  refused([](ExchangeChunk& chunk) { chunk.seconds.push_back(0); });
  refused([](ExchangeChunk& chunk) { ++chunk.rows.count; });
  refused([](ExchangeChunk& chunk) { chunk.rows.count = uint64_t{1} << 32; });
  refused([](ExchangeChunk& chunk) { chunk.rows.columns.pop_back(); });
  refused([](ExchangeChunk& chunk) { chunk.rows.columns[1].values.pop_back(); });
  refused([](ExchangeChunk& chunk) { chunk.rows.columns[0].values.clear(); });
  refused([](ExchangeChunk& chunk) { chunk.rows.columns[0].offsets.clear(); });
  refused([](ExchangeChunk& chunk) { chunk.rows.columns[2].validity = "x"; });
  refused([](ExchangeChunk& chunk) { chunk.covers.lo = Key::FromU64(chunk.keys.back()); });
  refused([](ExchangeChunk& chunk) { chunk.covers.hi = Key{chunk.keys.back() + 1, 1}; });
  EXPECT_TRUE(target->Ingest(good).ok());
  EXPECT_EQ(target->size(), rows);
  EXPECT_EQ(target->range(), good.covers);
  EXPECT_EQ(target->Ingest(good).code(), absl::StatusCode::kInvalidArgument);  // there already
  ExchangeChunk far;
  far.covers = Range{Key::FromU64(kKeyMax), std::nullopt};
  far.rows.columns = good.rows.columns;
  for (ColumnBuffers& column : far.rows.columns) {
    if (!column.offsets.empty()) column.offsets.assign(4, '\0');
    column.values.clear();
    column.validity.clear();
  }
  EXPECT_EQ(target->Ingest(far).code(), absl::StatusCode::kInvalidArgument);  // not adjacent
  far.covers.lo = *good.covers.hi;
  EXPECT_TRUE(target->Ingest(far).ok());  // a range without rows
  EXPECT_EQ(target->range(), Range{});
}

INSTANTIATE_TEST_SUITE_P(Keys, TableIngestTest,
                         testing::Values(std::vector{ColumnType::kInt64},
                                         std::vector{ColumnType::kUint64, ColumnType::kInt32}));

// Where arrays stand: of each segment's columns.
using Places = std::map<std::pair<uint64_t, size_t>, std::vector<const void*>>;
Places PlacesIn(const TablePartition& table) {
  Places places;
  SegmentMask mask;
  EXPECT_TRUE(mask.Allocate());
  SegmentView view;
  for (uint64_t number = 0; table.FindSegment(0, number, mask, view); ++number) {
    for (size_t c = 0; c < view.columns.size(); ++c) {
      const SegmentColumn& column = view.columns[c];
      places[{number, c}] = {column.values, column.offsets, column.validity};
    }
  }
  return places;
}
// How many of those that were there have moved: all that is in them was copied.
size_t Moved(const Places& before, const Places& after) {
  size_t moved = 0;
  for (const auto& [column, arrays] : before) {
    for (size_t i = 0; i < arrays.size(); ++i) {
      moved += arrays[i] != nullptr && arrays[i] != after.at(column)[i];
    }
  }
  return moved;
}

uint64_t BytesOf(const ExchangeChunk& chunk) {
  uint64_t bytes = 0;
  for (const ColumnBuffers& column : chunk.rows.columns) {
    bytes += column.values.size() + column.offsets.size() + column.validity.size();
  }
  return bytes;
}

// A number, and strings: of few values, and of many that are short, long or both.
class TableIngestCostTest : public testing::TestWithParam<bool> {
 protected:
  static Schema IngestSchema() {
    Schema schema{.columns = {{.name = "k", .type = ColumnType::kUint64},
                              {.name = "few", .type = ColumnType::kString},
                              {.name = "many", .type = ColumnType::kString, .nullable = true},
                              {.name = "long", .type = ColumnType::kString}}};
    if (GetParam()) schema.key = {0};
    return schema;
  }
  static Range NoKeys() {
    return GetParam() ? Range{Key{}, Key{}} : Range{Key::FromU64(1), Key::FromU64(2)};
  }
  Row NextRow() {
    const auto text = [&](uint64_t length) {
      std::string made = std::to_string(random_());
      made.resize(length, 'x');
      return made;
    };
    const uint64_t length = random_() % 1000 == 0 ? 60'000 : random_() % long_;
    return {CellOf(next_++), std::to_string(random_() % 6),
            random_() % 9 == 0 ? Cell() : text(8 + random_() % 8), text(length)};
  }
  ExchangeChunk NextChunk(const TableLayout& layout, size_t rows) {
    const uint64_t first = next_;
    std::vector<Row> made;
    for (size_t i = 0; i < rows; ++i) made.push_back(NextRow());
    const RowColumns columns(layout, made);
    ExchangeChunk chunk;
    chunk.covers = GetParam() ? Range{Key::FromU64(first), Key::FromU64(next_)} : NoKeys();
    chunk.rows.count = rows;
    for (uint32_t c = 0; c < layout.columns(); ++c) {
      const ColumnView& view = columns.batch().columns[c];
      ColumnBuffers& out = chunk.rows.columns.emplace_back();
      const uint32_t width = ColumnValueBytes(layout.column(c).type);
      const uint64_t bytes = width > 0 ? rows * width : view.offsets[rows];
      out.values.assign(static_cast<const char*>(view.values), bytes);
      if (width == 0) {
        out.offsets.assign(reinterpret_cast<const char*>(view.offsets), (rows + 1) * 4);
      }
      if (view.validity != nullptr) {
        out.validity.assign(reinterpret_cast<const char*>(view.validity), (rows + 7) / 8);
      }
    }
    if (GetParam()) chunk.keys.assign(columns.heads(), columns.heads() + rows);
    for (Row& row : made) rows_.push_back(std::move(row));
    return chunk;
  }

  Random random_{Seed()};
  uint64_t next_ = 0;
  uint64_t long_ = 1;
  std::vector<Row> rows_;
};

TEST_P(TableIngestCostTest, AChunkMovesNoArraysAndTakesMemoryForItselfAndABoundedPiece) {
  SCOPED_TRACE(SeedText());
  // What a new segment takes at most: 1.6 MiB for each array of strings, and its other arrays and
  // dictionaries, of few rows if the strings are long.
  constexpr uint64_t kSegmentBytes = 5u << 20;
  const auto layout = *TableLayout::Create(IngestSchema());
  TreeMemory memory;
  auto table = *TablePartition::Create(NoKeys(), memory.cache, layout);
  for (int step = 0; step < 400; ++step) {
    if (step % 50 == 0) long_ = uint64_t{1} << (1 + random_() % 12);
    const ExchangeChunk chunk = NextChunk(*layout, 1 + random_() % 600);
    const Places before = PlacesIn(*table);
    const uint64_t used = memory.cache.used_bytes();
    ASSERT_TRUE(table->Ingest(chunk).ok());
    ASSERT_EQ(Moved(before, PlacesIn(*table)), 0u);
    ASSERT_LE(memory.cache.used_bytes(), used + 4 * BytesOf(chunk) + kSegmentBytes);
  }
  std::vector<Row> seen;
  SegmentMask mask;
  ASSERT_TRUE(mask.Allocate());
  SegmentView view;
  size_t segments = 0;
  for (uint64_t number = 0; table->FindSegment(0, number, mask, view); ++number, ++segments) {
    for (uint32_t row = 0; row < view.rows; ++row) seen.push_back(ReadRow(view, row));
  }
  EXPECT_TRUE(seen == rows_);  // in the order in which they came
  // Not one for each chunk.
  EXPECT_LT(segments, 200u);
}

INSTANTIATE_TEST_SUITE_P(Keys, TableIngestCostTest, testing::Bool());

}  // namespace
}  // namespace eris::storage
