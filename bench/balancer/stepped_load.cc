// Measures how evenly the balancer spreads a load over many AEUs, cycle by cycle. One thread steps
// the AEUs of a synthetic topology in turn, so there are no times. Paper: ERIS 3.3.1, 4.3.
//
//   stepped_load [--topology "numa:8 core:8 pu:1"] [--aeus 64] [--algorithm one_shot|ma(k)|off]
//                [--load middle|shift|zipf|narrow|even] [--phases 5] [--keys 1048576] [--cycles 24]
//                [--asked 262144] [--threshold 0] [--seed 1]
//
// In each cycle `asked` keys are looked up and the balancer balances once or, with a threshold,
// acts as in a period. A phase of all keys is followed by `phases` phases of the load. The load of
// an AEU is the number of keys it has looked up in the cycle, counted by the AEU. `bound` is the
// lower limit for any partitioning: the largest load of one key, divided by the mean. Prints one
// JSON object.
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/balancer/balancer_json.h"
#include "bench/balancer/moving_load.h"
#include "bench/must.h"
#include "bench/routing/flags.h"
#include "bench/stepping.h"
#include "engine/engine_impl.h"

namespace eris::bench {
namespace {

using engine::EngineImpl;
using nlohmann::json;

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
  uint32_t seed = 1;
  double threshold = 0;  // 0: makes every move that makes loads more equal
};

std::vector<uint64_t> KeysDone(EngineImpl& engine) {
  std::vector<uint64_t> keys;
  for (const AeuStats& aeu : engine.Stats().aeus) keys.push_back(aeu.keys);
  return keys;
}

// The maximum divided by the mean of the AEUs' work since `before`.
double MaxOverMean(const std::vector<uint64_t>& before, const std::vector<uint64_t>& now) {
  uint64_t most = 0, sum = 0;
  for (size_t i = 0; i < now.size(); ++i) {
    most = std::max(most, now[i] - before[i]);
    sum += now[i] - before[i];
  }
  return static_cast<double>(most) * static_cast<double>(now.size()) / static_cast<double>(sum);
}

// For the load that the plan leaves to each AEU.
double PredictedMaxOverMean(const BalancePlan& plan) {
  double most = 0, sum = 0;
  for (const AeuShare& share : plan.shares) {
    most = std::max(most, share.load_after);
    sum += share.load_after;
  }
  return sum > 0 ? most * static_cast<double>(plan.shares.size()) / sum : 1;
}

json RunPhase(const LabOptions& lab, EngineImpl& engine, Session& session, const Object& object,
              KeyStream& stream, const LoadPhase& phase, uint32_t cycles, bool warm_up = false) {
  std::vector<uint64_t> asked(kBatch), values(kBatch);
  std::vector<uint8_t> found(kBatch);
  std::unordered_map<uint64_t, uint64_t> times;
  json max_over_mean = json::array(), transfers = json::object(), rows = json::array(),
       bytes = json::array(), predicted = json::array();
  for (uint32_t cycle = 0; cycle < cycles; ++cycle) {
    const std::vector<uint64_t> before = KeysDone(engine);
    Stepping(engine, [&] {
      for (uint64_t batch = 0; batch < lab.asked / kBatch; ++batch) {
        for (uint64_t& key : asked) {
          key = stream.Next(phase);
          if (cycle == 0) ++times[key];
        }
        Must(session.Lookup(object, asked, absl::MakeSpan(values), absl::MakeSpan(found)));
        CheckLoaded(asked, values, found);
      }
    });
    max_over_mean.push_back(MaxOverMean(before, KeysDone(engine)));
    const BalancerStatus status = engine.Balancer();
    if (warm_up) {
      Must(engine.PlanBalance(object.name()));  // samples the load
    } else if (lab.threshold > 0) {
      Stepping(engine, [&] { engine.balancer_loop().RunCycle(); });
    } else if (lab.algorithm != "off") {
      Stepping(engine, [&] {
        predicted.push_back(PredictedMaxOverMean(
            Must(engine.Rebalance(object.name(), absl::InfiniteFuture(), nullptr))));
      });
    }
    const BalancerStatus after = engine.Balancer();
    for (const TransferKind kind : kTransferKinds) {
      transfers[std::string(TraitsOf(kind).name)].push_back(after.transfers[kind] -
                                                            status.transfers[kind]);
    }
    rows.push_back(after.rows_moved - status.rows_moved);
    bytes.push_back(after.bytes_copied - status.bytes_copied);
  }
  uint64_t most = 0;
  for (const auto& [key, count] : times) most = std::max(most, count);
  const double bound = std::max(
      1.0, static_cast<double>(most) * lab.aeus / static_cast<double>(lab.asked / kBatch * kBatch));
  return {{"name", phase.name},    {"max_over_mean", max_over_mean},
          {"bound", bound},        {"transfers", transfers},
          {"rows_moved", rows},    {"first", phase.first},
          {"width", phase.width},  {"bytes_copied", bytes},
          {"predicted", predicted}};
}

LabOptions Parse(int argc, char** argv) {
  LabOptions lab;
  ParseFlags(argc, argv,
             {{"--topology", lab.topology},
              {"--aeus", lab.aeus, 2},
              {"--algorithm", lab.algorithm},
              {"--load", lab.load},
              {"--phases", lab.phases, 1},
              {"--threshold", lab.threshold, 0, 1},
              {"--keys", lab.keys, 1024},
              {"--cycles", lab.cycles, 1},
              {"--seed", lab.seed, 1},
              {"--asked", lab.asked, kBatch}});
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
  options.balancer.enabled = false;  // cycles run only on request
  if (lab.threshold > 0) options.balancer.threshold = lab.threshold;
  // shorter than any cycle, so each cycle forgets as much as one period
  options.balancer.period_ms = 10;
  const auto opened = Must(EngineImpl::Open(options, EngineImpl::Threads::kNone));
  EngineImpl& engine = *opened;
  const LoadedKeys keys(lab.keys);
  const load::Zipf zipf(lab.keys);
  KeyStream stream(keys, zipf, lab.seed);
  const auto session = engine.NewSession();
  Object object;
  Stepping(engine, [&] { object = CreateLoaded(engine, keys, lab.aeus); });
  json report{{"aeus", lab.aeus},           {"topology", lab.topology}, {"load", lab.load},
              {"algorithm", lab.algorithm}, {"key_count", lab.keys},    {"asked", lab.asked}};
  const std::vector<LoadPhase> phases = PhasesOf(lab.load, lab.keys, lab.phases);
  if (phases.empty()) Die("no load " + lab.load);
  // The load of filling must not stay in the samples.
  RunPhase(lab, engine, *session, object, stream, phases[0], 4, /*warm_up=*/true);
  for (size_t phase = 0; phase < phases.size(); ++phase) {
    // The first, even load shows the state at rest.
    report["phases"].push_back(RunPhase(lab, engine, *session, object, stream, phases[phase],
                                        phase == 0 ? 2 : lab.cycles));
  }
  Stepping(engine, [&] { engine.Close(); });
  std::cout << report.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Run(argc, argv); }
