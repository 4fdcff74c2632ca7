// ERIS, embedded, compared with the same tree shared by all threads, by the protocol of the paper's
// evaluation. Paper: ERIS 4, Figures 8 and 9.
//
//   shared_index_lab [--keys 67108864] [--threads <cpus>] [--layout dense|sparse]
//                    [--placement interleaved|single|first_touch]
//                    [--structures eris,shared,shared_batched,processes] [--rounds 3]
//                    [--rewrite-seconds 2] [--lookup-seconds 3] [--zipf-seconds 0]
//                    [--settle-seconds 3] [--ask-seconds 0] [--in-flight 16] [--batch 1024]
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
//   processes        one process per thread, each bound to a core of its own, with an engine of one
//                    AEU, one of the equal parts of the keys, and one client thread that asks for
//                    keys of its part alone: nobody pays for bringing a key to its process. All
//                    clients would ask all processes, so the slowest process's rate is everyone's.
//
// The structures alternate. Each round of each runs in its own process, in phases; one of 0 seconds
// is left out:
// - inserts all keys, in random order (inserts: the figure that counts as upserts);
// - writes random keys again for a while (rewrites);
// - looks random keys up;
// - of eris alone: AEUs look random keys up (asks). Each reads its part of an index of up to 16 M
//   random keys and sends them to the AEUs that own them (Session::OpenJoin); the answers go to the
//   client threads, which compare them;
// - looks keys up by Zipf's law, the lowest most often. The engine's balancer, which is on as it is
//   by default, has --settle-seconds of that load before.
// With every structure, the process may use one cpu per thread, one of each core before a second
// one of any. Sparse keys are spread over all 64 bits.
//
// With all structures, keys are made in the measured loops, and every value found is compared with
// its key. --placement is for the shared tree: the engine places its memory by itself. A wrong key
// or value ends the program. M is a million.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/memory/process_memory.h"
#include "bench/report.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "bench/shared/index_structures.h"
#include "topology/topology.h"

namespace eris::bench {
namespace {

// Keys per second of all threads together, from the moment that all are ready until the last ends;
// of a process with a part of the keys: those of all processes that it has done its part of.
double Rate(const Flags& flags, const std::vector<int>& cpus, Structure& structure, Phase phase,
            const load::Zipf& zipf, bool pinned, double seconds) {
  std::vector<std::thread> threads;
  std::atomic<uint64_t> done{0};
  uint64_t begin_ns = 0;
  std::barrier ready(flags.threads, [&]() noexcept { begin_ns = NowNs(); });
  for (uint32_t i = 0; i < flags.threads; ++i) {
    threads.emplace_back([&, i] {
      if (pinned) PinTo(cpus[i % cpus.size()]);
      Source source(flags, phase, i, zipf);
      ready.arrive_and_wait();
      const uint64_t until_ns =
          phase == Phase::kInsert ? ~uint64_t{0} : begin_ns + static_cast<uint64_t>(seconds * 1e9);
      // Relaxed: read after the thread's end.
      const uint64_t worked = structure.Work(i, phase, source, until_ns);
      done.fetch_add(phase == Phase::kZipf ? source.drawn() : worked * flags.parts,
                     std::memory_order_relaxed);
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
  double inserts_s = 0, rewrites_s = 0, lookups_s = 0, zipf_s = 0, asks_s = 0;
  double bytes_per_key = 0, cpus_of_others = 0;
};

// In the child: one round of one structure. `together` is called before each phase.
Figures Measure(const Flags& flags, const std::string& name,
                const std::function<void()>& together) {
  const std::vector<int> cpus = AllowedCpus();
  const OtherLoad others(cpus);
  const load::Zipf zipf(flags.space.count);
  const uint64_t width = Source(flags, Phase::kInsert, 0, zipf).width();
  const int64_t before = ProcessMemory::Now().anonymous;
  std::unique_ptr<Structure> structure;
  ErisStructure* eris = nullptr;
  if (name == "eris" || name == "processes") {
    structure = std::make_unique<ErisStructure>(flags);
    eris = static_cast<ErisStructure*>(structure.get());
  } else {
    structure = std::make_unique<SharedStructure>(flags, name == "shared_batched");
  }
  // Sessions are not pinned to one cpu: AEUs are, and the scheduler knows where there is room.
  const auto rate = [&](Phase phase, double seconds) {
    if (phase != Phase::kInsert && seconds == 0) return 0.0;
    together();
    return Rate(flags, cpus, *structure, phase, zipf, eris == nullptr, seconds);
  };
  Figures figures;
  figures.inserts_s = rate(Phase::kInsert, 0);
  if (structure->CountKeys() != width) DieOfWrongAnswer("keys are missing");
  figures.bytes_per_key =
      static_cast<double>(ProcessMemory::Now().anonymous - before) / static_cast<double>(width);
  figures.rewrites_s = rate(Phase::kRewrite, flags.rewrite_s);
  figures.lookups_s = rate(Phase::kLookup, flags.lookup_s);
  if (name == "eris" && flags.ask_s > 0) {
    eris->PrepareAsking();
    figures.asks_s = rate(Phase::kAsk, flags.ask_s);
  }
  if (name == "eris" && flags.zipf_s > 0) rate(Phase::kZipf, flags.settle_s);
  figures.zipf_s = rate(Phase::kZipf, flags.zipf_s);
  figures.cpus_of_others = others.Cpus();
  return figures;
}

// The slowest process's rates; the mean of the bytes, the sum of what others took.
Figures Together(const Figures* parts, uint32_t count) {
  Figures all = parts[0];
  for (uint32_t i = 1; i < count; ++i) {
    for (double Figures::*rate :
         {&Figures::inserts_s, &Figures::rewrites_s, &Figures::lookups_s, &Figures::zipf_s}) {
      all.*rate = std::min(all.*rate, parts[i].*rate);
    }
    all.bytes_per_key += parts[i].bytes_per_key;
    all.cpus_of_others += parts[i].cpus_of_others;
  }
  all.bytes_per_key /= count;
  return all;
}

// One process per thread of the flags, each bound to its core: as one binds a server per NumaNode.
Figures MeasureProcesses(const Flags& flags) {
  struct Shared {
    pthread_barrier_t ready;
    Figures figures[1024];
  };
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) Die("no memory between processes");
  auto* const shared = static_cast<Shared*>(memory);
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  if (pthread_barrier_init(&shared->ready, &attributes, flags.threads) != 0) Die("no barrier");
  const std::vector<int> cpus = AllowedCpus();
  std::vector<pid_t> children;
  for (uint32_t i = 0; i < flags.threads; ++i) {
    const pid_t child = fork();
    if (child < 0) Die("no process");
    if (child == 0) {
      PinTo(cpus[i % cpus.size()]);
      Flags own = flags;
      own.threads = 1;
      own.part = i;
      own.parts = flags.threads;
      shared->figures[i] =
          Measure(own, "processes", [shared] { pthread_barrier_wait(&shared->ready); });
      _exit(0);
    }
    children.push_back(child);
  }
  for (size_t ended = 0; ended < children.size(); ++ended) {
    int status = 0;
    const pid_t child = wait(&status);
    if (child > 0 && status == 0) continue;
    for (const pid_t one : children) kill(one, SIGKILL);  // they would wait for the one that died
    Die("one of the processes failed");
  }
  return Together(shared->figures, flags.threads);
}

// In a separate process, so that nothing is left of the previous one.
Figures MeasureApart(const Flags& flags, const std::string& name) {
  int ends[2];
  if (pipe(ends) != 0) Die("no pipe");
  const pid_t child = fork();
  if (child < 0) Die("no process");
  if (child == 0) {
    close(ends[0]);
    KeepOneCpuPerThread(flags);  // before the engine reads where it may place AEUs
    const Figures figures =
        name == "processes" ? MeasureProcesses(flags) : Measure(flags, name, [] {});
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
                             {"zipf_lookups_s", &Figures::zipf_s, true},
                             {"asks_s", &Figures::asks_s, true},
                             {"bytes_per_key", &Figures::bytes_per_key, false},
                             {"cpus_taken_by_others", &Figures::cpus_of_others, false}};
bool Measured(const Flags& flags, const Field& field, const std::string& name) {
  if (field.of == &Figures::rewrites_s) return flags.rewrite_s > 0;
  if (field.of == &Figures::zipf_s) return flags.zipf_s > 0;
  if (field.of != &Figures::asks_s) return true;
  return name == "eris" && flags.ask_s > 0;
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
      {"settle_s", flags.settle_s},
      {"seed", flags.seed},
      {"ratios", nlohmann::json::object()}};
  const auto eris = all.find("eris");
  for (const auto& [name, rounds] : all) {
    nlohmann::json& one = report["structures"][name];
    one["rounds"] = std::vector<nlohmann::json>(rounds.size());
    for (const Field& field : kFields) {
      if (!Measured(flags, field, name)) continue;
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
              {"--zipf-seconds", flags.zipf_s, 0, 3600},
              {"--settle-seconds", flags.settle_s, 0, 3600},
              {"--ask-seconds", flags.ask_s, 0, 3600},
              {"--in-flight", flags.in_flight, 1, 4096},
              {"--batch", flags.batch, 1, kBatchKeysMax},
              {"--seed", flags.seed, 0},
              {"--json", flags.json}});
  flags.space.sparse = layout == "sparse";
  if ((flags.space.count & (flags.space.count - 1)) != 0) Die("--keys is a power of two");
  for (const std::string& name : flags.structures) {
    if (name != "eris" && name != "shared" && name != "shared_batched" && name != "processes") {
      Die("--structures are of eris, shared, shared_batched, processes, not '" + name + "'");
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
                   "%6.2f M by Zipf %6.2f M asks/s %5.1f bytes per key, other "
                   "programs took %.2f cpus\n",
                   round + 1, flags.rounds, name.c_str(), figures.inserts_s / 1e6,
                   figures.rewrites_s / 1e6, figures.lookups_s / 1e6, figures.zipf_s / 1e6,
                   figures.asks_s / 1e6, figures.bytes_per_key, figures.cpus_of_others);
      all[name].push_back(figures);
    }
  }
  WriteReport(flags.json.empty() ? "-" : flags.json, JsonOf(flags, all, cache_line_ns));
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
