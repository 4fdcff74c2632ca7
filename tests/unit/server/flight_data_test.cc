// The bytes that DoGet sends are a FlightData, whose body is aligned within them.
#include "server/flight/flight_data.h"

#include <string>
#include <vector>

#include "arrow/flight.pb.h"
#include "gtest/gtest.h"
#include "tests/support/table_rows.h"

namespace eris::server {
namespace {

std::string BytesIn(const absl::StatusOr<grpc::ByteBuffer>& message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.ok() && message->Dump(&slices).ok());
  EXPECT_EQ(slices.size(), 1u);
  return {reinterpret_cast<const char*>(slices[0].begin()), slices[0].size()};
}

TEST(FlightDataTest, SchemaHasNoBody) {
  const std::string bytes = BytesIn(FlightDataOf("a schema"));
  arrow::flight::protocol::FlightData data;
  ASSERT_TRUE(data.ParseFromString(bytes));
  EXPECT_EQ(data.data_header().substr(0, 8), "a schema");
  EXPECT_EQ(data.data_header().find_first_not_of('\0', 8), std::string::npos);
  EXPECT_TRUE(data.data_body().empty());
}

TEST(FlightDataTest, BodyIsAlignedAndWhole) {
  for (const int rows : {1, 2, 100, 3000}) {
    for (const int columns : {1, 2, 3, 50}) {
      std::vector<ColumnSchema> schema;
      test::Row row;
      for (int i = 0; i < columns; ++i) {
        schema.push_back({.name = std::to_string(i), .type = ColumnType::kInt64});
        row.push_back(int64_t{i});
      }
      test::Rows all(schema);
      for (int i = 0; i < rows; ++i) all.Add(row);
      const wire::ArrowBatch batch({.columns = schema}, all.batch());
      const std::string bytes = BytesIn(FlightDataOf(batch));
      arrow::flight::protocol::FlightData data;
      ASSERT_TRUE(data.ParseFromString(bytes));
      EXPECT_EQ(data.data_header().substr(0, batch.header().size()), batch.header());
      std::string body(batch.body_bytes(), '\0');
      batch.CopyBody(body.data());
      EXPECT_EQ(data.data_body(), body);
      EXPECT_EQ((bytes.size() - body.size()) % wire::ArrowBatch::kArrowAlignment, 0u);
    }
  }
}

}  // namespace
}  // namespace eris::server
