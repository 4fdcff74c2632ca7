// Generated rows are what `eris import --schema tpch:...` reads, the same for the same seed, and
// both tables tell of the same orders.
#include "clients/cli/loading/sample_rows.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "clients/cli/files/row_file.h"
#include "clients/cli/files/tpch_tables.h"
#include "gtest/gtest.h"
#include "tests/unit/clients/temp_file.h"

namespace eris::cli {
namespace {

std::string Text(const SampleScale& scale, bool orders) {
  std::string text;
  for (uint64_t number = 0; number < scale.orders(); ++number) {
    if (orders) {
      AppendOrder(scale, number, text);
    } else {
      AppendLineitems(scale, number, text);
    }
  }
  return text;
}

client::OwnedRows Read(const std::string& text, const char* table) {
  const TempFile temp(text);
  RowFile file(temp.fd(), table, {.delimited = {'|', false, true}}, TpchSchema(table));
  EXPECT_TRUE(file.Open().ok());
  client::OwnedRows rows;
  const auto result = file.Read(1'000'000, rows, [](const std::string& complaint) {
    ADD_FAILURE() << complaint;
    return true;
  });
  EXPECT_TRUE(result.ok() && *result == RowFile::Result::kEnd);
  return rows;
}

TEST(SampleRowsTest, ASeedAlwaysGivesTheSameRowsAndAnotherOneOthers) {
  const SampleScale scale{.seed = 3, .factor = 0.001};
  const SampleScale other{.seed = 4, .factor = 0.001};
  for (const bool orders : {false, true}) {
    EXPECT_EQ(Text(scale, orders), Text(scale, orders));
    EXPECT_NE(Text(scale, orders), Text(other, orders));
  }
}

TEST(SampleRowsTest, BothTablesTellOfTheSameOrders) {
  const SampleScale scale{.factor = 0.001};
  const client::OwnedRows orders = Read(Text(scale, true), "orders");
  const client::OwnedRows items = Read(Text(scale, false), "lineitem");
  ASSERT_EQ(orders.rows, 1500u);
  std::set<std::pair<int64_t, int32_t>> keys;
  std::map<int64_t, int64_t> totals;  // in 10^-6
  for (uint64_t row = 0; row < items.rows; ++row) {
    const int64_t order = items.Get<int64_t>(0, row);
    EXPECT_TRUE(keys.emplace(order, items.Get<int32_t>(3, row)).second);
    totals[order] += items.Get<int64_t>(5, row) * (100 - items.Get<int64_t>(6, row)) *
                     (100 + items.Get<int64_t>(7, row));
  }
  ASSERT_EQ(totals.size(), orders.rows);
  int64_t before = 0;
  for (uint64_t row = 0; row < orders.rows; ++row) {
    const int64_t key = orders.Get<int64_t>(0, row);
    EXPECT_GT(key, before);
    before = key;
    EXPECT_EQ(orders.Get<int64_t>(3, row), (totals.at(key) + 5'000) / 10'000) << key;
  }
}

}  // namespace
}  // namespace eris::cli
