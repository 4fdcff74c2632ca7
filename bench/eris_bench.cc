// eris_bench: end-to-end load over gRPC against a running server, every answer verified.
//
//   eris serve &
//   eris_bench --mode load   --keys 10000000                 creates the object and fills it
//   eris_bench --mode lookup --keys 10000000 --seconds 10
//   eris_bench --mode mixed  --keys 10000000 --threads 4 --batch 256 --in-flight 64 --output json
//
// Modes
//   load    creates --object with one equal share for each AEU and inserts --keys keys, once
//   lookup  batches of --batch keys that are there (--missing-percent of them are not)
//   upsert  batches that write the value again that is there
//   scan    ordered scans of --scan-rows rows from a random key (0: of every row)
//   mixed   lookups, and --upsert-percent of the requests upserts
// Keys are functions of a number: --layout dense is 0 .. keys-1, sparse spreads them over 64 bits;
// the value is a function of the key. So later runs verify what an earlier one loaded, as long as
// --keys and --layout are the same. --distribution says which keys are asked for: uniform, or zipf
// (parameter 0.99; in the dense layout the favourites are neighbours).
// Each of --threads threads has its own connection and keeps --in-flight batches under way in one
// stream (scans, and with --unary lookups and upserts: one call at a time). It ends after
// --seconds, or --requests requests over all threads.
// --until-unavailable: the server's UNAVAILABLE ends the run and is no error (for tests of
// draining).
//
// Latency is that of a request, from its sending to its last byte decoded; percentiles are within 3
// %. Exit code 1 after any wrong answer or failed request, 2 for usage, 3 when the server is not
// there. The environment's ERIS_COMMIT is put into the JSON output.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/key_set.h"
#include "bench/load_thread.h"
#include "clients/eris_client.h"

namespace eris::bench {
namespace {

struct Flags {
  std::string server = "127.0.0.1:7411";
  std::string mode = "lookup";
  std::string layout = "sparse";
  std::string distribution = "uniform";
  std::string output = "table";
  uint64_t keys = 1'000'000;
  double seconds = 10;
  double timeout_s = 30;
  LoadPlan plan;
};

Mode ModeOf(const std::string& name) {
  if (name == "load") return Mode::kLoad;
  if (name == "upsert") return Mode::kUpsert;
  if (name == "scan") return Mode::kScan;
  if (name == "mixed") return Mode::kMixed;
  return Mode::kLookup;
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

absl::Status CreateFor(client::Client& client, const LoadPlan& plan, const KeySet& key_set) {
  const absl::StatusOr<EngineStats> stats = client.Stats();
  if (!stats.ok()) return stats.status();
  CreateOptions options;
  options.split_points = key_set.SplitPoints(static_cast<uint32_t>(stats->aeus.size()));
  return client.Create(plan.object, options).status();
}

nlohmann::ordered_json ToJson(const Flags& flags, const LoadResult& result, double seconds) {
  const char* commit = std::getenv("ERIS_COMMIT");
  return {
      {"mode", flags.mode},
      {"object", flags.plan.object},
      {"commit", commit == nullptr ? "unknown" : commit},
      {"build", ERIS_BENCH_BUILD_TYPE},
      {"cpu", CpuModel()},
      {"cpus", std::thread::hardware_concurrency()},
      {"seed", flags.plan.seed},
      {"keys_in_set", flags.keys},
      {"layout", flags.layout},
      {"distribution", flags.distribution},
      {"threads", flags.plan.threads},
      {"batch", flags.plan.mode == Mode::kScan ? flags.plan.scan_rows : flags.plan.batch},
      {"in_flight", flags.plan.mode == Mode::kScan || flags.plan.unary ? 1 : flags.plan.in_flight},
      {"seconds", seconds},
      {"requests", result.sent},
      {"answered", result.answered},
      {"refused", result.refused},
      {"cut_off", result.cut_off},
      {"failed", result.failed},
      {"wrong", result.wrong},
      {"first_error", result.first_error},
      {"cut_off_begun_unix_ns", result.cut_off == 0 ? 0 : absl::ToUnixNanos(result.cut_off_begun)},
      {"cut_off_rows", result.cut_off_rows},
      {"requests_per_second", static_cast<double>(result.answered) / seconds},
      {"keys_per_second", static_cast<double>(result.keys) / seconds},
      {"p50_us", static_cast<double>(result.latency.PercentileNs(50)) / 1e3},
      {"p99_us", static_cast<double>(result.latency.PercentileNs(99)) / 1e3},
      {"max_us", static_cast<double>(result.latency.max_ns()) / 1e3}};
}

void PrintTable(const nlohmann::ordered_json& run) {
  for (const auto& [name, value] : run.items()) {
    std::printf("%-20s %s\n", name.c_str(),
                value.is_string() ? value.get<std::string>().c_str() : value.dump().c_str());
  }
}

void AddFlags(CLI::App& app, Flags& flags) {
  LoadPlan& plan = flags.plan;
  plan.object = "bench";
  app.add_option("--server", flags.server)->envname("ERIS_SERVER")->capture_default_str();
  app.add_option("--mode", flags.mode)
      ->check(CLI::IsMember({"load", "lookup", "upsert", "scan", "mixed"}))
      ->capture_default_str();
  app.add_option("--object", plan.object)->capture_default_str();
  app.add_option("--keys", flags.keys)
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--layout", flags.layout)
      ->check(CLI::IsMember({"dense", "sparse"}))
      ->capture_default_str();
  app.add_option("--distribution", flags.distribution)
      ->check(CLI::IsMember({"uniform", "zipf"}))
      ->capture_default_str();
  app.add_option("--seconds", flags.seconds)
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app.add_option("--requests", plan.requests, "Instead of --seconds")->capture_default_str();
  app.add_option("--threads", plan.threads)->check(CLI::Range(1u, 1024u))->capture_default_str();
  app.add_option("--batch", plan.batch)
      ->check(CLI::Range(1u, kBatchKeysMax))
      ->capture_default_str();
  app.add_option("--in-flight", plan.in_flight)
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  app.add_flag("--unary", plan.unary, "A call for each batch (lookup, upsert) instead of a stream");
  app.add_option("--missing-percent", plan.missing_percent)
      ->check(CLI::Range(0u, 100u))
      ->capture_default_str();
  app.add_option("--upsert-percent", plan.upsert_percent)
      ->check(CLI::Range(0u, 100u))
      ->capture_default_str();
  app.add_option("--scan-rows", plan.scan_rows)->capture_default_str();
  app.add_option("--seed", plan.seed)->capture_default_str();
  app.add_option("--timeout", flags.timeout_s, "Seconds")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  app.add_flag("--until-unavailable", plan.until_unavailable);
  app.add_option("--output", flags.output)
      ->check(CLI::IsMember({"table", "json", "row"}))
      ->capture_default_str();
}

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "eris_bench: %s\n", status.ToString().c_str());
  return absl::IsUnavailable(status) ? 3 : 1;
}

int Run(Flags& flags) {
  LoadPlan& plan = flags.plan;
  plan.mode = ModeOf(flags.mode);
  if (plan.unary && plan.mode == Mode::kMixed) {
    std::fprintf(stderr,
                 "eris_bench: --unary goes with one kind of request, not with mode mixed\n");
    return 2;
  }
  if (flags.distribution == "zipf") plan.zipf.emplace(flags.keys);
  const KeySet key_set(flags.keys, flags.layout == "sparse");

  std::vector<std::unique_ptr<client::Client>> clients;
  for (uint32_t i = 0; i < plan.threads; ++i) {
    auto client = client::Client::Connect({.server = flags.server,
                                           .timeout = absl::Seconds(flags.timeout_s),
                                           .own_connection = true});
    if (!client.ok()) return Fail(client.status());
    clients.push_back(*std::move(client));
  }
  if (plan.mode == Mode::kLoad) {
    const absl::Status status = CreateFor(*clients[0], plan, key_set);
    if (!status.ok()) return Fail(status);
  }

  const absl::Time start = absl::Now();
  if (plan.mode != Mode::kLoad && plan.requests == 0) {
    plan.deadline = start + absl::Seconds(flags.seconds);
  }
  std::atomic<bool> stop = false;
  std::vector<LoadResult> results(plan.threads);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < plan.threads; ++i) {
    threads.emplace_back(
        [&, i] { results[i] = RunLoadThread(*clients[i], plan, key_set, i, stop); });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);

  LoadResult total;
  for (const LoadResult& result : results) total.Merge(result);
  const nlohmann::ordered_json run = ToJson(flags, total, seconds);
  if (flags.output == "json") {
    std::printf("%s\n", run.dump(2).c_str());
  } else if (flags.output == "row") {
    std::printf("%s\t%.0f\t%.0f\t%.0f\t%.0f\n", flags.mode.c_str(),
                run["requests_per_second"].get<double>(), run["keys_per_second"].get<double>(),
                run["p50_us"].get<double>(), run["p99_us"].get<double>());
  } else {
    PrintTable(run);
  }
  if (!total.first_error.empty()) {
    std::fprintf(stderr, "eris_bench: %s\n", total.first_error.c_str());
  }
  const bool unaccounted = total.sent != total.answered + total.refused + total.failed;
  if (unaccounted) std::fprintf(stderr, "eris_bench: requests without an answer or a status\n");
  return total.wrong > 0 || total.failed > 0 || unaccounted ? 1 : 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  eris::bench::Flags flags;
  CLI::App app("End-to-end load on an ERIS server; the head of bench/eris_bench.cc is its manual.");
  eris::bench::AddFlags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return eris::bench::Run(flags);
}
