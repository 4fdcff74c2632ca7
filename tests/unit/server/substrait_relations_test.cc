// The reader on small plans made for it: relations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/server/substrait_plans.h"

namespace eris::server::substrait_plans {
namespace {

using testing::HasSubstr;

TEST(SubstraitRelationsTest, ProjectHandsOutItsInputThenItsExpressions) {
  PlanMaker make;
  const SExpressions expressions = {make.Call("add", {Field(0), Int(1)}), Field(1)};
  EXPECT_EQ(make.Answer(ProjectOf(ReadOf("nation", {0, 2}), expressions)),
            "0: read nation [0 2]\n1: project 0 [#0 #1 (+ #0 1)]\n2: project 1 [#0 #1 #2 #1]\n");
}

TEST(SubstraitRelationsTest, ProjectOfDuckDbHandsOutItsExpressionsAlone) {
  PlanMaker make;
  make.producer = "DuckDB";
  const SExpressions expressions = {make.Call("add:i64_i64", {Field(0), Int(1)})};
  const SRel project = ProjectOf(ReadOf("nation", {0, 2}), expressions);
  EXPECT_EQ(make.Answer(project), "0: read nation [0 2]\n1: project 0 [(+ #0 1)]\n");
  EXPECT_EQ(make.Answer(ProjectOf(ReadOf("nation", {0, 2}), expressions, {1, 2})),
            "0: read nation [0 2]\n1: project 0 [#1 (+ #0 1)]\n");
}

TEST(SubstraitRelationsTest, MappingPicksReordersAndRepeats) {
  PlanMaker make;
  EXPECT_EQ(make.Answer(ProjectOf(ReadOf("nation", {0, 1, 2}), {}, {2, 0, 2}), {"a", "b", "c"}),
            "0: read nation [0 1 2]\n1: project 0 [#2 #0 #2]\n");
  SRel filter = FilterOf(ReadOf("nation"), make.Call("equal", {Field(0), Int(3)}));
  SetEmit(*filter.mutable_filter()->mutable_common(), {1});
  EXPECT_EQ(make.Answer(filter),
            "0: read nation [0 1 2 3]\n1: filter 0 (= #0 3)\n2: project 1 [#1]\n");
}

TEST(SubstraitRelationsTest, ExpressionThatIsNotHandedOutIsNotComputed) {
  PlanMaker make;
  EXPECT_EQ(make.Answer(ProjectOf(ReadOf("nation", {0}),
                                  {make.Call("add", {Field(0), Int(1)}), Field(0)}, {2})),
            "0: read nation [0]\n");
}

TEST(SubstraitRelationsTest, MappingBeyondTheFieldsIsInvalid) {
  PlanMaker make;
  EXPECT_EQ(make.Answer(ProjectOf(ReadOf("nation", {0}), {Field(0)}, {0, 2})),
            "INVALID_ARGUMENT: relations[0].rel.project: common.emit.output_mapping[1] is 2, but "
            "there are 2 fields");
  EXPECT_THAT(make.Answer(ProjectOf(ReadOf("nation", {0}), {}, {-1})), HasSubstr("is -1"));
}

TEST(SubstraitRelationsTest, ColumnsAreFoundByName) {
  SRel rel;
  auto* read = rel.mutable_read();
  read->mutable_named_table()->add_names("nation");
  for (const char* name : {"n_comment", "n_nationkey"})
    read->mutable_base_schema()->add_names(name);
  read->mutable_base_schema()->mutable_struct_()->add_types()->mutable_string();
  // The object's column is an int64: any number will do.
  read->mutable_base_schema()->mutable_struct_()->add_types()->mutable_i32();
  EXPECT_EQ(PlanMaker().Answer(rel), "0: read nation [3 0]\n");
  read->mutable_base_schema()->set_names(0, "n_remark");
  EXPECT_EQ(
      PlanMaker().Answer(rel),
      "INVALID_ARGUMENT: relations[0].rel.read.base_schema: names[0]: object \"nation\" has no "
      "column \"n_remark\"");
}

TEST(SubstraitRelationsTest, ColumnOfAnotherTypeIsInvalid) {
  SRel rel = ReadOf("nation");
  auto* types = rel.mutable_read()->mutable_base_schema()->mutable_struct_();
  types->mutable_types(0)->mutable_date();
  EXPECT_EQ(PlanMaker().Answer(rel),
            "INVALID_ARGUMENT: relations[0].rel.read.base_schema: struct.types[0]: column "
            "\"n_nationkey\" is int64, not date");
  types->mutable_types(0)->mutable_interval_compound();
  EXPECT_THAT(PlanMaker().Answer(rel), HasSubstr("\"interval_compound\" are not supported"));
  types->mutable_types()->RemoveLast();
  EXPECT_THAT(PlanMaker().Answer(rel), HasSubstr("4 names for 3 types"));
}

TEST(SubstraitRelationsTest, UnknownObjectIsTheCataloguesError) {
  SRel rel = ReadOf("nation");
  rel.mutable_read()->mutable_named_table()->set_names(0, "nations");
  EXPECT_EQ(PlanMaker().Answer(rel),
            "NOT_FOUND: relations[0].rel.read: object \"nations\" does not exist");
  rel.mutable_read()->mutable_named_table()->add_names("public");
  EXPECT_THAT(PlanMaker().Answer(rel), HasSubstr("UNIMPLEMENTED"));
  rel.mutable_read()->mutable_local_files();
  EXPECT_THAT(PlanMaker().Answer(rel), HasSubstr("reading \"local_files\" is not supported"));
}

TEST(SubstraitRelationsTest, ReadOfNoColumnReadsOne) {
  PlanMaker make;
  SRel read = ReadOf("nation");
  read.mutable_read()->mutable_projection()->mutable_select();
  EXPECT_EQ(make.Answer(AggregateOf(read, {}, {make.Measure("count", {})})),
            "0: read nation [0]\n1: aggregate 0 keys [] measures [count()]\n");
  EXPECT_THAT(make.Answer(read), HasSubstr("the answer has no column"));
}

TEST(SubstraitRelationsTest, FilterThatIsTrueIsNone) {
  EXPECT_EQ(PlanMaker().Answer(FilterOf(ReadOf("region"), Boolean(true))),
            "0: read region [0 1 2]\n");
  EXPECT_EQ(PlanMaker().Answer(FilterOf(ReadOf("region"), Boolean(false))),
            "0: read region [0 1 2]\n1: filter 0 (= 1 0)\n");
}

TEST(SubstraitRelationsTest, JoinKeysAreEqualitiesOfBothSides) {
  PlanMaker make;
  const SExpression condition = make.Call(
      "and", {make.Call("equal", {Field(3), Field(0)}), make.Call("lt", {Field(1), Field(4)}),
              Boolean(true), make.Call("equal", {Field(1), Text("x")})});
  EXPECT_EQ(make.Answer(JoinOf(SJoin::JOIN_TYPE_LEFT, ReadOf("region"), ReadOf("nation", {2, 1}),
                               condition)),
            "0: read region [0 1 2]\n1: read nation [2 1]\n"
            "2: join left 0 1 [0=0] (and (< #1 #4) (= #1 'x'))\n");
}

TEST(SubstraitRelationsTest, KeyThatIsComputedIsAColumnBelow) {
  PlanMaker make;
  const SExpression condition =
      make.Call("and", {make.Call("equal", {make.Call("add", {Field(0), Int(1)}),
                                            make.Call("subtract", {Field(2), Int(2)})}),
                        make.Call("not_equal", {Field(1), Field(3)})});
  EXPECT_EQ(make.Answer(JoinOf(SJoin::JOIN_TYPE_INNER, ReadOf("region", {0, 1}),
                               ReadOf("nation", {2, 1}), condition)),
            "0: read region [0 1]\n1: read nation [2 1]\n2: project 0 [#0 #1 (+ #0 1)]\n"
            "3: project 1 [#0 #1 (- #0 2)]\n4: join inner 2 3 [2=2] (!= #1 #4)\n"
            "5: project 4 [#0 #1 #3 #4]\n");
}

TEST(SubstraitRelationsTest, RightJoinsKeepTheOrderOfFields) {
  PlanMaker make;
  const auto join = [&](SJoin::JoinType type) {
    const SExpression condition = make.Call(
        "and", {make.Call("equal", {Field(0), Field(2)}), make.Call("lt", {Field(1), Field(3)})});
    return make.Answer(JoinOf(type, ReadOf("region", {0, 1}), ReadOf("nation", {2, 1}), condition));
  };
  const std::string reads = "0: read region [0 1]\n1: read nation [2 1]\n";
  EXPECT_EQ(join(SJoin::JOIN_TYPE_RIGHT),
            reads + "2: join left 1 0 [0=0] (< #3 #1)\n3: project 2 [#2 #3 #0 #1]\n");
  EXPECT_EQ(join(SJoin::JOIN_TYPE_RIGHT_SEMI), reads + "2: join semi 1 0 [0=0] (< #3 #1)\n");
  EXPECT_EQ(join(SJoin::JOIN_TYPE_RIGHT_ANTI), reads + "2: join anti 1 0 [0=0] (< #3 #1)\n");
}

TEST(SubstraitRelationsTest, OtherJoinTypesAreRefusedByName) {
  PlanMaker make;
  for (const auto type : {SJoin::JOIN_TYPE_LEFT_SINGLE, SJoin::JOIN_TYPE_RIGHT_SINGLE,
                          SJoin::JOIN_TYPE_LEFT_MARK, SJoin::JOIN_TYPE_RIGHT_MARK}) {
    EXPECT_EQ(make.Answer(JoinOf(type, ReadOf("region"), ReadOf("nation"), Boolean(true))),
              "UNIMPLEMENTED: relations[0].rel.join: the join type " + SJoin::JoinType_Name(type) +
                  " is not supported");
  }
  EXPECT_EQ(make.Answer(
                JoinOf(SJoin::JOIN_TYPE_OUTER, ReadOf("region"), ReadOf("nation"), Boolean(true))),
            "UNIMPLEMENTED: relations[0].rel.join: full joins are not supported");
  EXPECT_THAT(make.Answer(JoinOf(SJoin::JOIN_TYPE_UNSPECIFIED, ReadOf("region"), ReadOf("nation"),
                                 Boolean(true))),
              HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(make.Answer(JoinOf(static_cast<SJoin::JoinType>(77), ReadOf("region"),
                                 ReadOf("nation"), Boolean(true))),
              HasSubstr("the join type 77 is unknown"));
}

TEST(SubstraitRelationsTest, CrossJoinHasNoKeys) {
  SRel cross;
  *cross.mutable_cross()->mutable_left() = ReadOf("region", {0});
  *cross.mutable_cross()->mutable_right() = ReadOf("nation", {0});
  const std::string text = "0: read region [0]\n1: read nation [0]\n2: join inner 0 1 []\n";
  EXPECT_EQ(PlanMaker().Answer(cross), text);
  EXPECT_EQ(PlanMaker().Answer(JoinOf(SJoin::JOIN_TYPE_INNER, ReadOf("region", {0}),
                                      ReadOf("nation", {0}), Boolean(true))),
            text);
}

TEST(SubstraitRelationsTest, FilterAfterAJoinIsANode) {
  PlanMaker make;
  SRel join = JoinOf(SJoin::JOIN_TYPE_LEFT, ReadOf("region", {0}), ReadOf("nation", {2}),
                     make.Call("equal", {Field(0), Field(1)}));
  *join.mutable_join()->mutable_post_join_filter() = make.Call("is_null", {Field(1)});
  EXPECT_EQ(make.Answer(join),
            "0: read region [0]\n1: read nation [2]\n2: join left 0 1 [0=0]\n"
            "3: filter 2 (is_null #1)\n");
}

TEST(SubstraitRelationsTest, JoinOfTooManyColumnsReadsOnlyThoseInUse) {
  PlanMaker make;
  // Each level hands out one column of a join over all columns of a table with 16.
  SRel rel = ReadOf("lineitem");
  for (int i = 0; i < 20; ++i) {
    rel = JoinOf(SJoin::JOIN_TYPE_INNER, rel, ReadOf("lineitem"),
                 make.Call("equal", {Field(0), Field(i == 0 ? 16 : 1)}));
    SetEmit(*rel.mutable_join()->mutable_common(), {0});
  }
  EXPECT_THAT(make.Answer(rel), HasSubstr("project 30 [#0]\n"));
}

TEST(SubstraitRelationsTest, AggregateHandsOutKeysThenMeasures) {
  PlanMaker make;
  auto distinct = make.Measure("count", {Field(1)});
  distinct.mutable_measure()->set_invocation(
      ::substrait::AggregateFunction::AGGREGATION_INVOCATION_DISTINCT);
  auto filtered = make.Measure("sum", {Field(2)});
  *filtered.mutable_filter() = make.Call("gt", {Field(2), Int(7)});
  auto filtered_rows = make.Measure("count:", {});
  *filtered_rows.mutable_filter() = Boolean(false);
  EXPECT_EQ(make.Answer(
                AggregateOf(ReadOf("part", {5, 1, 0}), {Field(1)},
                            {make.Measure("count:any", {Field(0)}), make.Measure("count", {Int(1)}),
                             make.Measure("count", {NullText()}), distinct, filtered, filtered_rows,
                             make.Measure("any_value", {Field(0)})})),
            "0: read part [5 1 0]\n"
            "1: aggregate 0 keys [1] measures [count(#0) count() count((cast:string:0 null)) "
            "count(distinct #1) "
            "sum((case (> #2 7) #2)) count((case (= 1 0) 1)) max(#0)]\n");
}

TEST(SubstraitRelationsTest, KeysThatAreComputedOrRepeated) {
  PlanMaker make;
  EXPECT_EQ(make.Answer(AggregateOf(ReadOf("part", {5, 1}),
                                    {make.Call("add", {Field(0), Int(1)}), Field(1), Field(1)},
                                    {make.Measure("max", {Field(0)})})),
            "0: read part [5 1]\n1: project 0 [#0 #1 (+ #0 1)]\n"
            "2: aggregate 1 keys [2 1] measures [max(#0)]\n3: project 2 [#0 #1 #1 #2]\n");
}

TEST(SubstraitRelationsTest, AggregateWithoutMeasuresIsDistinct) {
  EXPECT_EQ(PlanMaker().Answer(AggregateOf(ReadOf("part", {5}), {Field(0)}, {})),
            "0: read part [5]\n1: aggregate 0 keys [0] measures []\n");
  EXPECT_THAT(PlanMaker().Answer(AggregateOf(ReadOf("part", {5}), {}, {})),
              HasSubstr("an aggregate without a key or a measure"));
}

TEST(SubstraitRelationsTest, AggregatesOfStringsConditionsAndNulls) {
  PlanMaker make;
  const SExpression large = make.Call("gt", {Field(0), Int(7)});
  SExpression null;
  null.mutable_literal()->mutable_null()->mutable_i64();
  auto filtered = make.Measure("max", {null});
  *filtered.mutable_filter() = large;
  EXPECT_EQ(
      make.Answer(AggregateOf(
          ReadOf("part", {5, 1}), {large},
          {make.Measure("min", {Field(1)}), make.Measure("bool_and", {large}),
           make.Measure("count", {Boolean(true)}), make.Measure("sum", {NullText()}), filtered})),
      "0: read part [5 1]\n"
      "1: project 0 [#0 #1 (cast:int32:0 (case (> #0 7) 1 (not (> #0 7)) 0))]\n"
      "2: aggregate 1 keys [2] measures [min(#1) "
      "min((cast:int32:0 (case (> #0 7) 1 (not (> #0 7)) 0))) count((cast:int32:0 1)) "
      "sum((cast:int64:0 null)) max((case (> #0 7) (cast:int64:0 null)))]\n");
}

TEST(SubstraitRelationsTest, AColumnThatWasAConditionIsOneAgain) {
  PlanMaker make;
  const SExpression large = make.Call("gt", {Field(0), Int(7)});
  EXPECT_EQ(make.Answer(FilterOf(ProjectOf(ReadOf("nation", {0}), {large}, {1}), Field(0))),
            "0: read nation [0]\n1: project 0 [(cast:int32:0 (case (> #0 7) 1 (not (> #0 7)) 0))]\n"
            "2: filter 1 (!= #0 0)\n");
  EXPECT_EQ(make.Answer(SortOf(ReadOf("nation", {0}), {large})),
            "0: read nation [0]\n"
            "1: project 0 [#0 (cast:int32:0 (case (> #0 7) 1 (not (> #0 7)) 0))]\n"
            "2: sort 1 [1]\n3: project 2 [#0]\n");
}

TEST(SubstraitRelationsTest, AggregatesThatAreRefused) {
  PlanMaker make;
  const auto answer = [&](const ::substrait::AggregateRel::Measure& measure) {
    return make.Answer(AggregateOf(ReadOf("part", {5, 1}), {}, {measure}));
  };
  EXPECT_EQ(
      answer(make.Measure("stddev", {Field(0)})),
      "UNIMPLEMENTED: relations[0].rel.aggregate.measures[0].measure: the function \"stddev\" "
      "is unknown");
  EXPECT_THAT(answer(make.Measure("sum", {Field(1)})), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(answer(make.Measure("sum", {})), HasSubstr("has 0 arguments, must have 1"));
  EXPECT_THAT(answer(make.Measure("count", {Field(0), Field(1)})),
              HasSubstr("has 2 arguments, must have at most 1"));
  auto part = make.Measure("sum", {Field(0)});
  part.mutable_measure()->set_phase(::substrait::AGGREGATION_PHASE_INITIAL_TO_INTERMEDIATE);
  EXPECT_THAT(answer(part), HasSubstr("phase 1"));
  SRel sets = AggregateOf(ReadOf("part", {5, 1}), {Field(0)}, {});
  sets.mutable_aggregate()->add_groupings();
  EXPECT_THAT(make.Answer(sets), HasSubstr("several groupings"));
  SRel reference = AggregateOf(ReadOf("part", {5, 1}), {Field(0)}, {});
  reference.mutable_aggregate()->mutable_groupings(0)->set_expression_references(0, 1);
  EXPECT_THAT(make.Answer(reference), HasSubstr("expression_references[0] is 1, but there are 1"));
  SRel keys = AggregateOf(ReadOf("lineitem"), {}, {});
  for (int i = 0; i < 16; ++i) {
    keys.mutable_aggregate()->mutable_groupings(0)->add_expression_references(
        static_cast<uint32_t>(i));
    *keys.mutable_aggregate()->add_grouping_expressions() = Field(i);
  }
  EXPECT_THAT(make.Answer(keys), HasSubstr("aggregate 0 keys"));
  keys.mutable_aggregate()->mutable_groupings(0)->add_expression_references(16);
  *keys.mutable_aggregate()->add_grouping_expressions() = make.Call("add", {Field(0), Field(1)});
  EXPECT_THAT(make.Answer(keys), HasSubstr("17 keys of groups, must be at most 16"));
}

TEST(SubstraitRelationsTest, OptionsOfAggregates) {
  PlanMaker make;
  const auto answer = [&](const std::string& function, const std::string& name,
                          const std::vector<std::string>& preferences) {
    auto measure = make.Measure(function, {Field(0)});
    auto* option = measure.mutable_measure()->add_options();
    option->set_name(name);
    for (const std::string& preference : preferences) option->add_preference(preference);
    return make.Answer(AggregateOf(ReadOf("part", {5}), {}, {measure}));
  };
  const std::string sum = "0: read part [5]\n1: aggregate 0 keys [] measures [sum(#0)]\n";
  EXPECT_EQ(answer("sum", "overflow", {"ERROR"}), sum);
  EXPECT_EQ(answer("sum", "overflow", {"SILENT", "ERROR"}), sum);
  EXPECT_EQ(answer("sum", "overflow", {}), sum);
  EXPECT_EQ(answer("sum", "overflow", {"SILENT"}),
            "UNIMPLEMENTED: relations[0].rel.aggregate.measures[0].measure: the option "
            "\"overflow\" with the preference \"SILENT\" is not supported");
  EXPECT_THAT(answer("avg", "rounding", {"TRUNCATE"}), HasSubstr("the option \"rounding\""));
  EXPECT_THAT(answer("any_value", "ignore_nulls", {"TRUE"}), HasSubstr("measures [max(#0)]"));
}

TEST(SubstraitRelationsTest, Medians) {
  PlanMaker make;
  const auto answer = [&](std::vector<SExpression> arguments) {
    return make.Answer(AggregateOf(ReadOf("part", {0, 3, 7}), {},
                                   {make.Measure("median:i64", std::move(arguments))}));
  };
  EXPECT_EQ(answer({Field(0)}),
            "0: read part [0 3 7]\n1: aggregate 0 keys [] measures [median(#0)]\n");
  EXPECT_EQ(answer({Field(2)}),
            "0: read part [0 3 7]\n1: aggregate 0 keys [] measures [median(#2)]\n");
  EXPECT_THAT(answer({Field(1)}), HasSubstr("the function \"median\" is called with a string, must "
                                            "be a number"));
  EXPECT_THAT(answer({}), HasSubstr("the function \"median\" has 0 arguments, must have 1"));
}

TEST(SubstraitRelationsTest, SortDirections) {
  using ::substrait::SortField;
  PlanMaker make;
  SRel sort = SortOf(ReadOf("region"), {Field(0), Field(1), Field(2), Field(0)});
  sort.mutable_sort()->mutable_sorts(0)->set_direction(SortField::SORT_DIRECTION_ASC_NULLS_FIRST);
  sort.mutable_sort()->mutable_sorts(2)->set_direction(SortField::SORT_DIRECTION_DESC_NULLS_FIRST);
  sort.mutable_sort()->mutable_sorts(3)->set_direction(SortField::SORT_DIRECTION_DESC_NULLS_LAST);
  EXPECT_EQ(make.Answer(sort),
            "0: read region [0 1 2]\n1: sort 0 [0 first 1 2 desc first 0 desc]\n");
  sort.mutable_sort()->mutable_sorts(1)->set_direction(SortField::SORT_DIRECTION_CLUSTERED);
  EXPECT_THAT(make.Answer(sort), HasSubstr("UNIMPLEMENTED: relations[0].rel.sort.sorts[1]"));
  sort.mutable_sort()->mutable_sorts(1)->clear_direction();
  EXPECT_THAT(make.Answer(sort), HasSubstr("INVALID_ARGUMENT: relations[0].rel.sort.sorts[1]"));
}

TEST(SubstraitRelationsTest, ProjectsAboveTheSortGoBelowIt) {
  PlanMaker make;
  const SRel sorted = FetchOf(SortOf(ReadOf("nation"), {Field(2)}), 5);
  const SRel project =
      ProjectOf(ProjectOf(sorted, {make.Call("add", {Field(0), Int(1)}), Field(1)}, {4, 2}),
                {make.Call("multiply", {Field(0), Int(2)})}, {1, 2});
  EXPECT_EQ(make.Answer(project, {"a", "b"}),
            "0: read nation [0 1 2 3]\n1: project 0 [(+ #0 1) #2]\n2: project 1 [#1 (* #0 2)]\n"
            "3: sort 2 [0]\n4: limit 3 0 5\n");
}

TEST(SubstraitRelationsTest, OrderByWhatTheAnswerLacksStaysBelowTheProject) {
  PlanMaker make;
  EXPECT_EQ(make.Answer(ProjectOf(SortOf(ReadOf("nation"), {Field(2)}), {}, {0})),
            "0: read nation [0 1 2 3]\n1: sort 0 [2]\n2: project 1 [#0]\n");
  EXPECT_EQ(make.Answer(SortOf(ReadOf("nation", {0, 2}), {make.Call("negate", {Field(1)})})),
            "0: read nation [0 2]\n1: project 0 [#0 #1 (* #1 -1)]\n2: sort 1 [2]\n"
            "3: project 2 [#0 #1]\n");
  const SRel sorted = FetchOf(SortOf(ReadOf("nation"), {Field(2)}), 5);
  EXPECT_EQ(make.Answer(ProjectOf(sorted, {make.Call("add", {Field(0), Int(1)})}, {4})),
            "0: read nation [0 1 2 3]\n1: sort 0 [2]\n2: limit 1 0 5\n3: project 2 [(+ #0 1)]\n");
}

TEST(SubstraitRelationsTest, FetchInItsForms) {
  const auto answer = [](const auto& change) {
    SRel rel;
    *rel.mutable_fetch()->mutable_input() = ReadOf("region", {0});
    change(*rel.mutable_fetch());
    return PlanMaker().Answer(rel);
  };
  using Fetch = ::substrait::FetchRel;
  const std::string read = "0: read region [0]\n";
  EXPECT_EQ(answer([](Fetch& fetch) { fetch.set_count(3); }), read + "1: limit 0 0 3\n");
  EXPECT_EQ(answer([](Fetch& fetch) { fetch.set_count(-1); }), read);
  EXPECT_EQ(answer([](Fetch&) {}), read);
  EXPECT_EQ(answer([](Fetch& fetch) { *fetch.mutable_count_expr() = Int(0); }),
            read + "1: limit 0 0 0\n");
  EXPECT_EQ(answer([](Fetch& fetch) {
              *fetch.mutable_count_expr() = Int(9);
              *fetch.mutable_offset_expr() = Int(4);
            }),
            read + "1: limit 0 4 9\n");
  EXPECT_EQ(answer([](Fetch& fetch) {
              *fetch.mutable_count_expr() = NullText();
              fetch.set_offset(4);
            }),
            read + "1: limit 0 4 18446744073709551615\n");
  EXPECT_EQ(answer([](Fetch& fetch) { fetch.set_count(-2); }),
            "INVALID_ARGUMENT: relations[0].rel.fetch: the count is -2 rows, must be at least 0");
  EXPECT_THAT(answer([](Fetch& fetch) { fetch.set_offset(-1); }),
              HasSubstr("fetch: the offset is -1 rows, must be at least 0"));
  EXPECT_THAT(answer([](Fetch& fetch) { *fetch.mutable_count_expr() = Field(0); }),
              HasSubstr("field 0 is used, but there are 0 fields"));
  EXPECT_THAT(answer([](Fetch& fetch) { *fetch.mutable_count_expr() = Real(2); }),
              HasSubstr("UNIMPLEMENTED: relations[0].rel.fetch.count_expr"));
}

SRel SetOf(::substrait::SetRel::SetOp op, const std::vector<SRel>& inputs) {
  SRel out;
  out.mutable_set()->set_op(op);
  for (const SRel& input : inputs) *out.mutable_set()->add_inputs() = input;
  return out;
}

TEST(SubstraitRelationsTest, Unions) {
  using Set = ::substrait::SetRel;
  PlanMaker make;
  const std::vector<SRel> keys = {ReadOf("region", {0}), ReadOf("nation", {2, 0})};
  EXPECT_EQ(make.Answer(SetOf(Set::SET_OP_UNION_ALL, {keys[0], ProjectOf(keys[1], {}, {1})})),
            "0: read region [0]\n1: read nation [2 0]\n2: project 1 [#1]\n3: union [0 2]\n");
  EXPECT_EQ(make.Answer(SetOf(Set::SET_OP_UNION_DISTINCT, {keys[0], keys[0], keys[0]})),
            "0: read region [0]\n1: read region [0]\n2: read region [0]\n3: union [0 1 2]\n"
            "4: aggregate 3 keys [0] measures []\n");
  // Integers of different types become one: DataFusion takes a count for an i64.
  EXPECT_EQ(make.Answer(SetOf(Set::SET_OP_UNION_ALL,
                              {keys[0], AggregateOf(keys[0], {}, {make.Measure("count", {})})})),
            "0: read region [0]\n1: read region [0]\n2: aggregate 1 keys [] measures [count()]\n"
            "3: project 2 [(cast:int64:0 #0)]\n4: union [0 3]\n");
  EXPECT_EQ(
      make.Answer(SetOf(Set::SET_OP_UNION_ALL, keys)),
      "INVALID_ARGUMENT: relations[0].rel.set.inputs[1]: 2 columns, but the first input has 1");
  // Only their number is asked for.
  SRel none = ReadOf("nation");
  none.mutable_read()->mutable_projection()->mutable_select();
  EXPECT_EQ(make.Answer(AggregateOf(SetOf(Set::SET_OP_UNION_ALL, {none, none}), {},
                                    {make.Measure("count", {})})),
            "0: read nation [0]\n1: read nation [0]\n2: project 0 [1]\n3: project 1 [1]\n"
            "4: union [2 3]\n5: aggregate 4 keys [] measures [count()]\n");
  EXPECT_THAT(make.Answer(SetOf(Set::SET_OP_UNION_DISTINCT, {none, none})),
              HasSubstr("a union of distinct rows of 0 columns, must be 1 to 16"));
  EXPECT_EQ(make.Answer(SetOf(Set::SET_OP_UNION_ALL, {keys[0]})),
            "INVALID_ARGUMENT: relations[0].rel.set: 1 inputs, must be at least 2");
  EXPECT_EQ(make.Answer(SetOf(Set::SET_OP_MINUS_PRIMARY, keys)),
            "UNIMPLEMENTED: relations[0].rel.set: the operation SET_OP_MINUS_PRIMARY is not "
            "supported");
  EXPECT_THAT(make.Answer(SetOf(Set::SET_OP_UNSPECIFIED, keys)), HasSubstr("has no operation"));
}

TEST(SubstraitRelationsTest, OtherRelationsAreRefusedByNameAndPlace) {
  SRel other;
  other.mutable_exchange();
  EXPECT_EQ(
      PlanMaker().Answer(SortOf(FilterOf(other, Boolean(true)), {Field(0)}), {"a"}),
      "UNIMPLEMENTED: relations[0].root.input.sort.input.filter.input: the relation \"exchange\" "
      "is not supported");
  EXPECT_EQ(PlanMaker().Answer(SRel()),
            "INVALID_ARGUMENT: relations[0].rel: the relation is empty");
  SRel later;
  later.GetReflection()->MutableUnknownFields(&later)->AddVarint(777, 1);
  EXPECT_THAT(PlanMaker().Answer(later), HasSubstr("UNIMPLEMENTED"));
  SRel changed = ReadOf("region");
  changed.mutable_read()->mutable_advanced_extension()->mutable_enhancement();
  EXPECT_EQ(PlanMaker().Answer(changed),
            "UNIMPLEMENTED: relations[0].rel: enhancements are not supported");
}

TEST(SubstraitRelationsTest, NamesAreAsManyAsColumns) {
  const auto plan = PlanMaker().Read(ReadOf("region", {0, 1}), {"a", "b"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->names, testing::ElementsAre("a", "b"));
  EXPECT_EQ(PlanMaker().Answer(ReadOf("region", {0, 1}), {"a"}),
            "INVALID_ARGUMENT: relations[0].root: 1 names for 2 columns");
}

}  // namespace
}  // namespace eris::server::substrait_plans
