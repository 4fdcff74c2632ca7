// How soon a scan of a clustered table begins, with nothing else going on and while an eighth of
// the table's rows is copied to another AEU and back all the time: from the call of OpenTableScan
// to the first chunk. Scans wait for the chunk that is on its way (engine/objects/step_gate.h).
//
//   scan_begins [--rows 500000] [--columns 8] [--scans 2000] [--pause-us 200]
//
// Prints one JSON object.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/routing/machine.h"
#include "eris/engine.h"

namespace eris::bench {
namespace {

using nlohmann::json;

constexpr char kTable[] = "rows";

struct LabOptions {
  uint64_t rows = 500'000;
  uint32_t columns = 8;
  uint64_t scans = 2000;
  uint32_t pause_us = 200;
};

void Must(const absl::Status& status) {
  if (!status.ok()) Die("scan_begins: " + status.ToString());
}

std::unique_ptr<Engine> Load(const LabOptions& lab) {
  Options options;
  options.aeu_count = 2;
  options.balancer.max_pause_us = lab.pause_us;
  options.balancer.enabled = false;
  auto engine = Engine::Open(options);
  Must(engine.status());
  Schema schema{.columns = {{.name = "key", .type = ColumnType::kUint64}}, .key = {0}};
  for (uint32_t i = 1; i < lab.columns; ++i) {
    schema.columns.push_back({.name = absl::StrCat("c", i), .type = ColumnType::kUint64});
  }
  Must((*engine)->CreateTable(kTable, schema, {.split_points = {lab.rows / 2}}).status());
  const auto session = (*engine)->NewSession();
  for (uint64_t first = 0; first < lab.rows; first += 65536) {
    std::vector<uint64_t> keys;
    for (uint64_t i = first; i < std::min(lab.rows, first + 65536); ++i) keys.push_back(i);
    const std::vector<ColumnView> columns(lab.columns, {.values = keys.data()});
    Must(session->UpsertRows(kTable, RowBatch{keys.size(), columns}));
  }
  return *std::move(engine);
}

// How long each took to begin, in microseconds, ascending.
std::vector<double> Begin(Session& session, uint64_t scans) {
  std::vector<double> took;
  for (uint64_t i = 0; i < scans; ++i) {
    Query query;
    query.limit = 1;
    const absl::Time began = absl::Now();
    auto scan = session.OpenTableScan(kTable, query);
    if (absl::IsResourceExhausted(scan.status())) {
      // Those before have answered, and some AEUs still hold their chunks.
      absl::SleepFor(absl::Milliseconds(1));
      --i;
      continue;
    }
    Must(scan.status());
    const auto chunk = (*scan)->Next();
    Must(chunk.status());
    took.push_back(absl::ToDoubleMicroseconds(absl::Now() - began));
    if (*chunk == nullptr || (*chunk)->rows() != 1) Die("scan_begins: no row, or several");
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
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const uint64_t number = std::strtoull(argv[i + 1], nullptr, 0);
    if (flag == "--rows") {
      lab.rows = number;
    } else if (flag == "--columns") {
      lab.columns = static_cast<uint32_t>(number);
    } else if (flag == "--scans") {
      lab.scans = number;
    } else if (flag == "--pause-us") {
      lab.pause_us = static_cast<uint32_t>(number);
    } else {
      Die("scan_begins: no flag " + flag);
    }
  }
  if (lab.rows < 1024 || lab.columns == 0 || lab.scans == 0) {
    Die("scan_begins: 1024 rows, a column and a scan at least");
  }
  return lab;
}

int Run(int argc, char** argv) {
  const LabOptions lab = Parse(argc, argv);
  const std::unique_ptr<Engine> engine = Load(lab);
  const auto session = engine->NewSession();
  const json steady = Spread(Begin(*session, lab.scans));
  // relaxed: it ends the loop; the join orders the rest.
  std::atomic<bool> stop{false};
  uint64_t moves = 0;
  std::thread mover([&] {
    const KeyRange leaving{.lo = lab.rows / 8 * 3, .hi = lab.rows / 2};
    for (uint32_t to = 1; !stop.load(std::memory_order_relaxed); to = 1 - to, ++moves) {
      Must(engine->MoveRange(kTable, leaving, AeuId{to}, TransferKind::kCopy));
    }
  });
  const json moving = Spread(Begin(*session, lab.scans));
  stop.store(true, std::memory_order_relaxed);
  mover.join();
  uint32_t longest_us = 0;
  for (const TransferRecord& one : engine->TransferHistory()) {
    longest_us = std::max(longest_us, one.longest_pause_wall_us);
  }
  engine->Close();
  const json report{
      {"rows", lab.rows},
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
