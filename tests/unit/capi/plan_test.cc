// Queries over several objects.
#include <cstdint>
#include <string>
#include <vector>

#include "capi/plan_literals.h"
#include "tests/unit/capi/capi_fixture.h"

namespace eris::test {
namespace {

using Rows = std::vector<std::vector<uint64_t>>;

class CPlanTest : public CApiTest {
 protected:
  void SetUp() override {
    CApiTest::SetUp();
    ASSERT_C(ERIS_OK, eris_plan_new(&plan, e.out()));
  }
  void TearDown() override {
    eris_plan_free(plan);
    CApiTest::TearDown();
  }
  Rows Run() {
    eris_scan* scan = nullptr;
    EXPECT_C(ERIS_OK, eris_query_open(session, plan, nullptr, &scan, e.out()));
    return scan == nullptr ? Rows() : ReadAll(scan);
  }

  eris_plan* plan = nullptr;
};

TEST_F(CPlanTest, ObjectsAreJoinedGroupedAndSorted) {
  MakeTriples("a", 100);  // key, 3 * key
  MakeTriples("b", 300);
  uint32_t a = 0, b = 0, node = 0;
  ASSERT_C(ERIS_OK, eris_plan_read(plan, "a", nullptr, 0, &a, e.out()));
  ASSERT_C(ERIS_OK, eris_plan_filter(plan, a, "c0 < 4", &a, e.out()));
  ASSERT_C(ERIS_OK, eris_plan_read(plan, "b", nullptr, 0, &b, e.out()));
  const uint32_t left[] = {1}, right[] = {0};
  ASSERT_C(ERIS_OK,
           eris_plan_join(plan, a, b, ERIS_JOIN_INNER, left, right, 1, nullptr, &node, e.out()));
  ASSERT_C(ERIS_OK, eris_plan_project(plan, node, "c0 % 2, c3", &node, e.out()));
  const uint32_t keys[] = {0};
  const uint8_t distinct[] = {0, 1};
  ASSERT_C(ERIS_OK, eris_plan_aggregate(plan, node, keys, 1, "max(c1), count(c1)", distinct, 2,
                                        &node, e.out()));
  const eris_sort_key order[] = {{0, 1, 0}};
  ASSERT_C(ERIS_OK, eris_plan_sort(plan, node, order, 1, &node, e.out()));
  ASSERT_C(ERIS_OK, eris_plan_limit(plan, node, 0, 10, &node, e.out()));
  const char* const names[] = {"odd", "most", "values"};
  ASSERT_C(ERIS_OK, eris_plan_names(plan, names, 3, e.out()));
  EXPECT_EQ(Run(), (Rows{{1, 27, 2}, {0, 18, 2}}));
  char* text = nullptr;
  ASSERT_C(ERIS_OK, eris_query_explain(session, plan, &text, e.out()));
  EXPECT_THAT(text, testing::HasSubstr("join"));
  eris_text_free(text);
  ASSERT_C(ERIS_OK, eris_query_analyze(session, plan, nullptr, 60'000'000, &text, e.out()));
  EXPECT_THAT(text, testing::HasSubstr("rows"));
  eris_text_free(text);
}

TEST_F(CPlanTest, ValuesUnionsAndSubqueries) {
  MakeTriples("a", 10);
  const eris_column_schema columns[] = {{"n", ERIS_TYPE_UINT64, 0, 0}};
  const char* const literals[] = {"4", "5"};
  uint32_t values = 0, all = 0, most = 0;
  ASSERT_C(ERIS_OK, eris_plan_values(plan, columns, 1, literals, 2, &values, e.out()));
  const uint32_t twice[] = {values, values};
  ASSERT_C(ERIS_OK, eris_plan_union(plan, twice, 2, &all, e.out()));
  ASSERT_C(ERIS_OK,
           eris_plan_aggregate(plan, values, nullptr, 0, "max(c0)", nullptr, 0, &most, e.out()));
  ASSERT_C(ERIS_OK, eris_plan_filter(plan, all, ("c0 = v" + std::to_string(most)).c_str(), nullptr,
                                     e.out()));
  EXPECT_EQ(Run(), (Rows{{5}, {5}}));
}

TEST_F(CPlanTest, NodesAndTextsThatAreNone) {
  uint32_t node = 0;
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_plan_filter(plan, 0, "c0 < 4", &node, e.out()));
  EXPECT_THAT(e.message(), testing::HasSubstr("no node 0"));
  ASSERT_C(ERIS_OK, eris_plan_read(plan, "a", nullptr, 0, &node, e.out()));
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_plan_filter(plan, node, "key < 4", nullptr, e.out()));
  EXPECT_THAT(e.message(), testing::HasSubstr("\"key\" is no column of a plan"));
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_plan_filter(plan, node, "c < 4", nullptr, e.out()));
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_plan_filter(plan, node, "c99999999999 < 4", nullptr, e.out()));
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_plan_filter(plan, node, "c0 <", nullptr, e.out()));
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_plan_join(plan, node, node, 5, nullptr, nullptr, 0, nullptr, nullptr, e.out()));
  EXPECT_C(ERIS_INVALID_ARGUMENT,
           eris_plan_join(plan, node, node, 1, nullptr, nullptr, 1, nullptr, nullptr, e.out()));
  const uint8_t distinct[] = {1};
  EXPECT_C(ERIS_INVALID_ARGUMENT, eris_plan_aggregate(plan, node, nullptr, 0, "count(*), sum(c0)",
                                                      distinct, 1, nullptr, e.out()));
  eris_scan* scan = nullptr;
  EXPECT_C(ERIS_NOT_FOUND, eris_query_open(session, plan, nullptr, &scan, e.out()));
}

TEST(CPlanLiteralTest, LiteralsBecomeTheColumnsValues) {
  const auto read = [](ColumnType type, const char* text, uint8_t scale = 0) {
    return capi::LiteralFrom({.name = "c", .type = type, .scale = scale, .nullable = true}, text);
  };
  EXPECT_EQ(*read(ColumnType::kUint64, "24"), Value(uint64_t{24}));
  EXPECT_EQ(*read(ColumnType::kInt32, "24"), Value(int64_t{24}));
  EXPECT_EQ(*read(ColumnType::kFloat64, "0.5"), Value(0.5));
  EXPECT_EQ(*read(ColumnType::kDecimal, "1.5", 2), Value(Decimal{150, 2}));
  EXPECT_EQ(*read(ColumnType::kString, "'AIR'"), Value(std::string("AIR")));
  EXPECT_EQ(*read(ColumnType::kDate, "1970-01-02"), Value(Date{1}));
  EXPECT_EQ(*read(ColumnType::kTimestamp, "timestamp '1970-01-01 00:00:01'"),
            Value(Timestamp{1'000'000}));
  EXPECT_EQ(*read(ColumnType::kBytes, "x'00'"), Value(Bytes{std::string(1, '\0')}));
  EXPECT_EQ(*read(ColumnType::kInt64, "null"), Value());
  for (const auto& [type, text] :
       {std::pair(ColumnType::kInt32, "4000000000"), std::pair(ColumnType::kInt64, "0.5"),
        std::pair(ColumnType::kUint64, "'a'"), std::pair(ColumnType::kString, "24"),
        std::pair(ColumnType::kInt64, "a + 1"), std::pair(ColumnType::kInt64, "")}) {
    EXPECT_EQ(read(type, text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace eris::test
