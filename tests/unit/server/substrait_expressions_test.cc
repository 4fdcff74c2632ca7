// The reader on small plans made for it: expressions, as the condition of a filter or a column.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "tests/unit/server/substrait_plans.h"

namespace eris::server::substrait_plans {
namespace {

using testing::HasSubstr;
using SType = ::substrait::Type;

// What the expression becomes as the only column of a project over lineitem, with all fields.
std::string ColumnText(const PlanMaker& make, const SExpression& expression) {
  const auto plan = make.Read(ProjectOf(ReadOf("lineitem"), {expression}, {16}));
  if (!plan.ok()) return plan.status().ToString();
  const absl::Status check = test::QueryPlanCheck::Run(*plan, test::TpchSchema);
  if (!check.ok()) return check.ToString();
  return test::TextOf(std::get<ProjectNode>(plan->nodes.back()).columns.at(0));
}
std::string ConditionText(const PlanMaker& make, const SExpression& expression) {
  const auto plan = make.Read(FilterOf(ReadOf("lineitem"), expression));
  if (!plan.ok()) return plan.status().ToString();
  const absl::Status check = test::QueryPlanCheck::Run(*plan, test::TpchSchema);
  if (!check.ok()) return check.ToString();
  return test::TextOf(std::get<FilterNode>(plan->nodes.back()).condition);
}

// Fields of lineitem.
constexpr int kKey = 0;       // int64
constexpr int kNumber = 3;    // int32
constexpr int kQuantity = 4;  // decimal(15, 2)
constexpr int kFlag = 8;      // a string
constexpr int kDate = 10;

TEST(SubstraitExpressionsTest, Literals) {
  const PlanMaker make;
  const auto text = [&](const std::function<void(SExpression::Literal&)>& set) {
    SExpression literal;
    set(*literal.mutable_literal());
    return ColumnText(make, literal);
  };
  using Literal = SExpression::Literal;
  EXPECT_EQ(text([](Literal& l) { l.set_i8(-8); }), "-8");
  EXPECT_EQ(text([](Literal& l) { l.set_i16(16); }), "16");
  EXPECT_EQ(text([](Literal& l) { l.set_i32(32); }), "32");
  EXPECT_EQ(text([](Literal& l) { l.set_i64(std::numeric_limits<int64_t>::min()); }),
            "-9223372036854775808");
  EXPECT_EQ(text([](Literal& l) { l.set_fp32(0.5F); }), "double:0.5");
  EXPECT_EQ(text([](Literal& l) { l.set_fp64(2.5); }), "double:2.5");
  EXPECT_EQ(text([](Literal& l) { l.set_string("a"); }), "'a'");
  EXPECT_EQ(text([](Literal& l) { l.set_fixed_char("b"); }), "'b'");
  EXPECT_EQ(text([](Literal& l) { l.mutable_var_char()->set_value("c"); }), "'c'");
  EXPECT_EQ(text([](Literal& l) { l.set_binary("\xff"); }), "bytes:ff");
  EXPECT_EQ(text([](Literal& l) { l.set_fixed_binary("ab"); }), "bytes:6162");
  EXPECT_EQ(text([](Literal& l) { l.mutable_null()->mutable_binary(); }), "(cast:bytes:0 null)");
  EXPECT_EQ(text([](Literal& l) { l.set_date(-1); }), "date:-1");
  EXPECT_EQ(text([](Literal& l) { l.mutable_null()->mutable_i64(); }), "(cast:int64:0 null)");
  EXPECT_EQ(text([](Literal& l) { l.mutable_null()->mutable_bool_(); }), "(cast:int32:0 null)");
  EXPECT_EQ(text([](Literal& l) { l.mutable_null()->mutable_date(); }), "(cast:date:0 null)");
  EXPECT_EQ(text([](Literal& l) {
              l.mutable_null()->mutable_decimal()->set_precision(20);
              l.mutable_null()->mutable_decimal()->set_scale(3);
            }),
            "(cast:int128:3 null)");
  EXPECT_EQ(text([](Literal& l) { l.mutable_null()->mutable_user_defined(); }),
            "(cast:int32:0 null)");
  EXPECT_THAT(text([](Literal& l) { l.mutable_interval_day_to_second(); }),
              HasSubstr("literals of type \"interval_day_to_second\" are not supported"));
  EXPECT_THAT(text([](Literal& l) { l.mutable_interval_compound(); }),
              HasSubstr("UNIMPLEMENTED: relations[0].rel.project.expressions[0]: literals of type "
                        "\"interval_compound\""));
  EXPECT_THAT(text([](Literal&) {}), HasSubstr("INVALID_ARGUMENT"));
}

TEST(SubstraitExpressionsTest, DecimalsAreNarrowWhereTheyFit) {
  const PlanMaker make;
  constexpr uint64_t kTop = uint64_t{1} << 63;
  EXPECT_EQ(ColumnText(make, DecimalOf(5, 0, 2)), "5e-2");
  EXPECT_EQ(ColumnText(make, DecimalOf(~uint64_t{0}, ~uint64_t{0}, 18)), "-1e-18");
  EXPECT_EQ(ColumnText(make, DecimalOf(kTop, ~uint64_t{0}, 0)), "-9223372036854775808e-0");
  EXPECT_EQ(ColumnText(make, DecimalOf(kTop, 0, 0)), "wide:0:9223372036854775808e-0");
  EXPECT_EQ(ColumnText(make, DecimalOf(kTop - 1, ~uint64_t{0}, 0)),
            "wide:18446744073709551615:9223372036854775807e-0");
  EXPECT_THAT(ColumnText(make, DecimalOf(5, 0, 19)), HasSubstr("a decimal of scale 19"));
  EXPECT_THAT(ColumnText(make, DecimalOf(5, 0, 39)), HasSubstr("a decimal of scale 39"));
  EXPECT_THAT(ColumnText(make, DecimalOf(5, 0, -1)), HasSubstr("INVALID_ARGUMENT"));
  SExpression cut = DecimalOf(5, 0, 2);
  cut.mutable_literal()->mutable_decimal()->set_value("12345");
  EXPECT_THAT(ColumnText(make, cut), HasSubstr("a decimal of 5 bytes, must have 16"));
}

TEST(SubstraitExpressionsTest, BooleansAreComparisonsOfLiterals) {
  PlanMaker make;
  SExpression null;
  null.mutable_literal()->mutable_null()->mutable_bool_();
  EXPECT_EQ(ConditionText(make, Boolean(false)), "(= 1 0)");
  EXPECT_EQ(ConditionText(make, null), "(= 1 null)");
  EXPECT_EQ(ConditionText(make, make.Call("not", {Boolean(true)})), "(not (= 1 1))");
}

TEST(SubstraitExpressionsTest, ConditionsAndValuesAreNotMixed) {
  PlanMaker make;
  EXPECT_THAT(ConditionText(make, Field(kKey)),
              HasSubstr("INVALID_ARGUMENT: relations[0].rel.filter.condition: an integer where a "
                        "condition must be"));
  EXPECT_THAT(ConditionText(make, make.Call("and", {Boolean(true), Field(kDate)})),
              HasSubstr("a date where a condition must be"));
  EXPECT_THAT(ConditionText(make, make.Call("equal", {Boolean(true), Field(kKey)})),
              HasSubstr("a truth value is compared with an integer"));
  EXPECT_THAT(
      ConditionText(make, make.Call("equal", {Field(kKey), Field(kDate)})),
      HasSubstr("INVALID_ARGUMENT: relations[0].rel.filter.condition: an integer is compared "
                "with a date"));
}

TEST(SubstraitExpressionsTest, ConditionsAsValuesAreOneOrZero) {
  PlanMaker make;
  const std::string truth = "(cast:int32:0 (case (is_null #0) 1 (not (is_null #0)) 0))";
  const SExpression null = make.Call("is_null", {Field(kKey)});
  EXPECT_EQ(ColumnText(make, null), truth);
  EXPECT_EQ(ColumnText(make, Boolean(true)), "(cast:int32:0 1)");
  EXPECT_EQ(ColumnText(make, Boolean(false)), "(cast:int32:0 0)");
  EXPECT_EQ(ConditionText(make, make.Call("equal", {null, Boolean(true)})),
            "(= " + truth + " (cast:int32:0 1))");
  EXPECT_EQ(ConditionText(make, make.Call("is_null", {null})), "(is_null " + truth + ")");
  SExpression choice;
  *choice.mutable_if_then()->add_ifs()->mutable_if_() = null;
  *choice.mutable_if_then()->mutable_ifs(0)->mutable_then() = Boolean(true);
  *choice.mutable_if_then()->mutable_else_() = null;
  EXPECT_EQ(ColumnText(make, choice), "(case (is_null #0) (cast:int32:0 1) " + truth + ")");
  EXPECT_EQ(ConditionText(make, choice),
            "(!= (case (is_null #0) (cast:int32:0 1) " + truth + ") 0)");
}

TEST(SubstraitExpressionsTest, NullsHaveATypeWhereTheyNeedOne) {
  PlanMaker make;
  SExpression null;
  null.mutable_literal()->mutable_null()->mutable_i64();
  EXPECT_EQ(ColumnText(make, make.Call("add", {null, Int(1)})), "(+ (cast:int64:0 null) 1)");
  EXPECT_EQ(ColumnText(make, make.Call("divide", {Field(kKey), null})),
            "(div #0 (cast:int64:0 null))");
  EXPECT_EQ(ColumnText(make, make.Call("negate", {null})), "(* (cast:int64:0 null) -1)");
  EXPECT_EQ(ColumnText(make, make.Call("coalesce", {NullText(), null})),
            "(case (not (is_null null)) (cast:string:0 null) null)");
  EXPECT_EQ(ConditionText(make, make.Call("equal", {Field(kFlag), NullText()})), "(= #8 null)");
  SExpression list;
  *list.mutable_singular_or_list()->mutable_value() = null;
  *list.mutable_singular_or_list()->add_options() = Int(1);
  EXPECT_EQ(ConditionText(make, list), "(= 1 null)");
}

TEST(SubstraitExpressionsTest, Comparisons) {
  PlanMaker make;
  const auto text = [&](const std::string& name) {
    return ConditionText(make, make.Call(name, {Field(kKey), Field(kQuantity)}));
  };
  EXPECT_EQ(text("equal"), "(= #0 #4)");
  EXPECT_EQ(text("not_equal:i64_dec"), "(!= #0 #4)");
  EXPECT_EQ(text("lt:any_any"), "(< #0 #4)");
  EXPECT_EQ(text("lte"), "(<= #0 #4)");
  EXPECT_EQ(text("gt"), "(> #0 #4)");
  EXPECT_EQ(text("gte"), "(>= #0 #4)");
  EXPECT_EQ(ConditionText(make, make.Call("between", {Field(kKey), Int(1), Real(2)})),
            "(between #0 1 double:2)");
  EXPECT_EQ(ConditionText(make, make.Call("is_null", {Field(kFlag)})), "(is_null #8)");
  EXPECT_EQ(ConditionText(make, make.Call("is_not_null:str", {Field(kFlag)})),
            "(not (is_null #8))");
}

TEST(SubstraitExpressionsTest, NestedConjunctionsAreOneAndMayExceedTheDepth) {
  PlanMaker make;
  SExpression condition = make.Call("lt", {Field(kKey), Int(0)});
  // Deeper than an expression may be, less than a plan may be nested.
  constexpr int kTerms = 70;
  for (int i = 1; i < kTerms; ++i) {
    condition = make.Call("and", {condition, make.Call("lt", {Field(kKey), Int(i)})});
  }
  const auto plan = make.Read(FilterOf(ReadOf("lineitem"), condition));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(std::get<FilterNode>(plan->nodes.back()).condition.arguments.size(), size_t{kTerms});
  EXPECT_EQ(ConditionText(make, make.Call("or", {Boolean(false)})), "(= 1 0)");
}

TEST(SubstraitExpressionsTest, Arithmetic) {
  PlanMaker make;
  const auto text = [&](const std::string& name, const SExpressions& arguments) {
    return ColumnText(make, make.Call(name, arguments));
  };
  EXPECT_EQ(text("add", {Field(kKey), Field(kNumber)}), "(+ #0 #3)");
  EXPECT_EQ(text("subtract:dec_dec", {DecimalOf(1, 0, 0), Field(kQuantity)}), "(- 1e-0 #4)");
  EXPECT_EQ(text("multiply", {Field(kQuantity), Real(0.5)}), "(* #4 double:0.5)");
  EXPECT_EQ(text("negate", {Field(kQuantity)}), "(* #4 -1)");
  EXPECT_EQ(text("divide", {Field(kQuantity), Field(kKey)}), "(/ #4 #0)");
  EXPECT_EQ(text("divide:i32_i64", {Field(kNumber), Field(kKey)}), "(div #3 #0)");
  EXPECT_EQ(text("divide", {Field(kNumber), Real(2)}), "(/ #3 double:2)");
  EXPECT_EQ(text("modulus:i64_i64", {Field(kKey), Int(7)}), "(% #0 7)");
  EXPECT_EQ(text("modulus", {Field(kQuantity), Field(kKey)}), "(% #4 #0)");
  EXPECT_THAT(text("add", {Field(kDate), Int(1)}),
              HasSubstr("UNIMPLEMENTED: relations[0].rel.project.expressions[0]: the function "
                        "\"add\" of dates"));
  EXPECT_THAT(text("add", {Field(kFlag), Int(1)}),
              HasSubstr("the function \"add\" takes numbers, not a string"));
  EXPECT_THAT(text("add", {Int(1)}),
              HasSubstr("the function \"add\" has 1 arguments, must have 2"));
  EXPECT_THAT(text("extract", {Int(1)}), HasSubstr("has 1 arguments, must have 2 to 3"));
  EXPECT_THAT(text("coalesce", {}), HasSubstr("has 0 arguments, must have at least 1"));
}

TEST(SubstraitExpressionsTest, PatternsOfStrings) {
  PlanMaker make;
  const auto text = [&](const std::string& name, const SExpressions& arguments) {
    return ConditionText(make, make.Call(name, arguments));
  };
  EXPECT_EQ(text("like", {Field(kFlag), Text("a%")}), "(like #8 'a%')");
  EXPECT_EQ(text("like", {Field(kFlag), Text("a%"), NullText()}), "(like #8 'a%')");
  EXPECT_EQ(text("like", {Field(kFlag), Text("a%"), Text("")}), "(like #8 'a%')");
  EXPECT_EQ(text("like", {Field(kFlag), Text("a#%"), Text("#")}), "(like #8 'a#%' '#')");
  EXPECT_EQ(text("starts_with", {Field(kFlag), Text("a")}), "(like #8 'a%')");
  EXPECT_EQ(text("ends_with", {Field(kFlag), Text("a")}), "(like #8 '%a')");
  EXPECT_EQ(text("contains:str_str", {Field(kFlag), Text("a")}), "(like #8 '%a%')");
  EXPECT_EQ(text("contains", {Field(kFlag), Text("5%_\\")}), R"((like #8 '%5\%\_\\%' '\'))");
  EXPECT_THAT(text("like", {Field(kFlag), Field(kFlag)}),
              HasSubstr("the function \"like\" with a pattern that is no literal"));
  EXPECT_THAT(text("contains", {Field(kFlag), Field(kFlag)}), HasSubstr("UNIMPLEMENTED"));
  EXPECT_THAT(text("like", {Field(kKey), Text("a")}), HasSubstr("takes a string, not an integer"));
}

TEST(SubstraitExpressionsTest, PartsOfStringsAndDates) {
  PlanMaker make;
  EXPECT_EQ(ColumnText(make, make.Call("month", {Field(kDate)})), "(part 'month' #10)");
  EXPECT_THAT(ColumnText(make, make.Call("year", {Field(kKey)})),
              HasSubstr("takes a date or a timestamp, not an integer"));
  const auto text = [&](const std::string& name, const SExpressions& arguments) {
    return ColumnText(make, make.Call(name, arguments));
  };
  EXPECT_EQ(text("substring", {Field(kFlag), Int(1), Int(2)}), "(substring #8 1 2)");
  EXPECT_EQ(text("substring:str_i64", {Field(kFlag), Int(3)}), "(substring #8 3)");
  EXPECT_THAT(text("substring", {Field(kFlag), Field(kKey)}), HasSubstr("UNIMPLEMENTED"));
  EXPECT_EQ(text("date_part", {Text("YEAR"), Field(kDate)}), "(part 'year' #10)");
  EXPECT_EQ(text("extract", {Text("quarter"), Field(kDate)}), "(part 'quarter' #10)");
  EXPECT_EQ(text("extract", {Text("MONTH"), Text("ONE"), Field(kDate)}), "(part 'month' #10)");
  EXPECT_THAT(text("extract", {Text("MONTH"), Text("ZERO"), Field(kDate)}),
              HasSubstr("do not count from 1"));
  EXPECT_THAT(text("date_part", {Text("CENTURY"), Field(kDate)}),
              HasSubstr("the part \"CENTURY\" of a date"));
  EXPECT_THAT(text("date_part", {Text("DAY"), Field(kFlag)}), HasSubstr("takes a date"));
  SExpression year = make.Call("extract:date", {Text(""), Field(kDate)});
  year.mutable_scalar_function()->mutable_arguments(0)->set_enum_("day");
  EXPECT_EQ(ColumnText(make, year), "(part 'day' #10)");
}

TEST(SubstraitExpressionsTest, Cases) {
  PlanMaker make;
  SExpression choice;
  auto* first = choice.mutable_if_then()->add_ifs();
  *first->mutable_if_() = make.Call("lt", {Field(kKey), Int(9)});
  *first->mutable_then() = Field(kQuantity);
  EXPECT_EQ(ColumnText(make, choice), "(case (< #0 9) #4)");
  *choice.mutable_if_then()->mutable_else_() = Int(0);
  EXPECT_EQ(ColumnText(make, choice), "(case (< #0 9) #4 0)");
  *choice.mutable_if_then()->mutable_else_() = Field(kDate);
  EXPECT_THAT(ColumnText(make, choice), HasSubstr("INVALID_ARGUMENT"));
  choice.mutable_if_then()->mutable_ifs(0)->clear_then();
  EXPECT_THAT(ColumnText(make, choice), HasSubstr("if_then.ifs[0]: the clause is incomplete"));
  choice.mutable_if_then()->clear_ifs();
  EXPECT_THAT(ColumnText(make, choice), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_EQ(ColumnText(make, make.Call("coalesce", {Field(kKey), Field(kNumber), Int(0)})),
            "(case (not (is_null #0)) #0 (not (is_null #3)) #3 0)");
  EXPECT_EQ(ColumnText(make, make.Call("coalesce", {Int(3)})), "3");
  EXPECT_EQ(ColumnText(make, make.Call("nullif", {Field(kKey), Int(0)})),
            "(case (= #0 0) null #0)");
  EXPECT_THAT(ColumnText(make, make.Call("nullif", {Field(kKey), Field(kFlag)})),
              HasSubstr("an integer is compared with a string"));
}

TEST(SubstraitExpressionsTest, NullsThatAreNotDistinct) {
  PlanMaker make;
  const auto text = [&](const SExpression& first, const SExpression& second) {
    return ConditionText(make, make.Call("is_not_distinct_from", {first, second}));
  };
  const std::string nulls = "(= (case (is_null #0) 1 0) (case (is_null #3) 1 0))";
  EXPECT_EQ(
      text(Field(kKey), Field(kNumber)),
      "(and " + nulls + " (= (case (not (is_null #0)) #0 0) (case (not (is_null #3)) #3 0)))");
  EXPECT_THAT(text(Field(kFlag), Text("a")), HasSubstr("(case (not (is_null #8)) #8 '')"));
  EXPECT_THAT(text(Field(kDate), Field(kDate)), HasSubstr("#10 date:0)"));
  EXPECT_EQ(text(Field(kKey), NullText()), "(is_null #0)");
  EXPECT_EQ(text(NullText(), Field(kKey)), "(is_null #0)");
  EXPECT_THAT(text(Field(kKey), Field(kDate)), HasSubstr("an integer is compared with a date"));
  EXPECT_THAT(ConditionText(make, make.Call("is_distinct_from", {Field(kKey), Field(kNumber)})),
              HasSubstr("(not (and " + nulls));
}

// "case l_linenumber when 1 then 'a' when 2 then 'b' end", as DataFusion writes it.
TEST(SubstraitExpressionsTest, CaseOfAValue) {
  PlanMaker make;
  SExpression choice;
  *choice.mutable_if_then()->add_ifs()->mutable_if_() = Field(kNumber);
  for (const auto& [number, text] : {std::pair(1, "a"), std::pair(2, "b")}) {
    auto* clause = choice.mutable_if_then()->add_ifs();
    *clause->mutable_if_() = Int(number);
    *clause->mutable_then() = Text(text);
  }
  EXPECT_EQ(ColumnText(make, choice), "(case (= #3 1) 'a' (= #3 2) 'b')");
  *choice.mutable_if_then()->mutable_ifs(2)->mutable_if_() = Text("x");
  EXPECT_THAT(ColumnText(make, choice),
              HasSubstr("if_then.ifs[2].if: an integer is compared with a string"));
}

TEST(SubstraitExpressionsTest, Lists) {
  PlanMaker make;
  SExpression list;
  *list.mutable_singular_or_list()->mutable_value() = Field(kKey);
  *list.mutable_singular_or_list()->add_options() = Int(1);
  *list.mutable_singular_or_list()->add_options() = DecimalOf(25, 0, 1);
  EXPECT_EQ(ConditionText(make, list), "(in #0 1 25e-1)");
  *list.mutable_singular_or_list()->add_options() = Field(kNumber);
  EXPECT_EQ(ConditionText(make, list), "(or (= #0 1) (= #0 25e-1) (= #0 #3))");
  *list.mutable_singular_or_list()->add_options() = Text("x");
  EXPECT_THAT(ConditionText(make, list),
              HasSubstr("options[3]: an integer is compared with a str"));
  list.mutable_singular_or_list()->clear_options();
  EXPECT_THAT(ConditionText(make, list), HasSubstr("there is no option"));
}

TEST(SubstraitExpressionsTest, Subqueries) {
  PlanMaker make;
  const SExpression largest =
      SubqueryOf(AggregateOf(ReadOf("orders", {0}), {}, {make.Measure("max", {Field(0)})}));
  EXPECT_EQ(make.Answer(FilterOf(ReadOf("nation", {0}), make.Call("lt", {Field(0), largest}))),
            "0: read nation [0]\n1: read orders [0]\n2: aggregate 1 keys [] measures [max(#0)]\n"
            "3: filter 0 (< #0 $2)\n");
  EXPECT_THAT(ConditionText(make, make.Call("lt", {Field(0), SubqueryOf(ReadOf("nation"))})),
              HasSubstr("a scalar subquery with 4 columns"));
  SExpression other;
  other.mutable_subquery()->mutable_set_predicate();
  EXPECT_THAT(ConditionText(make, other),
              HasSubstr("relations[0].rel.filter.condition.subquery: the subquery "
                        "\"set_predicate\" is not supported"));
  other.mutable_subquery()->mutable_in_predicate();
  EXPECT_THAT(ConditionText(make, other), HasSubstr("\"in_predicate\""));
  other.mutable_subquery()->mutable_set_comparison();
  EXPECT_THAT(ConditionText(make, other), HasSubstr("\"set_comparison\""));
}

// The answer is the last node, also if nothing uses a subquery that follows it.
TEST(SubstraitExpressionsTest, SubqueryThatIsNotUsed) {
  PlanMaker make;
  const SExpression one = SubqueryOf(ReadOf("region", {0}));
  EXPECT_EQ(make.Answer(ProjectOf(ReadOf("nation", {0}), {make.Call("add", {one, Int(1)})}, {0})),
            "0: read nation [0]\n1: read region [0]\n2: project 0 [#0]\n");
}

std::string CastText(const SExpression& input, const std::function<void(SType&)>& type,
                     bool null_on_failure = false) {
  SExpression cast;
  *cast.mutable_cast()->mutable_input() = input;
  type(*cast.mutable_cast()->mutable_type());
  if (null_on_failure) {
    cast.mutable_cast()->set_failure_behavior(SExpression::Cast::FAILURE_BEHAVIOR_RETURN_NULL);
  }
  return ColumnText(PlanMaker(), cast);
}
std::function<void(SType&)> DecimalType(int precision, int scale) {
  return [=](SType& type) {
    type.mutable_decimal()->set_precision(precision);
    type.mutable_decimal()->set_scale(scale);
  };
}
void I32(SType& type) { type.mutable_i32(); }
void I64(SType& type) { type.mutable_i64(); }
void Fp64(SType& type) { type.mutable_fp64(); }
void String(SType& type) { type.mutable_string(); }
void DateType(SType& type) { type.mutable_date(); }

TEST(SubstraitExpressionsTest, CastsOfNumbers) {
  EXPECT_EQ(CastText(Field(kKey), I32), "(cast:int32:0 #0)");
  EXPECT_EQ(CastText(Field(kQuantity), I64), "(cast:int64:0 #4)");
  EXPECT_EQ(CastText(Field(kKey), Fp64), "(cast:float64:0 #0)");
  EXPECT_EQ(CastText(Field(kKey), DecimalType(18, 3)), "(cast:decimal:3 #0)");
  EXPECT_EQ(CastText(Field(kKey), DecimalType(19, 3)), "(cast:int128:3 #0)");
  EXPECT_THAT(CastText(Field(kQuantity), DecimalType(38, 38)),
              HasSubstr("at most 18 digits behind the point"));
  EXPECT_THAT(CastText(Field(kKey), DecimalType(39, 3)), HasSubstr("a cast to decimal(39, 3)"));
  EXPECT_THAT(CastText(Field(kKey), DecimalType(5, 6)), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(CastText(Field(kKey), [](SType& type) { type.mutable_i16(); }),
              HasSubstr("UNIMPLEMENTED: relations[0].rel.project.expressions[0].cast: casts to "
                        "\"i16\" are not supported"));
  EXPECT_THAT(CastText(Field(kKey), I32, /*null_on_failure=*/true),
              HasSubstr("gives null on failure"));
}

TEST(SubstraitExpressionsTest, CastsThatChangeNothing) {
  EXPECT_EQ(CastText(Field(kKey), I64), "#0");
  EXPECT_EQ(CastText(Field(kKey), I64, /*null_on_failure=*/true), "#0");
  EXPECT_EQ(CastText(Field(kQuantity), DecimalType(15, 2)), "#4");
  EXPECT_EQ(CastText(Field(kFlag), String), "#8");
  EXPECT_EQ(CastText(Field(kDate), DateType), "#10");
  EXPECT_EQ(CastText(NullText(), I64), "(cast:int64:0 null)");
}

TEST(SubstraitExpressionsTest, CastsOfLiteralsAreLiterals) {
  EXPECT_EQ(CastText(Int(5), I32), "5");
  EXPECT_EQ(CastText(Int(1LL << 40), I32), "(cast:int32:0 1099511627776)");
  EXPECT_EQ(CastText(Int(5), Fp64), "double:5");
  EXPECT_EQ(CastText(Int(-5), DecimalType(15, 2)), "-500e-2");
  EXPECT_EQ(CastText(Int(std::numeric_limits<int64_t>::max()), DecimalType(18, 2)),
            "(cast:decimal:2 9223372036854775807)");
  EXPECT_EQ(CastText(DecimalOf(25, 0, 1), DecimalType(15, 3)), "2500e-3");
  EXPECT_EQ(CastText(DecimalOf(25, 0, 1), DecimalType(15, 0)), "(cast:decimal:0 25e-1)");
  EXPECT_EQ(CastText(DecimalOf(25, 0, 1), Fp64), "double:2.5");
  EXPECT_EQ(CastText(Real(2.5), Fp64), "double:2.5");
  EXPECT_EQ(CastText(Text("1970-01-02"), DateType), "date:1");
  EXPECT_EQ(CastText(Text("0001-03-01"), DateType), "date:-719103");
  EXPECT_EQ(CastText(Text("12000-01-01"), DateType), "date:3663382");
  EXPECT_THAT(CastText(Text("1999-02-29"), DateType), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(CastText(Text("1999-2-29"), DateType), HasSubstr("is not a date"));
  EXPECT_THAT(CastText(Text("+999-02-01"), DateType), HasSubstr("is not a date"));
  EXPECT_EQ(CastText(Text("none"), DateType, /*null_on_failure=*/true), "(cast:date:0 null)");
  EXPECT_EQ(CastText(Text("ab"), [](SType& type) { type.mutable_varchar()->set_length(2); }),
            "'ab'");
  EXPECT_THAT(CastText(Text("ab"), [](SType& type) { type.mutable_varchar()->set_length(1); }),
              HasSubstr("casts to \"varchar\" are not supported"));
}

TEST(SubstraitExpressionsTest, BytesAreNoStrings) {
  PlanMaker make;
  const auto binary = [](SType& type) { type.mutable_binary(); };
  const auto of_length = [](int length) {
    return [length](SType& type) { type.mutable_fixed_binary()->set_length(length); };
  };
  SExpression bytes;
  bytes.mutable_literal()->set_binary("a");
  EXPECT_EQ(CastText(Text("ab"), binary), "bytes:6162");
  EXPECT_EQ(CastText(bytes, binary), "bytes:61");
  EXPECT_EQ(CastText(bytes, of_length(1)), "bytes:61");
  EXPECT_THAT(CastText(bytes, of_length(2)), HasSubstr("casts of bytes to \"fixed_binary\""));
  EXPECT_THAT(CastText(Field(kFlag), binary), HasSubstr("casts of a string to \"binary\""));
  EXPECT_THAT(CastText(bytes, String), HasSubstr("casts of bytes to \"string\""));
  EXPECT_THAT(ConditionText(make, make.Call("equal", {Field(kFlag), bytes})),
              HasSubstr("a string is compared with bytes"));
  EXPECT_THAT(ConditionText(make, make.Call("like", {bytes, Text("a%")})),
              HasSubstr("takes a string, not bytes"));
  EXPECT_THAT(ColumnText(make, make.Call("substring", {bytes, Int(1)})),
              HasSubstr("takes a string, not bytes"));
}

TEST(SubstraitExpressionsTest, CastsOfConditions) {
  PlanMaker make;
  const auto boolean = [](SType& type) { type.mutable_bool_(); };
  const SExpression null = make.Call("is_null", {Field(kKey)});
  SExpression cast;
  *cast.mutable_cast()->mutable_input() = null;
  I64(*cast.mutable_cast()->mutable_type());
  EXPECT_EQ(ColumnText(make, cast),
            "(cast:int64:0 (cast:int32:0 (case (is_null #0) 1 (not (is_null #0)) 0)))");
  EXPECT_EQ(CastText(Field(kKey), boolean), "(cast:int32:0 (case (!= #0 0) 1 (not (!= #0 0)) 0))");
  EXPECT_THAT(CastText(Field(kFlag), boolean), HasSubstr("a string where a condition must be"));
}

TEST(SubstraitExpressionsTest, Timestamps) {
  const auto stamp = [](int precision) {
    return
        [precision](SType& type) { type.mutable_precision_timestamp()->set_precision(precision); };
  };
  EXPECT_EQ(CastText(Text("1970-01-01T00:00:01.5+00:00"), stamp(6)), "us:1500000");
  EXPECT_EQ(CastText(Text("1970-01-01 00:00:01"), stamp(9)), "us:1000000");
  EXPECT_THAT(CastText(Text("noon"), stamp(6)), HasSubstr("\"noon\" is not a timestamp YYYY"));
  EXPECT_EQ(CastText(Text("noon"), stamp(6), /*null_on_failure=*/true), "(cast:timestamp:0 null)");
  const auto literal = [](int precision, int64_t value) {
    SExpression expression;
    auto* const its = expression.mutable_literal()->mutable_precision_timestamp();
    its->set_precision(precision);
    its->set_value(value);
    return expression;
  };
  EXPECT_EQ(CastText(literal(0, -2), stamp(9)), "us:-2000000");
  EXPECT_EQ(CastText(literal(9, 3'000), stamp(6)), "us:3");
  EXPECT_EQ(CastText(literal(6, -1), DateType), "date:-1");
  EXPECT_EQ(CastText(literal(12, 3'000'000), stamp(6)), "us:3");
  EXPECT_THAT(CastText(literal(9, 3'001), stamp(6)), HasSubstr("no whole microseconds"));
  EXPECT_THAT(CastText(literal(0, std::numeric_limits<int64_t>::max()), stamp(6)),
              HasSubstr("too many microseconds for 64 bits"));
  EXPECT_THAT(CastText(literal(13, 1), stamp(6)), HasSubstr("precision 13, must be 0 to 12"));
  EXPECT_THAT(CastText(literal(6, 1), stamp(3)), HasSubstr("precision 3, which drops digits"));
  PlanMaker make;
  EXPECT_EQ(ConditionText(make, make.Call("gt", {Field(kDate), literal(6, 5)})), "(> #10 us:5)");
  EXPECT_EQ(ColumnText(make, make.Call("hour", {Field(kDate)})), "(part 'hour' #10)");
}

TEST(SubstraitExpressionsTest, OtherCastsAreRefusedByName) {
  EXPECT_THAT(CastText(Field(kFlag), I64), HasSubstr("casts of a string to \"i64\""));
  EXPECT_THAT(CastText(Field(kKey), String), HasSubstr("casts of an integer to \"string\""));
  EXPECT_THAT(CastText(Field(kFlag), DateType), HasSubstr("casts of a string to \"date\""));
  EXPECT_EQ(CastText(Field(kDate), [](SType& type) { type.mutable_precision_timestamp(); }),
            "(cast:timestamp:0 #10)");
  EXPECT_THAT(CastText(Field(kKey), [](SType& type) { type.mutable_timestamp(); }),
              HasSubstr("casts of an integer to \"timestamp\""));
  EXPECT_THAT(CastText(Field(kDate), [](SType&) {}), HasSubstr("the cast has no type"));
}

TEST(SubstraitExpressionsTest, FunctionsAndOptionsThatAreRefused) {
  PlanMaker make;
  EXPECT_EQ(
      make.Answer(SortOf(FilterOf(ReadOf("nation"), make.Call("foo:i64", {Field(0)})), {Field(0)}),
                  {"a", "b", "c", "d"}),
      "UNIMPLEMENTED: relations[0].root.input.sort.input.filter.condition: the function "
      "\"foo\" is unknown");
  EXPECT_THAT(
      ConditionText(make, make.Call("not", {make.Call("lt", {make.Call("bar", {}), Int(1)})})),
      HasSubstr("relations[0].rel.filter.condition.scalar_function.arguments[0].value."
                "scalar_function.arguments[0].value: the function \"bar\" is unknown"));
  SExpression undeclared = make.Call("lt", {Field(kKey), Int(1)});
  undeclared.mutable_scalar_function()->set_function_reference(99);
  EXPECT_EQ(
      ConditionText(make, undeclared),
      "INVALID_ARGUMENT: relations[0].rel.filter.condition: function_reference is 99, but the "
      "plan declares no such function");
  SExpression option = make.Call("add", {Field(kKey), Int(1)});
  auto* overflow = option.mutable_scalar_function()->add_options();
  overflow->set_name("overflow");
  overflow->add_preference("SATURATE");
  EXPECT_THAT(ColumnText(make, option), HasSubstr("the option \"overflow\" with the preference"));
  overflow->add_preference("ERROR");
  EXPECT_EQ(ColumnText(make, option), "(+ #0 1)");
}

// By 0, doubles are divided as IEEE 754 says, and other numbers are an error.
TEST(SubstraitExpressionsTest, OptionsOfDivisionsDependOnTheirResult) {
  PlanMaker make;
  const auto text = [&](const std::string& function, const SExpressions& arguments,
                        const std::string& name, const std::string& preference) {
    SExpression call = make.Call(function, arguments);
    auto* option = call.mutable_scalar_function()->add_options();
    option->set_name(name);
    option->add_preference(preference);
    return ColumnText(make, call);
  };
  const SExpressions integers = {Field(kNumber), Field(kKey)};
  const SExpressions decimals = {Field(kQuantity), Field(kKey)};
  const SExpressions doubles = {Field(kNumber), Real(2)};
  const auto refused = HasSubstr("UNIMPLEMENTED: relations[0].rel.project.expressions[0]: the opt");
  for (const char* by_zero : {"IEEE", "LIMIT"}) {
    EXPECT_EQ(text("divide", decimals, "on_division_by_zero", by_zero), "(/ #4 #0)");
    EXPECT_EQ(text("divide", doubles, "on_division_by_zero", by_zero), "(/ #3 double:2)");
    EXPECT_THAT(text("divide", integers, "on_division_by_zero", by_zero), refused);
  }
  EXPECT_EQ(text("divide", integers, "on_division_by_zero", "ERROR"), "(div #3 #0)");
  EXPECT_THAT(text("divide", decimals, "on_division_by_zero", "ERROR"), refused);
  EXPECT_THAT(text("divide", doubles, "on_division_by_zero", "ERROR"), refused);
  EXPECT_THAT(text("divide", integers, "on_division_by_zero", "NULL"), refused);
  EXPECT_EQ(text("divide", doubles, "on_domain_error", "NAN"), "(/ #3 double:2)");
  EXPECT_EQ(text("modulus", doubles, "on_domain_error", "NAN"), "(% #3 double:2)");
  EXPECT_THAT(text("modulus", decimals, "on_domain_error", "NAN"), refused);
  EXPECT_EQ(text("modulus", decimals, "on_domain_error", "ERROR"), "(% #4 #0)");
}

TEST(SubstraitExpressionsTest, ReferencesThatAreRefused) {
  const PlanMaker make;
  EXPECT_EQ(
      ColumnText(make, Field(16)),
      "INVALID_ARGUMENT: relations[0].rel.project.expressions[0]: field 16 is used, but there "
      "are 16 fields");
  EXPECT_THAT(ColumnText(make, Field(-1)), HasSubstr("field -1"));
  SExpression outer = Field(0);
  outer.mutable_selection()->mutable_outer_reference()->set_steps_out(1);
  EXPECT_THAT(ColumnText(make, outer), HasSubstr("fields of an \"outer_reference\""));
  SExpression nested = Field(0);
  nested.mutable_selection()->mutable_direct_reference()->mutable_struct_field()->mutable_child();
  EXPECT_THAT(ColumnText(make, nested), HasSubstr("parts of a column"));
  SExpression element;
  element.mutable_selection()->mutable_direct_reference()->mutable_list_element();
  EXPECT_THAT(ColumnText(make, element), HasSubstr("references to a \"list_element\""));
  SExpression empty;
  empty.mutable_selection();
  EXPECT_THAT(ColumnText(make, empty), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(ColumnText(make, SExpression()), HasSubstr("the expression is empty"));
  SExpression window;
  window.mutable_window_function();
  EXPECT_THAT(ColumnText(make, window), HasSubstr("\"window_function\" is not supported"));
}

}  // namespace
}  // namespace eris::server::substrait_plans
