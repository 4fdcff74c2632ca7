// Measures how soon a scan of a clustered table begins, from the call of OpenScan to the first
// chunk: without other load, and while an eighth of the table's rows is copied to another AEU and
// back continuously. Scans wait for the chunk in transit (engine/objects/step_gate.h).
//
//   scan_begins [--rows 500000] [--columns 8] [--scans 2000] [--pause-us 200]
//
// Prints one JSON object.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "bench/balancer/lab_object.h"
#include "bench/must.h"
#include "bench/routing/flags.h"
#include "eris/engine.h"

namespace eris::bench {
namespace {

using nlohmann::json;

struct LabOptions {
  LabShape shape{.kind = "table", .rows = 500'000};
  uint64_t scans = 2000;
  uint32_t pause_us = 200;
};

// The times until each began, in microseconds, ascending.
std::vector<double> Begin(Session& session, const Object& table, uint64_t scans) {
  std::vector<double> took;
  for (uint64_t i = 0; i < scans; ++i) {
    const absl::Time began = absl::Now();
    auto scan = session.OpenScan(table, {.limit = 1});
    if (absl::IsResourceExhausted(scan.status())) {
      // Earlier scans have been answered, but some AEUs still hold their chunks.
      absl::SleepFor(absl::Milliseconds(1));
      --i;
      continue;
    }
    Must(scan.status());
    const auto chunk = Must((*scan)->Next());
    took.push_back(absl::ToDoubleMicroseconds(absl::Now() - began));
    if (chunk == nullptr || chunk->rows() != 1) Die("no row, or several");
  }
  std::sort(took.begin(), took.end());
  return took;
}

json Spread(const std::vector<double>& sorted) {
  const auto at = [&](double share) {
    return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
  };
  return {{"p50_us", at(0.5)}, {"p99_us", at(0.99)}, {"max_us", at(1)}};
}

LabOptions Parse(int argc, char** argv) {
  LabOptions lab;
  ParseFlags(argc, argv,
             {{"--rows", lab.shape.rows, 1024},
              {"--columns", lab.shape.columns, 1},
              {"--scans", lab.scans, 1},
              {"--pause-us", lab.pause_us, 0}});
  return lab;
}

int Run(int argc, char** argv) {
  const LabOptions lab = Parse(argc, argv);
  Options options;
  options.aeu_count = 2;
  options.balancer.max_pause_us = lab.pause_us;
  options.balancer.enabled = false;
  const std::unique_ptr<Engine> engine = Must(Engine::Open(options));
  const auto session = engine->NewSession();
  const uint64_t rows = lab.shape.rows;
  LabObject table(lab.shape);
  table.Create(*engine, *session);
  table.Fill(*session);
  const json steady = Spread(Begin(*session, table.object(), lab.scans));
  // relaxed: it ends the loop; the join orders the rest.
  std::atomic<bool> stop{false};
  uint64_t moves = 0;
  std::thread mover([&] {
    const KeyRange leaving{.lo = rows / 8 * 3, .hi = rows / 2};
    for (uint32_t to = 1; !stop.load(std::memory_order_relaxed); to = 1 - to, ++moves) {
      Must(engine->MoveRange(LabObject::kName, leaving, AeuId{to}, TransferKind::kCopy));
    }
  });
  const json moving = Spread(Begin(*session, table.object(), lab.scans));
  stop.store(true, std::memory_order_relaxed);
  mover.join();
  uint32_t longest_us = 0;
  for (const TransferRecord& one : engine->TransferHistory()) {
    longest_us = std::max(longest_us, one.longest_pause_wall_us);
  }
  engine->Close();
  const json report{
      {"rows", rows},
      {"steady", steady},
      {"moving", moving},
      {"moves", moves},
      {"longest_pause_wall_us", longest_us},
      {"p99_over_steady", moving["p99_us"].get<double>() / steady["p99_us"].get<double>()}};
  std::cout << report.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Run(argc, argv); }
