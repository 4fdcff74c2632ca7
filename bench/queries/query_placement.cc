// TPC-H's 22 queries for the access counter (tests/numa/query_placement.py): one AEU on each
// NumaNode, every other thread on other cpus. Each query runs twice before it is counted.
//
//   query_placement --data DIR --plans DIR [--placement local|interleaved|one] [--queries
//   1,3,5|all]
//                   [--maps]
//
//   --data: the folder of the .tbl files. --plans: that of qNN.plan.
//   --maps: prints where the program's code and data are, to examine single addresses.
//
// Prints a JSON object a line for each query: what is counted for query N is in phase N. "analysis"
// is the text of Session::AnalyzeQuery, which has the bytes that went between AEUs. The last line
// has the address ranges of the engine's pools, if their memory is local.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bench/counted_cpus.h"
#include "bench/counted_engine.h"
#include "bench/must.h"
#include "bench/queries/await_quiet.h"
#include "bench/queries/tpch_engine.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "engine/engine_impl.h"
#include "eris/engine.h"
#include "tests/numa/phase_marks.h"
#include "tests/numa/plugin/node_memory.h"
#include "tests/numa/pool_ranges.h"

namespace eris::bench {
namespace {

static_assert(kTpchQueries < numa_lab::kPhasesMax);

struct LabOptions {
  std::string data;
  std::string plans;
  std::string placement = "local";
  std::string queries = "all";
  bool maps = false;
};

std::unique_ptr<engine::EngineImpl> OpenEngine(const std::string& placement,
                                               const CountedCpus& cpus) {
  Options options{.memory_placement = PlacementOf(placement)};
  // With a few huge pages it would be chance whether they are local.
  if (placement == "interleaved") options.huge_pages = HugePages::kNone;
  return OpenCounted(options, cpus);
}

// Runs the query to the last thing that AEUs do of it. Returns the number of its rows.
uint64_t Run(TpchEngine& tpch, Session& session, uint32_t number) {
  uint64_t rows = 0;
  {
    const QueryAnswer answer = Must(tpch.Run(session, number));
    for (const client::OwnedRows& chunk : answer.chunks) rows += chunk.rows;
  }
  AwaitQuiet(tpch.engine());
  return rows;
}

void Print(const nlohmann::json& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

void PrintPools() {
  nlohmann::json ranges = nlohmann::json::array();
  for (const numa_lab::PoolRange& range : numa_lab::PoolRanges()) {
    ranges.push_back({range.begin, range.end});
  }
  Print({{"pools", ranges}});
}

int Main(int argc, char** argv) {
  LabOptions options;
  ParseFlags(argc, argv,
             {{"--data", options.data},
              {"--plans", options.plans},
              {"--placement", options.placement},
              {"--queries", options.queries},
              {"--maps", options.maps}});
  if (options.data.empty() || options.plans.empty()) Die("--data and --plans are missing");
  if (const std::string wrong = numa_lab::ReadKnownPages(); !wrong.empty()) Die(wrong);
  std::vector<uint32_t> queries(kTpchQueries);
  std::iota(queries.begin(), queries.end(), 1u);
  if (options.queries != "all") queries = Numbers(options.queries, 1, kTpchQueries);

  const CountedCpus cpus = CountedCpus::Find();
  auto opened = OpenEngine(options.placement, cpus);
  engine::EngineImpl& engine = *opened;
  const auto aeus = static_cast<uint32_t>(cpus.aeus.size());
  TpchEngine tpch(std::move(opened), aeus, options.plans);
  const uint64_t begin_ns = NowNs();
  const uint64_t loaded = tpch.Load(options.data);
  Print({{"loaded", loaded}, {"seconds", static_cast<double>(NowNs() - begin_ns) / 1e9}});
  const auto marks = Must(numa_lab::PhaseMarks::Create(engine));
  const auto session = engine.NewSession();
  for (const uint32_t number : queries) {
    const uint64_t query_ns = NowNs();
    // Not counted: first calls resolve symbols, and the kernel gives memory for the first time.
    const std::string analysis = Must(session->AnalyzeQuery(Must(tpch.Plan(number))));
    const uint64_t rows = Run(tpch, *session, number);
    marks->Set(static_cast<uint8_t>(number));
    const uint64_t counted_rows = Run(tpch, *session, number);
    marks->Set(0);
    if (counted_rows != rows) Die("query " + std::to_string(number) + " has other rows");
    Print({{"query", number},
           {"placement", options.placement},
           {"aeus", aeus},
           {"rows", rows},
           {"seconds", static_cast<double>(NowNs() - query_ns) / 1e9},
           {"analysis", analysis}});
  }
  PrintPools();
  if (options.maps) numa_lab::PrintMaps();
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
