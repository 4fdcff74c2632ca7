// Raw routing: commands per second between AEUs that do nothing but route, against the number of
// commands collected in an outgoing buffer before it is copied over. Paper: ERIS 3.2, Figure 5.
//
//   raw_routing [--aeus 2,4,8,16] [--modes plain,mixed] [--batches 1,4,16,64,256,1024,4096]
//               [--segment 16|64|256] [--methods port,queue,...] [--rounds 5] [--ms 40]
//               [--turn 1024] [--incoming-bytes 1048576] [--json FILE]
//
// Each AEU is a thread, pinned to the allowed cpus in turn (more AEUs than cpus share them). A turn
// reads what has come in, then sends --turn commands. Mode plain: in equal parts to all others, one
// Send each; mixed: keys at random over all others' ranges, one Send that has to split them (with
// two AEUs there is only one other: plain). Where there is no room the command is refused;
// an AEU with refused commands gives the core away after its turn (at once when AEUs share cores,
// else after 64 such turns). All methods take the same turns, in the same rounds, from the same
// columns of keys and values, with the same memory per receiver:
//   port            Port::Send and the incoming buffers: keys of one Send, object and request share
//                   a header; 20 bytes a command and its part of the header
//   port_single     Port::Open: each command has a header of its own, 72 bytes with the segment
//   queue           moodycamel::ConcurrentQueue, bulk operations, blocks of 32 as it comes, element
//                   as port_single's record; queue_512 the same with blocks of 512
//   queue32         the same with the smallest element that does (reply, position, operation, key,
//                   value: 32 bytes); queue32_512 with blocks of 512
//   ring, ring32    one ring per pair, commands collected first as ours are
//   ring_in_place, ring32_in_place    one ring per pair, commands written into it at once
//   memcpy20        the limit of port: two memcpys of the bytes that it moves (headers included),
//                   the second into a ring that the other core then sums up; memcpy: of port_single
// For mixed the peers find the targets by the same table and collect in an array for each.
//
// A figure is the median of the rounds; the clock stops when the last command has been read. A
// ratio is the median of the rounds' ratios, each method with the batch that is its best: other
// load on the machine falls on both sides of it. How much there was is printed. Every command is
// tallied on both sides: one that is lost, doubled, torn or at the wrong AEU ends the program with
// 1. In perf's samples the tally's arithmetic is 5 % of method port, what it waits for the commands
// to arrive (as any reader would) 15 to 20 %, making keys and values 5 %. Bytes are those really
// moved, with headers. The environment's ERIS_COMMIT is put into the JSON.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "bench/report.h"
#include "bench/routing/command.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "bench/routing/measure.h"
#include "bench/routing/memcpy_transport.h"
#include "bench/routing/port_transport.h"
#include "bench/routing/queue_transport.h"
#include "bench/routing/ring_transport.h"
#include "bench/routing/shape.h"

namespace eris::bench {
namespace {

const char* const kQueues[] = {"queue", "queue_512", "queue32", "queue32_512"};
const char* const kRings[] = {"ring", "ring_in_place", "ring32", "ring32_in_place"};

struct Flags {
  std::vector<uint32_t> aeus = {2, 4, 8, 16};
  std::vector<std::string> modes = {"plain", "mixed"};
  std::vector<uint32_t> batches = {1, 4, 16, 64, 256, 1024, 4096};
  std::vector<std::string> methods;  // empty: all methods for the segment
  uint32_t segment = 16;
  uint32_t rounds = 5;
  uint32_t ms = 40;
  uint32_t turn = 1024;
  size_t incoming_bytes = 1 << 20;
  std::string json;
};

// The state of the machine during the run.
struct Context {
  double others = 0;
  double line_ns = 0;
};

using MeasureFunction = Rate (*)(const Job&);

template <size_t kSegmentBytes>
std::vector<std::pair<std::string, MeasureFunction>> Methods() {
  using R = Record<kSegmentBytes>;
  std::vector<std::pair<std::string, MeasureFunction>> all;
  if constexpr (kSegmentBytes == 16) {
    all.emplace_back("port", Measure<PortTransport<16, PortUse::kKeyed>>);
  }
  all.emplace_back("port_single", Measure<PortTransport<kSegmentBytes, PortUse::kSingle>>);
  all.emplace_back("queue", Measure<QueueTransport<R, 32>>);
  all.emplace_back("queue_512", Measure<QueueTransport<R, 512>>);
  if constexpr (kSegmentBytes == 16) {
    all.emplace_back("queue32", Measure<QueueTransport<Element32, 32>>);
    all.emplace_back("queue32_512", Measure<QueueTransport<Element32, 512>>);
    all.emplace_back("ring32", Measure<RingTransport<Element32>>);
    all.emplace_back("ring32_in_place", Measure<RingInPlaceTransport<Element32>>);
    all.emplace_back("memcpy20", Measure<MemcpyTransport<16, true>>);
  }
  all.emplace_back("ring", Measure<RingTransport<R>>);
  all.emplace_back("ring_in_place", Measure<RingInPlaceTransport<R>>);
  all.emplace_back("memcpy", Measure<MemcpyTransport<kSegmentBytes, false>>);
  return all;
}

std::vector<std::pair<std::string, MeasureFunction>> Methods(uint32_t segment) {
  if (segment == 16) return Methods<16>();
  if (segment == 64) return Methods<64>();
  if (segment == 256) return Methods<256>();
  Die("--segment is 16, 64 or 256");
}

struct Point {
  std::string method;
  std::string mode;
  uint32_t aeus = 0;
  uint32_t batch = 0;
  MeasureFunction measure = nullptr;
  std::vector<double> rates;  // commands per second, by round
  std::vector<double> bytes;  // per second

  double median() const { return MedianOf(rates); }
};

std::vector<Point> MeasureAll(const Flags& flags, const std::vector<int>& cpus) {
  const auto methods = Methods(flags.segment);
  std::vector<Point> points;
  for (const uint32_t aeus : flags.aeus) {
    for (const std::string& mode : flags.modes) {
      if (aeus == 2 && mode == "mixed" && flags.modes.size() > 1) continue;
      for (const std::string& method : flags.methods) {
        const auto found = std::find_if(methods.begin(), methods.end(),
                                        [&](const auto& one) { return one.first == method; });
        if (found == methods.end()) Die("no method " + method + " for this segment");
        for (const uint32_t batch : flags.batches) {
          points.push_back({method, mode, aeus, batch, found->second, {}, {}});
        }
      }
    }
  }
  // Rounds are the outer loop, so a slow minute of the machine affects all methods.
  for (uint32_t round = 0; round < flags.rounds; ++round) {
    for (Point& point : points) {
      const Job job{.shape = {.aeus = point.aeus,
                              .batch = point.batch,
                              .run = std::max(1u, flags.turn / (point.aeus - 1)),
                              .incoming_bytes = flags.incoming_bytes},
                    .mixed = point.mode == "mixed",
                    .turn = flags.turn,
                    .ms = flags.ms,
                    .cpus = cpus};
      const Rate rate = point.measure(job);
      point.rates.push_back(rate.commands_s);
      point.bytes.push_back(rate.bytes_s);
    }
  }
  return points;
}

// The method's point with the highest median; nullptr if it was not measured. With two AEUs every
// mode is plain.
const Point* BestOf(const std::vector<Point>& points, const std::string& method, uint32_t aeus,
                    const std::string& mode) {
  const Point* best = nullptr;
  for (const Point& point : points) {
    if (point.method != method || point.aeus != aeus || point.mode != mode) continue;
    if (best == nullptr || point.median() > best->median()) best = &point;
  }
  if (best == nullptr && aeus == 2 && mode == "mixed") return BestOf(points, method, aeus, "plain");
  return best;
}

// Ratios of the best figures, by name, if their parts were measured.
std::vector<std::pair<std::string, double>> Ratios(const Flags& flags,
                                                   const std::vector<Point>& points) {
  std::vector<std::pair<std::string, double>> ratios;
  const auto add = [&](const std::string& name, const Point* over, const Point* under, bool bytes) {
    if (over == nullptr || under == nullptr) return;
    const std::vector<double>& above = bytes ? over->bytes : over->rates;
    const std::vector<double>& below = bytes ? under->bytes : under->rates;
    std::vector<double> by_round;
    for (size_t round = 0; round < above.size(); ++round) {
      by_round.push_back(above[round] / below[round]);
    }
    ratios.emplace_back(name, MedianOf(by_round));
  };
  const uint32_t first = flags.aeus.front();
  for (const uint32_t aeus : flags.aeus) {
    for (const std::string& mode : flags.modes) {
      if (aeus == 2 && mode == "mixed" && flags.modes.size() > 1) continue;
      const std::string behind = "_" + std::to_string(aeus) + "_" + mode;
      for (const std::string method : {"port", "port_single"}) {
        const Point* ours = BestOf(points, method, aeus, mode);
        for (const std::string other : kQueues) {
          add(method + "_over_" + other + behind, ours, BestOf(points, other, aeus, mode), false);
        }
        for (const std::string other : kRings) {
          add(method + "_over_" + other + behind, ours, BestOf(points, other, aeus, mode), false);
        }
        const std::string limit = method == "port" ? "memcpy20" : "memcpy";
        add(method + "_over_" + limit + "_bytes" + behind, ours, BestOf(points, limit, aeus, mode),
            true);
        if (aeus != first) {
          add(method + behind + "_over_" + std::to_string(first) + "_aeus", ours,
              BestOf(points, method, first, mode), false);
        }
      }
    }
  }
  return ratios;
}

void PrintTable(const Flags& flags, const Context& context, const std::vector<Point>& points) {
  std::string group;
  std::string method;
  for (const Point& point : points) {
    const std::string its_group = std::to_string(point.aeus) + " AEUs, " + point.mode;
    if (its_group != group) {
      group = its_group;
      method.clear();
      std::printf("\n\n%s: M commands/s (GB/s), commands collected before a copy:\n%-15s",
                  group.c_str(), "");
      for (const uint32_t batch : flags.batches) std::printf("%15u", batch);
    }
    if (point.method != method) {
      method = point.method;
      std::printf("\n%-15s", method.c_str());
    }
    std::printf("  %6.1f (%4.1f)", point.median() / 1e6, MedianOf(point.bytes) / 1e9);
  }
  std::printf(
      "\n\nratios of the best figures (other programs took %.2f cpus meanwhile; a cache line goes "
      "from cpu to cpu in %.0f ns)\n",
      context.others, context.line_ns);
  for (const auto& [name, value] : Ratios(flags, points)) {
    std::printf("  %-40s %.3f\n", name.c_str(), value);
  }
}

void WriteJson(const Flags& flags, const std::vector<int>& cpus, const Context& context,
               const std::vector<Point>& points) {
  nlohmann::json report = ReportOf(ERIS_BENCH_BUILD_TYPE);
  report.update({{"cpus", cpus.size()},
                 {"segment_bytes", flags.segment},
                 {"rounds", flags.rounds},
                 {"ms", flags.ms},
                 {"turn", flags.turn},
                 {"incoming_bytes", flags.incoming_bytes},
                 {"cpus_taken_by_others", context.others},
                 {"cache_line_ns", context.line_ns}});
  for (const Point& point : points) {
    const auto [slowest, fastest] = std::minmax_element(point.rates.begin(), point.rates.end());
    report["points"].push_back({{"method", point.method},
                                {"mode", point.mode},
                                {"aeus", point.aeus},
                                {"batch", point.batch},
                                {"commands_s", point.median()},
                                {"commands_s_min", *slowest},
                                {"commands_s_max", *fastest},
                                {"bytes_s", MedianOf(point.bytes)}});
  }
  report["ratios"] = nlohmann::json::object();
  for (const auto& [name, value] : Ratios(flags, points)) report["ratios"][name] = value;
  WriteReport(flags.json, report);
}

Flags Parse(int argc, char** argv) {
  Flags flags;
  uint32_t incoming_bytes = 1 << 20;
  ParseFlags(argc, argv,
             {{"--aeus", flags.aeus, 2, 64},
              {"--modes", flags.modes},
              {"--batches", flags.batches, 1, 1 << 16},
              {"--segment", flags.segment, 16, 256},
              {"--methods", flags.methods},
              {"--rounds", flags.rounds, 1, 1000},
              {"--ms", flags.ms, 1, 60'000},
              {"--turn", flags.turn, 1, 1 << 16},
              {"--incoming-bytes", incoming_bytes, 4096, 1 << 30},
              {"--json", flags.json}});
  flags.incoming_bytes = incoming_bytes & ~size_t{63};
  for (const std::string& mode : flags.modes) {
    if (mode != "plain" && mode != "mixed") Die("--modes are plain and mixed");
  }
  if (flags.methods.empty()) {
    for (const auto& [method, measure] : Methods(flags.segment)) flags.methods.push_back(method);
  }
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
  const Flags flags = Parse(argc, argv);
  const std::vector<int> cpus = AllowedCpus();
  Context context{.line_ns = CacheLineNs(cpus)};
  const OtherLoad load(cpus);
  const std::vector<Point> points = MeasureAll(flags, cpus);
  context.others = load.Cpus();
  // The hypervisor may have moved them meanwhile.
  context.line_ns = std::max(context.line_ns, CacheLineNs(cpus));
  if (flags.json != "-") PrintTable(flags, context, points);
  if (!flags.json.empty()) WriteJson(flags, cpus, context, points);
  return 0;
}
