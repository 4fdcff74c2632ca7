// The reader on plans that are damaged, too large or made to be: it answers with an error, within
// its bounds, or with a plan that keeps the rules.
#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/support/seed.h"
#include "tests/support/tpch_plans.h"
#include "tests/unit/server/substrait_plans.h"

namespace eris::server::substrait_plans {
namespace {

using testing::AnyOf;
using testing::Eq;
using testing::HasSubstr;

// Returns whether the plan was read.
bool ReadsOrRefuses(std::string_view bytes) {
  const auto plan = PlanFromSubstrait(bytes, test::TpchSchema);
  if (plan.ok()) {
    EXPECT_EQ(test::QueryPlanCheck::Run(*plan, test::TpchSchema), absl::OkStatus());
    return true;
  }
  EXPECT_THAT(plan.status().code(),
              AnyOf(Eq(absl::StatusCode::kInvalidArgument), Eq(absl::StatusCode::kUnimplemented),
                    Eq(absl::StatusCode::kNotFound)));
  EXPECT_FALSE(plan.status().message().empty());
  return false;
}

TEST(SubstraitHostileTest, PlansThatEndEarly) {
  for (const test::TpchPlan& file : test::ReadTpchPlans()) {
    SCOPED_TRACE(file.name);
    for (size_t bytes = 0; bytes < file.bytes.size(); ++bytes) {
      ReadsOrRefuses(std::string_view(file.bytes).substr(0, bytes));
    }
  }
}

TEST(SubstraitHostileTest, PlansWithChangedBytes) {
  const google::protobuf::LogSilencer silencer;  // it reports each text that is no UTF-8
  const uint64_t number = test::Seed();
  SCOPED_TRACE(test::SeedText(number));
  std::mt19937_64 random(number);
  constexpr int kChanges = 300;  // of each plan
  size_t read = 0;
  for (const test::TpchPlan& file : test::ReadTpchPlans()) {
    SCOPED_TRACE(file.name);
    for (int i = 0; i < kChanges; ++i) {
      std::string bytes = file.bytes;
      for (uint64_t change = 0; change <= random() % 3; ++change) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      read += ReadsOrRefuses(bytes) ? 1 : 0;
    }
  }
  EXPECT_GT(read, 0U);  // some changes are of literals
}

TEST(SubstraitHostileTest, BytesThatAreNoPlan) {
  EXPECT_THAT(PlanFromSubstrait("\xff\xff\xff", test::TpchSchema).status().ToString(),
              HasSubstr("INVALID_ARGUMENT: the bytes are no plan of Substrait"));
  EXPECT_EQ(PlanFromSubstrait("", test::TpchSchema).status().ToString(),
            "INVALID_ARGUMENT: relations: the plan has no relation");
  EXPECT_THAT(
      PlanFromSubstrait(std::string(kPlanBytesMax + 1, '\0'), test::TpchSchema).status().ToString(),
      HasSubstr("a plan of 1048577 bytes, must have at most 1048576"));
}

SRel Filters(int count) {
  SRel rel = ReadOf("region");
  for (int i = 0; i < count; ++i) rel = FilterOf(std::move(rel), Boolean(false));
  return rel;
}

TEST(SubstraitHostileTest, NestingOfRelations) {
  // Each relation is two levels.
  const PlanMaker make;
  EXPECT_TRUE(make.Read(Filters(100)).ok());
  EXPECT_THAT(make.Read(Filters(121)).status().ToString(), HasSubstr("more than 240 levels"));
  EXPECT_THAT(make.Read(Filters(200)).status().ToString(), HasSubstr("more than 256 levels"));
}

// A field with a message in it: its tag, its length and its bytes.
std::string Wrapped(char tag, const std::string& bytes) {
  constexpr size_t kBits = 0x7f;
  std::string out(1, tag);
  size_t rest = bytes.size();
  for (; rest > kBits; rest >>= 7) out += static_cast<char>((rest & kBits) | 0x80);
  return out + static_cast<char>(rest) + bytes;
}

// Deeper than a parser without a limit could return from.
TEST(SubstraitHostileTest, NestingThatOnlyBytesCanHave) {
  constexpr char kFilter = 0x12;  // Rel.filter, and FilterRel.input: field 2
  constexpr char kRelation = 0x0a;
  constexpr char kRelations = 0x1a;
  std::string bytes;
  for (int i = 0; i < 20'000; ++i) bytes = Wrapped(kFilter, bytes);
  bytes = Wrapped(kRelations, Wrapped(kRelation, bytes));
  ASSERT_LT(bytes.size(), kPlanBytesMax);
  EXPECT_THAT(PlanFromSubstrait(bytes, test::TpchSchema).status().ToString(),
              HasSubstr("more than 256 levels"));
}

TEST(SubstraitHostileTest, NestingOfExpressions) {
  PlanMaker make;
  const auto nested = [&](int levels) {
    SExpression value = Field(0);
    for (int i = 1; i < levels; ++i) value = make.Call("negate", {value});
    return make.Answer(ProjectOf(ReadOf("region"), {value}, {3}));
  };
  EXPECT_THAT(nested(kExpressionDepthMax), HasSubstr("project"));
  EXPECT_THAT(nested(kExpressionDepthMax + 1), HasSubstr("an expression has more than 64 levels"));
  EXPECT_THAT(nested(82), HasSubstr("more than 240 levels"));
}

TEST(SubstraitHostileTest, LargeExpressions) {
  PlanMaker make;
  const auto list = [&](int options, const SExpression& option) {
    SExpression out;
    *out.mutable_singular_or_list()->mutable_value() = Field(0);
    for (int i = 0; i < options; ++i) *out.mutable_singular_or_list()->add_options() = option;
    return make.Read(FilterOf(ReadOf("region"), out)).status();
  };
  EXPECT_TRUE(list(kExpressionSizeMax - 2, Int(7)).ok());
  EXPECT_THAT(list(kExpressionSizeMax - 1, Int(7)).ToString(), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(list(20'000, Field(0)).ToString(), HasSubstr("more than 4096 parts"));
  const SExpressions many(kExpressionSizeMax + 1, Boolean(false));
  EXPECT_THAT(make.Answer(FilterOf(ReadOf("region"), make.Call("or", many))),
              HasSubstr("condition.scalar_function: an expression of more than 4096 parts"));
}

// Each level of coalesce copies its first argument.
TEST(SubstraitHostileTest, ExpressionsThatGrow) {
  PlanMaker make;
  const auto grown = [&](int levels) {
    SExpression value = Field(0);
    for (int i = 0; i < levels; ++i) value = make.Call("coalesce", {value, Int(0)});
    return value;
  };
  EXPECT_THAT(make.Answer(ProjectOf(ReadOf("region"), {grown(60)}, {3})),
              HasSubstr("INVALID_ARGUMENT"));
  // Many such, of which each is small enough.
  const SExpression large = grown(9);
  EXPECT_THAT(make.Answer(ProjectOf(ReadOf("region"), SExpressions(10, large), {3})),
              HasSubstr("project"));
  EXPECT_THAT(make.Answer(ProjectOf(ReadOf("region"), SExpressions(100, large), {3})),
              HasSubstr("expressions have more than 65536 parts"));
}

TEST(SubstraitHostileTest, PlansOfTooManyNodes) {
  PlanMaker make;
  // A tree of joins, so that it is not deep.
  SRel rel = ReadOf("region", {0});
  const auto doubled = [&](int times) {
    SRel out = rel;
    for (int i = 0; i < times; ++i) {
      out = JoinOf(SJoin::JOIN_TYPE_LEFT_SEMI, out, out, Boolean(true));
    }
    return make.Answer(out);
  };
  EXPECT_THAT(doubled(8), HasSubstr("510: join semi"));
  EXPECT_THAT(doubled(9), HasSubstr("the plan has more than 1000 nodes"));
}

TEST(SubstraitHostileTest, RelationsOfTooManyColumns) {
  PlanMaker make;
  EXPECT_THAT(make.Answer(ProjectOf(ReadOf("region", {0}), SExpressions(255, Int(1)))),
              HasSubstr("project"));
  EXPECT_THAT(make.Answer(ProjectOf(ReadOf("region", {0}), SExpressions(256, Int(1)))),
              HasSubstr("a relation of 257 columns, must have at most 256"));
  SRel wide = ReadOf("lineitem");
  for (int i = 0; i < 4; ++i) wide = JoinOf(SJoin::JOIN_TYPE_INNER, wide, wide, Boolean(true));
  EXPECT_THAT(make.Answer(wide), HasSubstr("join inner"));
  wide = JoinOf(SJoin::JOIN_TYPE_INNER, wide, ReadOf("region", {0}), Boolean(true));
  EXPECT_THAT(make.Answer(wide), HasSubstr("a relation of 257 columns"));
}

TEST(SubstraitHostileTest, AggregatesOfTooManyMeasures) {
  PlanMaker make;
  const std::vector<::substrait::AggregateRel::Measure> measures(257, make.Measure("count", {}));
  EXPECT_THAT(make.Answer(AggregateOf(ReadOf("region"), {}, measures)),
              HasSubstr("257 measures, must be at most 256"));
}

TEST(SubstraitHostileTest, PartsThatAreMissing) {
  using ::substrait::Rel;
  const auto answer = [](const auto& change) {
    Rel rel;
    change(rel);
    const auto plan = PlanMaker().Read(rel);
    return plan.ok() ? "OK" : plan.status().ToString();
  };
  EXPECT_THAT(answer([](Rel& r) { r.mutable_filter(); }),
              HasSubstr("relations[0].rel.filter.input: the input is missing"));
  EXPECT_THAT(answer([](Rel& r) { *r.mutable_filter()->mutable_input() = ReadOf("region"); }),
              HasSubstr("relations[0].rel.filter.condition: the expression is missing"));
  EXPECT_THAT(answer([](Rel& r) { r.mutable_project(); }), HasSubstr("the input is missing"));
  EXPECT_THAT(answer([](Rel& r) { r.mutable_sort(); }), HasSubstr("the input is missing"));
  EXPECT_THAT(answer([](Rel& r) { r.mutable_fetch(); }), HasSubstr("the input is missing"));
  EXPECT_THAT(answer([](Rel& r) { r.mutable_aggregate(); }), HasSubstr("the input is missing"));
  EXPECT_THAT(answer([](Rel& r) { r.mutable_cross(); }), HasSubstr("rel.cross.left"));
  EXPECT_THAT(answer([](Rel& r) { r.mutable_join()->set_type(SJoin::JOIN_TYPE_INNER); }),
              HasSubstr("rel.join.left: the input is missing"));
  EXPECT_THAT(answer([](Rel& r) { r.mutable_read(); }), HasSubstr("the read has no table"));
  EXPECT_THAT(answer([](Rel& r) { r.mutable_read()->mutable_named_table(); }),
              HasSubstr("the table has no name"));
  EXPECT_THAT(answer([](Rel& r) {
                *r.mutable_aggregate()->mutable_input() = ReadOf("region");
                r.mutable_aggregate()->add_measures();
              }),
              HasSubstr("measures[0].measure: function_reference is 0"));
  EXPECT_THAT(answer([](Rel& r) {
                *r.mutable_sort()->mutable_input() = ReadOf("region");
                r.mutable_sort()->add_sorts();
              }),
              HasSubstr("sorts[0].expr: the expression is missing"));
}

TEST(SubstraitHostileTest, DeclarationsThatContradict) {
  ::substrait::Plan plan;
  for (const char* name : {"lt:i64_i64", "lt", "gt"}) {
    plan.add_extensions()->mutable_extension_function()->set_name(name);
  }
  plan.add_relations();
  EXPECT_EQ(PlanFromSubstrait(plan.SerializeAsString(), test::TpchSchema).status().ToString(),
            "INVALID_ARGUMENT: extensions[2]: function_anchor 0 is \"gt\" and \"lt\"");
  plan.clear_extensions();
  EXPECT_THAT(PlanFromSubstrait(plan.SerializeAsString(), test::TpchSchema).status().ToString(),
              HasSubstr("relations[0]: the relation is empty"));
  plan.add_relations();
  EXPECT_THAT(PlanFromSubstrait(plan.SerializeAsString(), test::TpchSchema).status().ToString(),
              HasSubstr("UNIMPLEMENTED: relations[1]: several relations"));
}

}  // namespace
}  // namespace eris::server::substrait_plans
