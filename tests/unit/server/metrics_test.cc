// Counts of calls, and what a scrape shows of a server's figures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/metrics/call_metrics.h"
#include "server/metrics/metric_table.h"
#include "server/metrics/refusals.h"
#include "server/metrics/scrape.h"

namespace eris::server {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> LinesOf(const Figures& figures, const ScrapeOptions& options = {}) {
  return absl::StrSplit(ScrapeText(figures, options), '\n', absl::SkipEmpty());
}
// The series, without their values.
std::set<std::string> SeriesOf(const Figures& figures, const ScrapeOptions& options = {}) {
  std::set<std::string> series;
  for (const std::string& line : LinesOf(figures, options)) {
    if (line[0] != '#') series.insert(line.substr(0, line.rfind(' ')));
  }
  return series;
}

// As many methods as the server has, each called with `codes` codes.
std::vector<CallCounts> CallsOf(size_t methods, size_t codes) {
  std::vector<CallCounts> calls(methods);
  for (size_t i = 0; i < methods; ++i) {
    calls[i].method = absl::StrCat("eris.v1.Data/Method", i);
    for (size_t code = 0; code < codes; ++code) calls[i].ended[code] = 1 + code;
    calls[i].stage_ns = {1, 2, 3};
    calls[i].latencies[20] = 7;
  }
  return calls;
}

// `first_key` moves the bounds of all partitions.
Figures FiguresWith(size_t aeus, size_t numa_nodes, size_t objects, uint64_t first_key) {
  Figures figures{.version = "1", .calls = CallsOf(43, 3)};
  for (size_t i = 0; i < 20; ++i) figures.refusals[absl::StrCat("CAUSE_", i)] = i;
  for (size_t i = 0; i < aeus; ++i) {
    AeuStats aeu;
    aeu.id = AeuId{static_cast<uint32_t>(i)};
    aeu.numa_node = NumaNodeId{static_cast<uint32_t>(i % numa_nodes)};
    figures.engine.aeus.push_back(aeu);
  }
  for (size_t i = 0; i < numa_nodes; ++i) {
    const NumaNodeId id{static_cast<uint32_t>(i)};
    figures.engine.numa_nodes.push_back(
        {.id = id, .keys_sent_to = std::vector<uint64_t>(numa_nodes, 5)});
    figures.memory.numa_nodes.push_back({.id = id, .in_use_bytes = 9, .buffers_bytes = 4});
  }
  for (size_t i = 0; i < objects; ++i) {
    ObjectInfo object;
    object.name = absl::StrCat("object ", i);
    object.keys = 10;
    object.memory_bytes = 1000 + i;
    for (size_t part = 0; part < aeus; ++part) {
      object.partition_starts.push_back(part == 0 ? 0 : first_key + part);
      object.partition_owners.push_back(AeuId{static_cast<uint32_t>(part)});
    }
    for (size_t node = 0; node < numa_nodes; ++node) {
      figures.memory.objects.push_back({.object = object.name,
                                        .id = ObjectId{static_cast<uint32_t>(i)},
                                        .numa_node = NumaNodeId{static_cast<uint32_t>(node)},
                                        .committed_bytes = 100});
    }
    figures.balancer.objects.push_back({.object = object.name, .imbalance = 0.5, .loads = {}});
    figures.engine.objects.push_back(std::move(object));
  }
  return figures;
}

TEST(CallMetricsTest, AddsUpWhatThreadsCount) {
  CallMetrics metrics;
  const CallMetrics::Method lookup = metrics.Add("Lookup", false);
  const CallMetrics::Method stream = metrics.Add("Stream", true);
  std::vector<std::thread> threads;
  for (int i = 0; i < 40; ++i) {  // more than there are copies
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        metrics.Begin(lookup);
        metrics.End(lookup, {.code = n % 2 == 0 ? 0 : 8, .total_ns = 1000, .stage_ns = {1, 2, 3}});
        metrics.AddReceived(lookup, 10);
        metrics.AddSent(lookup, 20);
        metrics.EndRequest(stream, 0, 5000);
      }
      metrics.Begin(stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  metrics.Begin(lookup);
  metrics.End(stream, {.code = 1, .total_ns = 1'000'000});
  const std::vector<CallCounts> counts = metrics.Read();
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts[0].method, "Lookup");
  EXPECT_EQ(counts[0].ended[0], 2000u);
  EXPECT_EQ(counts[0].ended[8], 2000u);
  EXPECT_EQ(counts[0].under_way, 1u);
  EXPECT_EQ(counts[0].latencies[10], 4000u);  // 512 to 1023 ns
  EXPECT_EQ(counts[0].latency_ns, 4'000'000u);
  EXPECT_THAT(counts[0].stage_ns, testing::ElementsAre(4000, 8000, 12000));
  EXPECT_EQ(counts[0].received_bytes, 40'000u);
  EXPECT_EQ(counts[0].sent_bytes, 80'000u);
  // A stream's own time is how long its client keeps it, so it is no latency.
  EXPECT_EQ(counts[1].requests[0], 4000u);
  EXPECT_EQ(counts[1].latency_ns, 4000u * 5000);
  EXPECT_EQ(counts[1].ended[1], 1u);
  EXPECT_EQ(counts[1].under_way, 39u);
}

TEST(CallMetricsTest, CodesAndTimesOutOfRangeAreCounted) {
  CallMetrics metrics;
  const CallMetrics::Method method = metrics.Add("Lookup", false);
  for (const int code : {-1, 17, 1000}) {
    metrics.Begin(method);
    metrics.End(method, {.code = code, .total_ns = uint64_t{1} << 62});
  }
  const CallCounts counts = metrics.Read()[0];
  EXPECT_EQ(counts.ended[2], 3u);  // UNKNOWN
  EXPECT_EQ(counts.latencies[CallCounts::kBuckets - 1], 3u);
}

TEST(RefusalsTest, HasABoundedNumberOfCauses) {
  Refusals refusals;
  for (size_t i = 0; i < 1000; ++i) refusals.Count(absl::StrCat("CAUSE_", i));
  refusals.Count("CAUSE_7");
  EXPECT_EQ(refusals.Read().size(), Refusals::kCausesMax + 1);
  EXPECT_EQ(refusals.Read()["OTHER"], 1000 - Refusals::kCausesMax);
  EXPECT_EQ(refusals.Read()["CAUSE_7"], 2u);
}

TEST(ScrapeTest, HasHelpTypeAndValues) {
  Figures figures = FiguresWith(2, 1, 1, 100);
  figures.calls = CallsOf(1, 2);
  figures.calls[0].latency_ns = 1'500'000'000;
  figures.log_lines = {1, 2, 3};
  figures.engine.objects[0].name = "a\"b\\c\nd";
  const std::vector<std::string> lines = LinesOf(figures);
  for (const char* line :
       {"# TYPE eris_calls_total counter", "# TYPE eris_call_seconds histogram",
        "eris_calls_total{method=\"eris.v1.Data/Method0\",code=\"OK\"} 1",
        "eris_calls_total{method=\"eris.v1.Data/Method0\",code=\"CANCELLED\"} 2",
        "eris_call_seconds_count{method=\"eris.v1.Data/Method0\"} 7",
        "eris_call_seconds_sum{method=\"eris.v1.Data/Method0\"} 1.5",
        "eris_log_lines_total{level=\"error\"} 3",
        "eris_object_rows{object=\"a\\\"b\\\\c\\nd\"} 10",
        "eris_numa_node_keys_sent_total{numa_node=\"0\",to=\"own\"} 5",
        "eris_numa_node_memory_bytes{numa_node=\"0\",use=\"objects\"} 5", "eris_ready 0"}) {
    EXPECT_THAT(lines, Contains(line));
  }
  EXPECT_THAT(lines, Not(Contains(StartsWith("eris_aeu_keys_total"))));
  EXPECT_THAT(LinesOf(figures, {.aeus = true}),
              Contains("eris_aeu_keys_total{aeu=\"1\",numa_node=\"0\"} 0"));
}

TEST(ScrapeTest, BucketsAreCumulativeAndTheirEndsExact) {
  Figures figures{.calls = CallsOf(1, 1)};
  figures.calls[0].latencies = {};
  figures.calls[0].latencies[3] = 1;   // under the first bucket's end
  figures.calls[0].latencies[17] = 2;  // 65,536 to 131,071 ns
  figures.calls[0].latencies[39] = 4;  // above the last one
  const std::vector<std::string> lines = LinesOf(figures);
  const std::string name = "eris_call_seconds_bucket{method=\"eris.v1.Data/Method0\",le=\"";
  EXPECT_THAT(lines, AllOf(Contains(StartsWith(name + "6.5535e-05\"} 1")),
                           Contains(StartsWith(name + "0.000131071\"} 3")),
                           Contains(StartsWith(name + "+Inf\"} 7"))));
}

TEST(ScrapeTest, AServersMetricsAreThoseOfTheTable) {
  std::set<std::string> known;
  for (const MetricRow& row : Metrics()) {
    EXPECT_TRUE(known.insert(std::string(row.name)).second) << row.name;
    EXPECT_EQ(row.type == "counter", absl::EndsWith(row.name, "_total")) << row.name;
    EXPECT_THAT(std::string(row.name), HasSubstr(std::string(row.unit)));
  }
  Figures figures = FiguresWith(2, 2, 3, 100);
  figures.calls[0].requests[0] = 1;
  figures.admissions = {{"lookups", 1, 2}};
  figures.reloads = {{"tls", 1, 2}};
  figures.connections = {.open = 1, .closed = {{"idle", 2}}};
  std::set<std::string> shown;
  for (const prometheus::MetricFamily& family : FamiliesOf(figures, {.aeus = true})) {
    shown.insert(family.name);
    const auto row = std::find_if(Metrics().begin(), Metrics().end(),
                                  [&](const MetricRow& one) { return one.name == family.name; });
    ASSERT_NE(row, Metrics().end()) << family.name;
    std::vector<std::string> labels;
    for (const auto& label : family.metric.front().label) labels.push_back(label.name);
    EXPECT_EQ(absl::StrJoin(labels, ", "), row->labels) << family.name;
    for (const auto& metric : family.metric) EXPECT_EQ(metric.label.size(), labels.size());
  }
  EXPECT_EQ(shown, known);
}

// A planted fault, a metric by key, is found here.
TEST(ScrapeTest, SeriesDependOnNoKey) {
  const Figures some = FiguresWith(8, 2, 5, 100);
  const Figures others = FiguresWith(8, 2, 5, 1'000'000);
  EXPECT_EQ(SeriesOf(some), SeriesOf(others));
  EXPECT_EQ(SeriesOf(some, {.aeus = true}), SeriesOf(others, {.aeus = true}));
}

TEST(ScrapeTest, ManyObjectsAreShownTogether) {
  const Figures figures = FiguresWith(2, 1, 1000, 100);
  const std::vector<std::string> lines = LinesOf(figures);
  EXPECT_THAT(
      lines,
      AllOf(Contains("eris_object_rows{object=\"object 999\"} 10"),
            Contains("eris_object_rows{object=\"OTHER\"} 9800"), Contains("eris_objects 1000"),
            Contains("eris_object_memory_bytes{object=\"OTHER\",numa_node=\"0\"} 98000"),
            Not(Contains(HasSubstr("\"object 979\"")))));
  EXPECT_EQ(SeriesOf(figures).size(), SeriesOf(FiguresWith(2, 1, 500, 100)).size());
}

// 64 AEUs on eight NumaNodes, 1,000 objects, each method called.
TEST(ScrapeTest, ALargeServerHasAtMostTwoThousandSeries) {
  const size_t series = SeriesOf(FiguresWith(64, 8, 1000, 100)).size();
  EXPECT_LE(series, 2000u);
  EXPECT_GE(series, 1000u);  // it is nearly full: think before adding to it
}

TEST(MetricTableTest, TextAndMarkdownHaveEachName) {
  const std::string text = MetricsAsText();
  const std::string markdown = MetricsAsMarkdown();
  for (const MetricRow& row : Metrics()) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat(row.name, "\n")));
    EXPECT_THAT(markdown, HasSubstr(absl::StrCat("| `", row.name, "` |")));
  }
}

}  // namespace
}  // namespace eris::server
