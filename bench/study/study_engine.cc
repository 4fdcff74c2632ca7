// The locality study's queries as plans in an engine. Reads a command per line and answers each
// with a line of JSON; run.py runs it in turns with DuckDB.
//
//   study_engine --scale X [--aeus 2] [--cpus N] [--seed 1] [--dataset D] [--parts w1,w3,...]
//                [--query-memory own|malloc] [--counted --commands C,...]
//
//   --counted: for the access counter (tests/numa). An AEU on each NumaNode, all else on other
//              cpus. The commands are those of --commands, with commas between them
//   --query-memory: where queries' rows, groups and tables come from (query_memory_seam.h)
//
//   load                makes the tables of the parts; default: of w1, w2, w3, w4 and skew
//   run PART            a query: rows and checksum, as the blind program has them (blind/queries.h)
//   at_once PART COUNT  the same by COUNT readers that begin together: until the last has ended
//   tasks own|las|nls   how queries after it are scheduled; the tasks by each rule so far
//   lookups MS PART     single lookups in an index, while the query runs over and over
//   idle SECONDS        sleeps and cpu time of AEUs' threads while nothing is asked
//   phase N             what AEUs do from here is counted as phase N; 0: no longer (with --counted)
//   memory              bytes of the process, and those that queries ask for; also the most of
//                       each since the command before
//
// W1 groups and takes medians, W2 groups and counts, W3 is a join by hash, W4 the engine's index
// join. `skew` is W3 with foreign keys of Zipf's law with exponent 1, all of whose rows are at one
// AEU. W1 to W3 and `skew` sum up their rows in the plan, W4 in the reader.
#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "bench/counted_cpus.h"
#include "bench/counted_engine.h"
#include "bench/memory/process_memory.h"
#include "bench/must.h"
#include "bench/process_usage.h"
#include "bench/queries/at_once.h"
#include "bench/queries/await_quiet.h"
#include "bench/queries/single_lookups.h"
#include "bench/report.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "bench/study/blind/datasets.h"
#include "bench/study/query_memory_seam.h"
#include "eris/engine.h"
#include "tests/numa/phase_marks.h"
#include "tests/numa/plugin/node_memory.h"

namespace eris::bench::study {
namespace {

using nlohmann::json;

struct EngineOptions {
  double scale = 0.1;
  uint32_t aeus = 2;
  uint32_t cpus = 0;
  uint64_t seed = 1;
  std::string dataset;  // of W1 and W2; empty: the paper's for each
  std::string query_memory = "own";
  bool counted = false;
};

const std::vector<ColumnSchema> kRecordColumns = {{"key", ColumnType::kInt64, 0, false},
                                                  {"value", ColumnType::kInt64, 0, false}};

class StudyEngine {
 public:
  explicit StudyEngine(const EngineOptions& options)
      : options_(options),
        groups_(Sizes::OfGroups(options.scale)),
        join_(Sizes::OfJoin(options.scale)),
        medians_(DistributionOf(Word(options, "moving-cluster")), groups_, options.seed),
        counts_(DistributionOf(Word(options, "zipf")), groups_, options.seed),
        foreign_(DistributionOf("sequential"), join_, options.seed) {
    if (options.counted) {
      auto counted = OpenCounted({}, CountedCpus::Find());
      marks_ = Must(numa_lab::PhaseMarks::Create(*counted));
      engine_ = std::move(counted);
    } else {
      Options engine;
      engine.aeu_count = options.aeus;
      engine.balancer.enabled = false;
      engine_ = Must(Engine::Open(engine));
    }
    session_ = engine_->NewSession();
  }

  json Load(const std::vector<std::string>& parts) {
    const auto wants = [&](const char* part) {
      return parts.empty() || std::find(parts.begin(), parts.end(), part) != parts.end();
    };
    const uint64_t begin_ns = NowNs();
    if (wants("w1")) LoadHeap("w1", groups_.records, [&](uint64_t i) { return medians_.At(i); });
    if (wants("w2")) LoadHeap("w2", groups_.records, [&](uint64_t i) { return counts_.At(i); });
    if (wants("w3")) LoadHeap("w3", join_.records, [&](uint64_t i) { return foreign_.At(i); });
    if (wants("w3") || wants("skew")) {
      LoadHeap("primary", join_.keys, [&](uint64_t i) { return foreign_.PrimaryAt(i); });
    }
    if (wants("skew")) LoadSkewed();
    if (wants("w4")) LoadIndexes();
    return {{"ms", static_cast<double>(NowNs() - begin_ns) / 1e6}};
  }

  json Run(const std::string& name) {
    const uint64_t begin_ns = NowNs();
    const Answer answer = Read(*session_, name);
    return Told(static_cast<double>(NowNs() - begin_ns) / 1e9, answer);
  }

  json RunAtOnce(const std::string& name, uint32_t readers) {
    std::vector<Answer> answers(readers);
    const double ms = MsOfAll(*engine_, readers, [&](uint32_t reader, Session& session) {
      answers[reader] = Read(session, name);
    });
    if (std::count(answers.begin(), answers.end(), answers[0]) != std::ssize(answers)) {
      Die("readers have different answers");
    }
    return Told(ms / 1e3, answers[0]);
  }

  json LookUp(uint64_t ms, const std::string& name) {
    return SingleLookups(*engine_, ms, [&](Session& session) { Read(session, name); });
  }

  json CountInto(uint8_t phase) {
    if (marks_ == nullptr) Die("phase needs --counted");
    AwaitQuiet(*engine_);
    marks_->Set(phase);
    return {{"phase", phase}};
  }

  static json Idle(double seconds) {
    const Usage before = UsageNow();
    absl::SleepFor(absl::Seconds(seconds));
    const Usage after = UsageNow();
    return {{"switches", after.aeu_wakeups - before.aeu_wakeups},
            {"cpu_s", after.aeu_cpu_s - before.aeu_cpu_s}};
  }

  static json Memory() {
    const QueryMemoryAsked asked = AskedQueryMemory();
    const ProcessMemory process = ProcessMemory::Now();
    return {{"resident", process.resident},
            {"resident_most", ProcessMemory::TakePeakResident()},
            {"lazily_freed", process.lazily_freed},
            {"asked", asked.now},
            {"asked_most", asked.most}};
  }

  json Schedule(const std::string& name) {
    const auto found = std::find(kTaskSchedulingNames.begin(), kTaskSchedulingNames.end(), name);
    if (found == kTaskSchedulingNames.end()) Die("tasks is " + name + ", must be own, las or nls");
    Must(engine_->SetTaskScheduling(
        static_cast<TaskScheduling>(found - kTaskSchedulingNames.begin())));
    json taken = json::object();
    uint64_t wakes = 0;
    for (const AeuStats& aeu : engine_->Stats().aeus) {
      wakes += aeu.tasks.wakes;
      for (size_t rule = 0; rule < kTaskRules; ++rule) {
        const std::string rule_name(kTaskRuleNames[rule]);
        taken[rule_name] = taken.value(rule_name, uint64_t{0}) + aeu.tasks.taken[rule];
      }
    }
    return {{"taken", std::move(taken)}, {"wakes", wakes}};
  }

 private:
  static constexpr uint64_t kBatchRows = 1 << 15;

  using Answer = std::pair<uint64_t, uint64_t>;  // rows, checksum

  static json Told(double seconds, const Answer& answer) {
    return {
        {"seconds", seconds}, {"rows", answer.first}, {"checksum", std::to_string(answer.second)}};
  }

  static std::string Word(const EngineOptions& options, const char* otherwise) {
    return options.dataset.empty() ? otherwise : options.dataset;
  }

  template <class At>
  void LoadHeap(const std::string& name, uint64_t rows, At at) {
    Schema schema;
    schema.columns = kRecordColumns;
    Must(engine_->Create(name, {.kind = ObjectKind::kHeapTable, .schema = schema}).status());
    const Object object = Must(session_->Open(name));
    std::array<std::vector<int64_t>, 2> columns;
    for (uint64_t first = 0; first < rows; first += kBatchRows) {
      const uint64_t count = std::min(kBatchRows, rows - first);
      for (auto& column : columns) column.resize(count);
      for (uint64_t i = 0; i < count; ++i) {
        const Record record = at(first + i);
        columns[0][i] = static_cast<int64_t>(record.key);
        columns[1][i] = static_cast<int64_t>(record.value);
      }
      const std::array<ColumnView, 2> views{ColumnView{.values = columns[0].data()},
                                            ColumnView{.values = columns[1].data()}};
      Must(session_
               ->Write(object,
                       {.mode = WriteMode::kAppend, .rows = {.rows = count, .columns = views}})
               .status);
    }
  }

  // All rows are below the first boundary, so at AEU 0. The key of rank r comes as often as 1 / r.
  void LoadSkewed() {
    Schema schema;
    schema.columns = {{"row", ColumnType::kInt64, 0, false}, kRecordColumns[0], kRecordColumns[1]};
    schema.key = {0};
    CreateOptions create{.kind = ObjectKind::kTable, .schema = schema};
    for (uint32_t aeu = 1; aeu < options_.aeus; ++aeu) {
      create.split_points.push_back((uint64_t{1} << 63) + (uint64_t{1} << 62) + aeu);
    }
    Must(engine_->Create("skew", create).status());
    const Object object = Must(session_->Open("skew"));
    const double log_keys = std::log(static_cast<double>(join_.keys));
    std::array<std::vector<int64_t>, 3> columns;
    for (uint64_t first = 0; first < join_.records; first += kBatchRows) {
      const uint64_t count = std::min(kBatchRows, join_.records - first);
      for (auto& column : columns) column.resize(count);
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t row = first + i;
        const double u = static_cast<double>(foreign_.At(row).value) * 0x1p-31;
        const auto rank = static_cast<uint64_t>(std::exp(u * log_keys));
        columns[0][i] = static_cast<int64_t>(row);
        // Ranks are spread over the keys, as a hash of them would be.
        columns[1][i] = static_cast<int64_t>(rank * 0x9e3779b97f4a7c15 % join_.keys);
        columns[2][i] = static_cast<int64_t>(foreign_.At(row).value);
      }
      std::array<ColumnView, 3> views;
      for (size_t c = 0; c < 3; ++c) views[c].values = columns[c].data();
      Must(session_
               ->Write(object,
                       {.mode = WriteMode::kUpsert, .rows = {.rows = count, .columns = views}})
               .status);
    }
  }

  void LoadIndexes() {
    foreign_values_.resize(join_.records);
    for (uint64_t i = 0; i < join_.records; ++i) foreign_values_[i] = foreign_.At(i).value;
    LoadIndex("pk", join_.keys, [&](uint64_t i) { return foreign_.PrimaryAt(i).value; });
    LoadIndex("fk", join_.records, [&](uint64_t i) { return foreign_.At(i).key; });
  }
  template <class At>
  void LoadIndex(const std::string& name, uint64_t rows, At at) {
    Must(engine_->Create(name, {.expected = {0, rows - 1}}).status());
    const Object object = Must(session_->Open(name));
    std::vector<uint64_t> keys, values;
    for (uint64_t first = 0; first < rows; first += kBatchRows) {
      keys.clear(), values.clear();
      for (uint64_t i = first; i < std::min(rows, first + kBatchRows); ++i) {
        keys.push_back(i);
        values.push_back(at(i));
      }
      Must(session_->Upsert(object, keys, values));
    }
  }

  // W3's two sides, or what is grouped, then one row: the number of rows, and a sum over them.
  QueryPlan PlanOf(const std::string& name) const {
    using namespace expressions;
    QueryPlan plan;
    const auto add = [&](PlanNode node) {
      plan.nodes.push_back(std::move(node));
      return static_cast<uint32_t>(plan.nodes.size() - 1);
    };
    uint32_t rows = 0;
    Expression one, other;
    if (name == "w1" || name == "w2") {
      const uint32_t read = add(ReadNode{.object = name});
      Measure measure;
      if (name == "w1") measure = {.function = AggregateFunction::kMedian, .argument = Field(1)};
      rows = add(AggregateNode{.input = read, .keys = {0}, .measures = {measure}});
      one = Field(0) + Literal(1);
      other = Field(1);
    } else {
      const uint32_t primary = add(ReadNode{.object = "primary"});
      const uint32_t foreign = name == "skew" ? add(ReadNode{.object = name, .columns = {1, 2}})
                                              : add(ReadNode{.object = name});
      rows = add(JoinNode{.left = foreign, .right = primary, .keys = {{0, 0}}});
      one = Field(3) + Literal(1);
      other = Field(1) + Literal(1);
    }
    // Twice a median is a whole number.
    if (name == "w1") other = Cast(Field(1) * Literal(2.0), ColumnType::kInt64) + Literal(1);
    const uint32_t sums = add(ProjectNode{.input = rows, .columns = {one * other}});
    add(AggregateNode{
        .input = sums,
        .measures = {Measure{}, {.function = AggregateFunction::kSum, .argument = Field(0)}}});
    return plan;
  }

  Answer Read(Session& session, const std::string& name) const {
    return name == "w4" ? IndexJoin(session) : Sum(session, name);
  }

  Answer Sum(Session& session, const std::string& name) const {
    auto query = Must(session.OpenQuery(PlanOf(name)));
    const auto chunk = Must(query->Next());
    if (chunk == nullptr) Die("a query has no answer");
    const auto* count = static_cast<const uint64_t*>(chunk->column(0).values);
    // A sum has 128 bits; the checksum is modulo 2^64.
    const auto* sum = static_cast<const uint64_t*>(chunk->column(1).values);
    return {*count, *sum};
  }

  Answer IndexJoin(Session& session) const {
    auto join = Must(session.OpenJoin(Must(session.Open("fk")), Must(session.Open("pk")), {}));
    uint64_t rows = 0, checksum = 0;
    while (const auto chunk = Must(join->Next())) {
      const auto* row = static_cast<const uint64_t*>(chunk->column(0).values);
      const auto* value = static_cast<const uint64_t*>(chunk->column(2).values);
      for (uint64_t i = 0; i < chunk->rows(); ++i) {
        checksum += (value[i] + 1) * (foreign_values_[row[i]] + 1);
      }
      rows += chunk->rows();
    }
    return {rows, checksum};
  }

  const EngineOptions options_;
  const Sizes groups_;
  const Sizes join_;
  const Dataset medians_;
  const Dataset counts_;
  const Dataset foreign_;
  std::vector<uint64_t> foreign_values_;  // of W4's reader, by row
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<numa_lab::PhaseMarks> marks_;  // only if it is counted
  std::unique_ptr<Session> session_;
};

void UseCpus(uint32_t count) {
  const std::vector<int> allowed = AllowedCpus();
  if (count > allowed.size()) Die("--cpus is more than this process may use");
  cpu_set_t set;
  CPU_ZERO(&set);
  for (uint32_t i = 0; i < count; ++i) CPU_SET(allowed[i], &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) Die("sched_setaffinity failed");
}

json Obey(StudyEngine& engine, const std::vector<std::string>& parts, const std::string& line) {
  std::istringstream words(line);
  std::string command, what, more;
  words >> command >> what >> more;
  if (command == "load") return engine.Load(parts);
  if (command == "run") return engine.Run(what);
  if (command == "at_once") return engine.RunAtOnce(what, Number(more, 1u, 1024u));
  if (command == "tasks") return engine.Schedule(what);
  if (command == "phase") {
    return engine.CountInto(Number<uint8_t>(what, 0, numa_lab::kPhasesMax - 1));
  }
  if (command == "lookups") return engine.LookUp(Number<uint64_t>(what, 1, 3'600'000), more);
  if (command == "idle") return StudyEngine::Idle(Number(what, 0.0, 3600.0));
  if (command == "memory") return StudyEngine::Memory();
  Die("no command " + command);
}

void Print(const json& answer) {
  std::printf("%s\n", answer.dump().c_str());
  std::fflush(stdout);
}

int Main(int argc, char** argv) {
  EngineOptions options;
  std::vector<std::string> parts, commands;
  ParseFlags(argc, argv,
             {{"--scale", options.scale, 1e-9, 1.0},
              {"--aeus", options.aeus, 1},
              {"--cpus", options.cpus, 1},
              {"--seed", options.seed, 0},
              {"--dataset", options.dataset},
              {"--parts", parts},
              {"--counted", options.counted},
              {"--commands", commands},
              {"--query-memory", options.query_memory, {"own", "malloc"}}});
  if (options.cpus > 0) UseCpus(options.cpus);
  if (options.query_memory == "malloc") TakeQueryMemoryFromMalloc();
  if (options.counted) {
    if (const std::string wrong = numa_lab::ReadKnownPages(); !wrong.empty()) Die(wrong);
  }
  StudyEngine engine(options);
  if (options.counted) {
    for (const std::string& line : commands) Print(Obey(engine, parts, line));
  } else {
    for (std::string line; std::getline(std::cin, line);) Print(Obey(engine, parts, line));
  }
  return 0;
}

}  // namespace
}  // namespace eris::bench::study

int main(int argc, char** argv) { return eris::bench::study::Main(argc, argv); }
