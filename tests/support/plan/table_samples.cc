#include "tests/support/plan/table_samples.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace eris::test {
namespace {

constexpr uint32_t kColumnsMax = 6;

// Texts of one, two, three and four bytes a character, with the characters of patterns among them.
constexpr const char* kTexts[] = {"",
                                  "a",
                                  "ab",
                                  "abc",
                                  "abd",
                                  "b",
                                  "B",
                                  "ä",
                                  "aä",
                                  "äa€",
                                  "€",
                                  "\U0001F600",
                                  "a%b",
                                  "a_b",
                                  "%",
                                  "special",
                                  "special offer",
                                  "special order",
                                  "specia"};
constexpr double kReals[] = {0.0,
                             -0.0,
                             std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(),
                             0.1,
                             -0.3,
                             1e-300,
                             1e15,
                             9007199254740993.0};

// In the middle of the year 0, in leap years, at the ends of months, and at the ends of the type.
constexpr int32_t kDays[] = {0,     -1,      58,      59,     60,         11016,
                             11017, -719468, -719528, -25508, 0x7fffffff, -0x7fffffff - 1};

// Midnights of the days of near dates, and moments around them.
Cell SampleTimestamp(PlanRandom& random, Reach reach) {
  constexpr int64_t kDay = int64_t{24} * 60 * 60 * 1'000'000;
  constexpr int64_t kOfDay[] = {0, 0, 0, 1, -1, 500'000, kDay / 2, kDay / 24 + 61'000'001};
  constexpr int64_t kFar[] = {0,
                              -1,
                              -kDay,
                              -719'528 * kDay - 1,
                              std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::min() + 1,
                              std::numeric_limits<int64_t>::max()};
  if (reach != Reach::kNear && OneIn(random, 2)) {
    return TimestampCell(kFar[Below(random, std::size(kFar))]);
  }
  const int64_t day = 11010 + static_cast<int64_t>(Below(random, 4));
  return TimestampCell(day * kDay + kOfDay[Below(random, std::size(kOfDay))]);
}

Cell SampleReal(PlanRandom& random, Reach reach) {
  const bool special = OneIn(random, reach == Reach::kNear ? 5 : 3);
  if (special)
    return RealCell(kReals[Below(random, reach == Reach::kNear ? 5 : std::size(kReals))]);
  return RealCell(static_cast<double>(Below(random, 33)) / 4 - 4);
}

Cell SampleText(PlanRandom& random, Reach reach) {
  if (reach == Reach::kNear || !OneIn(random, 4)) {
    return TextCell(kTexts[Below(random, std::size(kTexts))]);
  }
  std::string text;
  for (uint64_t i = Below(random, 20); i > 0; --i) text += kTexts[Below(random, 8)];
  return TextCell(std::move(text));
}

// Texts as bytes, some with what is no text.
Cell SampleBytes(PlanRandom& random, Reach reach) {
  std::string bytes = SampleText(random, reach).text;
  if (OneIn(random, 3)) bytes += OneIn(random, 2) ? '\xff' : '\0';
  return BytesCell(std::move(bytes));
}

Int128 SampleNumber(PlanRandom& random, ColumnType type, Reach reach) {
  const Int128 least = SmallestOf(type);
  const Int128 most = LargestOf(type);
  const bool positive = least == 0;
  if (reach == Reach::kExtreme && OneIn(random, 4)) {
    const uint64_t distance = Below(random, 3);
    return OneIn(random, 2) ? least + distance : most - distance;
  }
  if (reach == Reach::kNear || OneIn(random, 2)) {
    return Int128{Below(random, 12)} - (positive ? 0 : 4);
  }
  const int bits = ColumnValueBytes(type) == sizeof(int32_t) ? 31 : 63;
  const auto any = static_cast<int64_t>(random() >> 1 >> (63 - bits) >> Below(random, 40));
  return positive || OneIn(random, 2) ? any : -any;
}

ColumnSchema SampleColumn(PlanRandom& random, uint32_t number) {
  ColumnSchema column{.name = absl::StrCat("c", number)};
  column.type = kColumnTypes[Below(random, std::size(kColumnTypes))];
  if (column.type == ColumnType::kDecimal) {
    constexpr uint8_t kScales[] = {0, 1, 2, 2, 4, 9};
    column.scale = kScales[Below(random, std::size(kScales))];
  }
  column.nullable = !OneIn(random, 3);
  return column;
}

// How a column's values come about.
struct ColumnHabits {
  Reach reach = Reach::kNear;
  uint64_t null_once_in = 0;   // 0: none
  uint64_t often_once_in = 0;  // how often the one value comes that comes often; 0: there is none
  Cell often{};
};

ColumnHabits SampleHabits(PlanRandom& random, const ColumnSchema& column) {
  ColumnHabits habits;
  if (OneIn(random, 5)) habits.reach = OneIn(random, 2) ? Reach::kFar : Reach::kExtreme;
  constexpr uint64_t kNulls[] = {0, 2, 4, 4, 4, 8};
  if (column.nullable) habits.null_once_in = kNulls[Below(random, std::size(kNulls))];
  if (column.nullable && OneIn(random, 12)) habits.null_once_in = 1;
  habits.often_once_in = OneIn(random, 2) ? 0 : 1 + Below(random, 3);
  habits.often = SampleCell(random, {column.type, column.scale}, habits.reach);
  return habits;
}

PlanTable SampleTable(PlanRandom& random, uint32_t rows_max) {
  PlanTable table;
  const auto columns = static_cast<uint32_t>(1 + Below(random, kColumnsMax));
  std::vector<ColumnHabits> habits;
  for (uint32_t i = 0; i < columns; ++i) {
    table.schema.columns.push_back(SampleColumn(random, i));
    habits.push_back(SampleHabits(random, table.schema.columns.back()));
  }
  uint64_t rows = Below(random, 12);
  if (OneIn(random, 3)) rows = Below(random, rows_max + 1);
  if (OneIn(random, 12)) rows = 0;
  for (; rows > 0; --rows) {
    Cells row;
    for (uint32_t i = 0; i < columns; ++i) {
      const CellType type{table.schema.columns[i].type, table.schema.columns[i].scale};
      const ColumnHabits& habit = habits[i];
      if (habit.null_once_in > 0 && OneIn(random, habit.null_once_in)) {
        row.push_back(NullCell(type));
      } else if (habit.often_once_in > 0 && OneIn(random, habit.often_once_in)) {
        row.push_back(habit.often);
      } else {
        row.push_back(SampleCell(random, type, habit.reach));
      }
    }
    table.rows.push_back(row);
    if (OneIn(random, 10)) table.rows.push_back(std::move(row));
  }
  if (table.rows.size() > rows_max) table.rows.resize(rows_max);
  return table;
}

// Gives the table a key of one or two columns, if it has any that may be one: of rows with equal
// keys the first one stays.
void AddKey(PlanRandom& random, PlanTable& table) {
  std::vector<uint32_t> candidates;
  for (uint32_t i = 0; i < table.schema.columns.size(); ++i) {
    const ColumnSchema& column = table.schema.columns[i];
    // A NaN is no key.
    const bool has_order = !IsByteString(column.type) && column.type != ColumnType::kFloat64;
    if (has_order && !column.nullable) candidates.push_back(i);
  }
  if (candidates.empty()) return;
  std::shuffle(candidates.begin(), candidates.end(), random);
  candidates.resize(std::min<size_t>(candidates.size(), 1 + Below(random, 2)));
  table.schema.key = candidates;
  std::set<std::vector<Int128>> keys;
  std::vector<Cells> rows;
  for (Cells& row : table.rows) {
    std::vector<Int128> key;
    for (const uint32_t column : candidates) key.push_back(row[column].number);
    if (keys.insert(std::move(key)).second) rows.push_back(std::move(row));
  }
  table.rows = std::move(rows);
}

}  // namespace

uint64_t Below(PlanRandom& random, uint64_t count) { return random() % count; }
bool OneIn(PlanRandom& random, uint64_t count) { return random() % count == 0; }

Cell SampleCell(PlanRandom& random, CellType type, Reach reach) {
  switch (type.type) {
    case ColumnType::kFloat64:
      return SampleReal(random, reach);
    case ColumnType::kString:
      return SampleText(random, reach);
    case ColumnType::kBytes:
      return SampleBytes(random, reach);
    case ColumnType::kDate: {
      const bool near = reach == Reach::kNear || OneIn(random, 2);
      if (near) return DateCell(static_cast<int32_t>(Below(random, 10)) + 11010);
      return DateCell(kDays[Below(random, std::size(kDays))]);
    }
    case ColumnType::kTimestamp:
      return SampleTimestamp(random, reach);
    default:
      return NumberCell(type, SampleNumber(random, type.type, reach));
  }
}

PlanTables SampleTables(PlanRandom& random, uint32_t rows_max) {
  PlanTables tables;
  const uint64_t count = 1 + Below(random, kSampleTablesMax);
  for (uint64_t i = 0; i < count; ++i) {
    PlanTable table = SampleTable(random, rows_max);
    if (!OneIn(random, 3)) AddKey(random, table);
    tables.emplace(absl::StrCat("t", i), std::move(table));
  }
  return tables;
}

}  // namespace eris::test
