// What the command line comes to, and which combinations are refused before anything is sent.
#include "clients/cli/bench_flags.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace eris::cli {
namespace {

absl::StatusOr<load::Plan> Parse(const std::vector<std::string>& arguments) {
  BenchFlags flags;
  Flags verb("test");
  flags.AddTo(verb);
  if (absl::Status status = verb.Parse(arguments); !status.ok()) return status;
  return flags.ToPlan(verb);
}

TEST(BenchFlagsTest, WorkloadsBringTheirDistributionAndMix) {
  const auto plan = Parse({"d", "--keys", "1000", "--batch", "1"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->workload.distribution, load::Distribution::kLatest);
  EXPECT_EQ(plan->workload.PercentOf(load::Operation::kInsert), 5u);
  EXPECT_TRUE(plan->zipf.has_value());
  const auto mixed = Parse({"--workload", "mixed", "--scan-percent", "20", "--rmw-percent", "30"});
  ASSERT_TRUE(mixed.ok()) << mixed.status();
  EXPECT_EQ(mixed->workload.PercentOf(load::Operation::kLookup), 40u);
  EXPECT_EQ(mixed->workload.PercentOf(load::Operation::kUpsert), 10u);
  EXPECT_EQ(Parse({"scan"})->in_flight, 1u);
  EXPECT_EQ(Parse({"lookup"})->in_flight, 8u);
  EXPECT_EQ(Parse({"e", "--scan-rows", "7"})->workload.scan_rows, 7u);
}

TEST(BenchFlagsTest, CombinationsThatMakeNoSenseAreRefusedByName) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--embedded", "--null"}, "--embedded and --null"},
      {{"--null", "--unary"}, "--unary"},
      {{"--embedded", "--until-unavailable"}, "--until-unavailable"},
      {{"--aeus", "2"}, "--aeu-count"},
      {{"scan", "--unary"}, "--unary"},
      {{"load", "--warm-up", "1"}, "--warm-up"},
      {{"load", "--requests", "1"}, "--requests"},
      {{"lookup", "--replace"}, "--replace"},
      {{"--requests", "5", "--seconds", "5"}, "--seconds"},
      {{"--rate", "1e-9"}, "0.001"},
      {{"a", "--upsert-percent", "5"}, "--upsert-percent"},
      {{"mixed", "--upsert-percent", "60", "--scan-percent", "60"}, "add up to 120"},
      {{"lookup", "--scan-rows", "5"}, "--scan-rows"},
      {{"--hot-part", "0.5"}, "--hot-part"},
      {{"--distribution", "hot", "--shift-seconds", "5"}, "--shift-seconds"},
      {{"d", "--key-part", "0.5"}, "--key-part"},
      {{"d", "--missing-percent", "5"}, "--missing-percent"},
      {{"upsert", "--missing-percent", "5"}, "--missing-percent"},
      {{"e", "--embedded", "--kind", "hash"}, "hash"},
      {{"--streams", "1000", "--in-flight", "1000"}, "1000000"},
      {{"--keys", "3", "--connections", "4"}, "--connections"},
  };
  for (const auto& [arguments, words] : cases) {
    const auto plan = Parse(arguments);
    ASSERT_TRUE(absl::IsInvalidArgument(plan.status())) << words << ": " << plan.status();
    EXPECT_NE(std::string(plan.status().message()).find(words), std::string::npos) << plan.status();
  }
}

// The shares of a sweep, and the flags for the report.
struct Swept {
  absl::StatusOr<std::vector<uint32_t>> shares;
  std::map<std::string, std::string> flags;
};

Swept ParseSweep(const std::vector<std::string>& arguments) {
  BenchFlags flags;
  Flags verb("test");
  flags.AddTo(verb);
  const absl::Status parsed = verb.Parse(arguments);
  if (!parsed.ok()) return {parsed, {}};
  const auto plan = flags.ToPlan(verb);
  if (!plan.ok()) return {plan.status(), {}};
  const auto given = GivenFlags(verb, *plan);
  return {flags.SweepShares(verb), {given.begin(), given.end()}};
}

TEST(BenchFlagsTest, ASweepIsGivenByItsSharesOrAlone) {
  EXPECT_TRUE(ParseSweep({"c"}).shares->empty());
  EXPECT_EQ(*ParseSweep({"c", "--sweep"}).shares, (std::vector<uint32_t>{50, 70, 90, 100}));
  EXPECT_EQ(ParseSweep({"c", "--sweep", "--batch", "1"}).shares->size(), 4u);
  EXPECT_EQ(*ParseSweep({"c", "--sweep", "20,40"}).shares, (std::vector<uint32_t>{20, 40}));
  EXPECT_EQ(ParseSweep({"c", "--sweep=20,40"}).shares->size(), 2u);
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"c", "--sweep", "--rate", "5"}, "--rate"},
      {{"c", "--sweep", "--until-unavailable"}, "--until-unavailable"},
      {{"load", "--sweep"}, "--sweep"},
      {{"--sweep", "c"}, "'c'"},
      {{"c", "--sweep", "50,500"}, "1 to 200"},
  };
  for (const auto& [arguments, words] : cases) {
    const absl::Status status = ParseSweep(arguments).shares.status();
    ASSERT_TRUE(absl::IsInvalidArgument(status)) << words << ": " << status;
    EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
  }
}

TEST(BenchFlagsTest, TheReportHasWhatFollowsFromTheWorkload) {
  auto flags = ParseSweep({"scan", "--plot", "x.svg"}).flags;
  EXPECT_EQ(flags["in-flight"], "1");
  EXPECT_EQ(flags["distribution"], "uniform");
  EXPECT_EQ(flags["layout"], "sparse");
  EXPECT_EQ(flags["batch"], "1024");
  // How it was drawn is no setting; and --sweep was not given.
  EXPECT_EQ(flags.count("plot") + flags.count("sweep"), 0u);
  EXPECT_EQ(ParseSweep({"c", "--sweep", "20"}).flags["sweep"], "20");
  EXPECT_EQ(ParseSweep({"c", "--sweep"}).flags["sweep"], "50,70,90,100");
}

TEST(BenchFlagsTest, WhatIsNoNumberWithinItsLimitsIsRefused) {
  const std::pair<const char*, std::vector<const char*>> cases[] = {
      {"--seconds", {"nan", "-nan", "inf", "-1", "0", "x", ""}},
      {"--hot-part", {"nan", "0", "1.1"}},
      {"--key-part", {"nan"}},
      {"--shift-seconds", {"nan"}},
      {"--warm-up", {"nan", "-0.1"}},
      {"--interval", {"nan", "0"}},
      {"--rate", {"nan", "inf", "-1"}},
      {"--requests", {"-5", "0", "1.5", "18446744073709551616"}},
      {"--scan-rows", {"-5", "18446744073709551615"}},
      {"--seed", {"-1", "99999999999999999999", "0x7"}},
      {"--keys", {"0", "-1", "010"}},
      {"--batch", {"0", "-4294967295", "-18446744073709551615"}},
      {"--object", {"", " ", "\xff"}},
  };
  for (const auto& [name, values] : cases) {
    for (const std::string value : values) {
      const auto plan = Parse({name, value});
      ASSERT_TRUE(absl::IsInvalidArgument(plan.status())) << name << " '" << value << "'";
      EXPECT_EQ(plan.status().message().find(std::string(name) + ": "), 0u) << plan.status();
    }
  }
  EXPECT_EQ(Parse({"--seed", "18446744073709551615"})->seed, ~uint64_t{0});
  EXPECT_EQ(Parse({"--rate", "1e9"})->rate, 1e9);
}

}  // namespace
}  // namespace eris::cli
