// All kinds of objects at once, under every load of loads.h, for a time or a number of batches.
//
//   stress_run [--seconds 60] [--batches 0] [--seed 1] [--aeus 4] [--sessions 6] [--streams 2]
//              [--memory-mib 160] [--small-buffers 0|1] [--balancer 0|1] [--report-seconds 60]
//              [--loads pipelines,streams,adders,accounts,full,comings,moves] [--finds]
//
// Small buffers and the balancer: else half of the seeds have them. Prints a line of JSON with the
// figures each report period, with the resident memory, and in the end. Exit code 1 where a checker
// has found a fault, where something is left in the engine when all objects have been dropped, or
// where the largest resident memory of the last third of the run is far above that of the second.
// --finds: the code has a planted fault; exit code 0 only if a checker has found it.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "memory/system/write_guard.h"
#include "tests/stress/loads.h"

namespace eris::stress {
namespace {

constexpr absl::Duration kSample = absl::Milliseconds(100);
constexpr absl::Duration kStall = absl::Seconds(60);

struct Flags {
  StressOptions options;
  bool finds = false;
};

Flags Parse(int argc, char** argv) {
  Flags flags;
  std::optional<bool> small, balancer;
  const auto die = [](const std::string& why) {
    std::fprintf(stderr, "stress_run: %s\n", why.c_str());
    std::exit(2);
  };
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--finds") {
      flags.finds = true;
      flags.options.faults_max = 1;
      continue;
    }
    if (i + 1 == argc) die("no value for " + flag);
    const std::string value = argv[++i];
    const uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
    StressOptions& options = flags.options;
    if (flag == "--seconds") {
      options.seconds = std::strtod(value.c_str(), nullptr);
    } else if (flag == "--batches") {
      options.batches = number;
    } else if (flag == "--seed") {
      options.seed = number;
    } else if (flag == "--aeus") {
      options.aeus = static_cast<uint32_t>(number);
    } else if (flag == "--sessions") {
      options.sessions = static_cast<uint32_t>(number);
    } else if (flag == "--streams") {
      options.streams = static_cast<uint32_t>(number);
    } else if (flag == "--memory-mib") {
      options.memory_mib = number;
    } else if (flag == "--small-buffers") {
      small = number != 0;
    } else if (flag == "--balancer") {
      balancer = number != 0;
    } else if (flag == "--report-seconds") {
      options.report_seconds = std::strtod(value.c_str(), nullptr);
    } else if (flag == "--loads") {
      options.loads = absl::StrSplit(value, ',');
    } else {
      die("no flag " + flag);
    }
  }
  flags.options.small_buffers = small.value_or(flags.options.seed % 2 == 0);
  flags.options.balancer = balancer.value_or(flags.options.seed / 2 % 2 == 0);
  return flags;
}

std::vector<std::unique_ptr<Load>> LoadsOf(World& world) {
  using Make = std::unique_ptr<Load> (*)(World&);
  const std::pair<const char*, Make> kMakers[] = {
      {"pipelines", MakePipelines},
#ifdef ERIS_STRESS_STREAMS
      {"streams", MakeStreams},
#endif
      {"adders", MakeAdders},       {"accounts", MakeAccounts}, {"full", MakeFull},
      {"comings", MakeComings},     {"moves", MakeMoves}};
  std::vector<std::unique_ptr<Load>> loads;
  for (const auto& [name, make] : kMakers) {
    const auto& wanted = world.options().loads;
    if (wanted.empty() || wanted.contains(name)) loads.push_back(make(world));
  }
  return loads;
}

double ResidentMib() {
  uint64_t size = 0, resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%lu %lu", &size, &resident) != 2) resident = 0;
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

void Report(World& world, double seconds, bool last) {
  std::string line = absl::StrCat("{\"seconds\": ", seconds, ", \"resident_mib\": ", ResidentMib());
  for (size_t i = 0; i < kFigureNames.size(); ++i) {
    absl::StrAppend(&line, ", \"", kFigureNames[i], "\": ", world.Get(static_cast<Figure>(i)));
  }
  absl::StrAppend(&line, ", \"faults\": ", world.faults(), last ? ", \"end\": 1}" : "}");
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// All that threads count; it grows while anything goes on.
uint64_t Progress(const World& world) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kFigureNames.size(); ++i) sum += world.Get(static_cast<Figure>(i));
  return sum;
}

// Says what hangs, and ends the process: its threads cannot be joined.
[[noreturn]] void Hangs(World& world) {
  std::fprintf(stderr, "FAULT nothing has gone on for %g s\n", absl::ToDoubleSeconds(kStall));
  const EngineStats stats = world.engine().Stats();
  std::fprintf(stderr, "requests under way %lu, scans %lu, chunks %lu\n", stats.requests_in_flight,
               stats.scans_open, stats.scan_chunks_in_use);
  for (const TransferRecord& one : world.engine().Balancer().running) {
    std::fprintf(stderr, "transfer of %s from %u to %u, phase %d, idle %ld us\n",
                 one.object.c_str(), one.from.value, one.to.value, static_cast<int>(one.phase),
                 one.idle_us);
  }
  std::fflush(stderr);
  std::_Exit(1);
}

// The largest resident memory of each third of the run so far.
class Resident {
 public:
  void Sample() { samples_.push_back(ResidentMib()); }
  double MaxOfThird(size_t third) const {
    const auto at = [&](size_t i) {
      return samples_.begin() + static_cast<std::ptrdiff_t>(samples_.size() * i / 3);
    };
    return samples_.size() < 3 ? 0 : *std::max_element(at(third), at(third + 1));
  }

 private:
  std::vector<double> samples_;
};

// Nothing of the run is left in the engine.
void CheckEmpty(World& world) {
  for (const ObjectInfo& one : world.engine().List()) {
    const absl::Status dropped = world.engine().Drop(one.name);
    if (!dropped.ok()) world.Fault("drop: " + dropped.ToString());
  }
  const MemoryStats memory = world.engine().Memory();
  if (!memory.objects.empty()) world.Fault("memory: an object that was dropped has some");
  for (const NumaNodeMemory& one : memory.numa_nodes) {
    if (one.in_use_bytes != one.buffers_bytes) {
      world.Fault(absl::StrCat("memory: ", one.in_use_bytes, " bytes of NumaNode ", one.id.value,
                               " are in use without an object, ", one.buffers_bytes,
                               " of them buffers"));
    }
  }
  // A request counts until its callback has returned: some may be about to.
  EngineStats stats = world.engine().Stats();
  const auto left = [&] {
    return stats.requests_in_flight + stats.scans_open + stats.scan_chunks_in_use;
  };
  for (int i = 0; i < 1000 && left() != 0; ++i) {
    absl::SleepFor(absl::Milliseconds(10));
    stats = world.engine().Stats();
  }
  if (left() != 0) {
    world.Fault(absl::StrCat("in the end ", stats.requests_in_flight, " requests, ",
                             stats.scans_open, " scans and ", stats.scan_chunks_in_use,
                             " chunks are under way"));
  }
}

int Run(int argc, char** argv) {
  const Flags flags = Parse(argc, argv);
  std::printf("stress: seed %lu, %s buffers, balancer %s\n", flags.options.seed,
              flags.options.small_buffers ? "small" : "ordinary",
              flags.options.balancer ? "on" : "off");
  memory::WriteGuard::TurnOn();  // superblocks leap under the loads
  World world(flags.options);
  const std::vector<std::unique_ptr<Load>> loads = LoadsOf(world);
  for (const auto& load : loads) load->Prepare();
  std::vector<std::thread> threads;
  std::atomic<uint64_t> running{0};
  for (const auto& load : loads) {
    for (auto& run : load->Threads()) {
      // release: pairs with the loop below, which ends at 0; the joins follow all the same.
      running.fetch_add(1, std::memory_order_relaxed);
      threads.emplace_back([&running, run = std::move(run)] {
        run();
        running.fetch_sub(1, std::memory_order_release);
      });
    }
  }
  const absl::Time began = absl::Now();
  const auto seconds = [&] { return absl::ToDoubleSeconds(absl::Now() - began); };
  Resident resident;
  uint64_t progress = 0;
  absl::Time went_on = began;
  double next_report = flags.options.report_seconds;
  while (running.load(std::memory_order_acquire) > 0) {
    absl::SleepFor(kSample);
    resident.Sample();
    if (const uint64_t now = Progress(world); now != progress) {
      progress = now;
      went_on = absl::Now();
    }
    if (absl::Now() - went_on > kStall) Hangs(world);
    if (seconds() < next_report) continue;
    Report(world, seconds(), /*last=*/false);
    next_report += flags.options.report_seconds;
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& load : loads) load->CheckEnd();
  const uint64_t wrong = world.faults();
  if (!flags.finds) {
    CheckEmpty(world);
    const double before = resident.MaxOfThird(1), last = resident.MaxOfThird(2);
    std::printf("resident memory, largest of each third of the run: %.0f, %.0f, %.0f MiB\n",
                resident.MaxOfThird(0), before, last);
    // A minute is the least that says anything.
    if (seconds() >= 50 && last > 1.15 * before + 16) world.Fault("resident memory grows");
  }
  Report(world, seconds(), /*last=*/true);
  world.engine().Close();
  if (flags.finds) {
    std::printf("the planted fault was %s\n", wrong > 0 ? "found" : "NOT found");
    return wrong > 0 ? 0 : 1;
  }
  return world.faults() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace eris::stress

int main(int argc, char** argv) { return eris::stress::Run(argc, argv); }
