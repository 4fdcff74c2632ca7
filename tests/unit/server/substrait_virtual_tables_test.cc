// The reader on rows that a plan has itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "eris/query_plan.h"
#include "tests/unit/server/substrait_plans.h"

namespace eris::server::substrait_plans {
namespace {

using testing::HasSubstr;
using SType = ::substrait::Type;

SType Int64Type() {
  SType type;
  type.mutable_i64();
  return type;
}
SType TextType() {
  SType type;
  type.mutable_string();
  return type;
}
SType DecimalColumn(int precision, int scale) {
  SType type;
  type.mutable_decimal()->set_precision(precision);
  type.mutable_decimal()->set_scale(scale);
  return type;
}
SExpression NullOf(const SType& type) {
  SExpression out;
  *out.mutable_literal()->mutable_null() = type;
  return out;
}

SRel ValuesOf(const std::vector<SType>& types, const std::vector<SExpressions>& rows) {
  SRel rel;
  auto* read = rel.mutable_read();
  read->mutable_base_schema()->mutable_struct_();
  for (size_t i = 0; i < types.size(); ++i) {
    read->mutable_base_schema()->add_names("column" + std::to_string(i + 1));
    *read->mutable_base_schema()->mutable_struct_()->add_types() = types[i];
  }
  read->mutable_virtual_table();
  for (const SExpressions& row : rows) {
    auto* made = read->mutable_virtual_table()->add_expressions();
    for (const SExpression& value : row) *made->add_fields() = value;
  }
  return rel;
}

TEST(SubstraitVirtualTablesTest, SelectWithoutFromIsOneRow) {
  EXPECT_EQ(PlanMaker().Answer(ProjectOf(ValuesOf({}, {{}}), {Int(1), Text("x")}, {0, 1})),
            "0: values [int32:0] [[0]]\n1: project 0 [1 'x']\n");
  EXPECT_THAT(PlanMaker().Answer(ValuesOf({}, {{}})), HasSubstr("the answer has no column"));
}

TEST(SubstraitVirtualTablesTest, LiteralsOfAllTypesAreValues) {
  SType truth, real, date, narrow;
  truth.mutable_bool_();
  real.mutable_fp64();
  date.mutable_date();
  narrow.mutable_i32();
  EXPECT_EQ(PlanMaker().Answer(
                ValuesOf({Int64Type(), TextType(), truth, real, date, narrow, DecimalColumn(10, 2),
                          DecimalColumn(30, 3)},
                         {{Int(1), Text("a"), Boolean(true), Real(2.5), DateOf(7), Int(-3),
                           DecimalOf(150, 0, 2), DecimalOf(1500, 0, 3)},
                          {Int(2), NullText(), Boolean(false), Real(3), NullOf(date), Int(4),
                           DecimalOf(~uint64_t{0}, ~uint64_t{0}, 2), DecimalOf(1, 2, 3)}})),
            "0: values [int64:0 string:0? int32:0 float64:0 date:0? int32:0 decimal:2 int128:3] "
            "[[1 'a' 1 double:2.5 date:7 -3 150e-2 wide:0:1500e-3] "
            "[2 null 0 double:3 null 4 -1e-2 wide:2:1e-3]]\n");
}

TEST(SubstraitVirtualTablesTest, TheOlderFormHasLiteralsAlone) {
  SRel rel = ValuesOf({Int64Type()}, {});
  auto* table = rel.mutable_read()->mutable_virtual_table();
  for (const int64_t number : {5, 6}) table->add_values()->add_fields()->set_i64(number);
  EXPECT_EQ(PlanMaker().Answer(rel), "0: values [int64:0] [[5] [6]]\n");
  table->add_expressions();
  EXPECT_THAT(PlanMaker().Answer(rel), HasSubstr("virtual_table: values and expressions"));
}

TEST(SubstraitVirtualTablesTest, NoRowIsWelcome) {
  EXPECT_EQ(PlanMaker().Answer(ValuesOf({Int64Type(), TextType()}, {})),
            "0: values [int64:0 string:0] []\n");
}

TEST(SubstraitVirtualTablesTest, ValuesTakeTheTypeOfTheirColumn) {
  SType date;
  date.mutable_date();
  EXPECT_EQ(PlanMaker().Answer(
                ValuesOf({DecimalColumn(10, 2), date},
                         {{Int(3), Text("1970-01-03")}, {NullOf(Int64Type()), NullText()}})),
            "0: values [decimal:2? date:0?] [[300e-2 date:2] [null null]]\n");
  EXPECT_THAT(PlanMaker().Answer(ValuesOf({Int64Type()}, {{Text("x")}})),
              HasSubstr("UNIMPLEMENTED: relations[0].rel.read.virtual_table.rows[0]: casts of a "
                        "string to \"i64\""));
}

TEST(SubstraitVirtualTablesTest, WhatIsComputedMakesAUnionOfRows) {
  PlanMaker make;
  const SExpression sum = make.Call("add", {Int(1), Int(2)});
  EXPECT_EQ(
      make.Answer(ValuesOf({Int64Type(), TextType()}, {{Int(1), Text("a")}, {sum, Text("b")}})),
      "0: values [int32:0] [[0]]\n1: project 0 [1 'a']\n2: project 0 [(cast:int64:0 (+ 1 "
      "2)) 'b']\n3: union [1 2]\n");
  EXPECT_EQ(make.Answer(ValuesOf({Int64Type()}, {{sum}})),
            "0: values [int32:0] [[0]]\n1: project 0 [(cast:int64:0 (+ 1 2))]\n");
  EXPECT_THAT(make.Answer(ValuesOf({Int64Type()}, {{Field(0)}})), HasSubstr("rows[0]"));
  // All inputs of the union have the column's type.
  SType narrow;
  narrow.mutable_i32();
  EXPECT_EQ(make.Answer(ValuesOf({narrow}, {{Int(3)}, {sum}})),
            "0: values [int32:0] [[0]]\n1: project 0 [(cast:int32:0 3)]\n2: project 0 "
            "[(cast:int32:0 (+ 1 2))]\n3: union [1 2]\n");
}

TEST(SubstraitVirtualTablesTest, NarrowNumbersAreInt32s) {
  SType eight, sixteen;
  eight.mutable_i8();
  sixteen.mutable_i16();
  EXPECT_EQ(PlanMaker().Answer(ValuesOf({eight, sixteen}, {{Int(1), Int(-2)}})),
            "0: values [int32:0 int32:0] [[1 -2]]\n");
}

TEST(SubstraitVirtualTablesTest, FilterAndMaskAreThoseOfReads) {
  PlanMaker make;
  SRel rel = ValuesOf({Int64Type(), TextType()}, {{Int(1), Text("a")}});
  *rel.mutable_read()->mutable_filter() = make.Call("equal", {Field(0), Int(1)});
  rel.mutable_read()->mutable_projection()->mutable_select()->add_struct_items()->set_field(1);
  EXPECT_EQ(make.Answer(rel),
            "0: values [int64:0 string:0] [[1 'a']]\n1: filter 0 (= #0 1)\n2: project 1 [#1]\n");
}

TEST(SubstraitVirtualTablesTest, WhatDoesNotFitIsRefused) {
  PlanMaker make;
  EXPECT_EQ(
      make.Answer(ValuesOf({Int64Type()}, {{Int(1)}, {}})),
      "INVALID_ARGUMENT: relations[0].rel.read.virtual_table.rows[1]: 0 values for 1 columns");
  EXPECT_THAT(make.Answer(ValuesOf({Int64Type()},
                                   std::vector<SExpressions>(kPlanValueRowsMax + 1, {Int(1)}))),
              HasSubstr("a table of 1025 rows, must have at most 1024"));
  SType map;
  map.mutable_map();
  EXPECT_THAT(make.Answer(ValuesOf({map}, {})),
              HasSubstr("struct.types[0]: columns of type \"map\" are not supported"));
  SRel rel = ValuesOf({Int64Type()}, {});
  rel.mutable_read()->mutable_base_schema()->add_names("more");
  EXPECT_THAT(make.Answer(rel), HasSubstr("2 names for 1 types of columns"));
}

}  // namespace
}  // namespace eris::server::substrait_plans
