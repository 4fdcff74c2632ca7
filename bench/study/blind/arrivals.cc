#include "bench/study/blind/arrivals.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/key_order.h"
#include "bench/memory/process_memory.h"
#include "bench/routing/machine.h"
#include "bench/study/blind/process_counters.h"
#include "bench/study/blind/team.h"

namespace eris::bench::study {
namespace {

constexpr uint64_t kSampleNs = 50'000'000;

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void SleepUntil(uint64_t ns) {
  const timespec until{static_cast<time_t>(ns / 1'000'000'000),
                       static_cast<long>(ns % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

double Seconds(uint64_t begin_ns, uint64_t end_ns) {
  return static_cast<double>(end_ns - begin_ns) * 1e-9;
}

struct Arrival {
  const char* query;
  uint64_t due_ns;  // from the beginning
  uint64_t began_ns = 0, ended_ns = 0;
  Answer answer{};
};

std::vector<Arrival> MakeArrivals(const ArrivalOptions& options) {
  constexpr std::array kQueries = {"w1", "w2", "w3"};
  std::vector<Arrival> arrivals;
  double at_s = 0;
  for (uint32_t i = 0; i < options.queries; ++i) {
    const uint64_t random = Mix(Mix(options.seed) + i);
    const double unit = (static_cast<double>(random >> 11) + 1) * 0x1p-53;  // above 0
    if (options.rate > 0) at_s += -std::log(unit) / options.rate;
    arrivals.push_back(
        {kQueries[Mix(random) % kQueries.size()], static_cast<uint64_t>(at_s * 1e9)});
  }
  return arrivals;
}

// Samples the process's memory until it is destroyed.
class MemoryWatch {
 public:
  explicit MemoryWatch(uint64_t begin_ns) : begin_ns_(begin_ns), thread_([this] { Watch(); }) {}
  // The samples so far; ends the watch.
  std::vector<std::pair<double, uint64_t>> Stop() {
    ended_.store(true, std::memory_order_relaxed);  // join orders the samples
    thread_.join();
    return std::move(samples_);
  }

 private:
  void Watch() {
    samples_.reserve(4096);
    for (uint64_t at = begin_ns_; !ended_.load(std::memory_order_relaxed); at += kSampleNs) {
      SleepUntil(at);
      samples_.emplace_back(Seconds(begin_ns_, NowNs()), ResidentBytes());
    }
  }
  const uint64_t begin_ns_;
  std::atomic<bool> ended_{false};
  std::vector<std::pair<double, uint64_t>> samples_;
  std::thread thread_;  // last: it uses the others
};

void RunOne(Arrival& arrival, const Tables& groups, const Tables& join) {
  const Team team = Team::OfCaller();
  const std::string name = arrival.query;
  const auto query = MakeQuery(name, name == "w3" ? join : groups);
  arrival.answer = query->Work(team);
  query->Free(team);
}

// One of the ten: takes the next query when it is due.
void Serve(std::vector<Arrival>& arrivals, std::atomic<size_t>& next, uint64_t begin_ns,
           const Tables& groups, const Tables& join) {
  // Relaxed: only the number counts; the arrivals were made before the thread.
  for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < arrivals.size();) {
    Arrival& arrival = arrivals[i];
    SleepUntil(begin_ns + arrival.due_ns);
    arrival.began_ns = NowNs() - begin_ns;
    RunOne(arrival, groups, join);
    arrival.ended_ns = NowNs() - begin_ns;
  }
}

}  // namespace

nlohmann::json RunArrivals(const Tables& groups, const Tables& join,
                           const ArrivalOptions& options) {
  std::vector<Arrival> arrivals = MakeArrivals(options);
  const uint64_t before = ResidentBytes();
  const ProcessCounters counters;
  std::atomic<size_t> next{0};
  const uint64_t begin_ns = NowNs();
  MemoryWatch watch(begin_ns);
  // The threads stay until all is measured, as a server's threads do: what an allocator keeps for
  // each is still there.
  std::latch served(ArrivalOptions::kAtOnceMax), measured(1);
  std::vector<std::thread> servers;
  for (size_t i = 0; i < ArrivalOptions::kAtOnceMax; ++i) {
    servers.emplace_back([&] {
      Serve(arrivals, next, begin_ns, groups, join);
      served.count_down();
      measured.wait();
    });
  }
  served.wait();
  uint64_t last_ns = 0;
  for (const Arrival& one : arrivals) last_ns = std::max(last_ns, one.ended_ns);
  const uint64_t after = ResidentBytes();
  const int64_t faults = counters.minor_faults();
  SleepUntil(NowNs() + static_cast<uint64_t>(options.idle_s * 1e9));
  const auto later = ProcessMemory::Now();
  const auto samples = watch.Stop();
  measured.count_down();
  for (std::thread& one : servers) one.join();

  nlohmann::json report = {{"minor_faults", faults},
                           {"resident_before", before},
                           {"resident_after", after},
                           {"resident_later", later.resident},
                           {"lazily_freed", later.lazily_freed},
                           {"seconds", static_cast<double>(last_ns) * 1e-9}};
  Answer sum;
  for (const Arrival& one : arrivals) {
    sum += one.answer;
    report["wait_s"].push_back(Seconds(std::min(one.due_ns, one.began_ns), one.began_ns));
    report["latency_s"].push_back(Seconds(one.due_ns, one.ended_ns));
  }
  uint64_t peak = before;
  double total = 0;
  size_t counted = 0;
  for (const auto& [at_s, bytes] : samples) {
    report["memory"].push_back({at_s, bytes});
    if (at_s > static_cast<double>(last_ns) * 1e-9) continue;
    peak = std::max(peak, bytes);
    total += static_cast<double>(bytes);
    ++counted;
  }
  report["resident_peak"] = peak;
  report["resident_mean"] =
      counted == 0 ? static_cast<double>(before) : total / static_cast<double>(counted);
  report["rows"] = sum.rows;
  report["checksum"] = std::to_string(sum.checksum);
  return report;
}

}  // namespace eris::bench::study
