// Measures an AEU's turns while a range of an object is copied to another AEU and back. A turn
// includes lending, taking in and forgetting rows, and the freeing and compaction after that. One
// thread steps two AEUs, so a turn's time is the CPU time of its own work; there is no other load.
//
//   copy_turns [--kind index|two_part|bytes|hash|table|heap] [--rows 1000000] [--columns 8]
//              [--string 0] [--old none|updated|erased] [--pause-us 200] [--turns 200] [--rounds 3]
//
// `old`: for indexes, what was done to all rows while a snapshot is held. Their versions move with
// them; if the rows are erased, only versions move.
// `columns`: for tables, number columns. `string`: for byte strings the length of a value; for
// tables that of one more column, 0: none. Half of the strings of tables are all different, half
// are one of eight. Each round uses a new object, whose cost is unknown at first, and lasts for at
// least `turns` turns of more than a tenth of the pause. Prints one JSON object.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "bench/balancer/lab_object.h"
#include "bench/must.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "bench/stepping.h"
#include "engine/engine_impl.h"

namespace eris::bench {
namespace {

using engine::EngineImpl;
using nlohmann::json;

struct LabOptions {
  LabShape shape{.rows = 1'000'000};
  std::string old = "none";
  uint32_t pause_us = 200;
  uint64_t turns = 200;
  uint32_t rounds = 3;
};

uint64_t ThreadNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

class Lab {
 public:
  explicit Lab(const LabOptions& lab) : lab_(lab) {
    Options options;
    options.topology = "numa:1 core:2 pu:1";
    options.aeu_count = 2;
    options.memory_limit_bytes = uint64_t{4} << 30;
    // There is no keeper thread that returns memory, and the AEUs' turns must not do it either.
    options.memory_kept_bytes_max = options.memory_limit_bytes;
    options.version_bytes_max = options.memory_limit_bytes;
    options.balancer.max_pause_us = lab.pause_us;
    options.balancer.enabled = false;
    engine_ = Must(EngineImpl::Open(options, EngineImpl::Threads::kNone));
    session_ = engine_->NewSession();
  }

  json Run() {
    std::vector<uint64_t> all;
    uint64_t bytes = 0, rows = 0;
    uint32_t longest_pause_us = 0;
    for (uint32_t round = 0; round < lab_.rounds; ++round) {
      turns_.clear();
      Stepping([&] { Round(); });
      all.insert(all.end(), turns_.begin(), turns_.end());
    }
    for (const TransferRecord& one : engine_->TransferHistory()) {
      rows += one.rows;
      bytes += one.bytes;
      longest_pause_us = std::max(longest_pause_us, one.longest_pause_us);
    }
    Stepping([&] { engine_->Close(); });
    if (all.empty()) Die("nothing has moved");
    std::sort(all.begin(), all.end());
    uint64_t sum = 0;
    for (const uint64_t ns : all) sum += ns;
    const auto us = [&](double part) {
      return static_cast<double>(
                 all[static_cast<size_t>(part * static_cast<double>(all.size() - 1))]) *
             1e-3;
    };
    const uint64_t allowed_ns = uint64_t{1000} * lab_.pause_us;
    return {
        {"kind", lab_.shape.kind},
        {"rows", lab_.shape.rows},
        {"columns", lab_.shape.is_table() ? lab_.shape.columns : 0},
        {"string_bytes", lab_.shape.string},
        {"old", lab_.old},
        {"pause_us", lab_.pause_us},
        {"turns", all.size()},
        {"median_us", us(0.5)},
        {"p99_us", us(0.99)},
        {"longest_us", us(1)},
        {"over_allowed", us(1) / lab_.pause_us},
        {"turns_over_allowed",
         std::count_if(all.begin(), all.end(), [&](uint64_t ns) { return ns > allowed_ns; })},
        {"longest_pause_us", longest_pause_us},
        {"rows_moved", rows},
        {"cpu_ns_row", static_cast<double>(sum) / static_cast<double>(std::max<uint64_t>(rows, 1))},
        {"mb_per_cpu_s", static_cast<double>(bytes) * 1e3 / static_cast<double>(sum)}};
  }

 private:
  template <class Call>
  void Stepping(Call call) {
    bench::Stepping(*engine_, std::move(call), [this](aeu::Aeu& aeu) {
      const uint64_t begin_ns = ThreadNs();
      const bool busy = aeu.Step({});
      const uint64_t ns = ThreadNs() - begin_ns;
      // Turns without work do not count. relaxed: one more or less does not matter.
      if (measured_.load(std::memory_order_relaxed) && ns * 10 > uint64_t{1000} * lab_.pause_us) {
        turns_.push_back(ns);
        turns_counted_.fetch_add(1, std::memory_order_relaxed);
      }
      return busy || aeu.HasWork();
    });
  }

  void Round() {
    LabObject object(lab_.shape);
    object.Create(*engine_, *session_);
    object.Fill(*session_);
    std::shared_ptr<Snapshot> held;
    if (lab_.old != "none") {
      held = Must(engine_->TakeSnapshot());
      lab_.old == "erased" ? object.Erase(*session_) : object.Fill(*session_);
    }
    absl::SleepFor(absl::Milliseconds(50));
    turns_counted_.store(0);
    measured_.store(true);
    const KeyRange leaving{.lo = lab_.shape.rows / 8 * 2, .hi = lab_.shape.rows / 2};
    for (uint32_t times = 0; turns_counted_.load() < lab_.turns && times < 200; ++times) {
      if (lab_.shape.kind == "heap") {
        CopyRows({.from = AeuId{times % 2},
                  .to = AeuId{1 - times % 2},
                  .kind = TransferKind::kCopy,
                  .rows = lab_.shape.rows / 4});
      } else {
        Must(engine_->MoveRange(LabObject::kName, leaving, AeuId{1 - times % 2},
                                TransferKind::kCopy, absl::InfiniteFuture(), nullptr));
      }
      // Time to free the rows that have left, and to compact the others.
      absl::SleepFor(absl::Milliseconds(100));
    }
    measured_.store(false);
    if (held != nullptr && held->aborted()) Die("the snapshot was given up");
    Must(engine_->Drop(LabObject::kName));
  }

  // Rows of a heap table have no range to be named by.
  void CopyRows(const PlannedTransfer& transfer) {
    engine::Core& core = engine_->core();
    if (!core.administration.TryEnter()) Die("the engine is closing");
    const auto result = engine_->transfers().Run(**core.catalogue.Find(LabObject::kName), transfer,
                                                 core.transfer_stop.Begin({}));
    core.administration.Leave();
    Must(result.status);
  }

  const LabOptions& lab_;
  std::unique_ptr<EngineImpl> engine_;
  std::unique_ptr<Session> session_;
  std::vector<uint64_t> turns_;  // CPU time of each
  // Shared between the moving and the stepping thread: the first is written by the moving one, the
  // second by the stepping one.
  std::atomic<bool> measured_{false};
  std::atomic<uint64_t> turns_counted_{0};
};

LabOptions Parse(int argc, char** argv) {
  LabOptions lab;
  LabShape& shape = lab.shape;
  ParseFlags(argc, argv,
             {{"--kind", shape.kind, kLabKinds},
              {"--rows", shape.rows, 64},
              {"--columns", shape.columns, 2},
              {"--string", shape.string, 0},
              {"--old", lab.old, {"none", "updated", "erased"}},
              {"--pause-us", lab.pause_us, 0},
              {"--turns", lab.turns, 0},
              {"--rounds", lab.rounds, 0}});
  shape.alike = shape.is_table();
  if (lab.old != "none" && (shape.is_table() || shape.kind == "hash")) {
    Die("no old rows that are " + lab.old + " in " + shape.kind);
  }
  return lab;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  const eris::bench::LabOptions options = eris::bench::Parse(argc, argv);
  eris::bench::Lab lab(options);
  std::cout << lab.Run().dump() << std::endl;
  return 0;
}
