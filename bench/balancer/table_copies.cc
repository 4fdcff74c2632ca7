// Copies tables between two real AEUs without other load. Measures how long moving an eighth of the
// rows to the other AEU and back takes, and the longest time that one turn of an AEU spends on it.
//
//   table_copies [--rows 2000000] [--columns 8] [--string 0] [--pause-us 200] [--rounds 3]
//                [--heap 0]
//
// `string`: bytes of a column of strings, 0: none; all differ. `heap`: 1: a heap table, whose rows
// are appended to one AEU, and spread by a cycle of the balancer. Prints one JSON object.
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/time/clock.h"
#include "bench/balancer/balancer_json.h"
#include "bench/balancer/lab_object.h"
#include "bench/must.h"
#include "bench/routing/flags.h"
#include "eris/engine.h"

namespace eris::bench {
namespace {

using nlohmann::json;

struct LabOptions {
  LabShape shape{.kind = "table", .rows = 2'000'000};
  uint32_t pause_us = 200;
  uint32_t rounds = 3;
};

LabOptions Parse(int argc, char** argv) {
  LabOptions lab;
  uint32_t heap = 0;
  ParseFlags(argc, argv,
             {{"--rows", lab.shape.rows, 1024},
              {"--columns", lab.shape.columns, 2},
              {"--string", lab.shape.string, 0},
              {"--pause-us", lab.pause_us, 0},
              {"--rounds", lab.rounds, 0},
              {"--heap", heap, 0, 1}});
  if (heap == 1) lab.shape.kind = "heap";
  return lab;
}

int Run(int argc, char** argv) {
  const LabOptions lab = Parse(argc, argv);
  Options options;
  options.aeu_count = 2;
  options.balancer.max_pause_us = lab.pause_us;
  options.balancer.enabled = false;
  const std::unique_ptr<Engine> engine = Must(Engine::Open(options));
  const std::unique_ptr<Session> session = engine->NewSession();
  const bool heap = lab.shape.kind == "heap";
  const uint64_t rows = lab.shape.rows;
  LabObject object(lab.shape);
  object.Create(*engine, *session);
  const absl::Time began = absl::Now();
  if (!heap) object.Fill(*session);
  const KeyRange leaving{.lo = rows / 8 * 3, .hi = rows / 2};
  for (uint64_t round = 0; round < lab.rounds; ++round) {
    if (heap) {
      object.Fill(*session, rows * round / lab.rounds, rows * (round + 1) / lab.rounds);
      Must(engine->Rebalance(LabObject::kName));
      absl::SleepFor(absl::Milliseconds(300));
      continue;
    }
    for (const uint32_t target : {1, 0}) {
      Must(engine->MoveRange(LabObject::kName, leaving, AeuId{target}, TransferKind::kCopy));
      absl::SleepFor(absl::Milliseconds(300));
    }
  }
  json report{{"rows", rows},
              {"columns", lab.shape.columns},
              {"string_bytes", lab.shape.string},
              {"heap", heap},
              {"pause_us", lab.pause_us}};
  for (const TransferRecord& one : engine->TransferHistory()) {
    report["transfers"].push_back(JsonOf(one, began));
  }
  engine->Close();
  std::cout << report.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Run(argc, argv); }
