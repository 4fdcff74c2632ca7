// A changing load on real AEUs: lookups by some clients in one process with the engine. Reports
// their throughput in windows of 10 ms, the work of each AEU and the balancer's transfers. Paper:
// ERIS 4.3, Figure 13.
//
//   shifting_load [--algorithm off|one_shot|ma(k)] [--load middle|shift|zipf|narrow|even]
//                 [--aeus 2] [--keys 16777216] [--phases 5] [--phase-s 4] [--period-ms 500]
//                 [--pause-us 200] [--clients 4] [--batch 4096] [--seed 1] [--dense]
//
//   shifting_load --processes 2    instead of one engine one process per core, each with its range
//                                  of the keys (process_servers.h): nothing can move
//
//   shifting_load --moves copy|leap   instead: lookups of all keys at a steady pace while a quarter
//                          of the data goes to another AEU and back, and their latencies; after a
//                          leap until its memory is at home
//                 [--topology "numa:2 core:1 pu:1"]   the machine's own if it is not given
//                 [--rate 2000] [--rounds 5]   batches a second of each client
//                 [--steady-s 1]   how long it watches between moves
//
// Every answer is checked. Prints one JSON object.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/histogram.h"
#include "bench/balancer/balancer_json.h"
#include "bench/balancer/moving_load.h"
#include "bench/balancer/process_servers.h"
#include "bench/must.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "eris/engine.h"

namespace eris::bench {
namespace {

using nlohmann::json;

constexpr uint64_t kWindowNs = 10'000'000;

struct LabOptions {
  std::string algorithm = "one_shot";
  std::string load = "shift";
  uint32_t aeus = 2;
  uint64_t keys = 1 << 24;
  uint32_t phases = 5;
  double phase_s = 4;
  uint32_t period_ms = 500;
  uint32_t pause_us = 200;
  uint32_t clients = 4;
  uint32_t batch = 4096;
  uint32_t seed = 1;
  uint32_t processes = 0;
  bool dense = false;
  std::string moves;  // a kind of transfer; empty: the phases of a load
  std::string topology;
  double rate = 2000;
  double steady_s = 1;
  uint32_t rounds = 5;
};

// Looks the keys of one client up, as Session::Lookup.
using Lookup =
    std::function<void(absl::Span<const uint64_t>, absl::Span<uint64_t>, absl::Span<uint8_t>)>;

// One client's lookups, one batch after the other. Its keys are drawn in advance, because it shares
// the cpus with the AEUs.
class Client {
 public:
  Client(Lookup lookup, const LoadedKeys& keys, const load::Zipf& zipf,
         const std::vector<LoadPhase>& phases, uint32_t batch, uint64_t seed)
      : lookup_(std::move(lookup)), values_(batch), found_(batch) {
    KeyStream stream(keys, zipf, seed);
    for (const LoadPhase& phase : phases) {
      std::vector<uint64_t>& drawn =
          drawn_.emplace_back(std::max<size_t>(DrawnOf(keys) / batch, 1) * batch);
      for (uint64_t& key : drawn) key = stream.Next(phase);
    }
  }

  // Returns the time of the batch.
  uint64_t Look(size_t phase) {
    const std::vector<uint64_t>& drawn = drawn_[phase];
    if (next_ + values_.size() > drawn.size()) next_ = 0;
    const absl::Span<const uint64_t> asked(drawn.data() + next_, values_.size());
    next_ += values_.size();
    const uint64_t begin_ns = NowNs();
    lookup_(asked, absl::MakeSpan(values_), absl::MakeSpan(found_));
    const uint64_t took_ns = NowNs() - begin_ns;
    CheckLoaded(asked, values_, found_);
    return took_ns;
  }

 private:
  // Keys of each phase: more than a cache holds.
  static size_t DrawnOf(const LoadedKeys& keys) {
    return std::clamp<uint64_t>(keys.count() / 64, 1 << 19, 1 << 22);
  }

  const Lookup lookup_;
  std::vector<std::vector<uint64_t>> drawn_;  // by phase
  size_t next_ = 0;
  std::vector<uint64_t> values_;
  std::vector<uint8_t> found_;
};

// One for each client, by a session of its own.
std::vector<Lookup> Lookups(const LabOptions& lab, Engine& engine, const Object& object) {
  std::vector<Lookup> lookups;
  for (uint32_t c = 0; c < lab.clients; ++c) {
    const std::shared_ptr<Session> session = engine.NewSession();
    lookups.emplace_back([session, object](auto keys, auto values, auto found) {
      Must(session->Lookup(object, keys, values, found));
    });
  }
  return lookups;
}

// One for each of the lookups.
std::vector<std::unique_ptr<Client>> MakeClients(const LabOptions& lab,
                                                 const std::vector<Lookup>& lookups,
                                                 const LoadedKeys& keys,
                                                 const std::vector<LoadPhase>& phases) {
  const load::Zipf zipf(lab.load == "zipf" ? lab.keys : 2);
  std::vector<std::unique_ptr<Client>> clients;
  for (uint32_t c = 0; c < lab.clients; ++c) {
    clients.push_back(std::make_unique<Client>(lookups[c], keys, zipf, phases, lab.batch,
                                               uint64_t{lab.seed - 1} * lab.clients + c + 1));
  }
  return clients;
}

// By tenth of a second until the end: keys by AEU, as a running sum.
json WatchAeus(Engine& engine, uint64_t begin_ns, uint64_t total_ns) {
  json done = json::array();
  while (NowNs() - begin_ns < total_ns) {
    std::vector<uint64_t> now;
    for (const AeuStats& aeu : engine.Stats().aeus) now.push_back(aeu.keys);
    done.push_back(now);
    const uint64_t next_ns = done.size() * 100'000'000;
    const uint64_t at_ns = NowNs() - begin_ns;
    if (at_ns < next_ns) absl::SleepFor(absl::Nanoseconds(next_ns - at_ns));
  }
  return done;
}

// `engine`: nullptr if there are processes instead.
json RunPhases(const LabOptions& lab, Engine* engine, const std::vector<Lookup>& lookups,
               const LoadedKeys& keys) {
  const std::vector<LoadPhase> phases = PhasesOf(lab.load, lab.keys, lab.phases);
  if (phases.empty()) Die("no load " + lab.load);
  const auto clients = MakeClients(lab, lookups, keys, phases);
  const auto phase_ns = static_cast<uint64_t>(lab.phase_s * 1e9);
  const uint64_t total_ns = phase_ns * phases.size();
  std::vector<std::atomic<uint64_t>> windows(total_ns / kWindowNs + 1);
  std::vector<std::vector<base::Histogram>> latencies(lab.clients,
                                                      std::vector<base::Histogram>(phases.size()));
  const absl::Time began = absl::Now();
  const uint64_t begin_ns = NowNs();
  std::vector<std::thread> threads;
  for (uint32_t c = 0; c < lab.clients; ++c) {
    threads.emplace_back([&, c] {
      for (;;) {
        const uint64_t at_ns = NowNs() - begin_ns;
        if (at_ns >= total_ns) return;
        const uint64_t phase = at_ns / phase_ns;
        const uint64_t took_ns = clients[c]->Look(phase);
        latencies[c][phase].Add(took_ns);
        const uint64_t window = (NowNs() - begin_ns) / kWindowNs;
        // relaxed: read after the threads have been joined.
        if (window < windows.size())
          windows[window].fetch_add(lab.batch, std::memory_order_relaxed);
      }
    });
  }
  json done = json::array();
  if (engine != nullptr) {
    engine->ResumeBalancer();
    done = WatchAeus(*engine, begin_ns, total_ns);
  }
  for (std::thread& thread : threads) thread.join();

  json report{{"window_ms", kWindowNs / 1'000'000}, {"phase_s", lab.phase_s}};
  for (size_t phase = 0; phase < phases.size(); ++phase) {
    base::Histogram all;
    for (const auto& own : latencies) all.Merge(own[phase]);
    report["phases"].push_back({{"name", phases[phase].name},
                                {"first", phases[phase].first},
                                {"width", phases[phase].width},
                                {"batch_p50_us", all.PercentileNs(50) / 1000},
                                {"batch_p99_us", all.PercentileNs(99) / 1000},
                                {"batch_p999_us", all.PercentileNs(99.9) / 1000}});
  }
  for (const auto& window : windows) report["keys"].push_back(window.load());
  report["keys_by_aeu"] = std::move(done);
  report["transfers"] = json::array();
  if (engine == nullptr) return report;
  std::vector<TransferRecord> history = engine->TransferHistory();
  std::reverse(history.begin(), history.end());
  for (const TransferRecord& one : history) report["transfers"].push_back(JsonOf(one, began));
  report["cycles"] = engine->Balancer().cycles;
  return report;
}

json LatencyJson(const base::Histogram& histogram) {
  return {{"batches", histogram.count()},
          {"p50_us", static_cast<double>(histogram.PercentileNs(50)) / 1e3},
          {"p99_us", static_cast<double>(histogram.PercentileNs(99)) / 1e3},
          {"p999_us", static_cast<double>(histogram.PercentileNs(99.9)) / 1e3},
          {"max_us", static_cast<double>(histogram.max_ns()) / 1e3}};
}

// A quarter of the data moves to the AEU, and its memory.
void MoveQuarter(const LabOptions& lab, Engine& engine, const Object& object,
                 const LoadedKeys& keys, AeuId to) {
  const KeyRange quarter{.lo = keys.Border(lab.keys / 4), .hi = keys.Border(lab.keys / 2)};
  Must(engine.MoveRange(object.name(), quarter, to, TransferKindNamed(lab.moves)));
  while (engine.TransferHistory().front().home == MemoryFollows::kUnderWay) {
    absl::SleepFor(absl::Milliseconds(1));
  }
}

// A quarter of the data moves from the first AEU to the second and back, while clients send at a
// fixed rate. Latencies count from the time a batch was due, so none is missed while a client waits
// for another.
json RunMoves(const LabOptions& lab, Engine& engine, const Object& object, const LoadedKeys& keys) {
  const auto clients =
      MakeClients(lab, Lookups(lab, engine, object), keys, {{"all keys", 0, lab.keys, false}});
  enum : int { kIdle, kSteady, kMoving, kEnd };
  std::atomic<int> mode{kIdle};
  std::vector<base::Histogram> steady(lab.clients), moving(lab.clients);
  std::vector<std::thread> threads;
  for (uint32_t c = 0; c < lab.clients; ++c) {
    threads.emplace_back([&, c] {
      const auto pace_ns = static_cast<uint64_t>(1e9 / lab.rate);
      uint64_t due_ns = NowNs() + pace_ns * c / lab.clients;
      for (;;) {
        const int now = mode.load();
        if (now == kEnd) return;
        while (NowNs() < due_ns) absl::SleepFor(absl::Nanoseconds(due_ns - NowNs() + 1));
        clients[c]->Look(0);
        const uint64_t took_ns = NowNs() - due_ns;
        if (now == kSteady) steady[c].Add(took_ns);
        if (now == kMoving) moving[c].Add(took_ns);
        due_ns += pace_ns;
      }
    });
  }
  engine.ResumeBalancer();
  const absl::Time began = absl::Now();
  const absl::Duration steady_time = absl::Seconds(lab.steady_s);
  absl::SleepFor(steady_time);
  for (uint32_t move = 0; move < 2 * lab.rounds; ++move) {
    mode = kSteady;
    absl::SleepFor(steady_time);
    mode = kMoving;
    MoveQuarter(lab, engine, object, keys, AeuId{(move + 1) % 2});
    mode = kIdle;
    absl::SleepFor(0.3 * steady_time);
  }
  mode = kEnd;
  for (std::thread& thread : threads) thread.join();
  base::Histogram before, during;
  for (uint32_t c = 0; c < lab.clients; ++c) {
    before.Merge(steady[c]);
    during.Merge(moving[c]);
  }
  json report{{"rate", lab.rate},
              {"steady", LatencyJson(before)},
              {"moving", LatencyJson(during)},
              {"pause_us", lab.pause_us}};
  for (const TransferRecord& one : engine.TransferHistory()) {
    report["transfers"].push_back(JsonOf(one, began));
  }
  return report;
}

LabOptions Parse(int argc, char** argv) {
  LabOptions lab;
  ParseFlags(argc, argv,
             {{"--moves", lab.moves},
              {"--topology", lab.topology},
              {"--algorithm", lab.algorithm},
              {"--load", lab.load},
              {"--aeus", lab.aeus, 2},
              {"--keys", lab.keys, 1024},
              {"--phases", lab.phases, 1},
              {"--phase-s", lab.phase_s, 0.001},
              {"--period-ms", lab.period_ms, 0},
              {"--pause-us", lab.pause_us, 0},
              {"--clients", lab.clients, 1},
              {"--batch", lab.batch, 1},
              {"--seed", lab.seed, 1},
              {"--processes", lab.processes, 0, 1024},
              {"--dense", lab.dense},
              {"--rate", lab.rate, 0.001},
              {"--steady-s", lab.steady_s, 0.001},
              {"--rounds", lab.rounds, 1}});
  return lab;
}

json RunEngine(const LabOptions& lab, const LoadedKeys& keys) {
  Options options;
  options.aeu_count = lab.aeus;
  options.balancer.period_ms = lab.period_ms;
  options.balancer.max_pause_us = lab.pause_us;
  options.topology = lab.topology;
  const bool moves = !lab.moves.empty();
  if (moves && !TransferKindNamed(lab.moves)) Die("no kind of transfer " + lab.moves);
  SetAlgorithm(moves ? "off" : lab.algorithm, options.balancer);
  const std::unique_ptr<Engine> engine = Must(Engine::Open(options));
  engine->PauseBalancer();  // the load of filling does not last
  const Object object = CreateLoaded(*engine, keys, lab.aeus);
  json report = moves ? RunMoves(lab, *engine, object, keys)
                      : RunPhases(lab, engine.get(), Lookups(lab, *engine, object), keys);
  report["algorithm"] = moves ? "off" : lab.algorithm;
  report["aeus"] = lab.aeus;
  engine->Close();
  return report;
}

json RunProcesses(const LabOptions& lab, const LoadedKeys& keys) {
  if (lab.batch > ProcessServers::kBatchMax) Die("--batch is too large for --processes");
  ProcessServers servers(keys, lab.processes, lab.clients);
  std::vector<Lookup> lookups;
  for (uint32_t c = 0; c < lab.clients; ++c) {
    lookups.emplace_back([&servers, c](auto asked, auto values, auto found) {
      servers.Lookup(c, asked, values, found);
    });
  }
  json report = RunPhases(lab, nullptr, lookups, keys);
  report["algorithm"] = "off";
  report["processes"] = lab.processes;
  return report;
}

int Run(int argc, char** argv) {
  const LabOptions lab = Parse(argc, argv);
  const LoadedKeys keys(lab.keys, lab.dense);
  json report = lab.processes > 0 ? RunProcesses(lab, keys) : RunEngine(lab, keys);
  report["load"] = lab.load;
  report["key_count"] = lab.keys;
  report["period_ms"] = lab.period_ms;
  report["clients"] = lab.clients;
  report["batch"] = lab.batch;
  std::cout << report.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Run(argc, argv); }
