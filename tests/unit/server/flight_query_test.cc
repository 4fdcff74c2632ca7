#include "server/flight/flight_query.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eris/key_encoding.h"
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
  EXPECT_THAT(FlightRefusal(Command(R"({"object": "o", "filters": "a > 1"})")),
              HasSubstr("a field \"filters\", which is unknown; there are object, columns"));
  for (const char* columns : {"[]", "\"a\"", "[1]", "[\"a\", null]"}) {
    EXPECT_THAT(
        FlightRefusal(Command(std::string(R"({"object": "o", "columns": )") + columns + "}")),
        HasSubstr("\"columns\" must be a list of 1 to 256 names or texts"));
  }
  for (const char* number : {"0", "-1", "1.5", "\"1\"", "4097", "18446744073709551616"}) {
    EXPECT_THAT(FlightRefusal(Command(std::string(R"({"object": "o", "shares": )") + number + "}")),
                HasSubstr("\"shares\" must be a whole number from 1 to 4096"));
  }
  EXPECT_THAT(FlightRefusal(Command(R"({"object": "o", "limit": 0})")), HasSubstr("\"limit\""));
  for (const char* aggregates : {"\"\"", "7", "[]", "[7]"}) {
    EXPECT_THAT(
        FlightRefusal(Command(std::string(R"({"object": "o", "aggregates": )") + aggregates + "}")),
        HasSubstr("\"aggregates\" must be "));
  }
  EXPECT_THAT(FlightRefusal(Command(R"({"object": "o", "filter": ""})")), HasSubstr("\"filter\""));
  EXPECT_THAT(FlightRefusal(Command(R"({"object": "o", "group_by": ["a"]})")),
              HasSubstr("group_by without aggregates"));
  EXPECT_THAT(
      FlightRefusal(Command(R"({"object": "o", "columns": ["a"], "aggregates": ["max(a) as m"]})")),
      HasSubstr("columns and aggregates"));
  for (const char* range : {"5", "[1, 2]", R"({"from": 1})", R"({"lo": 1, "to": 2})"}) {
    EXPECT_THAT(FlightRefusal(Command(std::string(R"({"object": "o", "range": )") + range + "}")),
                HasSubstr("\"range\" must be an object with lo, hi or both"));
  }
  for (const char* bound : {"null", "[]", "[1, 2, 3]", "[[1]]", "true", "{}"}) {
    EXPECT_THAT(
        FlightRefusal(Command(std::string(R"({"object": "o", "range": {"hi": )") + bound + "}}")),
        HasSubstr("whose lo and hi are keys"));
  }
  std::string deep = R"({"object": "o", "range": {"lo": )" + std::string(30'000, '[');
  deep += std::string(30'000, ']') + "}}";
  EXPECT_THAT(FlightRefusal(Command(deep)), HasSubstr("whose lo and hi are keys"));
  EXPECT_THAT(FlightRefusal(Command(std::string(100'000, ' '))), HasSubstr("100000 bytes"));
  EXPECT_THAT(FlightRefusal(Command(std::string(kFlightCommandBytesMax, '['))), HasSubstr("JSON"));
}

const Schema kAsked = {.columns = {{.name = "a", .type = ColumnType::kInt64},
                                   {.name = "b c", .type = ColumnType::kDate, .nullable = true},
                                   {.name = "d", .type = ColumnType::kString}},
                       .key = {0}};

std::string QueryRefusal(const FlightQuery& asked, const Object& object) {
  const auto query = QueryOf(asked, object);
  EXPECT_EQ(query.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(query.status().message());
}

TEST(FlightQueryTest, ColumnsAreNamesOrTexts) {
  const Object table = ObjectOf(ObjectKind::kTable, kAsked);
  const auto query =
      QueryOf({.object = "orders", .columns = {"b c", "a", "a * 2 as twice"}, .limit = 5}, table);
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_EQ(query->limit, 5u);
  ASSERT_EQ(query->columns.size(), 3u);
  EXPECT_EQ(query->columns[0].expression, expressions::Column("b c"));
  EXPECT_EQ(query->columns[0].name, "b c");
  EXPECT_EQ(query->columns[1].expression, expressions::Column("a"));
  EXPECT_EQ(query->columns[2].expression.kind, Expression::Kind::kMultiply);
  EXPECT_EQ(query->columns[2].name, "twice");
  EXPECT_TRUE(QueryOf({.object = "orders"}, table)->columns.empty());
  EXPECT_THAT(QueryRefusal({.columns = {"a, d"}}, table), HasSubstr("'a, d' has 2 columns"));
  EXPECT_THAT(QueryRefusal({.columns = {"a +"}}, table),
              HasSubstr("field \"columns\": at character 4"));
  EXPECT_EQ(QueryOf({}, ObjectOf(ObjectKind::kHash, KeyValueSchema())).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(FlightQueryTest, FiltersAndAggregatesAreTexts) {
  const Object table = ObjectOf(ObjectKind::kTable, kAsked);
  const auto asked = FlightQueryFrom(Command(
      R"({"object": "orders", "filter": "a < 5 and \"b c\" is null", "group_by": ["d"],
          "aggregates": ["count(*), sum(a) as s", "max(a) as m"]})"));
  ASSERT_TRUE(asked.ok()) << asked.status();
  const auto query = QueryOf(*asked, table);
  ASSERT_TRUE(query.ok()) << query.status();
  ASSERT_TRUE(query->filter.has_value());
  EXPECT_EQ(query->filter->kind, Expression::Kind::kAnd);
  EXPECT_THAT(query->group_by, ElementsAre("d"));
  ASSERT_EQ(query->aggregates.size(), 3u);
  EXPECT_EQ(query->aggregates[1].name, "s");
  EXPECT_EQ(query->aggregates[2].function, AggregateFunction::kMax);
  EXPECT_FALSE(HasShares(*query));
  const auto one = FlightQueryFrom(Command(R"({"object": "o", "aggregates": "max(a) as m"})"));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_THAT(one->aggregates, ElementsAre("max(a) as m"));
  EXPECT_THAT(QueryRefusal({.filter = "a <"}, table),
              HasSubstr("field \"filter\": at character 4"));
  EXPECT_THAT(QueryRefusal({.aggregates = {"middle(a)"}}, table),
              HasSubstr("field \"aggregates\": at character 1"));
}

TEST(FlightQueryTest, RangesHaveTheKeysTypes) {
  const auto range = [](KeyTypes types, const std::string& text) {
    Schema schema{.columns = {{.name = "k", .type = types.first}}, .key = {0}};
    if (types.second) {
      schema.columns.push_back({.name = "l", .type = *types.second});
      schema.key.push_back(1);
    }
    schema.columns.push_back({.name = "v", .type = ColumnType::kUint64});
    const auto asked = FlightQueryFrom(Command(R"({"object": "o", "range": )" + text + "}"));
    EXPECT_TRUE(asked.ok()) << asked.status();
    const auto query = QueryOf(*asked, ObjectOf(ObjectKind::kIndex, schema));
    return query.ok() ? absl::StatusOr<KeyRange>(query->range) : query.status();
  };
  EXPECT_EQ(*range(ColumnType::kUint64, R"({"lo": 5, "hi": 18446744073709551615})"),
            (KeyRange{.lo = 5, .hi = ~uint64_t{0}}));
  EXPECT_EQ(*range(ColumnType::kUint64, R"({"hi": "7"})"), (KeyRange{.hi = 7}));
  EXPECT_EQ(*range(ColumnType::kInt64, R"({"lo": -5})"), Int64Range(-5, std::nullopt));
  EXPECT_EQ(*range(ColumnType::kFloat64, R"({"lo": 0.1, "hi": 2})"), *Float64Range(0.1, 2));
  EXPECT_EQ(*range(ColumnType::kFloat64, R"({"hi": "inf"})"),
            *Float64Range(std::nullopt, std::numeric_limits<double>::infinity()));
  EXPECT_EQ(*range(ColumnType::kDate, R"({"lo": "1970-01-03"})"), DateRange(2, std::nullopt));
  KeyTypes both(ColumnType::kUint64);
  both.second = ColumnType::kDate;
  EXPECT_EQ(*range(both, R"({"lo": [3, "1970-01-03"], "hi": [4]})"),
            (KeyRange{.lo = 3, .hi = 4, .lo_second = KeyFromDate(2)}));
  EXPECT_EQ(*range(both, R"({"lo": 3, "hi": [3, "1970-01-03"]})"),
            (KeyRange{.lo = 3, .hi = 3, .hi_second = KeyFromDate(2)}));

  const auto refusal = [&](KeyTypes types, const std::string& text) {
    return std::string(range(types, text).status().message());
  };
  EXPECT_THAT(refusal(ColumnType::kUint64, R"({"lo": -1})"), HasSubstr("'-1' is no number"));
  EXPECT_THAT(refusal(ColumnType::kUint64, R"({"lo": 1.5})"), HasSubstr("'1.5' is no number"));
  EXPECT_THAT(refusal(ColumnType::kUint64, R"({"lo": 18446744073709551616})"), HasSubstr("is no"));
  EXPECT_THAT(refusal(ColumnType::kDate, R"({"lo": 3})"), HasSubstr("'3' is no date"));
  EXPECT_THAT(refusal(ColumnType::kFloat64, R"({"lo": "nan"})"), HasSubstr("'nan' is no number"));
  EXPECT_THAT(refusal(ColumnType::kUint64, R"({"lo": [1, 2]})"), HasSubstr("have one part"));
  EXPECT_THAT(refusal(ColumnType::kUint64, R"({"lo": 2, "hi": 1})"), HasSubstr("inverted"));
  EXPECT_THAT(refusal(both, R"({"lo": [3, "1970-01-03"], "hi": [3, "1970-01-02"]})"),
              HasSubstr("inverted"));
  EXPECT_THAT(QueryRefusal({.lo = {"1"}}, ObjectOf(ObjectKind::kTable, kAsked)),
              HasSubstr("is of indexes"));
}

TEST(FlightTicketTest, ComesBackFromItsServerAlone) {
  FlightTicket ticket{.object = ObjectId{7},
                      .place = 3,
                      .range = {.lo = 5, .hi = ~uint64_t{0}, .lo_second = 1, .hi_second = 2}};
  ticket.scan.set_object("orders");
  ticket.scan.set_snapshot(99);
  const TokenSeal seal(1);
  const std::string bytes = WriteTicket(seal, ticket);
  const auto read = ReadTicket(seal, bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->object, ticket.object);
  EXPECT_EQ(read->place, 3u);
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
