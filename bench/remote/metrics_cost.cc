// Measures what the server's metrics cost: counting one call, as RawReactor does it with its four
// looks at the clock; and a scrape of an engine with many AEUs and objects.
//
//   metrics_cost [--objects=<n>] [--rounds=<n>]
//
// The engine has 64 AEUs on 8 NumaNodes of a synthetic topology and --objects (default 1000) empty
// indexes. One thread; some ten seconds. Compare the first with the time of a call (`eris bench`).
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aeu/state/clock.h"
#include "bench/must.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "eris/engine.h"
#include "server/metrics/call_metrics.h"
#include "server/metrics/scrape.h"

namespace eris::bench {
namespace {

using Clock = std::chrono::steady_clock;

double NsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

void MeasureCounting(int rounds) {
  constexpr int kCalls = 100'000;
  server::CallMetrics metrics;
  const server::CallMetrics::Method method = metrics.Add("eris.v1.Data/Lookup", false);
  std::vector<double> counted;
  for (int round = 0; round < rounds; ++round) {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < kCalls; ++i) {
      metrics.Begin(method);
      const Clock::time_point begun = Clock::now();
      const Clock::time_point arrived = Clock::now();
      const Clock::time_point answered = Clock::now();
      const Clock::time_point ended = Clock::now();
      metrics.End(method, {.code = 0,
                           .total_ns = static_cast<uint64_t>((ended - begun).count()),
                           .stage_ns = {static_cast<uint64_t>((arrived - begun).count()),
                                        static_cast<uint64_t>((answered - arrived).count()),
                                        static_cast<uint64_t>((ended - answered).count())}});
      metrics.AddReceived(method, 40);
      metrics.AddSent(method, 40);
    }
    counted.push_back(NsSince(begin) / kCalls);
  }
  std::printf("counting a call: %.0f ns\n", MedianOf(std::move(counted)));
}

void MeasureScrape(uint32_t objects, int rounds) {
  const std::unique_ptr<Engine> engine = Must(
      Engine::Open({.topology = "numa:8 core:8 pu:1", .memory_limit_bytes = uint64_t{4} << 30}));
  for (uint32_t i = 0; i < objects; ++i) Must(engine->Create(absl::StrCat("object", i), {}));
  server::CallMetrics metrics;
  for (int i = 0; i < 43; ++i) {
    const auto method = metrics.Add(absl::StrCat("eris.v1.Data/Method", i), false);
    for (int code = 0; code < 3; ++code) {
      metrics.Begin(method);
      metrics.End(method, {.code = code, .total_ns = 1000, .stage_ns = {1, 2, 3}});
    }
  }
  std::vector<double> scrapes, cpu;
  std::string text;
  for (int round = 0; round < rounds; ++round) {
    const uint64_t cpu_begin_ns = aeu::ThreadCpuNs();
    const Clock::time_point begin = Clock::now();
    text = server::ScrapeText({.version = "bench",
                               .calls = metrics.Read(),
                               .process = server::ReadProcess(),
                               .engine = engine->Stats(),
                               .memory = engine->Memory({.parts = false}),
                               .balancer = engine->Balancer()});
    scrapes.push_back(NsSince(begin) / 1e6);
    cpu.push_back(static_cast<double>(aeu::ThreadCpuNs() - cpu_begin_ns) / 1e6);
  }
  size_t series = 0;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) series += text[at] != '#';
  std::printf(
      "a scrape of 64 AEUs and %u objects: %.2f ms, %zu series, %zu bytes; processor time %.2f "
      "ms\n",
      objects, MedianOf(std::move(scrapes)), series, text.size(), MedianOf(std::move(cpu)));
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  using namespace eris;
  int rounds = 31;
  uint32_t objects = 1000;
  bench::ParseFlags(argc, argv, {{"--rounds", rounds, 1}, {"--objects", objects, 1}});
  bench::MeasureCounting(rounds);
  bench::MeasureScrape(objects, rounds);
  return 0;
}
