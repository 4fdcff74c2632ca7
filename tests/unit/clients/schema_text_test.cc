#include "clients/cli/files/schema_text.h"

#include <string>
#include <utility>
#include <vector>

#include "clients/cli/files/tpch_tables.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Schema ParsedSchema(absl::string_view text) {
  const absl::StatusOr<Schema> schema = ParseSchema(text, "");
  EXPECT_TRUE(schema.ok()) << schema.status();
  return *schema;
}

TEST(SchemaTextTest, TextAndSchemaAreTheSame) {
  const std::string text = "a:int64,b:decimal(2),c:string?,d:int32,e:uint64,f:float64?,g:date";
  EXPECT_EQ(SchemaText(ParsedSchema(text)), text);
  const absl::StatusOr<Schema> keyed = ParseSchema(" a:int64 , b : date", "b, a");
  ASSERT_TRUE(keyed.ok()) << keyed.status();
  EXPECT_THAT(keyed->key, ElementsAre(1u, 0u));
  EXPECT_EQ(KeyNamesText(*keyed), "b,a");
  for (const char* bad : {"", "a", "a:", ":int64", "a:txet", "a:decimal", "a:decimal(19)",
                          "a:int64(2)", "a:decimal(x)", "a:int64,,b:int64", "tpch:nothing"}) {
    EXPECT_EQ(ParseSchema(bad, "").status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
  EXPECT_THAT(std::string(ParseSchema("a:int64,b:date", "nosuch").status().message()),
              HasSubstr("no column 'nosuch', its columns are a, b"));
  EXPECT_THAT(std::string(ParseSchema("a:int64,b:date", "1").status().message()),
              HasSubstr("no column '1', its columns are a, b (by name, not by number)"));
}

TEST(SchemaTextTest, LineitemOfTpchHasItsTypesAndKey) {
  const Schema schema = ParsedSchema("tpch:lineitem");
  EXPECT_EQ(SchemaText(schema),
            "l_orderkey:int64,l_partkey:int64,l_suppkey:int64,l_linenumber:int32,"
            "l_quantity:decimal(2),l_extendedprice:decimal(2),l_discount:decimal(2),"
            "l_tax:decimal(2),l_returnflag:string,l_linestatus:string,l_shipdate:date,"
            "l_commitdate:date,l_receiptdate:date,l_shipinstruct:string,l_shipmode:string,"
            "l_comment:string");
  EXPECT_EQ(KeyNamesText(schema), "l_orderkey,l_linenumber");
  EXPECT_EQ(ParseSchema("tpch:lineitem", "none")->key.size(), 0u);
  for (const char* table :
       {"orders", "customer", "part", "partsupp", "supplier", "nation", "region"}) {
    EXPECT_FALSE(TpchSchema(table).key.empty()) << table;
  }
}

TEST(SchemaTextTest, TypesOfKeysGoRound) {
  constexpr ColumnType kTypes[] = {ColumnType::kUint64, ColumnType::kInt64, ColumnType::kFloat64,
                                   ColumnType::kDate, ColumnType::kTimestamp};
  for (const ColumnType first : kTypes) {
    EXPECT_EQ(*ParseKeyTypes(KeyTypesText(KeyValueSchema(first))), KeyTypes(first));
    for (const ColumnType second : kTypes) {
      const KeyTypes types(first, second);
      EXPECT_EQ(*ParseKeyTypes(KeyTypesText(KeyValueSchema(types))), types);
    }
  }
  const KeyTypes visits(ColumnType::kUint64, ColumnType::kDate);
  EXPECT_EQ(*ParseKeyTypes("uint64, date"), visits);
  EXPECT_EQ(KeyForm(KeyValueSchema(visits)), "2: key/second_key (uint64,date)");
  for (const char* text :
       {"", "u64", ",", "uint64,", ",date", "uint64,date,int64", "uint64/date"}) {
    EXPECT_FALSE(CheckKeyTypes(text).empty()) << text;
  }
  EXPECT_EQ(
      CheckKeyTypes("int32"),
      "'int32' is no type of keys: uint64, int64, float64, date or timestamp, or two of them as in "
      "uint64,date");
  EXPECT_EQ(CheckKeyTypes("uint64,date"), "");
}

TEST(SchemaTextTest, TypesHaveTheNamesOfSqlToo) {
  const std::pair<const char*, const char*> names[] = {
      {"INTEGER", "int32"},      {"int", "int32"},
      {"BigInt", "int64"},       {"double", "float64"},
      {"REAL", "float64"},       {"float", "float64"},
      {"varchar", "string"},     {"TEXT", "string"},
      {"char", "string"},        {"blob", "bytes"},
      {"bytea", "bytes"},        {"binary", "bytes"},
      {"Int64", "int64"},        {"NUMERIC(2)", "decimal(2)"},
      {"datetime", "timestamp"}, {"TIMESTAMP", "timestamp"}};
  for (const auto& [given, type] : names) {
    EXPECT_EQ(ColumnTypeText(SchemaOf(absl::StrCat("a:", given)).columns[0]), type);
  }
  EXPECT_EQ(*ParseKeyTypes("BIGINT,Timestamp"),
            KeyTypes(ColumnType::kInt64, ColumnType::kTimestamp));
  const auto said = [](const char* schema) {
    return std::string(ParseSchema(schema, "").status().message());
  };
  EXPECT_THAT(said("a:timestmp"), HasSubstr("'timestmp' is no type; did you mean timestamp?"));
  EXPECT_THAT(said("a:Integr"), HasSubstr("did you mean integer?"));
  EXPECT_THAT(said("a:something"), HasSubstr("'something' is no type; expected"));
  EXPECT_THAT(said("a:numeric(12,2)"), HasSubstr("its scale alone in parentheses"));
}

TEST(SchemaTextTest, WhatIsNotOfTheKeyIsOneTypeOrSomeColumns) {
  EXPECT_EQ(ValuesText(KeyValueSchema()), "uint64");
  EXPECT_EQ(ValuesText(KeyValueSchema(ColumnType::kDate, ColumnType::kString)), "string");
  EXPECT_EQ(ValuesText(ParsedSchema("tpch:nation")), "3 columns");
  EXPECT_EQ(ValuesText(*ParseSchema("a:decimal(2)?,b:date", "b")), "decimal(2)?");
  EXPECT_EQ(KeyTypesText(ParsedSchema("a:int32")), "-");
}

TEST(SchemaTextTest, EveryTpchTableHasItsColumns) {
  const std::vector<std::pair<std::string, size_t>> tables = {
      {"orders", 9},   {"lineitem", 16}, {"customer", 8}, {"part", 9},
      {"partsupp", 5}, {"supplier", 7},  {"nation", 4},   {"region", 3}};
  for (const auto& [table, columns] : tables) {
    EXPECT_EQ(TpchColumns(table).size(), columns) << table;
  }
  EXPECT_TRUE(TpchColumns("nothing").empty());
  EXPECT_EQ(TableOfPath("/data/sf1/orders.tbl.3"), "orders");
}

}  // namespace
}  // namespace eris::cli
