// Envelopes against the rows that were put into them: values, bounds, nulls, room.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "memory/size_class.h"
#include "storage/table/plan/table_plan.h"
#include "storage/table/query/table_run.h"
#include "storage/table/rows/table_layout.h"
#include "tests/unit/query/query_lab.h"

namespace eris::storage {
namespace {

std::vector<EnvelopeColumn> ColumnsOfAllTypes() {
  std::vector<EnvelopeColumn> columns;
  for (const ColumnType type : kAllTypes) columns.push_back({.type = type});
  return columns;
}

void ExpectBounds(const SegmentColumn& column, const std::vector<CellRow>& rows, size_t c) {
  const SegmentColumn::Bounds* const bounds = column.bounds;
  if (IsByteString(column.type) || column.type == ColumnType::kInt128) {
    EXPECT_EQ(bounds, nullptr);
    return;
  }
  bool any = false, nan = false;
  Cell least, most;
  for (const CellRow& row : rows) {
    if (row[c].null) continue;
    nan |= std::isnan(row[c].real);
    const auto below = [](const Cell& a, const Cell& b) {
      return a.number != b.number ? a.number < b.number : a.real < b.real;
    };
    if (!any || below(row[c], least)) least = row[c];
    if (!any || below(most, row[c])) most = row[c];
    any = true;
  }
  ASSERT_EQ(bounds != nullptr, any && !nan);
  if (bounds == nullptr) return;
  if (column.type == ColumnType::kFloat64) {
    EXPECT_EQ(bounds->min.f64, least.real);
    EXPECT_EQ(bounds->max.f64, most.real);
  } else if (column.type == ColumnType::kUint64) {
    EXPECT_EQ(Int128{bounds->min.u64}, least.number);
    EXPECT_EQ(Int128{bounds->max.u64}, most.number);
  } else {
    EXPECT_EQ(bounds->min.i64, least.number);
    EXPECT_EQ(bounds->max.i64, most.number);
  }
}

TEST(EnvelopeTest, ShowsItsRowsBoundsAndNullsAsASegment) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  const std::vector<EnvelopeColumn> columns = ColumnsOfAllTypes();
  for (const size_t count : {0, 1, 63, 64, 65, 2047, 2048, 2049, 5000}) {
    for (const int nulls : {0, 20, 100}) {
      QueryLab lab;
      EnvelopeList list(lab.memory, columns);
      const auto values = static_cast<Values>(random() % 3);
      const std::vector<CellRow> rows = RandomRows(columns, count, values, nulls, random);
      AddEnvelope(lab, list, rows, 0, count);
      const SegmentView& view = list[0].view();
      ASSERT_EQ(view.rows, count);
      EXPECT_EQ(view.ever, count);
      EXPECT_EQ(view.kept, nullptr);
      for (size_t c = 0; c < columns.size(); ++c) {
        const SegmentColumn& column = view.columns[c];
        EXPECT_EQ(column.type, columns[c].type);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(column.values) % 64, 0u);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(column.validity) % 64, 0u);
        uint32_t null_rows = 0;
        for (uint32_t r = 0; r < count; ++r) {
          null_rows += rows[r][c].null;
          ASSERT_TRUE(SameCell(column.type, CellAt(column, r), rows[r][c])) << r << " " << c;
        }
        EXPECT_EQ(column.nulls, null_rows);
        EXPECT_EQ(column.validity != nullptr, null_rows > 0);
        ExpectBounds(column, rows, c);
      }
    }
  }
}

// A filter and a computed column over envelopes as segments, answers into other envelopes.
TEST(EnvelopeTest, TableRunsReadThemAndWriteThem) {
  using namespace expressions;  // NOLINT: the names of a query
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  Schema schema;
  std::vector<EnvelopeColumn> columns;
  for (const ColumnType type : kColumnTypes) {
    schema.columns.push_back({.name = ColumnTypeName(type), .type = type, .nullable = true});
    columns.push_back({.type = type});
  }
  const auto layout = TableLayout::Create(schema);
  ASSERT_TRUE(layout.ok());
  const Query query{.filter = Column("int64") < Literal(700) && Column("int32") >= Literal(0),
                    .columns = {{Column("string"), "s"},
                                {Column("int64") + Column("int32"), "sum"},
                                {Column("date"), "d"}}};
  const auto plan = TablePlan::Create((*layout)->schema().columns, query);
  ASSERT_TRUE(plan.ok()) << plan.status();
  auto run = TableRun::Create(*plan);
  ASSERT_TRUE(run.ok());
  QueryLab lab;
  EnvelopeList list(lab.memory, columns);
  const auto rows = RandomRows(columns, 20000, Values::kDense, 10, random);
  AddRows(lab, list, rows, random, 6000);
  std::vector<EnvelopeColumn> answer;
  for (const ColumnSchema& column : (*plan)->result().columns) answer.push_back({column.type});
  EnvelopeList found(lab.memory, answer);
  EnvelopeWriter writer(lab.memory, answer, kEnvelopeBytesMin);
  for (uint32_t e = 0; e < list.size(); ++e) {
    if (!(*run)->BeginSegment(list[e].view())) continue;
    for (uint32_t at = 0; at < list[e].rows();) {
      ASSERT_NE(writer.Open(), nullptr);
      const TableRun::Outcome outcome = (*run)->RunBlock(at, &writer.Open()->out());
      ASSERT_NE(outcome, TableRun::Outcome::kError) << (*run)->status();
      if (outcome == TableRun::Outcome::kFull) {
        ASSERT_TRUE(writer.has_rows());
        ASSERT_EQ(found.Add(writer.Take()), EnvelopeList::Added::kYes);
      }
    }
  }
  if (writer.has_rows()) {
    ASSERT_EQ(found.Add(writer.Take()), EnvelopeList::Added::kYes);
  }
  uint32_t e = 0, row = 0;
  for (const CellRow& from : rows) {
    const Cell &i32 = from[0], &i64 = from[1];
    if (i64.null || i64.number >= 700 || i32.null || i32.number < 0) continue;
    if (row == found[e].rows()) {
      ++e;
      row = 0;
    }
    ASSERT_LT(e, found.size());
    const Cell sum{.number = i64.number + i32.number};
    ASSERT_TRUE(SameCell(ColumnType::kString, CellAt(found[e].column(0), row), from[7]));
    ASSERT_TRUE(SameCell(ColumnType::kInt64, CellAt(found[e].column(1), row), sum));
    ASSERT_TRUE(SameCell(ColumnType::kDate, CellAt(found[e].column(2), row), from[4]));
    ++row;
  }
  EXPECT_EQ(e + 1, found.size());
  EXPECT_GT(found.size(), 5u);
}

TEST(EnvelopeTest, AFullOneHas65536Rows) {
  QueryLab lab;
  Random random(1);
  const std::vector<EnvelopeColumn> columns = {{.type = ColumnType::kInt32}};
  EnvelopeList list(lab.memory, columns);
  const auto rows = RandomRows(columns, kEnvelopeRowsMax, Values::kDense, 1, random);
  AddEnvelope(lab, list, rows, 0, rows.size());
  EXPECT_EQ(list.rows(), kEnvelopeRowsMax);
  EXPECT_TRUE(SameCell(ColumnType::kInt32, CellAt(list[0].column(0), 65535), rows[65535][0]));
}

TEST(EnvelopeTest, AListOfRefusedMemoryLeavesTheEnvelopeToTheCaller) {
  QueryLab lab;
  const std::vector<EnvelopeColumn> columns = {{.type = ColumnType::kInt64}};
  const uint64_t refused = RefuseEach(lab, [&] {
    EnvelopeList list(lab.memory, columns);
    for (int i = 0; i < 20; ++i) {
      const uint32_t no_strings = 0;
      Envelope* const envelope = Envelope::Create(lab.memory, columns, 10, {&no_strings, 1});
      if (envelope == nullptr) return true;
      envelope->Seal();
      if (list.Add(envelope) == EnvelopeList::Added::kYes) continue;
      Envelope::Free(envelope, lab.memory);
      return true;
    }
    return false;
  });
  EXPECT_EQ(refused, 23u);  // 20 envelopes, and arrays of pointers for 8, then 16, then 32
}

TEST(QueryMemoryTest, ARefusalNamesOperatorBytesAndLimit) {
  QueryLab lab(4096);
  EXPECT_EQ(lab.memory.Allocate(8192), nullptr);
  EXPECT_EQ(lab.memory.Refusal("join table").ToString(),
            "RESOURCE_EXHAUSTED: join table: 8192 bytes more are above the limit of 4096 bytes for "
            "all queries (query_bytes_max)");
  void* const block = lab.memory.Allocate(2000);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(lab.budget.used(), 2048u);
  EXPECT_EQ(lab.memory.used_bytes(), 2048);
  lab.tree.cache.ArmFailures(1, memory::FailurePoint::Mode::kOnce);
  EXPECT_EQ(lab.memory.Allocate(100), nullptr);
  const absl::Status full = lab.memory.Refusal("sort");
  EXPECT_TRUE(absl::IsResourceExhausted(full));
  EXPECT_EQ(full.message(), "sort: the engine's memory limit has no room for 128 bytes more");
  lab.tree.cache.ArmFailures(0, memory::FailurePoint::Mode::kOnce);
  lab.memory.Free(block, 2000);
}

// Writes rows as a scan does: as many as fit, then the next envelope.
void WriteAll(EnvelopeWriter& writer, EnvelopeList& list, const std::vector<CellRow>& rows) {
  for (const CellRow& row : rows) {
    for (;;) {
      Envelope* const envelope = writer.Open();
      ASSERT_NE(envelope, nullptr);
      ResultRows& out = envelope->out();
      bool fits = out.rows < out.capacity;
      uint32_t longest = 0;
      for (size_t c = 0; fits && c < row.size(); ++c) {
        longest = std::max(longest, static_cast<uint32_t>(row[c].text.size()));
        fits = !IsByteString(out.columns[c].type) ||
               row[c].text.size() <= out.columns[c].bytes_max - out.columns[c].offsets[out.rows];
      }
      if (fits) {
        for (size_t c = 0; c < row.size(); ++c) PutCell(row[c], out.columns[c], out.rows);
        ++out.rows;
        break;
      }
      if (writer.has_rows()) {
        ASSERT_EQ(list.Add(writer.Take()), EnvelopeList::Added::kYes);
      } else {
        writer.Widen(longest);
      }
    }
  }
  if (!writer.has_rows()) return;
  ASSERT_EQ(list.Add(writer.Take()), EnvelopeList::Added::kYes);
}

TEST(EnvelopeWriterTest, FourLargeOnesFitInASuperblock) {
  const auto in_superblock = [](size_t bytes) {
    const size_t size_class = memory::SizeClassOf(bytes);
    const size_t spans = memory::RunSpans(size_class);
    return memory::kRunSpansMax / spans *
           (spans * memory::kSpanBytes / memory::SizeClassBytes(size_class));
  };
  EXPECT_EQ(in_superblock(kEnvelopeBytesMax), 4u);
  EXPECT_EQ(in_superblock(kEnvelopeBytesMax + (20u << 10)), 3u);
}

TEST(EnvelopeWriterTest, SizesFollowTheTargetAndTheStrings) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  const std::vector<EnvelopeColumn> columns = ColumnsOfAllTypes();
  for (const size_t target : {kEnvelopeBytesMin, size_t{64} << 10, kEnvelopeBytesMax}) {
    QueryLab lab;
    EnvelopeList list(lab.memory, columns);
    EnvelopeWriter writer(lab.memory, columns, target);
    std::vector<CellRow> rows = RandomRows(columns, 20000, Values::kDense, 10, random);
    for (size_t r = 10000; r < 10500; ++r) rows[r][6] = Cell{.text = std::string(300, 'y')};
    rows[15000][6] = Cell{.text = std::string(kTableStringBytesMax, 'z')};
    WriteAll(writer, list, rows);
    EXPECT_EQ(list.rows(), rows.size());
    size_t r = 0;
    size_t larger = 0;
    for (uint32_t e = 0; e < list.size(); ++e) {
      larger += list[e].bytes() > target;
      for (uint32_t row = 0; row < list[e].rows(); ++row, ++r) {
        for (uint32_t c = 0; c < columns.size(); ++c) {
          ASSERT_TRUE(SameCell(columns[c].type, CellAt(list[e].column(c), row), rows[r][c]));
        }
      }
    }
    EXPECT_LE(larger, 1u + (target == kEnvelopeBytesMax ? 0 : list.size() / 8)) << list.size();
    // Not a row per envelope.
    EXPECT_LT(list.size(), 4 * rows.size() * 90 / target + 20);
  }
}

}  // namespace
}  // namespace eris::storage
