// What an engine costs that has nothing to do, or half of what it can do: CPU time, how often its
// AEUs wake up, and the energy of the machine's packages where they count it.
//
//   engine_energy [--aeus <cpus>] [--keys 4194304] [--rounds 3] [--seconds 2] [--batch 256]
//                 [--powercap /sys/class/powercap] [--seed 1]
//
// The engine holds sparse keys. In each round its states follow each other: `idle` (no client),
// `full` (as many clients as AEUs look random keys up, one batch after the other), `half` (the same
// clients send at half of that round's full pace). Every answer is checked. A wake-up is a
// voluntary context switch: the thread had nothing to do, slept and was woken. All that runs in the
// process counts as CPU time; what the AEUs' threads took of it is told apart. Prints one JSON
// object.
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "bench/balancer/moving_load.h"
#include "bench/must.h"
#include "bench/process_usage.h"
#include "bench/report.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "eris/engine.h"

namespace eris::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct LabOptions {
  uint32_t aeus = 0;
  uint64_t keys = 1 << 22;
  uint32_t rounds = 3;
  double seconds = 2;
  uint32_t batch = 256;
  std::string powercap = "/sys/class/powercap";
  uint32_t seed = 1;
};

// The counters of the machine's packages; none where the system shows none, or not to this process.
class Packages {
 public:
  explicit Packages(const std::string& folder) {
    std::error_code absent;
    for (const auto& entry : fs::directory_iterator(folder, absent)) {
      if (!absl::StartsWith(LineOf(entry.path() / "name"), "package")) continue;
      if (!LineOf(entry.path() / "energy_uj").empty()) packages_.push_back(entry.path());
    }
  }
  size_t count() const { return packages_.size(); }

  std::vector<uint64_t> Read() const {
    std::vector<uint64_t> now;
    for (const fs::path& package : packages_) {
      now.push_back(Number<uint64_t>(LineOf(package / "energy_uj"), 0, ~uint64_t{0}));
    }
    return now;
  }
  double JoulesSince(const std::vector<uint64_t>& before) const {
    const std::vector<uint64_t> now = Read();
    double joules = 0;
    for (size_t i = 0; i < now.size(); ++i) {
      uint64_t used = now[i] - before[i];
      if (now[i] < before[i]) {  // it starts over at its range
        used += Number<uint64_t>(LineOf(packages_[i] / "max_energy_range_uj"), 1, ~uint64_t{0});
      }
      joules += static_cast<double>(used) * 1e-6;
    }
    return joules;
  }

 private:
  std::vector<fs::path> packages_;
};

void SleepUntil(uint64_t at_ns) {
  const timespec at{.tv_sec = static_cast<time_t>(at_ns / 1'000'000'000),
                    .tv_nsec = static_cast<long>(at_ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) != 0) {
  }
}

// Clients that look keys up until it is destroyed.
class Clients {
 public:
  // `rate`: batches a second of all together; 0: one after the other.
  Clients(const LabOptions& lab, Engine& engine, const Object& object, const LoadedKeys& keys,
          double rate) {
    for (uint32_t c = 0; c < lab.aeus; ++c) {
      threads_.emplace_back([&, c, rate] {
        const auto session = engine.NewSession();
        load::Random random(lab.seed * 4096 + c);
        std::vector<uint64_t> asked(lab.batch), values(lab.batch);
        std::vector<uint8_t> found(lab.batch);
        const double gap_ns = rate > 0 ? 1e9 * lab.aeus / rate : 0;
        double due_ns = static_cast<double>(NowNs()) + gap_ns * c / lab.aeus;
        // Relaxed: read after a while, or after the threads' end.
        while (!stop_.load(std::memory_order_relaxed)) {
          if (rate > 0) SleepUntil(static_cast<uint64_t>(due_ns));
          due_ns += gap_ns;
          for (uint64_t& key : asked) key = keys.Key(random.Below(keys.count()));
          Must(session->Lookup(object, asked, absl::MakeSpan(values), absl::MakeSpan(found)));
          CheckLoaded(asked, values, found);
          batches_.fetch_add(1, std::memory_order_relaxed);
        }
      });
    }
  }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;
  ~Clients() {
    stop_.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads_) thread.join();
  }
  uint64_t batches() const { return batches_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> batches_{0};
  std::vector<std::thread> threads_;
};

// One state for the lab's seconds, after a tenth of them. `clients`: nullptr if idle.
json Watch(const LabOptions& lab, const Packages& packages, const Clients* clients) {
  const auto batches = [&] { return clients == nullptr ? 0 : clients->batches(); };
  SleepUntil(NowNs() + static_cast<uint64_t>(lab.seconds * 1e8));
  const Usage before = UsageNow();
  const std::vector<uint64_t> energy = packages.Read();
  const uint64_t begin_ns = NowNs(), done = batches();
  SleepUntil(begin_ns + static_cast<uint64_t>(lab.seconds * 1e9));
  const Usage after = UsageNow();
  const double joules = packages.JoulesSince(energy);
  const double seconds = static_cast<double>(NowNs() - begin_ns) * 1e-9;
  const auto rate = [&](auto from, auto to) { return static_cast<double>(to - from) / seconds; };
  json found{{"cpus", rate(before.cpu_s, after.cpu_s)},
             {"aeu_cpus", rate(before.aeu_cpu_s, after.aeu_cpu_s)},
             {"aeu_wakeups_s", rate(before.aeu_wakeups, after.aeu_wakeups)},
             {"wakeups_s", rate(before.wakeups, after.wakeups)},
             {"batches_s", rate(done, batches())}};
  if (packages.count() > 0) found["watts"] = joules / seconds;
  return found;
}

int Main(int argc, char** argv) {
  LabOptions lab;
  ParseFlags(argc, argv,
             {{"--aeus", lab.aeus, 1, 1024},
              {"--keys", lab.keys, 1024},
              {"--rounds", lab.rounds, 1, 1000},
              {"--seconds", lab.seconds, 0.01, 3600},
              {"--batch", lab.batch, 1, 1 << 20},
              {"--powercap", lab.powercap},
              {"--seed", lab.seed, 0}});
  if (lab.aeus == 0) lab.aeus = static_cast<uint32_t>(AllowedCpus().size());
  const Packages packages(lab.powercap);
  const OtherLoad others(AllowedCpus());
  const LoadedKeys keys(lab.keys);
  Options options;
  options.aeu_count = lab.aeus;
  const std::unique_ptr<Engine> engine = Must(Engine::Open(options));
  const Object object = CreateLoaded(*engine, keys, lab.aeus);
  std::map<std::string, std::map<std::string, std::vector<double>>> all;
  const auto keep = [&](const std::string& state, const json& found) {
    for (const auto& [name, value] : found.items()) all[state][name].push_back(value);
  };
  for (uint32_t round = 0; round < lab.rounds; ++round) {
    keep("idle", Watch(lab, packages, nullptr));
    double rate = 0;
    {
      const Clients clients(lab, *engine, object, keys, 0);
      const json full = Watch(lab, packages, &clients);
      keep("full", full);
      rate = full["batches_s"];
    }
    if (rate == 0) Die("no batch was answered within a round");
    const Clients clients(lab, *engine, object, keys, rate / 2);
    keep("half", Watch(lab, packages, &clients));
  }
  json report{{"cpu", CpuModel()},
              {"aeus", lab.aeus},
              {"keys", lab.keys},
              {"rounds", lab.rounds},
              {"seconds", lab.seconds},
              {"batch", lab.batch},
              {"packages", packages.count()},
              {"cpus_taken_by_others", others.Cpus()}};
  for (const auto& [state, figures] : all) {
    for (const auto& [name, values] : figures) report["states"][state][name] = Spread(values);
  }
  engine->Close();
  std::cout << report.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
