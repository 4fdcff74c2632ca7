// Shared by benchmarks with threads: cpus, other programs' load, medians.
#ifndef ERIS_BENCH_ROUTING_MACHINE_H_
#define ERIS_BENCH_ROUTING_MACHINE_H_

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace eris::bench {

[[noreturn]] inline void Die(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  std::fflush(stdout);
  std::_Exit(1);  // threads may still be running
}

inline uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

inline std::vector<int> AllowedCpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) Die("sched_getaffinity failed");
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

inline void PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) Die("pinning failed");
}

inline std::string CpuModel() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

// The one-way time of a cache line from one cpu to the other. Below 25 ns they share a core (or the
// hypervisor runs them on one): figures of two such cpus are not those of two cores.
inline double CacheLineNs(int first, int second) {
  constexpr int kRounds = 20'000;
  alignas(128) std::atomic<int> turn{0};
  uint64_t ns = 0;
  // seq_cst: only the latency matters, not the order.
  const auto play = [&turn](int cpu, int mine) {
    PinTo(cpu);
    for (int i = mine; i < 2 * kRounds; i += 2) {
      while (turn.load() != i) {
      }
      turn.store(i + 1);
    }
  };
  std::thread one([&] {
    const uint64_t begin_ns = NowNs();
    play(first, 0);
    ns = NowNs() - begin_ns;
  });
  std::thread two([&] { play(second, 1); });
  one.join();
  two.join();
  return static_cast<double>(ns) / (2.0 * kRounds);
}
// For the first two cpus; 0 if there is only one.
inline double CacheLineNs(const std::vector<int>& cpus) {
  return cpus.size() < 2 ? 0 : CacheLineNs(cpus[0], cpus[1]);
}

// The upper one of two.
inline double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Processor time of the allowed cpus used by other programs, in cpus, since construction.
class OtherLoad {
 public:
  explicit OtherLoad(std::vector<int> cpus)
      : cpus_(std::move(cpus)),
        machine_(MachineSeconds()),
        own_(OwnSeconds()),
        began_ns_(NowNs()) {}
  double Cpus() const {
    const double seconds = static_cast<double>(NowNs() - began_ns_) * 1e-9;
    return std::max(0.0, (MachineSeconds() - machine_ - (OwnSeconds() - own_)) / seconds);
  }

 private:
  double MachineSeconds() const {
    std::ifstream stat("/proc/stat");
    double ticks = 0;
    for (std::string line; std::getline(stat, line);) {
      int cpu = 0;
      // user, nice, system, idle, iowait, irq, softirq, steal
      double t[8] = {};
      if (std::sscanf(line.c_str(), "cpu%d %lf %lf %lf %lf %lf %lf %lf %lf", &cpu, &t[0], &t[1],
                      &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 9)
        continue;
      if (std::find(cpus_.begin(), cpus_.end(), cpu) == cpus_.end()) continue;
      ticks += t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
    }
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  static double OwnSeconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  }

  const std::vector<int> cpus_;
  const double machine_;
  const double own_;
  const uint64_t began_ns_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_MACHINE_H_
