// Like Figure 9 of the paper: full scans of a column by all AEUs, with the column placed by the
// engine, interleaved over all NumaNodes, or all on one of them.
//
//   scan_placement [--placements local,interleaved,one] [--queries sum_a,count_a,groups,rows_a]
//                  [--aeus 0] [--rows 67108864] [--rounds 7]
//     GB/s of each AEU while it scans, and of all together as the caller sees it. 0 AEUs: one per
//     core. Rounds are interleaved, their order rotates. On one NumaNode there is but one
//     placement.
//   scan_placement --counted [--placements ...] [--queries ...] [--rows 1048576] [--maps]
//     for the access counter (tests/numa/scan_placement.py): one AEU on each NumaNode, every other
//     thread on other cpus, one scan of each kind counted.
//
// A sum, a filter of a tenth of the rows with a count, a sum by 8 groups, and the rows of that
// tenth.
// Prints a JSON object a line for each placement and query. Every answer is compared with what was
// stored.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "bench/counted_cpus.h"
#include "bench/key_order.h"
#include "bench/must.h"
#include "bench/report.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "engine/engine_impl.h"
#include "eris/engine.h"
#include "eris/expression.h"
#include "tests/numa/phase_marks.h"
#include "tests/numa/plugin/node_memory.h"

namespace eris::bench {
namespace {

using nlohmann::json;
using namespace eris::expressions;

__extension__ typedef unsigned __int128 Uint128;

constexpr uint64_t kBelow = ~uint64_t{0} / 10;  // a tenth of the rows
constexpr char kTable[] = "columns";

struct LabOptions {
  std::vector<std::string> placements;  // empty: all that the machine supports
  std::vector<std::string> queries = {"sum_a", "count_a", "groups", "rows_a"};
  uint32_t aeus = 0;
  uint64_t rows = 0;
  int rounds = 7;
  bool counted = false;
  bool maps = false;
};

// Groups over which the rows are spread evenly.
constexpr uint64_t kGroups = 8;

struct Row {
  uint64_t a;
  int32_t g;
};
Row RowAt(uint64_t i) {
  return {Mix(i), static_cast<int32_t>(Mix(i + (uint64_t{1} << 40)) % kGroups)};
}

struct NamedQuery {
  const char* name;
  Query query;
  uint64_t bytes_read;         // bytes of the columns
  uint64_t bytes_written = 0;  // bytes of returned rows
  Uint128 answer = 0;          // as Scan adds it up
};

std::vector<NamedQuery> AllQueries(uint64_t rows) {
  Uint128 sum = 0, sum_below = 0, sum_of_groups = 0;
  uint64_t below = 0;
  for (uint64_t i = 0; i < rows; ++i) {
    const Row row = RowAt(i);
    sum += row.a;
    sum_of_groups += Uint128{row.a} * static_cast<uint64_t>(row.g + 1);
    if (row.a >= kBelow) continue;
    ++below;
    sum_below += row.a;
  }
  const Expression a = Column("a");
  const AggregateColumn sum_a{AggregateFunction::kSum, a, "sum"};
  const AggregateColumn count{AggregateFunction::kCount, std::nullopt, "count"};
  const uint64_t bytes = rows * sizeof(uint64_t);
  return {{"sum_a", {.aggregates = {sum_a}}, bytes, 0, sum},
          {"count_a", {.filter = a < Literal(kBelow), .aggregates = {count}}, bytes, 0, below},
          {"groups", {.group_by = {"g"}, .aggregates = {sum_a}}, bytes * 3 / 2, 0, sum_of_groups},
          {"rows_a",
           {.filter = a < Literal(kBelow), .columns = {{a, "a"}}},
           bytes,
           below * sizeof(uint64_t),
           sum_below}};
}

std::vector<NamedQuery> Queries(const LabOptions& options) {
  std::vector<NamedQuery> all = AllQueries(options.rows), asked;
  for (const std::string& name : options.queries) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const NamedQuery& one) { return one.name == name; });
    if (found == all.end()) Die("no query " + name);
    asked.push_back(*found);
  }
  return asked;
}

// The measurement of one run of a query.
struct Taken {
  double gb_s = 0;
  std::vector<double> gb_s_of_aeus;
};

// A table with one placement of its memory.
class PlacedTable {
 public:
  PlacedTable(const LabOptions& options, std::string placement, const CountedCpus* cpus)
      : placement_(std::move(placement)), rows_(options.rows) {
    Options open{.aeu_count = options.aeus, .memory_placement = PlacementOf(placement_)};
    if (cpus != nullptr) {
      cpus->AllowAll();
      open.aeu_cpus = cpus->aeus;
      // With a few huge pages it would be chance whether they are local.
      if (placement_ == "interleaved") open.huge_pages = HugePages::kNone;
    }
    engine_ = Must(engine::EngineImpl::Open(open, engine::EngineImpl::Threads::kStart));
    for (const std::string& note : engine_->Notes()) std::fprintf(stderr, "%s\n", note.c_str());
    if (cpus != nullptr) cpus->KeepOthersAway();
    session_ = engine_->NewSession();
    Fill();
  }
  ~PlacedTable() {
    session_.reset();
    engine_->Close();
  }

  const std::string& placement() const { return placement_; }
  engine::EngineImpl& engine() { return *engine_; }

  void Scan(const NamedQuery& query) {
    const auto scan = Must(session_->OpenScan(table_, query.query));
    Uint128 answer = 0;
    for (;;) {
      const auto chunk = Must(scan->Next());
      if (chunk == nullptr) break;
      const size_t last = chunk->schema().columns.size() - 1;
      const size_t width = ColumnValueBytes(chunk->schema().columns[last].type);
      for (uint64_t row = 0; row < chunk->rows(); ++row) {
        Uint128 value = 0;
        std::memcpy(&value, static_cast<const char*>(chunk->column(last).values) + row * width,
                    width);
        // A group's sum counts by its number.
        if (last > 0) {
          const auto* groups = static_cast<const int32_t*>(chunk->column(0).values);
          value *= static_cast<uint64_t>(groups[row] + 1);
        }
        answer += value;
      }
    }
    if (answer != query.answer) Die(std::string("a wrong answer of ") + query.name);
  }

  Taken ScanAndMeasure(const NamedQuery& query) {
    const EngineStats before = AtRest();
    const uint64_t begin_ns = NowNs();
    Scan(query);
    Taken taken;
    taken.gb_s = GbPerS(query.bytes_read, NowNs() - begin_ns);
    const EngineStats after = AtRest();
    for (size_t i = 0; i < after.aeus.size(); ++i) {
      const uint64_t rows = after.aeus[i].rows_scanned - before.aeus[i].rows_scanned;
      taken.gb_s_of_aeus.push_back(GbPerS(rows * (query.bytes_read / rows_),
                                          after.aeus[i].busy_ns - before.aeus[i].busy_ns));
    }
    return taken;
  }

 private:
  static double GbPerS(uint64_t bytes, uint64_t ns) {
    return ns == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(ns);
  }

  void Fill() {
    Must(engine_->Create(kTable, {.kind = ObjectKind::kHeapTable,
                                  .schema = {{{.name = "a", .type = ColumnType::kUint64},
                                              {.name = "g", .type = ColumnType::kInt32}}}}));
    table_ = Must(session_->Open(kTable));
    constexpr uint64_t kBatch = 1 << 18;
    std::vector<uint64_t> a(kBatch);
    std::vector<int32_t> g(kBatch);
    for (uint64_t at = 0; at < rows_; at += kBatch) {
      const uint64_t rows = std::min(kBatch, rows_ - at);
      for (uint64_t i = 0; i < rows; ++i) {
        const Row row = RowAt(at + i);
        a[i] = row.a;
        g[i] = row.g;
      }
      const ColumnView columns[] = {{a.data()}, {g.data()}};
      Must(session_->Write(table_, {.mode = WriteMode::kAppend, .rows = {rows, columns}}).status);
    }
  }

  // The figures after the AEUs' last turns.
  EngineStats AtRest() {
    const auto busy = [](const EngineStats& stats) {
      uint64_t ns = 0;
      for (const AeuStats& aeu : stats.aeus) ns += aeu.busy_ns;
      return ns;
    };
    for (EngineStats stats = engine_->Stats();;) {
      absl::SleepFor(absl::Milliseconds(2));
      EngineStats later = engine_->Stats();
      if (busy(later) == busy(stats)) return later;
      stats = std::move(later);
    }
  }

  const std::string placement_;
  const uint64_t rows_;
  std::unique_ptr<engine::EngineImpl> engine_;
  std::unique_ptr<Session> session_;
  Object table_;
};

void Print(const json& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

int Count(const LabOptions& options) {
  if (const std::string wrong = numa_lab::ReadKnownPages(); !wrong.empty()) {
    Die(wrong);
  }
  const CountedCpus cpus = CountedCpus::Find();
  const std::vector<NamedQuery> queries = Queries(options);
  uint8_t phase = 0;
  for (const std::string& placement : options.placements) {
    PlacedTable table(options, placement, &cpus);
    const auto marks = Must(numa_lab::PhaseMarks::Create(table.engine()));
    for (const NamedQuery& query : queries) {
      // Not counted: first calls resolve symbols.
      table.Scan(query);
      marks->Set(++phase);
      table.Scan(query);
      marks->Set(0);
      Print({{"placement", placement},
             {"query", query.name},
             {"phase", phase},
             {"aeus", cpus.aeus.size()},
             {"bytes", query.bytes_read + query.bytes_written}});
    }
    if (options.maps && placement == "local") numa_lab::PrintMaps();
  }
  return 0;
}

int Measure(const LabOptions& options) {
  const std::vector<NamedQuery> queries = Queries(options);
  std::vector<std::unique_ptr<PlacedTable>> tables;
  for (const std::string& placement : options.placements) {
    tables.push_back(std::make_unique<PlacedTable>(options, placement, nullptr));
  }
  for (const NamedQuery& query : queries) {
    std::vector<std::vector<Taken>> taken(tables.size());
    for (int round = -1; round < options.rounds; ++round) {
      for (size_t i = 0; i < tables.size(); ++i) {
        const size_t which = (i + static_cast<size_t>(round + 1)) % tables.size();
        Taken one = tables[which]->ScanAndMeasure(query);
        if (round >= 0) taken[which].push_back(std::move(one));
      }
    }
    for (size_t i = 0; i < tables.size(); ++i) {
      std::vector<double> together;
      std::vector<std::vector<double>> apart(taken[i][0].gb_s_of_aeus.size());
      for (const Taken& one : taken[i]) {
        together.push_back(one.gb_s);
        for (size_t aeu = 0; aeu < apart.size(); ++aeu) {
          apart[aeu].push_back(one.gb_s_of_aeus[aeu]);
        }
      }
      json of_aeus = json::array(), numa_nodes = json::array();
      for (const auto& of_aeu : apart) of_aeus.push_back(Spread(of_aeu));
      for (const AeuStats& aeu : tables[i]->engine().Stats().aeus) {
        numa_nodes.push_back(aeu.numa_node.value);
      }
      Print({{"placement", tables[i]->placement()},
             {"query", query.name},
             {"gb_s", Spread(together)},
             {"gb_s_of_aeus", of_aeus},
             {"numa_nodes_of_aeus", numa_nodes}});
    }
  }
  return 0;
}

int Main(int argc, char** argv) {
  LabOptions options;
  ParseFlags(argc, argv,
             {{"--counted", options.counted},
              {"--maps", options.maps},
              {"--placements", options.placements},
              {"--queries", options.queries},
              {"--aeus", options.aeus, 0},
              {"--rows", options.rows, 0},
              {"--rounds", options.rounds, 1}});
  if (options.rows == 0) options.rows = options.counted ? 1 << 20 : 1 << 26;
  if (options.placements.empty()) {
    options.placements = {"local"};
    if (numa_lab::NumaNodesWithMemory().size() > 1) {
      options.placements.insert(options.placements.end(), {"interleaved", "one"});
    }
  }
  return options.counted ? Count(options) : Measure(options);
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
