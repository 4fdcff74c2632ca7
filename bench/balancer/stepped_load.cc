// How evenly the balancer spreads a load over many AEUs, cycle by cycle: the AEUs of a synthetic
// topology are stepped in turn by one thread, so nothing is said of time. Paper: ERIS 3.3.1, 4.3.
//
//   stepped_load [--topology "numa:8 core:8 pu:1"] [--aeus 64] [--algorithm one_shot|ma(k)|off]
//                [--load middle|shift|zipf|narrow|even] [--phases 5] [--keys 1048576] [--cycles 24]
//                [--asked 262144] [--threshold 0]
//
// In each cycle `asked` keys are looked up and the balancer balances once, or, with a threshold,
// does what it does in a period. After all keys come `phases` of the load. The load of an AEU is
// the keys it has looked up in the cycle, counted by the AEU. `bound` is what no partitioning can
// stay below: the most that one key has, in units of the mean. Prints one JSON object.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "bench/balancer/balancer_json.h"
#include "bench/balancer/moving_load.h"
#include "bench/routing/machine.h"
#include "clients/load/key_set.h"
#include "engine/engine_impl.h"

namespace eris::bench {
namespace {

using engine::EngineImpl;
using nlohmann::json;

constexpr char kObject[] = "keys";
constexpr size_t kBatch = 4096;

struct LabOptions {
  std::string topology = "numa:8 core:8 pu:1";
  uint32_t aeus = 64;
  std::string algorithm = "one_shot";
  std::string load = "middle";
  uint32_t phases = 5;
  uint64_t keys = 1 << 20;
  uint32_t cycles = 24;
  uint64_t asked = 1 << 18;
  double threshold = 0;  // 0: moves whatever makes loads more equal
};

void Must(const absl::Status& status) {
  if (!status.ok()) Die("stepped_load: " + std::string(status.message()));
}

// Runs `call`, which waits for AEUs, on a thread of its own and steps them meanwhile.
template <class Call>
void Stepping(EngineImpl& engine, Call call) {
  std::atomic<bool> done{false};
  std::thread thread([&] {
    call();
    done.store(true);
  });
  while (!done.load()) {
    bool worked = false;
    for (uint32_t i = 0; i < engine.aeu_count(); ++i) worked |= engine.aeu(AeuId{i}).Step({});
    if (!worked) sched_yield();
  }
  thread.join();
}

std::vector<uint64_t> KeysDone(EngineImpl& engine) {
  std::vector<uint64_t> keys;
  for (const AeuStats& aeu : engine.Stats().aeus) keys.push_back(aeu.keys);
  return keys;
}

// The most over the mean of what AEUs have done since `before`.
double MaxOverMean(const std::vector<uint64_t>& before, const std::vector<uint64_t>& now) {
  uint64_t most = 0, sum = 0;
  for (size_t i = 0; i < now.size(); ++i) {
    most = std::max(most, now[i] - before[i]);
    sum += now[i] - before[i];
  }
  return static_cast<double>(most) * static_cast<double>(now.size()) / static_cast<double>(sum);
}

// Of the load that the plan leaves to each AEU.
double PredictedMaxOverMean(const BalancePlan& plan) {
  double most = 0, sum = 0;
  for (const AeuShare& share : plan.shares) {
    most = std::max(most, share.load_after);
    sum += share.load_after;
  }
  return sum > 0 ? most * static_cast<double>(plan.shares.size()) / sum : 1;
}

json RunPhase(const LabOptions& lab, EngineImpl& engine, Session& session, KeyStream& stream,
              const LoadPhase& phase, uint32_t cycles, bool warm_up = false) {
  std::vector<uint64_t> asked(kBatch), values(kBatch);
  std::vector<uint8_t> found(kBatch);
  std::unordered_map<uint64_t, uint64_t> times;
  json max_over_mean = json::array(), links = json::array(), copies = json::array(),
       rows = json::array(), bytes = json::array(), predicted = json::array();
  for (uint32_t cycle = 0; cycle < cycles; ++cycle) {
    const std::vector<uint64_t> before = KeysDone(engine);
    Stepping(engine, [&] {
      for (uint64_t batch = 0; batch < lab.asked / kBatch; ++batch) {
        for (uint64_t& key : asked) {
          key = stream.Next(phase);
          if (cycle == 0) ++times[key];
        }
        Must(session.Lookup(kObject, asked, absl::MakeSpan(values), absl::MakeSpan(found)));
        for (size_t i = 0; i < kBatch; ++i) {
          if (!found[i] || values[i] != load::ValueOf(asked[i]))
            Die("stepped_load: a wrong answer");
        }
      }
    });
    max_over_mean.push_back(MaxOverMean(before, KeysDone(engine)));
    const BalancerStatus status = engine.Balancer();
    if (warm_up) {
      Must(engine.PlanBalance(kObject).status());  // takes note of the load
    } else if (lab.threshold > 0) {
      Stepping(engine, [&] { engine.balancer_loop().RunCycle(); });
    } else if (lab.algorithm != "off") {
      Stepping(engine, [&] {
        const auto plan = engine.Rebalance(kObject, absl::InfiniteFuture(), nullptr);
        Must(plan.status());
        predicted.push_back(PredictedMaxOverMean(*plan));
      });
    }
    const BalancerStatus after = engine.Balancer();
    links.push_back(after.links - status.links);
    copies.push_back(after.copies - status.copies);
    rows.push_back(after.rows_moved - status.rows_moved);
    bytes.push_back(after.bytes_copied - status.bytes_copied);
  }
  uint64_t most = 0;
  for (const auto& [key, count] : times) most = std::max(most, count);
  const double bound = std::max(
      1.0, static_cast<double>(most) * lab.aeus / static_cast<double>(lab.asked / kBatch * kBatch));
  return {{"name", phase.name},    {"max_over_mean", max_over_mean},
          {"bound", bound},        {"links", links},
          {"copies", copies},      {"rows_moved", rows},
          {"first", phase.first},  {"width", phase.width},
          {"bytes_copied", bytes}, {"predicted", predicted}};
}

LabOptions Parse(int argc, char** argv) {
  LabOptions lab;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    const auto number = std::strtoull(value.c_str(), nullptr, 0);
    if (flag == "--topology") {
      lab.topology = value;
    } else if (flag == "--aeus") {
      lab.aeus = static_cast<uint32_t>(number);
    } else if (flag == "--algorithm") {
      lab.algorithm = value;
    } else if (flag == "--load") {
      lab.load = value;
    } else if (flag == "--phases") {
      lab.phases = static_cast<uint32_t>(number);
    } else if (flag == "--threshold") {
      lab.threshold = std::strtod(value.c_str(), nullptr);
    } else if (flag == "--keys") {
      lab.keys = number;
    } else if (flag == "--cycles") {
      lab.cycles = static_cast<uint32_t>(number);
    } else if (flag == "--asked") {
      lab.asked = number;
    } else {
      Die("stepped_load: no flag " + flag);
    }
  }
  if (argc % 2 == 0) Die("stepped_load: " + std::string(argv[argc - 1]) + " wants a value");
  if (lab.aeus < 2 || lab.keys < 1024 || lab.phases == 0 || lab.cycles == 0 || lab.asked < kBatch) {
    Die("stepped_load: two AEUs, 1024 keys, a phase, a cycle and 4096 keys asked for at least");
  }
  return lab;
}

int Run(int argc, char** argv) {
  const LabOptions lab = Parse(argc, argv);
  Options options;
  options.topology = lab.topology;
  options.aeu_count = lab.aeus;
  options.memory_limit_bytes = uint64_t{4} << 30;
  options.incoming_buffer_bytes = 256 << 10;
  options.outgoing_buffer_bytes = 16 << 10;
  SetAlgorithm(lab.algorithm, options.balancer);
  options.balancer.enabled = false;  // a cycle when we say so
  if (lab.threshold > 0) options.balancer.threshold = lab.threshold;
  options.balancer.period_ms = 10;  // and shorter than any: each forgets as much as one period
  auto opened = EngineImpl::Open(options, EngineImpl::Threads::kNone);
  Must(opened.status());
  EngineImpl& engine = **opened;
  const LoadedKeys keys(lab.keys);
  const load::Zipf zipf(lab.keys);
  KeyStream stream(keys, zipf, 1);
  const auto session = engine.NewSession();
  Stepping(engine, [&] {
    CreateOptions create;
    for (uint32_t i = 1; i < lab.aeus; ++i) {
      create.split_points.push_back(keys.Border(keys.count() / lab.aeus * i));
    }
    Must(engine.Create(kObject, create).status());
    std::vector<uint64_t> some, values;
    for (uint64_t number = 0; number < keys.count(); ++number) {
      some.push_back(keys.Key(number));
      values.push_back(load::ValueOf(some.back()));
      if (some.size() == kBatch || number + 1 == keys.count()) {
        Must(session->Upsert(kObject, some, values));
        some.clear();
        values.clear();
      }
    }
  });
  json report{{"aeus", lab.aeus},           {"topology", lab.topology}, {"load", lab.load},
              {"algorithm", lab.algorithm}, {"key_count", lab.keys},    {"asked", lab.asked}};
  const std::vector<LoadPhase> phases = PhasesOf(lab.load, lab.keys, lab.phases);
  if (phases.empty()) Die("stepped_load: no load " + lab.load);
  // What filling has left in the samples is no load that lasts.
  RunPhase(lab, engine, *session, stream, phases[0], 4, /*warm_up=*/true);
  for (size_t phase = 0; phase < phases.size(); ++phase) {
    // The first, even load shows what is at rest.
    report["phases"].push_back(
        RunPhase(lab, engine, *session, stream, phases[phase], phase == 0 ? 2 : lab.cycles));
  }
  Stepping(engine, [&] { engine.Close(); });
  std::cout << report.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Run(argc, argv); }
