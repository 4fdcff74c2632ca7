// The query benchmark's process: TPC-H's eight tables in an engine, and its 22 queries as Substrait
// plans. Reads a command per line and answers each with a line of JSON; run.py drives it and DuckDB
// in turns.
//
//   query_bench --data DIR --plans DIR [--aeus 2] [--cpus N]
//   query_bench ... --queries 1,3,5|all [--rounds 5] [--answers FILE] [--moving]
//
//   --data: the folder of the .tbl files. --plans: that of qNN.plan.
//   --cpus: the process may use the first N cpus alone; default: all.
//
//   load                loads the tables
//   run N               query N; also the page faults that it took
//   at_once N COUNT     query N by COUNT readers that begin together: until the last has ended
//   tasks own|las|nls   how the queries after it are scheduled
//   moving 0|1          ends or begins to move ranges of the tables all the time
//   lookups MS 0|1      single lookups in an index, without or with the queries in a loop
//   clients C ROUNDS    the queries by C threads at once, each in its own order
//   loop SECONDS        the queries again and again: the memory of the process
//   cancel COUNT SEED   cancels queries at random moments: how soon they are gone
//
// With --queries there are no commands: it loads, runs them in rounds after one that is not
// counted, and prints a line for each; --answers also writes the rows to a file, as
// tests/tpch/answer_check.py compares them.
//
// `ms` is the caller's waiting time: reading the plan, the query, and copying its rows out.
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/must.h"
#include "bench/queries/at_once.h"
#include "bench/queries/query_loads.h"
#include "bench/queries/tpch_engine.h"
#include "bench/report.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "clients/cli/files/cell_text.h"

namespace eris::bench {
namespace {

using nlohmann::json;

struct BenchOptions {
  std::string data;
  std::string plans;
  uint32_t aeus = 2;
  uint32_t cpus = 0;    // 0: all that are allowed
  std::string queries;  // empty: commands
  uint32_t rounds = 5;
  std::string answers;
  bool moving = false;
};

// Minor ones, of all threads.
uint64_t PageFaults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_minflt);
}

// Doubles are numbers, all else is text.
json CellOf(const ColumnSchema& column, const client::OwnedRows& rows, size_t i, uint64_t row) {
  if (rows.IsNull(i, row)) return nullptr;
  if (column.type == ColumnType::kFloat64) return rows.Get<double>(i, row);
  std::string text;
  cli::AppendCell(column, rows, i, row, &text);
  return text;
}

json JsonOf(const QueryAnswer& answer) {
  json columns = json::array(), rows = json::array();
  for (const ColumnSchema& column : answer.schema.columns) columns.push_back(column.name);
  for (const client::OwnedRows& chunk : answer.chunks) {
    for (uint64_t row = 0; row < chunk.rows; ++row) {
      json cells = json::array();
      for (size_t i = 0; i < answer.schema.columns.size(); ++i) {
        cells.push_back(CellOf(answer.schema.columns[i], chunk, i, row));
      }
      rows.push_back(std::move(cells));
    }
  }
  return {{"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

class QueryBench {
 public:
  explicit QueryBench(const BenchOptions& options)
      : options_(options), tpch_(options.aeus, options.plans) {}

  json Ask(const std::vector<std::string>& words) {
    const std::string& name = words[0];
    const auto is = [&](const char* what, size_t arguments) {
      return name == what && words.size() == arguments + 1;
    };
    if (is("load", 0)) return Load();
    if (session_ == nullptr) Die("the tables are not loaded: load");
    if (is("run", 1)) return Run(Number(words[1], 1u, kTpchQueries));
    if (is("at_once", 2)) {
      return AtOnce(Number(words[1], 1u, kTpchQueries), Number(words[2], 1u, 1024u));
    }
    if (is("tasks", 1)) return Schedule(words[1]);
    if (is("moving", 1)) return Moving(words[1] == "1");
    if (is("lookups", 2)) {
      return Lookups(tpch_, Number<uint64_t>(words[1], 1, 3'600'000), words[2] == "1");
    }
    if (is("clients", 2)) {
      return Clients(tpch_, Number(words[1], 1u, 1024u), Number(words[2], 1u, 1'000'000u));
    }
    if (is("loop", 1)) return ResidentLoop(tpch_, Number(words[1], 0.0, 1e6));
    if (is("cancel", 2)) {
      return CancelQueries(tpch_, Number(words[1], 1u, 1'000'000u),
                           Number<uint64_t>(words[2], 0, ~uint64_t{0}));
    }
    Die("no command " + name + " with " + std::to_string(words.size() - 1) + " arguments");
  }

  // Without commands.
  void RunRounds(const std::vector<uint32_t>& queries) {
    std::printf("%s\n", Load().dump().c_str());
    if (options_.moving) Moving(true);
    std::vector<std::vector<double>> ms(queries.size());
    json answers;
    for (uint32_t round = 0; round <= options_.rounds; ++round) {
      for (size_t i = 0; i < queries.size(); ++i) {
        json one = Run(queries[i]);
        if (one.contains("error")) Die(one["error"]);
        if (round > 0) ms[i].push_back(one["ms"]);
        one.erase("ms"), one.erase("faults");
        answers[std::to_string(queries[i])] = std::move(one);
      }
    }
    for (size_t i = 0; i < queries.size(); ++i) {
      const json& answer = answers[std::to_string(queries[i])];
      const json line{
          {"query", queries[i]}, {"ms", Spread(ms[i])}, {"rows", answer["rows"].size()}};
      std::printf("%s\n", line.dump().c_str());
    }
    if (options_.moving) std::printf("%s\n", Moving(false).dump().c_str());
    if (!options_.answers.empty()) WriteReport(options_.answers, answers);
  }

 private:
  json Load() {
    if (session_ != nullptr) Die("the tables are loaded");
    const uint64_t begin_ns = NowNs();
    const uint64_t rows = tpch_.Load(options_.data);
    session_ = tpch_.engine().NewSession();
    return {{"ms", MsSince(begin_ns)}, {"rows", rows}};
  }

  // A query that fails is told, for the others to go on.
  json Run(uint32_t number) {
    const uint64_t faults = PageFaults();
    const uint64_t begin_ns = NowNs();
    const absl::StatusOr<QueryAnswer> answer = tpch_.Run(*session_, number);
    const double ms = MsSince(begin_ns);
    const uint64_t taken = PageFaults() - faults;
    if (!answer.ok()) return {{"error", answer.status().ToString()}};
    json found = JsonOf(*answer);
    found["ms"] = ms;
    found["faults"] = taken;
    return found;
  }

  json AtOnce(uint32_t number, uint32_t readers) {
    std::vector<uint64_t> rows(readers);
    const double ms = MsOfAll(tpch_.engine(), readers, [&](uint32_t reader, Session& session) {
      for (const auto& chunk : Must(tpch_.Run(session, number)).chunks) rows[reader] += chunk.rows;
    });
    if (std::count(rows.begin(), rows.end(), rows[0]) != readers) Die("different answers");
    return {{"ms", ms}, {"rows", rows[0]}};
  }

  // Also what AEUs have done so far by each rule.
  json Schedule(const std::string& name) {
    const auto found = std::find(kTaskSchedulingNames.begin(), kTaskSchedulingNames.end(), name);
    if (found == kTaskSchedulingNames.end()) Die("tasks is " + name + ", must be own, las or nls");
    const auto number = found - kTaskSchedulingNames.begin();
    Must(tpch_.engine().SetTaskScheduling(static_cast<TaskScheduling>(number)));
    std::vector<uint64_t> taken(kTaskRules);
    uint64_t far = 0, wakes = 0;
    for (const AeuStats& aeu : tpch_.engine().Stats().aeus) {
      for (size_t rule = 0; rule < kTaskRules; ++rule) taken[rule] += aeu.tasks.taken[rule];
      far += aeu.tasks.far;
      wakes += aeu.tasks.wakes;
    }
    return {{"taken", taken}, {"far", far}, {"wakes", wakes}};
  }

  json Moving(bool moving) {
    if (moving == (mover_ != nullptr)) Die(moving ? "ranges are moving" : "no range is moving");
    if (moving) {
      if (options_.aeus < 2) Die("moving wants two AEUs: --aeus 2");
      mover_ = std::make_unique<RangeMover>(tpch_, options_.aeus);
      return json::object();
    }
    json moved = mover_->Stop();
    mover_.reset();
    return moved;
  }

  static double MsSince(uint64_t begin_ns) { return static_cast<double>(NowNs() - begin_ns) / 1e6; }

  const BenchOptions options_;
  TpchEngine tpch_;
  std::unique_ptr<Session> session_;  // nullptr: nothing is loaded
  std::unique_ptr<RangeMover> mover_;
};

void UseCpus(uint32_t count) {
  const std::vector<int> allowed = AllowedCpus();
  if (count > allowed.size()) {
    Die("--cpus is " + std::to_string(count) + ", this process may use " +
        std::to_string(allowed.size()));
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  for (uint32_t i = 0; i < count; ++i) CPU_SET(allowed[i], &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) Die("sched_setaffinity failed");
}

int Main(int argc, char** argv) {
  BenchOptions options;
  ParseFlags(argc, argv,
             {{"--data", options.data},
              {"--plans", options.plans},
              {"--aeus", options.aeus, 1},
              {"--cpus", options.cpus, 1},
              {"--queries", options.queries},
              {"--rounds", options.rounds, 1},
              {"--answers", options.answers},
              {"--moving", options.moving}});
  if (options.data.empty() || options.plans.empty()) Die("--data and --plans are missing");
  if (options.cpus > 0) UseCpus(options.cpus);
  QueryBench bench(options);
  if (!options.queries.empty()) {
    std::vector<uint32_t> queries(kTpchQueries);
    std::iota(queries.begin(), queries.end(), 1u);
    if (options.queries != "all") queries = Numbers(options.queries, 1, kTpchQueries);
    bench.RunRounds(queries);
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::vector<std::string> command;
    for (std::string word; words >> word;) command.push_back(word);
    if (command.empty()) continue;
    std::printf("%s\n", bench.Ask(command).dump().c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
