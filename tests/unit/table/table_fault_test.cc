// Faults that are planted in a partition of a table: the walk beside the model finds each of them,
// and finds nothing where none is.
#include <gtest/gtest.h>

#include <string>

#include "storage/table/planted_fault.h"
#include "tests/unit/table/table_world.h"

namespace eris::storage {
namespace {

// What goes wrong in some hundred steps; empty: nothing.
std::string Walk(TableFault fault) {
  planted_table_fault = fault;
  Schema schema;
  for (const ColumnType type : {ColumnType::kInt64, ColumnType::kInt32, ColumnType::kFloat64}) {
    schema.columns.push_back({.name = std::to_string(schema.columns.size()), .type = type});
  }
  schema.key = {0};
  TableWorld world(schema, Seed());
  std::string wrong;
  for (int i = 0; i < 300 && wrong.empty(); ++i) {
    // Values that grow: what snapshots see is less than what lives.
    std::vector<Row> rows = world.RandomRows(1 + world.random() % 300, 200);
    for (Row& row : rows) {
      row[1] = CellOf(int32_t{i});
      row[2] = CellOf(i / 2.0);
    }
    world.Put(rows);
    world.Erase(world.RandomRows(1 + world.random() % 20, 200));
    if (i % 8 == 0) world.TakeSnapshot();
    if (world.held.size() > 4) world.ReleaseSnapshot(world.random() % world.held.size());
    world.BeginTurn();
    world.partition->FreeVersions(world.view, 100);
    for (int j = 0; j < 5; ++j) world.partition->Maintain(world.view, 1000);
    if (i % 4 == 0) wrong = world.Differences();
  }
  planted_table_fault = TableFault::kNone;
  return wrong;
}

TEST(TableFaultTest, NothingIsFoundWhereNothingIsWrong) {
  SCOPED_TRACE(SeedText());
  EXPECT_EQ(Walk(TableFault::kNone), "");
}

TEST(TableFaultTest, BoundsThatForgetOldRowsAreFound) {
  SCOPED_TRACE(SeedText());
  EXPECT_EQ(Walk(TableFault::kNarrowBounds), "a value lies outside the bounds of its segment");
}

TEST(TableFaultTest, PlacesThatAreUsedTwiceAreFound) {
  SCOPED_TRACE(SeedText());
  EXPECT_NE(Walk(TableFault::kReusePlace), "");
}

}  // namespace
}  // namespace eris::storage
