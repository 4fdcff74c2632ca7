// Measures one turn with many AEUs if only one of them is addressed: no cost may grow with the
// number of the others. Paper: ERIS 3.2, Figure 3.
//
//   turn_bench [--benchmark_filter=<regex>] [--benchmark_repetitions=5]
//              [--benchmark_enable_random_interleaving=true] [--benchmark_format=json]
//
// An engine with the default sizes, `aeus` AEUs on a synthetic NumaNode and an index with a
// partition at each, 1000 rows in it; one thread does everything. turn: a lookup of one key of the
// AEU in the middle from a session's Port (Send, Flush), one Step of that AEU, and the answer is
// taken home and checked. idle_step: a Step of that AEU without work. has_work: the check of a
// thread before it parks.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/must.h"
#include "bench/routing/lookup_lab.h"
#include "bench/routing/machine.h"
#include "bench/stepping.h"
#include "engine/engine_impl.h"

namespace eris::bench {
namespace {

constexpr uint64_t kRowsPerAeu = 1000;

class Machine {
 public:
  explicit Machine(uint32_t aeus) : addressed_{aeus / 2} {
    Options options;
    options.topology = "numa:1 core:" + std::to_string(aeus) + " pu:1";
    engine_ = Must(engine::EngineImpl::Open(options, engine::EngineImpl::Threads::kNone));
    Stepping(*engine_, [&] {
      const uint64_t rows = aeus * kRowsPerAeu;
      Must(engine_->Create("o", {.expected = {0, rows}}));
      std::vector<uint64_t> keys, values;
      for (uint64_t key = 0; key < rows; ++key) {
        keys.push_back(key);
        values.push_back(ValueOf(key));
      }
      const auto session = engine_->NewSession();
      Must(session->Upsert(Must(session->Open("o")), keys, values));
    });
    object_ = *engine_->core().catalogue.Find("o");
    const auto table = object_->route.Pin();
    for (uint64_t i = 0; i < kRowsPerAeu; ++i) {
      keys_.push_back(addressed_.value * kRowsPerAeu + i * 7 % kRowsPerAeu);
      if (table->OwnerOf(keys_.back()) != addressed_) Die("a key of another AEU");
    }
  }
  ~Machine() {
    Stepping(*engine_, [&] { engine_->Close(); });
  }

  engine::EngineImpl& engine() { return *engine_; }
  aeu::Aeu& addressed() { return engine_->aeu(addressed_); }
  const routing::ObjectRoute& route() const { return object_->route; }
  const std::vector<uint64_t>& keys() const { return keys_; }

 private:
  const AeuId addressed_;
  std::unique_ptr<engine::EngineImpl> engine_;
  engine::ObjectRef object_;
  std::vector<uint64_t> keys_;  // of the addressed AEU
};

// Each is made once, for all benchmarks.
Machine& MachineOf(int64_t aeus) {
  static std::map<int64_t, std::unique_ptr<Machine>> machines;
  std::unique_ptr<Machine>& machine = machines[aeus];
  if (machine == nullptr) machine = std::make_unique<Machine>(static_cast<uint32_t>(aeus));
  return *machine;
}

void BM_Turn(benchmark::State& state) {
  Machine& machine = MachineOf(state.range(0));
  Home home;
  routing::Port port(machine.engine().core().directory,
                     home.OfSession(machine.engine().core().port_options()));
  LookupReply reply(1);
  size_t at = 0;
  for (auto _ : state) {
    const uint64_t key = machine.keys()[at];
    at = at + 1 == machine.keys().size() ? 0 : at + 1;
    reply.left.store(1, std::memory_order_relaxed);  // published with the record
    port.Send(machine.route(),
              {.type = routing::CommandType::kLookup,
               .keys = {&key, 1},
               .complete = &LookupReply::Answered,
               .context = &reply,
               .answers = routing::AnswersTo::kRecord},
              storage::KeyState::kRefused);
    port.Flush();
    machine.addressed().Step({});
    home.Collect();
    if (reply.left.load(std::memory_order_acquire) != 0 || reply.values[0] != ValueOf(key)) {
      Die("a lookup is wrong");
    }
  }
}

void BM_IdleStep(benchmark::State& state) {
  Machine& machine = MachineOf(state.range(0));
  bool worked = false;
  for (auto _ : state) worked |= machine.addressed().Step({});
  if (worked) Die("there was work");
}

void BM_HasWork(benchmark::State& state) {
  Machine& machine = MachineOf(state.range(0));
  bool work = false;
  for (auto _ : state) work |= machine.addressed().HasWork();
  if (work) Die("there was work");
}

const int kRegistered = [] {
  for (const auto& [name, run] : {std::pair{"turn", &BM_Turn}, std::pair{"idle_step", &BM_IdleStep},
                                  std::pair{"has_work", &BM_HasWork}}) {
    benchmark::RegisterBenchmark(name, run)->ArgName("aeus")->Arg(2)->Arg(64)->Arg(512);
  }
  return 0;
}();

}  // namespace
}  // namespace eris::bench
