// What a command line sets, what it is refused for, and what --help shows.
#include "clients/cli/text/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/unit/clients/command_line.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string NoBlank(const std::string& text) {
  return text.find(' ') == std::string::npos ? "" : "'" + text + "' has a blank";
}

// A program with a flag of each kind, and two verbs.
class FlagsTest : public ::testing::Test {
 protected:
  FlagsTest() {
    program_.RequireVerb();
    program_.Add("--server", server_, "Where").Env("ERIS_FLAGS_TEST_SERVER").ShowDefault();
    Flags& run = program_.AddVerb("run", "Runs it");
    run.Add("object", object_, "Name").Required().Check(NoBlank);
    run.Add("rest", rest_, "More");
    run.Add("--count", count_, "How many").Check(Within(1u, 9u)).Group("Numbers").ShowDefault();
    run.Add("--big", big_, "Large one");
    run.Add("--share", share_, "Part").Check(Within(0.25, 1.0)).ShowDefault();
    const Flag hex = run.Add("--hex", hex_, "Hexadecimal");
    const Flag mode =
        run.Add("--mode", mode_, "Which").Check(OneOf({"fast", "slow"})).Excludes(hex);
    run.Add("--dry", dry_, "Nothing is done").Needs(mode);
    run.AddSwitch("--keep,!--no-keep", keep_, "Keep it");
    run.Add("--enabled", enabled_, "Whether");
    run.SetFooter("Examples:\n  test run x\n");
    run.SetRun([this] { return ran_ = 7; });
    Flags& group = program_.AddVerb("group", "Has verbs of its own");
    group.SetRun([this] { return ran_ = 1; });
    group.AddVerb("inner", "One of them").SetRun([this] { return ran_ = 2; });
  }

  absl::Status Parse(const std::string& line) { return program_.Parse(ArgumentsOf(line)); }
  std::string ErrorOf(const std::string& line) {
    const absl::Status status = Parse(line);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << line << ": " << status;
    return std::string(status.message());
  }
  // Printed by a parse that ends the program with `code`.
  std::string PrintedBy(std::vector<const char*> arguments, int code) {
    arguments.insert(arguments.begin(), "test");
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(program_.Parse(static_cast<int>(arguments.size()), arguments.data()), code);
    const std::string out = ::testing::internal::GetCapturedStdout();
    const std::string error = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(code == 0 ? error.empty() : out.empty()) << out << error;
    return out + error;
  }

  std::string server_ = "home";
  std::string object_;
  std::vector<std::string> rest_;
  uint32_t count_ = 3;
  uint64_t big_ = 0;
  double share_ = 0.5;
  bool hex_ = false, dry_ = false;
  std::optional<std::string> mode_;
  std::optional<bool> keep_, enabled_;
  int ran_ = 0;
  Flags program_{"A test", "test"};
};

TEST_F(FlagsTest, WhatIsGivenIsSetAndTheRestIsLeftAsItIs) {
  ASSERT_TRUE(Parse("run x a b --big 18446744073709551615 --hex --no-keep --enabled true").ok());
  EXPECT_EQ(object_, "x");
  EXPECT_EQ(rest_, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(big_, ~uint64_t{0});
  EXPECT_TRUE(hex_);
  EXPECT_EQ(keep_, false);
  EXPECT_EQ(enabled_, true);
  EXPECT_EQ(server_, "home");
  EXPECT_EQ(count_, 3u);
  EXPECT_EQ(share_, 0.5);
  EXPECT_EQ(mode_, std::nullopt);
  EXPECT_EQ(ran_, 0);
  EXPECT_EQ(program_.Run(), 7);
  EXPECT_EQ(ran_, 7);
}

TEST_F(FlagsTest, FlagsOfTheProgramMayStandBehindTheVerb) {
  ASSERT_TRUE(Parse("run x --server there --mode=fast --dry --keep --share 1").ok());
  EXPECT_EQ(server_, "there");
  EXPECT_EQ(mode_, "fast");
  EXPECT_TRUE(dry_);
  EXPECT_EQ(keep_, true);
  EXPECT_EQ(share_, 1);
}

TEST_F(FlagsTest, OfSwitchesTheLastOneCounts) {
  ASSERT_TRUE(Parse("run x --no-keep --keep").ok());
  EXPECT_EQ(keep_, true);
}

TEST_F(FlagsTest, TheEnvironmentStandsInForWhatIsNotGiven) {
  setenv("ERIS_FLAGS_TEST_SERVER", "from the environment", 1);
  ASSERT_TRUE(Parse("run x").ok());
  EXPECT_EQ(server_, "from the environment");
  ASSERT_TRUE(Parse("run x --server given").ok());
  EXPECT_EQ(server_, "given");
  unsetenv("ERIS_FLAGS_TEST_SERVER");
}

TEST_F(FlagsTest, WrongUsageIsNamed) {
  EXPECT_THAT(ErrorOf("run"), HasSubstr("object is required"));
  EXPECT_THAT(ErrorOf("run \"a b\""), HasSubstr("object: 'a b' has a blank"));
  EXPECT_THAT(ErrorOf("run x --count 10"), HasSubstr("--count: '10' is no number in [1 - 9]"));
  EXPECT_THAT(ErrorOf("run x --share nan"), HasSubstr("'nan' is no number in [0.25 - 1]"));
  EXPECT_THAT(ErrorOf("run x --mode odd"), HasSubstr("--mode: odd not in {fast,slow}"));
  EXPECT_THAT(ErrorOf("run x --mode fast --hex"), HasSubstr("--hex excludes --mode"));
  EXPECT_THAT(ErrorOf("run x --dry"), HasSubstr("--dry requires --mode"));
  EXPECT_THAT(ErrorOf("run x --enabled perhaps"), HasSubstr("--enabled"));
  EXPECT_EQ(ErrorOf("run x --keep=perhaps"), "--keep is 'perhaps', neither true nor false");
  EXPECT_THAT(ErrorOf("run x --unknown"), HasSubstr("--unknown"));
  for (const char* number : {"-1", "0x10", "1.5", "18446744073709551616", "many"}) {
    EXPECT_THAT(ErrorOf(std::string("run x --big=") + number), HasSubstr("--big = ")) << number;
  }
  EXPECT_THAT(PrintedBy({"run"}, kExitUsage), HasSubstr("object is required\n"));
}

TEST_F(FlagsTest, AVerbOfAVerbIsWhatRuns) {
  ASSERT_TRUE(Parse("group").ok());
  EXPECT_EQ(program_.Run(), 1);
  ASSERT_TRUE(Parse("group inner").ok());
  EXPECT_EQ(program_.Run(), 2);
}

TEST_F(FlagsTest, AMistypedVerbIsNamedWithTheOneThatWasMeant) {
  EXPECT_EQ(ErrorOf("rum x"), "no verb 'rum'; did you mean 'run'?\nThe verbs are: run, group");
  EXPECT_THAT(ErrorOf("--server there gruop inner"), HasSubstr("did you mean 'group'?"));
  EXPECT_THAT(ErrorOf("gro"), HasSubstr("did you mean 'group'?"));
  EXPECT_EQ(ErrorOf("delete x"), "no verb 'delete'\nThe verbs are: run, group");
  EXPECT_EQ(ErrorOf("group iner"),
            "no verb 'group iner'; did you mean 'group inner'?\nThe verbs are: inner");
  EXPECT_EQ(ErrorOf(""), "a verb is missing\nThe verbs are: run, group");
  EXPECT_EQ(ErrorOf("--server=there"), "a verb is missing\nThe verbs are: run, group");
  EXPECT_THAT(PrintedBy({"rum"}, kExitUsage), HasSubstr("no verb 'rum'; did you mean 'run'?\n"));
}

TEST_F(FlagsTest, AMistypedFlagIsNamedWithTheOneThatWasMeant) {
  EXPECT_THAT(ErrorOf("run x --cuont 3"), HasSubstr("--cuont"));
  EXPECT_THAT(ErrorOf("run x --cuont 3"), HasSubstr("did you mean '--count'?"));
  EXPECT_THAT(ErrorOf("run x --no-kep"), HasSubstr("did you mean '--no-keep'?"));
  EXPECT_THAT(ErrorOf("run x --sever=there"), HasSubstr("did you mean '--server'?"));
  EXPECT_THAT(ErrorOf("run x --unknown"), Not(HasSubstr("did you mean")));
}

TEST(FlagsPassOnTest, WhatFollowsTheVerbIsLeftAsItIs) {
  std::string server, object;
  Flags program("of tests", "test");
  program.Add("--server", server, "Where");
  program.RequireVerb();
  program.AddVerb("get", "Does not").Add("object", object, "Name");
  Flags& verb = program.AddVerb("sql", "Passes on");
  verb.PassOn();
  const std::vector<std::string> rest{"--format", "csv", "select 1; -- x", "--server",
                                      "there",    "-f",  "--help",         "sql"};
  std::vector<std::string> all{"--server", "here", "sql"};
  all.insert(all.end(), rest.begin(), rest.end());
  ASSERT_TRUE(program.Parse(all).ok());
  EXPECT_EQ(verb.Rest(), rest);
  EXPECT_EQ(server, "here");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--", "-1"},
                                                {"--timing", "--", "-- x\nselect 1"},
                                                {"words"},
                                                {}}) {
    all = {"sql"};
    all.insert(all.end(), words.begin(), words.end());
    ASSERT_TRUE(program.Parse(all).ok());
    EXPECT_EQ(verb.Rest(), words);
  }
  ASSERT_TRUE(program.Parse({"--server=here", "sql", "--", "--x"}).ok());
  EXPECT_EQ(verb.Rest(), (std::vector<std::string>{"--", "--x"}));
  ASSERT_TRUE(program.Parse({"--server", "sql", "get", "sql"}).ok());
  EXPECT_EQ(server + object, "sqlsql");
}

TEST_F(FlagsTest, HelpBeforeAVerbIsItsHelp) {
  EXPECT_EQ(PrintedBy({"help", "run"}, 0), PrintedBy({"run", "--help"}, 0));
  EXPECT_EQ(PrintedBy({"help", "group", "inner"}, 0), PrintedBy({"group", "inner", "--help"}, 0));
  EXPECT_EQ(PrintedBy({"help"}, 0), PrintedBy({"--help"}, 0));
  EXPECT_THAT(PrintedBy({"help", "rum"}, kExitUsage), HasSubstr("did you mean 'run'?"));
}

TEST_F(FlagsTest, TheVersionIsPrintedWithoutAVerb) {
  program_.SetVersion("test 1.2");
  EXPECT_EQ(PrintedBy({"--version"}, 0), "test 1.2\n");
}

TEST_F(FlagsTest, HelpShowsTypesDefaultsLimitsHeadingsAndExamples) {
  const std::string help = PrintedBy({"run", "--help"}, 0);
  for (const char* part :
       {"Runs it\n", "object TEXT REQUIRED", "rest TEXT ...", "--big UINT",
        "--share FLOAT:in [0.25 - 1]=0.5", "--mode TEXT:{fast,slow} Excludes: --hex",
        "--dry Needs: --mode", "--keep,--no-keep{false}", "--enabled BOOLEAN",
        "\nNumbers:\n  --count UINT:in [1 - 9]=3", "Examples:\n  test run x\n"}) {
    EXPECT_THAT(help, HasSubstr(part));
  }
  EXPECT_THAT(PrintedBy({"--help"}, 0),
              HasSubstr("--server TEXT=home (Env:ERIS_FLAGS_TEST_SERVER)"));
}

TEST(FlagsValuesTest, ListsWhatWasGivenAndTheDefaultsThatHelpShows) {
  uint32_t count = 3, other = 4;
  std::string name = "a";
  Flags flags("test");
  flags.Add("--count", count, "").ShowDefault();
  flags.Add("--other", other, "");
  flags.Add("--name", name, "").Group("Names");
  ASSERT_TRUE(flags.Parse({"--name", "b"}).ok());
  const std::vector<Flags::Value> values = flags.Values();
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].name, "count");
  EXPECT_EQ(values[0].text, "3");
  EXPECT_FALSE(values[0].given);
  EXPECT_EQ(values[1].name, "name");
  EXPECT_EQ(values[1].group, "Names");
  EXPECT_EQ(values[1].text, "b");
  EXPECT_TRUE(flags.Given("--name"));
  EXPECT_FALSE(flags.Given("--other"));
}

}  // namespace
}  // namespace eris::cli
