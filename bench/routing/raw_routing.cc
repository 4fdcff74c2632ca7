// Raw routing: commands per second between AEUs that do nothing but route, against the number of
// commands collected in an outgoing buffer before it is copied over. Paper: ERIS 3.2, Figure 5.
//
//   raw_routing [--aeus 2,4,8] [--batches 1,4,16,64,256,1024,4096] [--segment 16|64|256]
//               [--methods port,queue,...] [--rounds 5] [--ms 40] [--turn 1024]
//               [--incoming-bytes 1048576] [--json FILE]
//
// Each AEU is a thread, pinned to the allowed cpus in turn. A turn reads what has come in, then
// sends --turn commands, in equal parts to all others. Where there is no room the AEU goes on with
// its next turn; one that could do nothing gives the core away (at once when AEUs share cores, else
// after 64 such turns). All methods take the same turns, in the same rounds, with the same memory
// per receiver:
//   port            routing/: Port::SendTo and the incoming buffers
//   buffers         routing/'s outgoing and incoming buffers without the Port, commands built in
//                   place: what the Port costs is the difference
//   queue           moodycamel::ConcurrentQueue, bulk operations, blocks of 32 as it comes
//   queue_512       the same with blocks of 512
//   ring            one ring per pair, commands collected first as ours are
//   ring_in_place   one ring per pair, commands written into it at once
//   memcpy          the limit: two memcpys of the same bytes, the second into a ring that the other
//                   core then sums up
//
// A figure is the median of the rounds; the clock stops when the last command has been read. A
// ratio is the median of the rounds' ratios, each method with the batch that is its best: other
// load on the machine falls on both sides of it. How much there was is printed. Every command's
// data segment is tallied on both sides: a lost, doubled or torn one ends the program with 1. Bytes
// count whole records with their headers. The environment's ERIS_COMMIT is put into the JSON.
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/routing/command.h"
#include "bench/routing/port_transport.h"
#include "bench/routing/queue_transport.h"
#include "bench/routing/ring_transport.h"
#include "bench/routing/shape.h"

namespace eris::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  std::vector<uint32_t> aeus = {2, 4, 8};
  std::vector<uint32_t> batches = {1, 4, 16, 64, 256, 1024, 4096};
  std::vector<std::string> methods = {"port", "port_single",   "queue", "queue_512",
                                      "ring", "ring_in_place", "memcpy"};
  uint32_t segment = 16;
  uint32_t rounds = 5;
  uint32_t ms = 40;
  uint32_t turn = 1024;
  size_t incoming_bytes = 1 << 20;
  std::string json;
};

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "raw_routing: %s\n", what.c_str());
  std::fflush(stdout);
  std::_Exit(1);  // AEUs may still be running
}

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) Die("sched_getaffinity failed");
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) Die("pinning failed");
}

// A command that has not come this long after the last one is lost.
constexpr auto kLostAfter = std::chrono::seconds(5);
constexpr uint32_t kIdleTurns = 64;

// One measurement; commands per second.
template <class Transport>
double Measure(const Flags& flags, const Shape& shape, const std::vector<int>& cpus) {
  const uint32_t aeus = shape.aeus;
  Transport transport(shape);
  std::vector<Tally> sent_to(aeus * aeus);  // [source][target], written before `finished`
  std::vector<Tally> received_by(aeus);
  std::vector<Clock::time_point> ended(aeus);
  std::barrier start(aeus + 1);
  std::atomic<uint32_t> finished{0};
  const uint32_t idle_turns = aeus > cpus.size() ? 1 : kIdleTurns;
  const uint32_t run = std::max(1u, flags.turn / (aeus - 1));

  const auto body = [&](uint32_t self) {
    PinTo(cpus[self % cpus.size()]);
    typename Transport::Lane lane(transport, self);
    std::vector<Tally> sent(aeus);
    Tally received;
    uint32_t idle = 0;
    const auto rest = [&](bool progress) {
      if (progress) {
        idle = 0;
      } else if (++idle >= idle_turns) {
        std::this_thread::yield();
      }
    };
    start.arrive_and_wait();  // everything is allocated and touched
    const auto until = Clock::now() + std::chrono::milliseconds(flags.ms);
    uint64_t next = uint64_t{self} << 40;
    while (Clock::now() < until) {
      bool progress = lane.Drain(received);
      for (uint32_t i = 1; i < aeus; ++i) {
        const uint32_t target = (self + i) % aeus;
        const uint32_t done = lane.Produce(target, next, run, sent[target]);
        next += done;
        progress |= done != 0;
      }
      rest(progress);
    }
    while (!lane.Flush()) {
      if (Clock::now() > until + kLostAfter) Die("AEU " + std::to_string(self) + " finds no room");
      rest(lane.Drain(received));
    }
    std::copy(sent.begin(), sent.end(), &sent_to[self * aeus]);
    finished.fetch_add(1, std::memory_order_release);  // pairs with the acquire below
    auto last = Clock::now();
    for (;;) {
      if (finished.load(std::memory_order_acquire) == aeus) {  // release above: sent_to is whole
        uint64_t expected = 0;
        for (uint32_t source = 0; source < aeus; ++source) {
          expected += sent_to[source * aeus + self].commands;
        }
        if (received.commands >= expected) break;
      }
      const bool progress = lane.Drain(received);
      const auto now = Clock::now();
      if (progress) last = now;
      if (now - last > kLostAfter) break;
      rest(progress);
    }
    ended[self] = Clock::now();
    received_by[self] = received;
  };

  std::vector<std::thread> threads;
  for (uint32_t self = 0; self < aeus; ++self) threads.emplace_back(body, self);
  start.arrive_and_wait();
  const auto began = Clock::now();
  for (std::thread& thread : threads) thread.join();

  uint64_t commands = 0;
  for (uint32_t target = 0; target < aeus; ++target) {
    Tally expected;
    for (uint32_t source = 0; source < aeus; ++source)
      expected.Add(sent_to[source * aeus + target]);
    const Tally& received = received_by[target];
    const bool same = Transport::kChecked ? received == expected && received.torn == 0
                                          : received.commands == expected.commands;
    if (!same) {
      Die("AEU " + std::to_string(target) + " was sent " + std::to_string(expected.commands) +
          " commands and received " + std::to_string(received.commands) +
          ", or their contents differ");
    }
    commands += received.commands;
  }
  const auto end = *std::max_element(ended.begin(), ended.end());
  return static_cast<double>(commands) / std::chrono::duration<double>(end - began).count();
}

using MeasureFunction = double (*)(const Flags&, const Shape&, const std::vector<int>&);

template <size_t kSegmentBytes>
MeasureFunction FunctionOf(const std::string& method) {
  if constexpr (kSegmentBytes == 16) {
    if (method == "port") return Measure<PortTransport<16, PortUse::kKeyed>>;
  }
  if (method == "port_single") return Measure<PortTransport<kSegmentBytes, PortUse::kSingle>>;
  if (method == "queue") return Measure<QueueTransport<kSegmentBytes, 32>>;
  if (method == "queue_512") return Measure<QueueTransport<kSegmentBytes, 512>>;
  if (method == "ring") return Measure<RingTransport<kSegmentBytes, false>>;
  if (method == "ring_in_place") return Measure<RingTransport<kSegmentBytes, true>>;
  if (method == "memcpy") return Measure<MemcpyTransport<kSegmentBytes>>;
  Die("no method " + method);
}

MeasureFunction FunctionOf(uint32_t segment, const std::string& method) {
  if (segment == 16) return FunctionOf<16>(method);
  if (segment == 64) return FunctionOf<64>(method);
  if (segment == 256) return FunctionOf<256>(method);
  Die("--segment is 16, 64 or 256");
}

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Point {
  std::string method;
  uint32_t aeus = 0;
  uint32_t batch = 0;
  std::vector<double> rates;  // commands per second, by round

  double median() const { return MedianOf(rates); }
  double min() const { return *std::min_element(rates.begin(), rates.end()); }
  double max() const { return *std::max_element(rates.begin(), rates.end()); }
};

std::vector<Point> MeasureAll(const Flags& flags, const std::vector<int>& cpus) {
  std::vector<Point> points;
  for (const uint32_t aeus : flags.aeus) {
    for (const std::string& method : flags.methods) {
      for (const uint32_t batch : flags.batches) points.push_back({method, aeus, batch, {}});
    }
  }
  // Rounds outside: a slow minute of the machine falls on all methods.
  for (uint32_t round = 0; round < flags.rounds; ++round) {
    for (Point& point : points) {
      const Shape shape{point.aeus, point.batch, flags.incoming_bytes};
      point.rates.push_back(FunctionOf(flags.segment, point.method)(flags, shape, cpus));
    }
  }
  return points;
}

// The method's point with the highest median, nullptr if it was not measured.
const Point* BestOf(const std::vector<Point>& points, const std::string& method, uint32_t aeus) {
  const Point* best = nullptr;
  for (const Point& point : points) {
    if (point.method != method || point.aeus != aeus) continue;
    if (best == nullptr || point.median() > best->median()) best = &point;
  }
  return best;
}

// Ratios of the best figures, by name; those whose parts were measured.
std::vector<std::pair<std::string, double>> Ratios(const Flags& flags,
                                                   const std::vector<Point>& points) {
  std::vector<std::pair<std::string, double>> ratios;
  const auto add = [&](const std::string& name, const Point* over, const Point* under) {
    if (over == nullptr || under == nullptr) return;
    std::vector<double> by_round;
    for (size_t round = 0; round < over->rates.size(); ++round) {
      by_round.push_back(over->rates[round] / under->rates[round]);
    }
    ratios.emplace_back(name, MedianOf(by_round));
  };
  const uint32_t first = flags.aeus.front();
  for (const char* method : {"port", "port_single"}) {
    const Point* ours = BestOf(points, method, first);
    for (const char* other : {"queue", "queue_512", "ring", "memcpy"}) {
      add(std::string(method) + "_over_" + other, ours, BestOf(points, other, first));
    }
    for (const uint32_t aeus : flags.aeus) {
      if (aeus == first) continue;
      add(std::string(method) + "_" + std::to_string(aeus) + "_over_" + std::to_string(first) +
              "_aeus",
          BestOf(points, method, aeus), ours);
    }
  }
  return ratios;
}

// Processor time of the allowed cpus that others than this program used, in cpus; since
// construction.
class OtherLoad {
 public:
  explicit OtherLoad(const std::vector<int>& cpus)
      : cpus_(cpus), machine_(MachineSeconds()), own_(OwnSeconds()), began_(Clock::now()) {}
  double Cpus() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
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
  const Clock::time_point began_;
};

void PrintTable(const Flags& flags, size_t record_bytes, double others,
                const std::vector<Point>& points) {
  for (const uint32_t aeus : flags.aeus) {
    std::printf("\n%u AEUs, M commands/s (GB/s), commands collected before a copy:\n%-14s", aeus,
                "");
    for (const uint32_t batch : flags.batches) std::printf("%15u", batch);
    std::printf("\n");
    for (const std::string& method : flags.methods) {
      std::printf("%-14s", method.c_str());
      for (const Point& point : points) {
        if (point.method != method || point.aeus != aeus) continue;
        std::printf("  %6.1f (%4.1f)", point.median() / 1e6,
                    point.median() * static_cast<double>(record_bytes) / 1e9);
      }
      std::printf("\n");
    }
  }
  std::printf("\nratios of the best figures (other programs took %.2f cpus meanwhile)\n", others);
  for (const auto& [name, value] : Ratios(flags, points)) {
    std::printf("  %-22s %.3f\n", name.c_str(), value);
  }
}

std::string CpuModel() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

void WriteJson(const Flags& flags, size_t record_bytes, const std::vector<int>& cpus, double others,
               const std::vector<Point>& points) {
  std::FILE* out = flags.json == "-" ? stdout : std::fopen(flags.json.c_str(), "w");
  if (out == nullptr) Die("cannot write " + flags.json);
  const char* commit = std::getenv("ERIS_COMMIT");
  std::fprintf(
      out,
      "{\"commit\": \"%s\", \"build_type\": \"%s\", \"cpu\": \"%s\", \"cpus\": %zu,\n"
      " \"segment_bytes\": %u, \"record_bytes\": %zu, \"rounds\": %u, \"ms\": %u, "
      "\"turn\": %u, \"incoming_bytes\": %zu, \"cpus_taken_by_others\": %.3f,\n \"points\": [",
      commit == nullptr ? "unknown" : commit, ERIS_BENCH_BUILD_TYPE, CpuModel().c_str(),
      cpus.size(), flags.segment, record_bytes, flags.rounds, flags.ms, flags.turn,
      flags.incoming_bytes, others);
  const char* separator = "\n";
  for (const Point& point : points) {
    std::fprintf(out,
                 "%s  {\"method\": \"%s\", \"aeus\": %u, \"batch\": %u, \"commands_s\": %.0f, "
                 "\"commands_s_min\": %.0f, \"commands_s_max\": %.0f, \"bytes_s\": %.0f}",
                 separator, point.method.c_str(), point.aeus, point.batch, point.median(),
                 point.min(), point.max(), point.median() * static_cast<double>(record_bytes));
    separator = ",\n";
  }
  std::fprintf(out, "],\n \"ratios\": {");
  separator = "";
  for (const auto& [name, value] : Ratios(flags, points)) {
    std::fprintf(out, "%s\"%s\": %.4f", separator, name.c_str(), value);
    separator = ", ";
  }
  std::fprintf(out, "}}\n");
  if (out != stdout && std::fclose(out) != 0) Die("cannot write " + flags.json);
}

std::vector<std::string> Split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

uint32_t Number(const std::string& text, uint32_t min, uint32_t max) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < min || value > max) {
    Die(text + " is no number between " + std::to_string(min) + " and " + std::to_string(max));
  }
  return static_cast<uint32_t>(value);
}

std::vector<uint32_t> Numbers(const std::string& list, uint32_t min, uint32_t max) {
  std::vector<uint32_t> numbers;
  for (const std::string& part : Split(list)) numbers.push_back(Number(part, min, max));
  return numbers;
}

Flags ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) Die(name + " has no value");
    const std::string value = argv[i + 1];
    if (name == "--aeus") {
      flags.aeus = Numbers(value, 2, 64);
    } else if (name == "--batches") {
      flags.batches = Numbers(value, 1, 1 << 16);
    } else if (name == "--segment") {
      flags.segment = Number(value, 16, 256);
    } else if (name == "--methods") {
      flags.methods = Split(value);
    } else if (name == "--rounds") {
      flags.rounds = Number(value, 1, 1000);
    } else if (name == "--ms") {
      flags.ms = Number(value, 1, 60'000);
    } else if (name == "--turn") {
      flags.turn = Number(value, 1, 1 << 20);
    } else if (name == "--incoming-bytes") {
      flags.incoming_bytes = Number(value, 4096, 1 << 30) & ~size_t{63};
    } else if (name == "--json") {
      flags.json = value;
    } else {
      Die("no flag " + name);
    }
  }
  for (const std::string& method : flags.methods) FunctionOf(flags.segment, method);
  const size_t record_bytes = sizeof(routing::CommandHeader) + flags.segment;
  const uint32_t batch_max = *std::max_element(flags.batches.begin(), flags.batches.end());
  if (batch_max * record_bytes > flags.incoming_bytes) {
    Die("a batch of " + std::to_string(batch_max) + " commands is larger than --incoming-bytes");
  }
  return flags;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  using namespace eris::bench;
  const Flags flags = ParseFlags(argc, argv);
  const std::vector<int> cpus = AllowedCpus();
  const size_t record_bytes = sizeof(eris::routing::CommandHeader) + flags.segment;
  const OtherLoad load(cpus);
  const std::vector<Point> points = MeasureAll(flags, cpus);
  const double others = load.Cpus();
  if (flags.json != "-") PrintTable(flags, record_bytes, others, points);
  if (!flags.json.empty()) WriteJson(flags, record_bytes, cpus, others, points);
  return 0;
}
