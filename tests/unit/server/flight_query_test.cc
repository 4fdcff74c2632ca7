#include "server/flight/flight_query.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/flight/flight_ticket.h"

namespace eris::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

flight::FlightDescriptor Command(const std::string& text) {
  flight::FlightDescriptor descriptor;
  descriptor.set_type(flight::FlightDescriptor::CMD);
  descriptor.set_cmd(text);
  return descriptor;
}

std::string FlightRefusal(const flight::FlightDescriptor& descriptor) {
  const auto query = FlightQueryFrom(descriptor);
  EXPECT_EQ(query.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(query.status().message());
}

Object ObjectOf(ObjectKind kind, Schema schema) {
  return Object(std::make_shared<Object::State>("orders", ObjectId{7}, kind, std::move(schema)));
}

TEST(FlightQueryTest, PathIsTheNameOfAnObject) {
  flight::FlightDescriptor descriptor;
  descriptor.set_type(flight::FlightDescriptor::PATH);
  EXPECT_THAT(FlightRefusal(descriptor), HasSubstr("a path of one part"));
  descriptor.add_path("orders");
  const auto query = FlightQueryFrom(descriptor);
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_EQ(query->object, "orders");
  EXPECT_EQ(query->shares, 0u);
  descriptor.add_path("more");
  EXPECT_THAT(FlightRefusal(descriptor), HasSubstr("a path of one part"));
  EXPECT_THAT(FlightRefusal({}), HasSubstr("or a command in JSON"));
}

TEST(FlightQueryTest, CommandIsJson) {
  const auto query =
      FlightQueryFrom(Command(R"({"object": "orders", "columns": ["b", "a"], "limit": 7})"));
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_EQ(query->object, "orders");
  EXPECT_THAT(query->columns, ElementsAre("b", "a"));
  EXPECT_EQ(query->limit, 7u);
  const auto shared = FlightQueryFrom(Command(R"({"shares": 3, "object": "orders"})"));
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(shared->shares, 3u);
}

TEST(FlightQueryTest, WrongCommandsAreRefusedByField) {
  EXPECT_THAT(FlightRefusal(Command("")), HasSubstr("must be a JSON object with object, columns"));
  EXPECT_THAT(FlightRefusal(Command("[1]")), HasSubstr("must be a JSON object"));
  EXPECT_THAT(FlightRefusal(Command("{\"object\": \"o\"")), HasSubstr("must be a JSON object"));
  EXPECT_THAT(FlightRefusal(Command("{}")), HasSubstr("\"object\" must be the name of an object"));
  EXPECT_THAT(FlightRefusal(Command(R"({"object": 1})")), HasSubstr("\"object\""));
  EXPECT_THAT(FlightRefusal(Command(R"({"object": "o", "filter": "a > 1"})")),
              HasSubstr("a field \"filter\", which is unknown; there are object, columns"));
  for (const char* columns : {"[]", "\"a\"", "[1]", "[\"a\", null]"}) {
    EXPECT_THAT(
        FlightRefusal(Command(std::string(R"({"object": "o", "columns": )") + columns + "}")),
        HasSubstr("\"columns\" must be a list of 1 to 256 names"));
  }
  for (const char* number : {"0", "-1", "1.5", "\"1\"", "4097", "18446744073709551616"}) {
    EXPECT_THAT(FlightRefusal(Command(std::string(R"({"object": "o", "shares": )") + number + "}")),
                HasSubstr("\"shares\" must be a whole number from 1 to 4096"));
  }
  EXPECT_THAT(FlightRefusal(Command(R"({"object": "o", "limit": 0})")), HasSubstr("\"limit\""));
  EXPECT_THAT(FlightRefusal(Command(R"({"object": "o", "limit": 1, "shares": 2})")),
              HasSubstr("a limit and shares"));
  EXPECT_THAT(FlightRefusal(Command(std::string(100'000, ' '))), HasSubstr("100000 bytes"));
  EXPECT_THAT(FlightRefusal(Command(std::string(kFlightCommandBytesMax, '['))), HasSubstr("JSON"));
}

TEST(FlightQueryTest, ColumnsAreOnesOfTheObject) {
  const Schema schema{.columns = {{.name = "a", .type = ColumnType::kInt64},
                                  {.name = "b", .type = ColumnType::kDate, .nullable = true},
                                  {.name = "c", .type = ColumnType::kString}},
                      .key = {0}};
  const Object table = ObjectOf(ObjectKind::kTable, schema);
  const auto query = QueryOf({.object = "orders", .columns = {"c", "b"}, .limit = 5}, table);
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_EQ(query->limit, 5u);
  EXPECT_EQ(AnswerSchema(*query, table).columns,
            (std::vector<ColumnSchema>{schema.columns[2], schema.columns[1]}));
  const auto all = QueryOf({.object = "orders"}, table);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(AnswerSchema(*all, table), schema);
  EXPECT_THAT(std::string(QueryOf({.columns = {"d"}}, table).status().message()),
              HasSubstr("column \"d\" is none of"));
  EXPECT_THAT(std::string(QueryOf({.columns = {"a", "a"}}, table).status().message()),
              HasSubstr("asked for twice"));
}

TEST(FlightQueryTest, IndexAnswersItsKeyOrAllColumns) {
  const Object index = ObjectOf(ObjectKind::kIndex, KeyValueSchema());
  EXPECT_TRUE(QueryOf({.columns = {"key"}}, index).ok());
  EXPECT_TRUE(QueryOf({.columns = {"key", "value"}}, index).ok());
  for (const auto& columns :
       {std::vector<std::string>{"value"}, std::vector<std::string>{"value", "key"}}) {
    EXPECT_EQ(QueryOf({.columns = columns}, index).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(QueryOf({}, ObjectOf(ObjectKind::kHash, KeyValueSchema())).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(FlightTicketTest, ComesBackFromItsServerAlone) {
  FlightTicket ticket{.object = ObjectId{7},
                      .range = {.lo = 5, .hi = ~uint64_t{0}, .lo_second = 1, .hi_second = 2}};
  ticket.scan.set_object("orders");
  ticket.scan.set_snapshot(99);
  const TokenSeal seal(1);
  const std::string bytes = WriteTicket(seal, ticket);
  const auto read = ReadTicket(seal, bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->object, ticket.object);
  EXPECT_EQ(read->range, ticket.range);
  EXPECT_EQ(read->scan.SerializeAsString(), ticket.scan.SerializeAsString());
  ticket.range = {};
  EXPECT_EQ(ReadTicket(seal, WriteTicket(seal, ticket))->range, KeyRange{});
  EXPECT_THAT(std::string(ReadTicket(TokenSeal(2), bytes).status().message()),
              HasSubstr("another server"));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(ReadTicket(seal, bytes.substr(0, size)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(ReadTicket(seal, damaged).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace eris::server
