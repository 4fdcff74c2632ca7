// What is printed, byte for byte: programs read it.
#include "clients/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace eris {
namespace {

TEST(JsonTest, NumbersArePrintedSoThatReadingThemGivesTheSame) {
  const std::pair<Json, const char*> cases[] = {
      {Json(0), "0"},
      {Json(-7), "-7"},
      {Json(std::numeric_limits<uint64_t>::max()), "18446744073709551615"},
      {Json(std::numeric_limits<int64_t>::min()), "-9223372036854775808"},
      {Json(uint8_t{200}), "200"},
      {Json(1.0), "1.0"},
      {Json(0.1), "0.1"},
      {Json(-2.5e-7), "-2.5e-07"},
      {Json(1e14), "100000000000000.0"},
      {Json(1e15), "1e+15"},
      {Json(1.0 / 3), "0.3333333333333333"},
      {Json(std::nan("")), "null"},
      {Json(std::numeric_limits<double>::infinity()), "null"},
      {Json(true), "true"},
      {Json(false), "false"},
      {Json(nullptr), "null"}};
  for (const auto& [json, text] : cases) EXPECT_EQ(json.Dump(), text);
}

TEST(JsonTest, TextsAreEscapedAndStayUtf8) {
  EXPECT_EQ(Json("a\"b\\c\n\t\x01\x7f").Dump(), "\"a\\\"b\\\\c\\n\\t\\u0001\x7f\"");
  EXPECT_EQ(Json("\xc3\xa4 \xf0\x9f\x98\x80").Dump(), "\"\xc3\xa4 \xf0\x9f\x98\x80\"");
  EXPECT_EQ(Json("\xff"
                 "a")
                .Dump(),
            "\"\xef\xbf\xbd"
            "a\"");
  EXPECT_EQ(Json(std::string(1, '\0')).Dump(), "\"\\u0000\"");
}

TEST(JsonTest, ObjectsKeepTheOrderOfTheirMembers) {
  Json json{{"z", 1}, {"a", {{"inner", "x"}}}, {"list", std::vector<int>{1, 2}}};
  json["m"] = Json::Array();
  json["z"] = "other";
  json["none"]["deep"] = Json::Object();
  EXPECT_EQ(json.Dump(),
            R"({"z":"other","a":{"inner":"x"},"list":[1,2],"m":[],"none":{"deep":{}}})");
  EXPECT_EQ(json.DumpLines(), R"({
  "z": "other",
  "a": {
    "inner": "x"
  },
  "list": [
    1,
    2
  ],
  "m": [],
  "none": {
    "deep": {}
  }
})");
  json.erase("a");
  json.erase("missing");
  EXPECT_EQ(json.names(), (std::vector<std::string>{"z", "list", "m", "none"}));
  EXPECT_TRUE(json.contains("z"));
  EXPECT_FALSE(json.contains("a"));
}

TEST(JsonTest, BracesAroundPairsOfTextsAreAnObject) {
  const Json json{{"a", "b"}, {"c", "d"}};
  EXPECT_EQ(json.Dump(), R"({"a":"b","c":"d"})");
  Json list = Json::Array();
  list.push_back({{"a", "b"}});
  list.push_back(nullptr);
  list.push_back(json);
  EXPECT_EQ(list.Dump(), R"([{"a":"b"},null,{"a":"b","c":"d"}])");
  EXPECT_EQ(list[2], json);
  EXPECT_TRUE(list[1].is_null());
  EXPECT_EQ(list.size(), 3u);
}

}  // namespace
}  // namespace eris
