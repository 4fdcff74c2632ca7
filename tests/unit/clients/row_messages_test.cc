#include "clients/row_messages.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::client {
namespace {

using ::testing::HasSubstr;

const std::vector<ColumnType> kTypes = {ColumnType::kInt32, ColumnType::kString};

v1::Rows TwoRows() {
  v1::Rows rows;
  rows.set_rows(2);
  rows.add_columns()->set_type(v1::COLUMN_TYPE_INT32);
  rows.mutable_columns(0)->set_data(std::string(8, '\2'));
  rows.add_columns()->set_type(v1::COLUMN_TYPE_BYTES);
  rows.mutable_columns(1)->set_data("abc");
  const uint32_t offsets[] = {0, 1, 3};
  rows.mutable_columns(1)->set_offsets(offsets, sizeof(offsets));
  return rows;
}

TEST(RowMessagesTest, RowsAreTakenWithoutACopy) {
  v1::Rows message = TwoRows();
  OwnedRows rows;
  ASSERT_TRUE(TakeRows(kTypes, message, rows).ok());
  EXPECT_EQ(rows.rows, 2u);
  EXPECT_EQ(rows.Get<int32_t>(0, 1), 0x02020202);
  EXPECT_EQ(rows.GetString(1, 1), "bc");
  EXPECT_FALSE(rows.IsNull(0, 0));
}

TEST(RowMessagesTest, AnswersThatBreakTheProtocolAreInternalErrors) {
  const auto error = [](auto change) {
    v1::Rows message = TwoRows();
    change(message);
    OwnedRows rows;
    const absl::Status status = TakeRows(kTypes, message, rows);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    return std::string(status.message());
  };
  const auto set_offsets = [](v1::Rows& rows, std::vector<uint32_t> offsets) {
    rows.mutable_columns(1)->set_offsets(offsets.data(), offsets.size() * sizeof(uint32_t));
  };
  EXPECT_THAT(error([](auto& m) { m.mutable_columns()->RemoveLast(); }), HasSubstr("1 columns"));
  EXPECT_THAT(error([](auto& m) { m.set_rows(3); }), HasSubstr("for 3 rows"));
  EXPECT_THAT(error([](auto& m) { m.mutable_columns(0)->set_type(v1::COLUMN_TYPE_DATE32); }),
              HasSubstr("type 22"));
  EXPECT_THAT(error([](auto& m) {
                m.set_rows(9);
                m.mutable_columns(0)->set_data(std::string(36, 'x'));
                m.mutable_columns(0)->set_validity("x");
              }),
              HasSubstr("for 9 rows"));
  error([&](auto& m) { set_offsets(m, {0, 1}); });
  error([&](auto& m) { set_offsets(m, {1, 1, 3}); });
  error([&](auto& m) { set_offsets(m, {0, 5, 3}); });
  error([&](auto& m) { set_offsets(m, {0, 1, 4}); });
}

TEST(RowMessagesTest, RowsThatWereLentComeBack) {
  OwnedRows rows;
  v1::Rows answer = TwoRows();
  ASSERT_TRUE(TakeRows(kTypes, answer, rows).ok());
  v1::Rows message;
  SwapRows(kTypes, rows, message);
  EXPECT_EQ(message.SerializeAsString(), TwoRows().SerializeAsString());
  EXPECT_TRUE(rows.columns[0].values.empty());
  SwapRows(kTypes, rows, message);
  EXPECT_EQ(rows.GetString(1, 0), "a");
}

}  // namespace
}  // namespace eris::client
