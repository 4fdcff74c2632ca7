// The images: well-formed XML, with every text escaped, and points at the right places.
#include "clients/load/figures/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/load/figures/plot.h"
#include "tests/unit/load/some_run.h"

namespace eris::load {
namespace {

// The problem of an XML text, or nothing: tags that nest, attributes in quotes, known entities.
std::string ProblemOf(const std::string& xml) {
  std::vector<std::string> open;
  size_t at = xml.find("?>");
  if (at == xml.npos) return "no declaration";
  for (at += 2; at < xml.size();) {
    if (xml[at] == '&') {
      const size_t end = xml.find(';', at);
      const std::string name = xml.substr(at, end - at);
      if (name != "&amp" && name != "&lt" && name != "&gt" && name != "&quot") return name;
    }
    if (xml[at] == '>') return absl::StrCat("a bare > at ", at);
    if (xml[at] != '<') {
      ++at;
      continue;
    }
    const size_t end = xml.find('>', at);
    if (end == xml.npos) return "a tag without an end";
    const std::string tag = xml.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.find('<') != tag.npos) return absl::StrCat("a < in ", tag);
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return absl::StrCat("quotes of ", tag);
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return absl::StrCat("</", tag);
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty() ? "" : absl::StrCat("open: ", open.back());
}

Chart SomeChart(bool logarithmic) {
  return {.title = "A < B & \"C\"",
          .x = {.title = "time, s"},
          .y = {.title = "latency, us", .logarithmic = logarithmic},
          .lines = {{"p50", {{0, 10}, {1, 100}, {2, 1000}}}, {"p99", {{0, 0}, {2, 500}}}}};
}

TEST(ChartTest, ImagesAreWellFormedWhateverTheTexts) {
  for (const bool logarithmic : {false, true}) {
    const std::string svg =
        ToSvg("<title>", {SomeChart(logarithmic), SomeChart(logarithmic)}, {"a\tb\x01", "c > d"});
    EXPECT_EQ(ProblemOf(svg), "") << svg;
    EXPECT_TRUE(absl::StrContains(svg, "A &lt; B &amp; &quot;C&quot;"));
    EXPECT_TRUE(absl::StrContains(svg, ">a b <"));
    EXPECT_TRUE(absl::StrContains(svg, "latency, us"));
  }
  EXPECT_EQ(ProblemOf(ToSvg("", {}, {})), "");
  EXPECT_EQ(ProblemOf(ToSvg("", {{.title = "no points", .x = {}, .y = {}, .lines = {}}}, {})), "");
}

TEST(ChartTest, ALogarithmicAxisLeavesOutWhatIsNotAboveZero) {
  const std::string svg = ToSvg("", {SomeChart(true)}, {});
  EXPECT_FALSE(absl::StrContains(svg, "nan"));
  EXPECT_FALSE(absl::StrContains(svg, "inf"));
  // The line p50 rises by one decade for each step: its points are on a straight line.
  const size_t at = svg.find("<path d=\"M84.0 264.0L");
  ASSERT_NE(at, svg.npos) << svg;
  double x[2], y[2];
  ASSERT_EQ(std::sscanf(svg.c_str() + at, "<path d=\"M84.0 264.0L%lf %lfL%lf %lf", &x[0], &y[0],
                        &x[1], &y[1]),
            4);
  EXPECT_NEAR(y[0], (264 + y[1]) / 2, 0.2);
  EXPECT_NEAR(x[0], (84 + x[1]) / 2, 0.2);
}

TEST(ChartTest, TicksAreRoundNumbersWithUnits) {
  Chart chart = SomeChart(false);
  chart.lines[0].points = {{0, 0}, {1, 2'300'000}};
  const std::string svg = ToSvg("", {chart}, {});
  for (const char* text : {">0<", ">500 k<", ">1 M<", ">2.5 M<"}) {
    EXPECT_TRUE(absl::StrContains(svg, text)) << text;
  }
}

TEST(PlotTest, ARunIsDrawnOverTimeAndByPercentile) {
  const std::string svg =
      PlotRun(SomePlan(0), {.target = "a&b", .version = "1.2", .commit = "abc"}, SomeResult());
  EXPECT_EQ(ProblemOf(svg), "");
  for (const char* text :
       {"Throughput", "Latency by percentile", "p99.99", "lookup", "upsert", "time, s", "a&amp;b",
        "eris 1.2 (abc)", "1000000 keys", " cpus;", "100 requests/s"}) {
    EXPECT_TRUE(absl::StrContains(svg, text)) << text;
  }
  // No more than one interval: nothing over time.
  RunResult brief = SomeResult();
  brief.series.pop_back();
  EXPECT_FALSE(absl::StrContains(PlotRun(SomePlan(0), {}, brief), "Throughput"));
  RunResult nothing;
  nothing.seconds = 1e-9;
  EXPECT_EQ(ProblemOf(PlotRun(SomePlan(0), {}, nothing)), "");
}

TEST(PlotTest, ASweepIsDrawnOverTheRate) {
  std::vector<SweepRun> runs{{.plan = SomePlan(0), .result = SomeResult()}};
  EXPECT_EQ(ProblemOf(PlotSweep({}, runs)), "");
  for (const uint32_t percent : {100, 50}) {
    runs.push_back({.percent = percent, .plan = *PlanAt(runs[0], percent), .result = SomeResult()});
  }
  const std::string svg = PlotSweep({.target = "there"}, runs);
  EXPECT_EQ(ProblemOf(svg), "");
  for (const char* text :
       {"requests due per second", "p99.9", "closed loop: 100 requests/s", "there"}) {
    EXPECT_TRUE(absl::StrContains(svg, text)) << text;
  }
}

}  // namespace
}  // namespace eris::load
