// Gathered rows against the rows that their numbers name.
#include "storage/query/rows/gather.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/query/query_lab.h"

namespace eris::storage {
namespace {

std::vector<EnvelopeColumn> GatherColumns() {
  std::vector<EnvelopeColumn> columns;
  for (const ColumnType type : kAllTypes) columns.push_back({.type = type});
  return columns;
}

TEST(GatherTest, RowsByNumberInAnyOrderWithNullsForNone) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  const std::vector<EnvelopeColumn> columns = GatherColumns();
  for (const int nulls : {0, 30}) {
    QueryLab lab;
    EnvelopeList list(lab.memory, columns);
    const auto rows = RandomRows(columns, 3000, Values::kAny, nulls, random);
    const std::vector<RowNumber> numbers = AddRows(lab, list, rows, random, 700);
    std::vector<RowNumber> wanted;
    std::vector<CellRow> expected;
    const CellRow none(columns.size(), Cell{.null = true});
    for (int i = 0; i < 5000; ++i) {
      const size_t r = random() % rows.size();
      const bool no_row = random() % 10 == 0;
      wanted.push_back(no_row ? kNoRow : numbers[r]);
      expected.push_back(no_row ? none : rows[r]);
    }
    // Into envelopes that are full at any place, by their rows or their strings.
    uint32_t done = 0;
    while (done < wanted.size()) {
      std::vector<uint32_t> string_bytes(columns.size(), 40 + random() % 3000);
      Envelope* const envelope =
          Envelope::Create(lab.memory, columns, 1 + random() % 900, string_bytes);
      ASSERT_NE(envelope, nullptr);
      const uint32_t first = done;
      for (;;) {
        const uint32_t some =
            std::min<uint32_t>(1 + random() % 300, static_cast<uint32_t>(wanted.size()) - done);
        const uint32_t taken = GatherRows(list, wanted.data() + done, some, envelope->out());
        done += taken;
        if (taken < some || done == wanted.size()) break;
      }
      ASSERT_GT(done, first);
      envelope->Seal();
      for (uint32_t r = 0; r < envelope->rows(); ++r) {
        for (uint32_t c = 0; c < columns.size(); ++c) {
          ASSERT_TRUE(
              SameCell(columns[c].type, CellAt(envelope->column(c), r), expected[first + r][c]));
        }
      }
      EXPECT_EQ(envelope->rows(), done - first);
      Envelope::Free(envelope, lab.memory);
    }
  }
}

TEST(GatherTest, PicksMayRepeat) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  const std::vector<EnvelopeColumn> columns = GatherColumns();
  for (const int nulls : {0, 30}) {
    QueryLab lab;
    EnvelopeList list(lab.memory, columns);
    const auto rows = RandomRows(columns, 5000, Values::kAny, nulls, random);
    AddEnvelope(lab, list, rows, 0, rows.size());
    const uint32_t base = kBlockRows;
    std::vector<uint16_t> picks = {0, 0, 2};  // as many as from the first to the last, but others
    for (int i = 0; i < 500; ++i) picks.push_back(static_cast<uint16_t>(random() % kBlockRows));
    const auto count = static_cast<uint32_t>(picks.size());
    std::vector<uint32_t> string_bytes(columns.size(), 64 * count);
    Envelope* const envelope = Envelope::Create(lab.memory, columns, count, string_bytes);
    ASSERT_NE(envelope, nullptr);
    for (uint32_t c = 0; c < columns.size(); ++c) {
      ResultColumn& out = envelope->out().columns[c];
      GatherPicks(list[0].column(c), base, picks.data(), 3, out, 0);
      GatherPicks(list[0].column(c), base, picks.data() + 3, count - 3, out, 3);
    }
    envelope->out().rows = count;
    envelope->Seal();
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t c = 0; c < columns.size(); ++c) {
        ASSERT_TRUE(
            SameCell(columns[c].type, CellAt(envelope->column(c), i), rows[base + picks[i]][c]));
      }
    }
    Envelope::Free(envelope, lab.memory);
  }
}

TEST(GatherTest, RangesBeginAndEndAnywhere) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  const std::vector<EnvelopeColumn> columns = GatherColumns();
  for (const int nulls : {0, 30}) {
    QueryLab lab;
    EnvelopeList list(lab.memory, columns);
    const auto rows = RandomRows(columns, 3000, Values::kAny, nulls, random);
    AddEnvelope(lab, list, rows, 0, rows.size());
    uint32_t done = 0;
    while (done < rows.size()) {
      std::vector<uint32_t> string_bytes(columns.size(), 40 + random() % 3000);
      Envelope* const envelope =
          Envelope::Create(lab.memory, columns, 1 + random() % 900, string_bytes);
      ASSERT_NE(envelope, nullptr);
      const uint32_t first = done;
      uint32_t some = 0;
      uint32_t taken = 0;
      while (taken == some && done < rows.size()) {
        some = std::min<uint32_t>(1 + random() % 300, static_cast<uint32_t>(rows.size()) - done);
        taken = AppendRange(list[0].view().columns, done, some, envelope->out());
        done += taken;
      }
      ASSERT_GT(done, first);
      envelope->Seal();
      EXPECT_EQ(envelope->rows(), done - first);
      for (uint32_t r = 0; r < envelope->rows(); ++r) {
        for (uint32_t c = 0; c < columns.size(); ++c) {
          ASSERT_TRUE(
              SameCell(columns[c].type, CellAt(envelope->column(c), r), rows[first + r][c]));
        }
      }
      Envelope::Free(envelope, lab.memory);
    }
  }
}

// The bits of rows before and behind stay as they are, at any place in a word.
TEST(GatherTest, ValidityBeginsAndEndsAnywhere) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  for (int round = 0; round < 500; ++round) {
    uint64_t words[5];
    for (uint64_t& word : words) word = random();
    std::vector<bool> expected;
    for (uint32_t bit = 0; bit < 320; ++bit) expected.push_back(BitAt(words, bit));
    const auto first = static_cast<uint32_t>(random() % 200);
    const auto count = static_cast<uint32_t>(random() % 120);
    const bool all = round % 2 == 0;
    const uint64_t of_ten = random() % 10;
    ResultColumn out{.validity = words};
    bool any_null = false;
    for (uint32_t i = 0; i < count; ++i) {
      expected[first + i] = all || random() % 10 < of_ten;
      any_null |= !expected[first + i];
    }
    if (all) {
      PutAllValid(count, out, first);
    } else {
      PutValidity(count, out, first, [&](uint32_t i) -> bool { return expected[first + i]; });
    }
    for (uint32_t bit = 0; bit < 320; ++bit) ASSERT_EQ(BitAt(words, bit), expected[bit]) << bit;
    EXPECT_EQ(out.any_null, any_null);
  }
}

// Columns of 128 bits go through the functions that scans write with.
TEST(GatherTest, AppendColumnTakes128Bits) {
  QueryLab lab;
  Random random(2);
  const std::vector<EnvelopeColumn> columns = {{.type = ColumnType::kInt128}};
  EnvelopeList list(lab.memory, columns);
  const auto rows = RandomRows(columns, 3000, Values::kAny, 10, random);
  AddEnvelope(lab, list, rows, 0, rows.size());
  const uint32_t no_strings = 0;
  Envelope* const envelope = Envelope::Create(lab.memory, columns, 100, {&no_strings, 1});
  ASSERT_NE(envelope, nullptr);
  const uint16_t picks[] = {1, 5, 6, 7, 8, 90};
  AppendColumn(list[0].column(0), kBlockRows, picks, 6, envelope->out().columns[0], 0);
  AppendColumn(list[0].column(0), kBlockRows, picks + 1, 4, envelope->out().columns[0], 6);
  envelope->out().rows = 10;
  envelope->Seal();
  const uint32_t expected[] = {1, 5, 6, 7, 8, 90, 5, 6, 7, 8};
  for (uint32_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(SameCell(ColumnType::kInt128, CellAt(envelope->column(0), i),
                         rows[kBlockRows + expected[i]][0]));
  }
  Envelope::Free(envelope, lab.memory);
}

}  // namespace
}  // namespace eris::storage
