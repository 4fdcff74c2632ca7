// Hashes of rows: equal keys have equal ones, whatever their types and their place, and others
// spread.
#include "storage/query/operators/row_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "storage/table/rows/segment_view.h"
#include "tests/unit/query/query_lab.h"

namespace eris::storage {
namespace {

// The hashes of all rows of an envelope by its columns `keys`.
std::vector<uint64_t> HashesOf(const SegmentView& view, const std::vector<uint32_t>& keys) {
  std::vector<uint64_t> hashes(view.rows);
  for (uint32_t base = 0; base < view.rows; base += kBlockRows) {
    HashRows(view, keys, base, std::min(kBlockRows, view.rows - base), hashes.data() + base);
  }
  return hashes;
}

std::vector<uint64_t> HashesOf(const std::vector<ColumnType>& types,
                               const std::vector<CellRow>& rows,
                               const std::vector<uint32_t>& keys) {
  QueryLab lab;
  std::vector<EnvelopeColumn> columns;
  for (const ColumnType type : types) columns.push_back({.type = type});
  EnvelopeList list(lab.memory, columns);
  AddEnvelope(lab, list, rows, 0, rows.size());
  return HashesOf(list[0].view(), keys);
}

TEST(RowHashTest, NumbersOfOneClassHaveOneHash) {
  std::vector<CellRow> rows;
  for (const int64_t number : {0, 1, -1, 77, -4711, INT32_MAX, INT32_MIN}) {
    rows.push_back({Cell{.number = number}});
  }
  rows.push_back({Cell{.null = true}});
  const auto hashes = HashesOf({ColumnType::kInt32}, rows, {0});
  for (const ColumnType other : {ColumnType::kInt64, ColumnType::kDate, ColumnType::kDecimal}) {
    EXPECT_EQ(HashesOf({other}, rows, {0}), hashes) << ColumnTypeName(other);
  }
  EXPECT_EQ(std::set(hashes.begin(), hashes.end()).size(), rows.size());
}

TEST(RowHashTest, ZerosAreEqualAndNansAre) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto hashes = HashesOf({ColumnType::kFloat64},
                               {{Cell{.real = 0.0}},
                                {Cell{.real = -0.0}},
                                {Cell{.real = nan}},
                                {Cell{.real = -nan}},
                                {Cell{.real = 1.5}},
                                {Cell{.null = true}}},
                               {0});
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[2], hashes[3]);
  EXPECT_EQ(std::set(hashes.begin(), hashes.end()).size(), 4u);
}

TEST(RowHashTest, EqualRowsHaveOneHashWhereverTheyAre) {
  Random random(Seed());
  for (const ColumnType type : kAllTypes) {
    std::vector<EnvelopeColumn> columns{{.type = type}, {.type = ColumnType::kString}};
    // Without nulls there is no bitmap.
    for (const int nulls : {0, 30}) {
      const auto rows = RandomRows(columns, 3000, Values::kFew, nulls, random);
      std::vector<CellRow> turned(rows.rbegin(), rows.rend());
      const auto hashes = HashesOf({type, ColumnType::kString}, rows, {0, 1});
      auto others = HashesOf({type, ColumnType::kString}, turned, {0, 1});
      std::reverse(others.begin(), others.end());
      EXPECT_EQ(hashes, others) << SeedText() << ColumnTypeName(type);
    }
  }
}

// The first column is a null, or the second one is.
TEST(RowHashTest, TheOrderOfKeysCounts) {
  const std::vector<CellRow> rows{{Cell{.number = 1}, Cell{.number = 2}},
                                  {Cell{.number = 2}, Cell{.number = 1}},
                                  {Cell{.null = true}, Cell{.number = 1}},
                                  {Cell{.number = 1}, Cell{.null = true}}};
  const std::vector<ColumnType> types{ColumnType::kInt64, ColumnType::kInt64};
  const auto hashes = HashesOf(types, rows, {0, 1});
  EXPECT_EQ(std::set(hashes.begin(), hashes.end()).size(), 4u);
  const auto turned = HashesOf(types, rows, {1, 0});
  EXPECT_EQ(hashes[0], turned[1]);
  EXPECT_EQ(hashes[2], turned[3]);
}

TEST(RowHashTest, StringsOfADictionaryHashAsTheirText) {
  const std::vector<std::string> texts{"", "a", "a longer text, of more than eight bytes",
                                       std::string("a\0b", 3)};
  const std::vector<uint16_t> codes{2, 0, 1, 3, 2, 9};
  const uint64_t valid = 0b011111;  // the code of a null may be none of the dictionary's
  std::string bytes;
  std::vector<uint32_t> offsets{0};
  for (const std::string& text : texts) {
    bytes += text;
    offsets.push_back(static_cast<uint32_t>(bytes.size()));
  }
  const DictionaryView dictionary{.size = 4, .offsets = offsets.data(), .bytes = bytes.data()};
  const SegmentColumn column{.type = ColumnType::kString,
                             .values = codes.data(),
                             .validity = &valid,
                             .dictionary = &dictionary};
  SegmentView view;
  view.rows = 6;
  view.columns = {&column, 1};
  std::vector<CellRow> rows;
  for (size_t i = 0; i < 5; ++i) rows.push_back({Cell{.text = texts[codes[i]]}});
  rows.push_back({Cell{.null = true}});
  EXPECT_EQ(HashesOf(view, {0}), HashesOf({ColumnType::kString}, rows, {0}));
}

TEST(RowHashTest, TargetsGetEvenShares) {
  std::vector<CellRow> rows;
  for (int64_t i = 0; i < 40'000; ++i) rows.push_back({Cell{.number = i * 64}});
  const auto hashes = HashesOf({ColumnType::kInt64}, rows, {0});
  for (const uint32_t targets : {1u, 3u, 8u, 61u}) {
    std::vector<uint32_t> rows_of(targets);
    for (const uint64_t hash : hashes) {
      ASSERT_LT(TargetOf(hash, targets), targets);
      ++rows_of[TargetOf(hash, targets)];
    }
    const double fair = 40'000.0 / targets;
    for (const uint32_t count : rows_of) {
      EXPECT_GT(count, fair * 0.7) << targets;
      EXPECT_LT(count, fair * 1.3) << targets;
    }
  }
}

}  // namespace
}  // namespace eris::storage
