// Measures sending to an AEU that sleeps, compared with one that runs. Paper: ERIS 3.2.
//
//   wake_bench [--rounds 4000] [--asleep 50,1000] [--json FILE]     FILE -: standard output
//
// The caller is pinned to the first allowed cpu, the AEUs' threads to the second. A round sends a
// lookup of one key through a Port outside and waits, spinning, for its answer: flush_ns is the
// caller's time in Port::Flush, lookup_ns goes on until the answer is there. Parked: the AEU parks
// as soon as it has nothing to do, and each round begins when it has slept for --asleep us: a
// system, or the hypervisor below it, may keep a cpu from halting for some hundred microseconds,
// and what halts is woken later. Running: its thread never parks. They take turns, a hundred rounds
// each; figures are of all rounds and hold two clock readings (clock_ns). Then batches of 4096 keys
// to two AEUs that both sleep: system calls to wake them, a batch, with outgoing buffers of the
// default size and of 4 KiB (a batch fills several then). Every answer is checked.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aeu/aeu_thread.h"
#include "base/counter.h"
#include "base/memory_ops.h"
#include "bench/report.h"
#include "bench/routing/flags.h"
#include "bench/routing/lookup_lab.h"
#include "bench/routing/machine.h"

namespace eris::bench {
namespace {

struct Flags {
  uint32_t rounds = 4000;
  std::vector<uint32_t> asleep_us = {50, 1000};
  std::string json;
};

constexpr uint32_t kAeus = 2;
constexpr uint64_t kRows = 100'000;
constexpr uint32_t kRoundsInTurn = 100;
constexpr uint32_t kBatch = 4096;
constexpr uint32_t kLeastAsleepUs = 50;  // the time from the count to the system call

void SpinFor(uint64_t ns) {
  const uint64_t until_ns = NowNs() + ns;
  while (NowNs() < until_ns) {
  }
}

// Percentiles of one figure's rounds.
struct Figure {
  std::vector<double> ns;
  double At(double part) const {
    std::vector<double> sorted = ns;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<size_t>(part * static_cast<double>(sorted.size() - 1))];
  }
};
struct Latencies {
  uint32_t asleep_us = 0;  // 0: running
  Figure flush = {}, lookup = {};
};
struct Wakes {
  size_t outgoing_bytes = 0;
  uint32_t batches = 0;
  uint64_t calls = 0;
  uint64_t calls_max = 0;  // of one batch
};

// The first AEUs' threads.
class Threads {
 public:
  Threads(LookupLab& lab, uint32_t aeus, int cpu, bool parking) : lab_(lab) {
    aeu::AeuThreadOptions options;
    if (cpu >= 0) options.cpu = static_cast<uint32_t>(cpu);
    options.spin_ns = parking ? 0 : UINT64_MAX;
    for (uint32_t i = 0; i < aeus; ++i) {
      parks_.push_back(lab.aeu(i).counters().parks.Read());
      threads_.push_back(
          std::make_unique<aeu::AeuThread>(lab.aeu(i), lab.directory()[AeuId{i}], options));
      if (!threads_.back()->binding_status().ok()) Die("pinning failed");
    }
  }
  // Waits until each has parked since the last call (it has had work), and slept for a while, which
  // also covers the time from its count to its system call.
  void AwaitAsleep(uint32_t asleep_us) {
    for (uint32_t i = 0; i < parks_.size(); ++i) {
      const base::Counter& parks = lab_.aeu(i).counters().parks;
      const uint64_t before = parks_[i];
      do {
        parks_[i] = parks.Read();
        SpinFor(uint64_t{asleep_us} * 1000);
      } while (parks_[i] == before || parks_[i] != parks.Read());
    }
  }

 private:
  LookupLab& lab_;
  std::vector<uint64_t> parks_;  // at the last call
  std::vector<std::unique_ptr<aeu::AeuThread>> threads_;
};

class Bench {
 public:
  explicit Bench(int aeu_cpu)
      : aeu_cpu_(aeu_cpu),
        lab_(kAeus, kRows),
        own_(lab_.Probes(kProbes, 1, AeuId{0})),
        mixed_(lab_.Probes(kProbes, 2, std::nullopt)) {}

  void MeasureLatencies(uint32_t rounds, Latencies& out) {
    const bool parking = out.asleep_us > 0;
    Home home;
    routing::Port port(lab_.directory(), home.OfSession(PortOptionsOf(64 << 10)));
    LookupReply reply(1);
    Threads threads(lab_, 1, aeu_cpu_, parking);
    for (uint32_t round = 0; round < rounds; ++round) {
      if (parking) {
        threads.AwaitAsleep(out.asleep_us);
      } else {
        SpinFor(1000);  // the previous turn has ended
      }
      Send(port, reply, &own_[round % kProbes], 1);
      const uint64_t begin_ns = NowNs();
      port.Flush();
      const uint64_t flushed_ns = NowNs();
      Await(home, reply);
      const uint64_t end_ns = NowNs();
      Check(reply, 1);
      out.flush.ns.push_back(static_cast<double>(flushed_ns - begin_ns));
      out.lookup.ns.push_back(static_cast<double>(end_ns - begin_ns));
      const uint64_t wakes = port.counters().wakes.Read();
      if (wakes != (parking ? round + 1 : 0)) Die("an AEU was not in the state it is measured in");
    }
  }

  Wakes CountWakes(uint32_t batches, size_t outgoing_bytes) {
    Home home;
    routing::Port port(lab_.directory(), home.OfSession(PortOptionsOf(outgoing_bytes)));
    LookupReply reply(kBatch);
    Threads threads(lab_, kAeus, aeu_cpu_, /*parking=*/true);
    Wakes wakes{.outgoing_bytes = outgoing_bytes, .batches = batches};
    for (uint32_t batch = 0; batch < batches; ++batch) {
      threads.AwaitAsleep(kLeastAsleepUs);
      const uint64_t before = port.counters().wakes.Read();
      Send(port, reply, &mixed_[batch * kBatch % kProbes], kBatch);
      port.Flush();
      Await(home, reply);
      Check(reply, kBatch);
      const uint64_t calls = port.counters().wakes.Read() - before;
      wakes.calls += calls;
      wakes.calls_max = std::max(wakes.calls_max, calls);
    }
    return wakes;
  }

 private:
  static constexpr size_t kProbes = 16 * kBatch;

  static routing::PortOptions PortOptionsOf(size_t outgoing_bytes) {
    return {.outgoing_bytes = outgoing_bytes, .wait_ns = 1'000'000'000};
  }
  void Send(routing::Port& port, LookupReply& reply, const uint64_t* keys, uint32_t count) {
    reply.keys = keys;
    reply.left.store(count, std::memory_order_relaxed);  // published with the records
    const uint32_t refused = port.Send(lab_.route(),
                                       {.type = routing::CommandType::kLookup,
                                        .keys = {keys, count},
                                        .complete = &LookupReply::Answered,
                                        .context = &reply,
                                        .answers = routing::AnswersTo::kRecord},
                                       storage::KeyState::kRefused);
    if (refused > 0) Die("keys were refused");
  }
  static void Await(Home& home, const LookupReply& reply) {
    while (reply.left.load(std::memory_order_relaxed) > 0) {  // this thread counts it down
      home.Collect();
      base::RealMemory::Pause();
    }
  }
  static void Check(const LookupReply& reply, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      if (reply.states[i] != storage::KeyState::kPresent ||
          reply.values[i] != ValueOf(reply.keys[i])) {
        Die("a lookup is wrong");
      }
    }
  }

  const int aeu_cpu_;
  LookupLab lab_;
  const std::vector<uint64_t> own_;    // keys of the first AEU
  const std::vector<uint64_t> mixed_;  // of all
};

struct Report {
  uint32_t rounds = 0;
  std::vector<Latencies> latencies;
  std::vector<Wakes> wakes;
  double clock_ns = 0;
  double others = 0;
  double line_ns = 0;
};

double ClockNs() {
  constexpr int kReadings = 100'000;
  const uint64_t begin_ns = NowNs();
  for (int i = 0; i < kReadings; ++i) NowNs();
  return static_cast<double>(NowNs() - begin_ns) / kReadings;
}

Report Measure(const Flags& flags, const std::vector<int>& cpus) {
  Report report;
  report.rounds = flags.rounds;
  report.line_ns = CacheLineNs(cpus);
  PinTo(cpus[0]);
  report.clock_ns = ClockNs();
  const OtherLoad load(cpus);
  Bench bench(cpus[1]);
  report.latencies.push_back({});
  for (const uint32_t us : flags.asleep_us) report.latencies.push_back({.asleep_us = us});
  for (uint32_t done = 0; done < flags.rounds; done += kRoundsInTurn) {
    const uint32_t rounds = std::min(kRoundsInTurn, flags.rounds - done);
    for (Latencies& one : report.latencies) bench.MeasureLatencies(rounds, one);
  }
  for (const size_t outgoing_bytes : {64 << 10, 4 << 10}) {
    report.wakes.push_back(bench.CountWakes(flags.rounds, outgoing_bytes));
  }
  report.others = load.Cpus();
  return report;
}

double PerBatch(const Wakes& wakes) { return static_cast<double>(wakes.calls) / wakes.batches; }

void Print(const Report& report) {
  std::printf("%-20s %29s  %29s\n", "AEU", "Flush, ns: 10 %, median, 90 %",
              "answer, ns: 10 %, median, 90 %");
  for (const Latencies& of : report.latencies) {
    const std::string name =
        of.asleep_us == 0 ? "running" : "parked " + std::to_string(of.asleep_us) + " us before";
    std::printf("%-20s %9.0f %9.0f %9.0f  %9.0f %9.0f %9.0f\n", name.c_str(), of.flush.At(0.1),
                of.flush.At(0.5), of.flush.At(0.9), of.lookup.At(0.1), of.lookup.At(0.5),
                of.lookup.At(0.9));
  }
  for (const Wakes& wakes : report.wakes) {
    std::printf(
        "system calls to wake %u AEUs for %u keys, outgoing buffers of %zu bytes: "
        "%.3f a batch, at most %llu\n",
        kAeus, kBatch, wakes.outgoing_bytes, PerBatch(wakes),
        static_cast<unsigned long long>(wakes.calls_max));
  }
  std::printf(
      "the clock takes %.0f ns; other programs took %.2f cpus; a cache line goes from cpu "
      "to cpu in %.0f ns\n",
      report.clock_ns, report.others, report.line_ns);
}

void WriteJson(const std::string& path, const Report& report) {
  nlohmann::json json = ReportOf(ERIS_BENCH_BUILD_TYPE);
  json.update({{"cpus_taken_by_others", report.others},
               {"cache_line_ns", report.line_ns},
               {"clock_ns", report.clock_ns},
               {"rounds", report.rounds}});
  for (const Latencies& of : report.latencies) {
    nlohmann::json one{{"state", of.asleep_us == 0 ? "running" : "parked"},
                       {"asleep_us", of.asleep_us}};
    for (const auto& [what, figure] : {std::pair<std::string, const Figure*>("flush_ns", &of.flush),
                                       {"lookup_ns", &of.lookup}}) {
      one[what] = figure->At(0.5);
      one[what + "_p10"] = figure->At(0.1);
      one[what + "_p90"] = figure->At(0.9);
    }
    json["latencies"].push_back(one);
  }
  for (const Wakes& wakes : report.wakes) {
    json["wakes"].push_back({{"keys", kBatch},
                             {"targets", kAeus},
                             {"outgoing_bytes", wakes.outgoing_bytes},
                             {"batches", wakes.batches},
                             {"calls_per_batch", PerBatch(wakes)},
                             {"calls_max", wakes.calls_max}});
  }
  WriteReport(path, json);
}

Flags Parse(int argc, char** argv) {
  Flags flags;
  ParseFlags(argc, argv,
             {{"--rounds", flags.rounds, 1, 1'000'000},
              {"--asleep", flags.asleep_us, kLeastAsleepUs, 1'000'000},
              {"--json", flags.json}});
  return flags;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  using namespace eris::bench;
  const Flags flags = Parse(argc, argv);
  const std::vector<int> cpus = AllowedCpus();
  if (cpus.size() < 2) Die("wake_bench needs two cpus: the caller spins on one of them");
  const Report report = Measure(flags, cpus);
  if (flags.json != "-") Print(report);
  if (!flags.json.empty()) WriteJson(flags.json, report);
  return 0;
}
