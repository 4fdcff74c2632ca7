// Copies of tables between two real AEUs, with nobody else about: what moving an eighth of the rows
// to the other AEU and back takes, and what one turn of an AEU has spent on it at most.
//
//   table_copies [--rows 2000000] [--columns 8] [--string 0] [--pause-us 200] [--rounds 3]
//                [--heap 0]
//
// `string`: bytes of a column of strings, 0: none; all differ. `heap`: 1: of a heap table, whose
// rows are appended to one AEU, and spread by a cycle of the balancer. Prints one JSON object.
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/balancer/balancer_json.h"
#include "bench/routing/machine.h"
#include "eris/engine.h"

namespace eris::bench {
namespace {

using nlohmann::json;

constexpr char kObject[] = "rows";

struct LabOptions {
  uint64_t rows = 2'000'000;
  uint32_t columns = 8;
  uint32_t string = 0;
  uint32_t pause_us = 200;
  uint32_t rounds = 3;
  bool heap = false;
};

void Must(const absl::Status& status) {
  if (!status.ok()) Die("table_copies: " + std::string(status.message()));
}

// Of a heap table: to one AEU, since each append is a piece and the AEUs take turns.
void Fill(Session& session, const LabOptions& lab, uint64_t first, uint64_t end) {
  const uint64_t batch = lab.heap ? 1024 : 65536;
  std::vector<uint64_t> keys, numbers;
  std::vector<uint32_t> offsets;
  std::string text;
  for (uint64_t row = first; row < end;) {
    keys.clear();
    numbers.clear();
    text.clear();
    offsets.assign(1, 0);
    for (; keys.size() < batch && row < end; ++row) {
      keys.push_back(row);
      numbers.push_back(row * 0x9e3779b97f4a7c15);
      const std::string digits = absl::StrCat(numbers.back());
      while (text.size() < offsets.back() + lab.string) text += digits;
      text.resize(offsets.back() + lab.string);
      offsets.push_back(static_cast<uint32_t>(text.size()));
    }
    std::vector<ColumnView> columns{{.values = keys.data()}};
    columns.resize(lab.columns, {.values = numbers.data()});
    if (lab.string > 0) columns.push_back({.values = text.data(), .offsets = offsets.data()});
    if (!lab.heap) {
      Must(session.UpsertRows(kObject, RowBatch{keys.size(), columns}));
      continue;
    }
    Must(session.AppendRows(kObject, RowBatch{keys.size(), columns}));
    Must(session.AppendRows(kObject, RowBatch{1, columns}));
  }
}

LabOptions Parse(int argc, char** argv) {
  LabOptions lab;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const auto number = std::strtoull(argv[i + 1], nullptr, 0);
    if (flag == "--rows") {
      lab.rows = number;
    } else if (flag == "--columns") {
      lab.columns = static_cast<uint32_t>(number);
    } else if (flag == "--string") {
      lab.string = static_cast<uint32_t>(number);
    } else if (flag == "--pause-us") {
      lab.pause_us = static_cast<uint32_t>(number);
    } else if (flag == "--rounds") {
      lab.rounds = static_cast<uint32_t>(number);
    } else if (flag == "--heap") {
      lab.heap = number != 0;
    } else {
      Die("table_copies: no flag " + flag);
    }
  }
  if (lab.rows < 1024 || lab.columns < 2) Die("table_copies: 1024 rows, two columns at least");
  return lab;
}

int Run(int argc, char** argv) {
  const LabOptions lab = Parse(argc, argv);
  Options options;
  options.aeu_count = 2;
  options.balancer.max_pause_us = lab.pause_us;
  options.balancer.enabled = false;
  auto opened = Engine::Open(options);
  Must(opened.status());
  Engine& engine = **opened;
  Schema schema{.columns = {{.name = "key", .type = ColumnType::kUint64}}};
  if (!lab.heap) schema.key = {0};
  for (uint32_t i = 1; i < lab.columns; ++i) {
    schema.columns.push_back({.name = absl::StrCat("c", i), .type = ColumnType::kUint64});
  }
  if (lab.string > 0) schema.columns.push_back({.name = "text", .type = ColumnType::kString});
  TableOptions table;
  if (!lab.heap) table.split_points = {lab.rows / 2};
  Must(engine.CreateTable(kObject, schema, table).status());
  const std::unique_ptr<Session> session = engine.NewSession();
  const absl::Time began = absl::Now();
  for (uint64_t round = 0; lab.heap && round < lab.rounds; ++round) {
    Fill(*session, lab, lab.rows * round / lab.rounds, lab.rows * (round + 1) / lab.rounds);
    Must(engine.Rebalance(kObject).status());
    absl::SleepFor(absl::Milliseconds(300));
  }
  if (!lab.heap) Fill(*session, lab, 0, lab.rows);
  const KeyRange leaving{.lo = lab.rows / 8 * 3, .hi = lab.rows / 2};
  for (uint32_t round = 0; !lab.heap && round < lab.rounds; ++round) {
    for (const uint32_t target : {1, 0}) {
      Must(engine.MoveRange(kObject, leaving, AeuId{target}, TransferKind::kCopy));
      absl::SleepFor(absl::Milliseconds(300));
    }
  }
  json report{{"rows", lab.rows},
              {"columns", lab.columns},
              {"string_bytes", lab.string},
              {"heap", lab.heap},
              {"pause_us", lab.pause_us}};
  for (const TransferRecord& one : engine.TransferHistory()) {
    report["transfers"].push_back(JsonOf(one, began));
  }
  engine.Close();
  std::cout << report.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Run(argc, argv); }
