// ERIS, embedded, compared with the same tree shared by all threads, by the protocol of the paper's
// evaluation. Paper: ERIS 4, Figures 8 and 9.
//
//   shared_index_lab [--keys 67108864] [--threads <cpus>] [--layout dense|sparse]
//                    [--placement interleaved|single|first_touch]
//                    [--structures eris,shared,shared_batched] [--rounds 3]
//                    [--rewrite-seconds 2] [--lookup-seconds 3] [--in-flight 16] [--batch 1024]
//                    [--seed 1] [--json FILE|-]
//
//   eris             an engine with one AEU per thread, each on its own core, and the same number
//                    of sessions. Each session has a thread that keeps --in-flight batches of
//                    --batch keys outstanding. Sessions and AEUs share the cores: that is the cost
//                    of routing. (A higher --in-flight means fewer thread switches: 16 M sparse
//                    keys, 2 cores, M lookups/s with 1, 2, 8, 16, 64: 17.5, 19.5, 25.5, 30.0,
//                    33.1.)
//   shared           the shared tree, one key at a time
//   shared_batched   the same in batches of --batch, with lookups in groups as in an AEU
//
// The structures alternate. Each round of each runs in its own process, in three phases:
// - inserts all keys, in random order (inserts: the figure that counts as upserts);
// - writes random keys again for a while (rewrites; with 0 seconds the phase is left out);
// - looks random keys up.
// With every structure, the process may use one cpu per thread, one of each core before a second
// one of any. Sparse keys are spread over all 64 bits.
//
// With all structures, keys are made in the measured loops, and every value found is compared with
// its key. --placement is for the shared tree: the engine places its memory by itself. A wrong key
// or value ends the program. M is a million.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/index/probes.h"
#include "bench/memory/process_memory.h"
#include "bench/must.h"
#include "bench/report.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "bench/shared/shared_memory.h"
#include "bench/shared/shared_tree.h"
#include "eris/engine.h"
#include "topology/topology.h"

namespace eris::bench {
namespace {

struct Flags {
  KeySpace space{.count = 1 << 26, .sparse = true};
  uint32_t threads = 0;
  std::string placement = "interleaved";
  std::vector<std::string> structures = {"eris", "shared", "shared_batched"};
  uint32_t rounds = 3;
  double rewrite_s = 2;
  double lookup_s = 3;
  uint32_t in_flight = 16;
  uint32_t batch = 1024;
  uint32_t seed = 1;
  std::string json;
};

constexpr char kObject[] = "keys";

// Which operation a phase repeats, and with which keys.
enum class Phase { kInsert, kRewrite, kLookup };

// The batches of one thread, made on demand.
class Source {
 public:
  Source(const Flags& flags, Phase phase, uint32_t thread)
      : space_(flags.space),
        phase_(phase),
        next_(phase == Phase::kInsert ? Share(flags, thread)
                                      : Mix(flags.seed) + (uint64_t{thread} << 40) +
                                            (phase == Phase::kLookup ? uint64_t{1} << 60 : 0)),
        end_(phase == Phase::kInsert ? Share(flags, thread + 1) : ~uint64_t{0}) {}

  // Fills `keys`; returns their number, 0: no more.
  size_t Next(std::vector<uint64_t>& keys) {
    const size_t count = std::min<uint64_t>(keys.size(), end_ - next_);
    for (size_t i = 0; i < count; ++i) {
      keys[i] = phase_ == Phase::kInsert ? space_.Shuffled(next_ + i)
                                         : space_.KeyOfRank(WalkAt(next_ + i, space_.count));
    }
    next_ += count;
    return count;
  }
  // The values to store: different ones for inserts and rewrites.
  void Values(const uint64_t* keys, size_t count, std::vector<uint64_t>& values) const {
    for (size_t i = 0; i < count; ++i) values[i] = ValueOf(keys[i], phase_ == Phase::kRewrite);
  }

 private:
  static uint64_t Share(const Flags& flags, uint32_t thread) {
    return flags.space.count / flags.threads * thread +
           std::min<uint64_t>(thread, flags.space.count % flags.threads);
  }
  const KeySpace space_;
  const Phase phase_;
  uint64_t next_;
  const uint64_t end_;
};

[[noreturn]] void DieOfWrongAnswer(const char* what) { Die(what); }

void Check(const uint64_t* keys, const uint64_t* values, size_t found, size_t count) {
  uint64_t differing = 0;
  for (size_t i = 0; i < count; ++i) differing |= Differing(keys[i], values[i]);
  if (found != count) DieOfWrongAnswer("a key is missing");
  if (differing != 0) DieOfWrongAnswer("a wrong value");
}

// The measured work: one thread's part of a phase, until the source ends or `until_ns`; returns the
// number of processed keys.
class Structure {
 public:
  virtual ~Structure() = default;
  virtual uint64_t Work(uint32_t thread, Phase phase, Source& source, uint64_t until_ns) = 0;
  // REQUIRES: no thread is working.
  virtual uint64_t CountKeys() = 0;
};

class SharedStructure : public Structure {
 public:
  SharedStructure(const Flags& flags, bool batched)
      : flags_(flags),
        batched_(batched),
        memory_(flags.placement == "interleaved" ? SharedPlacement::kInterleaved
                : flags.placement == "single"    ? SharedPlacement::kSingle
                                                 : SharedPlacement::kFirstTouch,
                uint64_t{1} << 44),
        tree_(memory_.manager()) {}

  uint64_t Work(uint32_t, Phase phase, Source& source, uint64_t until_ns) override {
    SharedTree::Thread thread(tree_);
    std::vector<uint64_t> keys(flags_.batch), values(flags_.batch);
    const auto found = std::make_unique<bool[]>(flags_.batch);
    uint64_t done = 0;
    size_t count;
    while ((count = source.Next(keys)) > 0) {
      if (phase == Phase::kLookup) {
        if (batched_) {
          thread.Lookup(keys.data(), count, values.data(), found.get());
        } else {
          for (size_t i = 0; i < count; ++i) {
            const std::optional<uint64_t> value = thread.Lookup(keys[i]);
            found[i] = value.has_value();
            values[i] = value.value_or(0);
          }
        }
        Check(keys.data(), values.data(), std::count(&found[0], &found[count], true), count);
      } else {
        source.Values(keys.data(), count, values);
        Store(thread, keys, values, count, phase == Phase::kInsert);
      }
      done += count;
      if (NowNs() >= until_ns) break;
    }
    return done;
  }
  uint64_t CountKeys() override { return tree_.CountKeys(); }

 private:
  void Store(SharedTree::Thread& thread, const std::vector<uint64_t>& keys,
             const std::vector<uint64_t>& values, size_t count, bool inserts) {
    size_t inserted = 0;
    if (batched_) {
      const std::optional<size_t> added = thread.Upsert(keys.data(), values.data(), count);
      if (!added) Die("no memory");
      inserted = *added;
    } else {
      for (size_t i = 0; i < count; ++i) {
        const UpsertResult result = thread.Upsert(keys[i], values[i]);
        if (result == UpsertResult::kNoMemory) Die("no memory");
        inserted += result == UpsertResult::kInserted;
      }
    }
    if (inserted != (inserts ? count : 0)) DieOfWrongAnswer("a key was there, or was not");
  }

  const Flags& flags_;
  const bool batched_;
  SharedMemory memory_;
  SharedTree tree_;
};

class ErisStructure : public Structure {
 public:
  explicit ErisStructure(const Flags& flags) : flags_(flags) {
    Options options;
    options.aeu_count = flags.threads;
    options.huge_pages = HugePages::kAdvised;  // like the shared tree
    engine_ = Must(Engine::Open(options));
    CreateOptions create;
    if (!flags.space.sparse) create.expected = {0, flags.space.count};
    Must(engine_->Create(kObject, create));
    object_ = Must(engine_->NewSession()->Open(kObject));
  }

  uint64_t Work(uint32_t, Phase phase, Source& source, uint64_t until_ns) override {
    const std::unique_ptr<Session> session = engine_->NewSession();
    // A call's keys must stay until it is answered.
    std::vector<Call> calls(flags_.in_flight);
    for (Call& call : calls) call.keys.resize(flags_.batch);
    std::vector<uint64_t> values(flags_.batch);
    uint64_t done = 0;
    for (size_t at = 0;; at = (at + 1) % calls.size()) {
      Call& call = calls[at];
      // Acquire: pairs with the release in Answered.
      call.under_way.wait(true, std::memory_order_acquire);
      if (NowNs() >= until_ns) break;
      call.count = source.Next(call.keys);
      if (call.count == 0) break;
      call.under_way.store(true, std::memory_order_relaxed);  // the request publishes it
      const absl::Span<const uint64_t> keys(call.keys.data(), call.count);
      if (phase == Phase::kLookup) {
        Must(session->LookupAsync(object_, keys, [&call](const BatchResult& result) {
          CheckFound(call, result);
          Answered(call);
        }));
      } else {
        source.Values(call.keys.data(), call.count, values);
        const bool inserts = phase == Phase::kInsert;
        Must(session->UpsertAsync(object_, keys, {values.data(), call.count},
                                  [&call, inserts](const BatchResult& result) {
                                    CheckStored(call, result, inserts);
                                    Answered(call);
                                  }));
      }
      done += call.count;
    }
    for (Call& call : calls) call.under_way.wait(true, std::memory_order_acquire);
    return done;
  }
  uint64_t CountKeys() override { return engine_->Describe(kObject)->keys; }

 private:
  struct Call {
    std::vector<uint64_t> keys;
    size_t count = 0;
    std::atomic<bool> under_way{false};
  };
  static void Answered(Call& call) {
    call.under_way.store(false, std::memory_order_release);
    call.under_way.notify_one();
  }
  static size_t BitsOf(const std::string& bits) {
    size_t count = 0;
    for (const char byte : bits) count += __builtin_popcount(static_cast<unsigned char>(byte));
    return count;
  }
  static void CheckFound(const Call& call, const BatchResult& result) {
    Must(result.status);
    // A string's characters are aligned like any block of memory.
    Check(call.keys.data(), reinterpret_cast<const uint64_t*>(result.columns[0].values.data()),
          BitsOf(result.existed), call.count);
  }
  static void CheckStored(const Call& call, const BatchResult& result, bool inserts) {
    Must(result.status);
    if (BitsOf(result.existed) != (inserts ? 0 : call.count)) {
      DieOfWrongAnswer("a key was there, or was not");
    }
  }

  const Flags& flags_;
  std::unique_ptr<Engine> engine_;
  Object object_;
};

// Keys per second of all threads together, from the moment that all are ready until the last ends.
double Rate(const Flags& flags, const std::vector<int>& cpus, Structure& structure, Phase phase,
            bool pinned, double seconds) {
  std::vector<std::thread> threads;
  std::atomic<uint64_t> done{0};
  uint64_t begin_ns = 0;
  std::barrier ready(flags.threads, [&]() noexcept { begin_ns = NowNs(); });
  for (uint32_t i = 0; i < flags.threads; ++i) {
    threads.emplace_back([&, i] {
      if (pinned) PinTo(cpus[i % cpus.size()]);
      Source source(flags, phase, i);
      ready.arrive_and_wait();
      const uint64_t until_ns =
          phase == Phase::kInsert ? ~uint64_t{0} : begin_ns + static_cast<uint64_t>(seconds * 1e9);
      // Relaxed: read after the thread's end.
      done.fetch_add(structure.Work(i, phase, source, until_ns), std::memory_order_relaxed);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(done.load()) * 1e9 / static_cast<double>(NowNs() - begin_ns);
}

// Restricts this thread, and those that it starts, to one cpu for each of the flags' threads.
void KeepOneCpuPerThread(const Flags& flags) {
  const auto topology = topology::Topology::Discover();
  if (!topology.ok()) Die(std::string(topology.status().message()));
  cpu_set_t set;
  CPU_ZERO(&set);
  uint32_t left = flags.threads;
  for (size_t hardware_thread = 0, found = 1; left > 0 && found > 0; ++hardware_thread) {
    found = 0;
    for (const topology::Core& core : topology->cores()) {
      if (hardware_thread >= core.cpus.size() || left == 0) continue;
      CPU_SET(core.cpus[hardware_thread], &set);
      ++found, --left;
    }
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0) Die("pinning failed");
}

struct Figures {
  double inserts_s = 0, rewrites_s = 0, lookups_s = 0, bytes_per_key = 0, cpus_of_others = 0;
};

// In the child: one round of one structure.
Figures Measure(const Flags& flags, const std::string& name) {
  KeepOneCpuPerThread(flags);  // before the engine reads where it may place AEUs
  const std::vector<int> cpus = AllowedCpus();
  const OtherLoad others(cpus);
  const int64_t before = ProcessMemory::Now().anonymous;
  std::unique_ptr<Structure> structure;
  const bool eris = name == "eris";
  if (eris) {
    structure = std::make_unique<ErisStructure>(flags);
  } else {
    structure = std::make_unique<SharedStructure>(flags, name == "shared_batched");
  }
  Figures figures;
  // Sessions are not pinned to one cpu: AEUs are, and the scheduler knows where there is room.
  figures.inserts_s = Rate(flags, cpus, *structure, Phase::kInsert, !eris, 0);
  if (structure->CountKeys() != flags.space.count) DieOfWrongAnswer("keys are missing");
  figures.bytes_per_key = static_cast<double>(ProcessMemory::Now().anonymous - before) /
                          static_cast<double>(flags.space.count);
  if (flags.rewrite_s > 0) {
    figures.rewrites_s = Rate(flags, cpus, *structure, Phase::kRewrite, !eris, flags.rewrite_s);
  }
  figures.lookups_s = Rate(flags, cpus, *structure, Phase::kLookup, !eris, flags.lookup_s);
  figures.cpus_of_others = others.Cpus();
  return figures;
}

// In a separate process, so that nothing is left of the previous one.
Figures MeasureApart(const Flags& flags, const std::string& name) {
  int ends[2];
  if (pipe(ends) != 0) Die("no pipe");
  const pid_t child = fork();
  if (child < 0) Die("no process");
  if (child == 0) {
    close(ends[0]);
    const Figures figures = Measure(flags, name);
    const bool told = write(ends[1], &figures, sizeof figures) == sizeof figures;
    _exit(told ? 0 : 1);  // the process's end frees the memory faster
  }
  close(ends[1]);
  Figures figures;
  const bool told = read(ends[0], &figures, sizeof figures) == sizeof figures;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!told || status != 0) Die(name + " could not be measured");
  return figures;
}

struct Field {
  const char* name;
  double Figures::*of;
  bool is_rate;
};
constexpr Field kFields[] = {{"inserts_s", &Figures::inserts_s, true},
                             {"rewrites_s", &Figures::rewrites_s, true},
                             {"lookups_s", &Figures::lookups_s, true},
                             {"bytes_per_key", &Figures::bytes_per_key, false},
                             {"cpus_taken_by_others", &Figures::cpus_of_others, false}};
bool Measured(const Flags& flags, const Field& field) {
  return field.of != &Figures::rewrites_s || flags.rewrite_s > 0;
}

std::vector<double> Column(const std::vector<Figures>& rounds, double Figures::*of) {
  std::vector<double> column;
  for (const Figures& figures : rounds) column.push_back(figures.*of);
  return column;
}

nlohmann::json JsonOf(const Flags& flags, const std::map<std::string, std::vector<Figures>>& all,
                      double cache_line_ns) {
  nlohmann::json report{
      {"machine",
       {{"cpu", CpuModel()}, {"cpus", AllowedCpus().size()}, {"cache_line_ns", cache_line_ns}}},
      {"build_type", ERIS_BENCH_BUILD_TYPE},
      {"keys", flags.space.count},
      {"layout", flags.space.sparse ? "sparse" : "dense"},
      {"threads", flags.threads},
      {"placement", flags.placement},
      {"batch", flags.batch},
      {"in_flight", flags.in_flight},
      {"seed", flags.seed},
      {"ratios", nlohmann::json::object()}};
  const auto eris = all.find("eris");
  for (const auto& [name, rounds] : all) {
    nlohmann::json& one = report["structures"][name];
    one["rounds"] = std::vector<nlohmann::json>(rounds.size());
    for (const Field& field : kFields) {
      if (!Measured(flags, field)) continue;
      const std::vector<double> column = Column(rounds, field.of);
      for (size_t i = 0; i < rounds.size(); ++i) one["rounds"][i][field.name] = column[i];
      one[field.name] = Spread(column);
      if (eris == all.end() || name == "eris" || !field.is_rate) continue;
      std::vector<double> ratios = Column(eris->second, field.of);
      for (size_t i = 0; i < rounds.size(); ++i) ratios[i] /= column[i];
      report["ratios"]["eris_over_" + name + "_" + field.name] = Spread(ratios);
    }
  }
  return report;
}

Flags Parse(int argc, char** argv) {
  Flags flags;
  std::string layout = "sparse";
  ParseFlags(argc, argv,
             {{"--keys", flags.space.count, 1 << 10, 1u << 31},
              {"--threads", flags.threads, 1, 1024},
              {"--layout", layout, {"dense", "sparse"}},
              {"--placement", flags.placement, {"interleaved", "single", "first_touch"}},
              {"--structures", flags.structures},
              {"--rounds", flags.rounds, 1, 1000},
              {"--rewrite-seconds", flags.rewrite_s, 0, 3600},
              {"--lookup-seconds", flags.lookup_s, 0.01, 3600},
              {"--in-flight", flags.in_flight, 1, 4096},
              {"--batch", flags.batch, 1, kBatchKeysMax},
              {"--seed", flags.seed, 0},
              {"--json", flags.json}});
  flags.space.sparse = layout == "sparse";
  if ((flags.space.count & (flags.space.count - 1)) != 0) Die("--keys is a power of two");
  for (const std::string& name : flags.structures) {
    if (name != "eris" && name != "shared" && name != "shared_batched") {
      Die("--structures are of eris, shared, shared_batched, not '" + name + "'");
    }
  }
  if (flags.threads == 0) flags.threads = static_cast<uint32_t>(AllowedCpus().size());
  return flags;
}

int Main(int argc, char** argv) {
  const Flags flags = Parse(argc, argv);
  double cache_line_ns = 0;
  std::thread([&] { cache_line_ns = CacheLineNs(AllowedCpus()); }).join();
  std::map<std::string, std::vector<Figures>> all;
  for (uint32_t round = 0; round < flags.rounds; ++round) {
    for (const std::string& name : flags.structures) {
      const Figures figures = MeasureApart(flags, name);
      std::fprintf(stderr,
                   "round %u of %u, %-14s %6.2f M inserts/s %6.2f M rewrites/s %6.2f M lookups/s "
                   "%5.1f bytes per key, other programs took %.2f cpus\n",
                   round + 1, flags.rounds, name.c_str(), figures.inserts_s / 1e6,
                   figures.rewrites_s / 1e6, figures.lookups_s / 1e6, figures.bytes_per_key,
                   figures.cpus_of_others);
      all[name].push_back(figures);
    }
  }
  WriteReport(flags.json.empty() ? "-" : flags.json, JsonOf(flags, all, cache_line_ns));
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
