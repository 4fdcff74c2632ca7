// A program that knows of no NumaNode, for the locality study: one query of the paper by all cpus,
// with one shared table, all memory from malloc. Everything else is set from outside: the allocator
// by preloading, threads and memory by the flags below.
//
//   study_blind [--query w1|w2|w3|w4] [--data moving-cluster|sequential|zipf] [--scale 0.1]
//               [--threads <cpus>] [--affinity none|dense|sparse]
//               [--placement first-touch|interleave|local|preferred] [--pages never|advised|always]
//               [--load threads|main] [--seed 1] [--repeat 1] [--check] [--write PATH] [--phase 0]
//
//   --data     default: the paper's for that query
//   --scale    1: 100 million records in a million groups; joins of 16 with 256 million records
//   --pages    default: as the system has it
//   --load     who makes the records, and so touches them first: all threads, or main alone
//   --repeat   how often the query runs, over the same records
//   --check    compares the answer with one by a map and a sort; exit code 1 if it differs
//   --write    writes the records to PATH.records and PATH.primary
//   --phase    the counter's phase of the first repetition (counted_phase.h); the next one has the
//              next phase. The program then also reads a known page of each NumaNode
//   --plant-fault leaves out a record; --check must find it
//
//   study_blind --arrivals 100 [--rate 10] [--idle-s 5] [--scale 0.02] [--seed 1]
//
// The second form is in arrivals.h. Prints a JSON object. `seconds` is the query without the
// freeing of its memory; figures in bytes that begin with "resident" are the process's.
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/memory/process_memory.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "bench/study/blind/arrivals.h"
#include "bench/study/blind/counted_phase.h"
#include "bench/study/blind/datasets.h"
#include "bench/study/blind/loaded_tables.h"
#include "bench/study/blind/process_counters.h"
#include "bench/study/blind/process_setting.h"
#include "bench/study/blind/queries.h"
#include "bench/study/blind/reference.h"
#include "bench/study/blind/requested_bytes.h"
#include "bench/study/blind/team.h"

namespace eris::bench::study {
namespace {

struct Flags {
  std::string query = "w1";
  std::string data;
  double scale = 0.1;
  uint32_t threads = 0;
  std::string affinity = "none";
  std::string placement = "first-touch";
  std::string pages = "system";
  std::string load = "threads";
  uint64_t seed = 1;
  uint32_t repeat = 1;
  uint32_t phase = 0;
  uint32_t arrivals = 0;
  double rate = 0;
  double idle_s = 5;
  std::string write;
  bool check = false;
  bool plant_fault = false;
};

Flags ParseAll(int argc, char** argv) {
  Flags flags;
  ParseFlags(argc, argv,
             {{"--query", flags.query, {"w1", "w2", "w3", "w4"}},
              {"--data", flags.data, {"moving-cluster", "sequential", "zipf"}},
              {"--scale", flags.scale, 1e-6, 1.0},
              {"--threads", flags.threads, 1, 1024},
              {"--affinity", flags.affinity, {"none", "dense", "sparse"}},
              {"--placement", flags.placement, {"first-touch", "interleave", "local", "preferred"}},
              {"--pages", flags.pages, {"system", "never", "advised", "always"}},
              {"--load", flags.load, {"threads", "main"}},
              {"--seed", flags.seed, 0},
              {"--repeat", flags.repeat, 1, 1000},
              {"--phase", flags.phase, 0, numa_lab::kPhasesMax - 1},
              {"--arrivals", flags.arrivals, 0, 1'000'000},
              {"--rate", flags.rate, 0.0, 1e6},
              {"--idle-s", flags.idle_s, 0.0, 3600.0},
              {"--write", flags.write},
              {"--check", flags.check},
              {"--plant-fault", flags.plant_fault}});
  if (flags.threads == 0) flags.threads = static_cast<uint32_t>(AllowedCpus().size());
  // The paper's Table IV.
  if (flags.data.empty()) {
    flags.data = flags.query == "w1"   ? "moving-cluster"
                 : flags.query == "w2" ? "zipf"
                                       : "sequential";
  }
  if (flags.phase != 0 && flags.phase + flags.repeat > numa_lab::kPhasesMax) {
    Die("the counter has no phase for each repetition");
  }
  return flags;
}

// One run of the query, from its first allocation until all is freed.
nlohmann::json RunOnce(const Flags& flags, uint32_t number, const Tables& tables, const Team& team,
                       Answer& answer) {
  // W4's index is there before the query begins, and is none of its memory.
  std::unique_ptr<Query> query;
  if (flags.query == "w4") query = MakeIndexJoin(tables, team);
  const int64_t resident_before = ProcessMemory::Now().resident;
  TellRequested();
  const RequestedBytes requested_before = Requested();
  if (query == nullptr) query = MakeQuery(flags.query, tables);
  const ProcessCounters counters;
  const uint64_t begin_ns = NowNs();
  {
    const CountedPhase counted(flags.phase == 0 ? 0 : flags.phase + number);
    answer = query->Work(team);
  }
  const uint64_t worked_ns = NowNs();
  const int64_t faults = counters.minor_faults();
  const double cpu_seconds = counters.cpu_seconds();
  const std::optional<int64_t> migrations = counters.migrations();
  const auto balancing = counters.balancing();
  TellRequested();
  const RequestedBytes requested = Requested();
  const ProcessMemory held = ProcessMemory::Now();
  const uint64_t free_begin_ns = NowNs();
  query->Free(team);
  if (flags.query != "w4") query.reset();
  const uint64_t freed_ns = NowNs();
  const ProcessMemory after = ProcessMemory::Now();
  return {{"seconds", static_cast<double>(worked_ns - begin_ns) * 1e-9},
          {"free_seconds", static_cast<double>(freed_ns - free_begin_ns) * 1e-9},
          {"cpu_seconds", cpu_seconds},
          {"minor_faults", faults},
          {"migrations", migrations ? nlohmann::json(*migrations) : nlohmann::json()},
          {"balancing", balancing},
          {"requested_bytes", requested.all - requested_before.all},
          {"requested_calls", requested.calls - requested_before.calls},
          {"live_bytes", requested.live() - requested_before.live()},
          {"resident_before", resident_before},
          {"resident", held.resident},
          {"huge_bytes", held.huge},
          {"resident_after", after.resident},
          {"rows", answer.rows},
          {"checksum", std::to_string(answer.checksum)}};
}

nlohmann::json RunQuery(const Flags& flags) {
  const Team team(flags.threads, CpusFor(flags.affinity, flags.threads));
  const LoadedTables loaded(IsJoin(flags.query), DistributionOf(flags.data), flags.scale,
                            flags.seed, flags.pages == "advised",
                            flags.load == "main" ? Team::OfCaller() : team);
  if (!flags.write.empty()) loaded.Write(flags.write);
  const Tables all = loaded.tables();
  Tables tables = all;
  if (flags.plant_fault) tables.records = all.records.first(all.records.size() - 1);
  nlohmann::json report = {{"query", flags.query},
                           {"data", flags.data},
                           {"scale", flags.scale},
                           {"records", all.records.size()},
                           {"keys", all.keys},
                           {"threads", flags.threads},
                           {"affinity", flags.affinity},
                           {"placement", flags.placement},
                           {"pages", flags.pages},
                           {"system_huge_pages", SystemHugePages()},
                           {"load", flags.load},
                           {"seed", flags.seed},
                           {"data_bytes", loaded.bytes()}};
  Answer answer;
  for (uint32_t i = 0; i < flags.repeat; ++i) {
    report["runs"].push_back(RunOnce(flags, i, tables, team, answer));
  }
  report["resident_peak"] = ProcessMemory::PeakResident();
  if (flags.check) {
    const Answer right = ReferenceOf(flags.query, all);
    if (answer != right) {
      Die("wrong: " + std::to_string(answer.rows) + " rows, checksum " +
          std::to_string(answer.checksum) + "; right: " + std::to_string(right.rows) + ", " +
          std::to_string(right.checksum));
    }
    report["checked"] = true;
  }
  return report;
}

nlohmann::json RunArrivalsOf(const Flags& flags) {
  const Team loaders(flags.threads, {});
  const LoadedTables groups(false, Distribution::kMovingCluster, flags.scale, flags.seed, false,
                            loaders);
  const LoadedTables join(true, Distribution::kSequential, flags.scale, flags.seed, false, loaders);
  nlohmann::json report = RunArrivals(
      groups.tables(), join.tables(),
      {.queries = flags.arrivals, .rate = flags.rate, .idle_s = flags.idle_s, .seed = flags.seed});
  report["data_bytes"] = groups.bytes() + join.bytes();
  return report;
}

int Main(int argc, char** argv) {
  const Flags flags = ParseAll(argc, argv);
  SetPages(flags.pages);
  SetPlacement(flags.placement);
  if (flags.phase != 0) {
    const std::string wrong = numa_lab::ReadKnownPages();
    if (!wrong.empty()) Die(wrong);
  }
  const nlohmann::json report = flags.arrivals > 0 ? RunArrivalsOf(flags) : RunQuery(flags);
  std::printf("%s\n", report.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace eris::bench::study

int main(int argc, char** argv) { return eris::bench::study::Main(argc, argv); }
