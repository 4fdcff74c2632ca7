// Measures each NumaNode's cores with each NumaNode's memory: bandwidth of sequential reads and
// latency of dependent ones. Paper: ERIS 2.2, Table 2.
//
//   node_matrix [--mib 1024] [--rounds 5] [--only bandwidth|latency] [--seed 1]
//
// Each NumaNode with memory gets a buffer of --mib, bound before it is touched. It is at most a
// quarter of the NumaNode's memory, and must be larger than the last-level cache: otherwise the
// cache is measured. Each NumaNode with cores reads each buffer:
// - sequentially with one thread on each of its cores, each core a consecutive part;
// - sequentially with one thread alone;
// - with one thread that follows a chain through a quarter of a million lines in random order
//   (--seed); each load's address is the result of the load before.
// A round is one pass over all pairs, so a slow moment of the machine affects all pairs. Every pass
// is checked: the lines' sum, the chain's end.
//
// Prints one JSON object: for each (cpus' NumaNode, memory's NumaNode) GB/s and ns, median and
// spread of the rounds, and the part of the buffer's pages that is on the memory's NumaNode
// according to the kernel (null: it does not say).
#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/key_order.h"
#include "bench/paper/placed_buffer.h"
#include "bench/report.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "bench/table/plain_read.h"
#include "topology/topology.h"

namespace eris::bench {
namespace {

using nlohmann::json;
using topology::NumaNode;

struct LabOptions {
  uint32_t mib = 1024;
  uint32_t rounds = 5;
  uint32_t seed = 1;
  bool bandwidth = true;
  bool latency = true;
};

constexpr size_t kLineWords = 8;
constexpr size_t kPassWords = 64;  // PlainRead's

// The first word of each line is the next line of the chain, the others are random.
class ChainBuffer {
 public:
  ChainBuffer(const NumaNode& node, uint64_t lines, uint32_t seed)
      : lines_(lines), seed_(seed), buffer_(lines * kLineWords * sizeof(uint64_t)) {
    bound_ = buffer_.Bind(node);
    uint64_t* const words = buffer_.words();
    for (uint64_t i = 0; i < lines * kLineWords; ++i) words[i] = Mix(i + seed);
    for (uint64_t step = 0; step < lines; ++step) words[WordAt(step)] = WordAt(step + 1);
    for (uint64_t i = 0; i < lines * kLineWords; ++i) parity_ ^= words[i];
  }

  const absl::Status& bound() const { return bound_; }
  uint64_t bytes() const { return lines_ * kLineWords * sizeof(uint64_t); }
  json PartOn(const NumaNode& node) const {
    const std::vector<double> parts = buffer_.PartOf({&node, 1});
    return parts.empty() ? json(nullptr) : json(parts[0]);
  }

  // One pass by one thread on each cpu, in GB/s.
  double Read(const std::vector<uint32_t>& cpus) const {
    const size_t words = lines_ * kLineWords;
    const size_t part = words / cpus.size() / kPassWords * kPassWords;
    std::barrier<> start(static_cast<std::ptrdiff_t>(cpus.size()));
    std::vector<uint64_t> begin_ns(cpus.size()), end_ns(cpus.size()), parity(cpus.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < cpus.size(); ++i) {
      threads.emplace_back([&, i] {
        PinTo(static_cast<int>(cpus[i]));
        const size_t first = i * part;
        const size_t count = i + 1 == cpus.size() ? words - first : part;
        start.arrive_and_wait();
        begin_ns[i] = NowNs();
        parity[i] = PlainRead(buffer_.words() + first, count);
        end_ns[i] = NowNs();
      });
    }
    for (std::thread& thread : threads) thread.join();
    uint64_t all = 0;
    for (const uint64_t one : parity) all ^= one;
    if (all != parity_) Die("a pass has not read what is stored");
    const uint64_t ns = *std::max_element(end_ns.begin(), end_ns.end()) -
                        *std::min_element(begin_ns.begin(), begin_ns.end());
    return static_cast<double>(words * sizeof(uint64_t)) / static_cast<double>(ns);
  }

  // Latency of a load, in ns: a part of the chain, a different one in each round.
  double Follow(uint32_t cpu, uint64_t round) const {
    const uint64_t steps = std::min(lines_, kFollowed);
    double ns = 0;
    std::thread([&] {
      PinTo(static_cast<int>(cpu));
      const uint64_t* const words = buffer_.words();
      uint64_t at = WordAt(round * steps);
      const uint64_t begin_ns = NowNs();
      for (uint64_t i = 0; i < steps; ++i) at = words[at];
      const uint64_t end_ns = NowNs();
      if (at != WordAt((round + 1) * steps)) Die("the chain ends elsewhere");
      ns = static_cast<double>(end_ns - begin_ns) / static_cast<double>(steps);
    }).join();
    return ns;
  }

 private:
  static constexpr uint64_t kFollowed = 1 << 18;

  // The position of the chain after that many steps. It is a permutation, so it closes after all
  // lines.
  uint64_t WordAt(uint64_t step) const {
    return PermutedAt((step + seed_) & (lines_ - 1), lines_) * kLineWords;
  }

  const uint64_t lines_;
  const uint64_t seed_;
  PlacedBuffer buffer_;
  absl::Status bound_;
  uint64_t parity_ = 0;
};

struct Pair {
  NumaNode cpus_of;
  NumaNode memory_of;
  std::vector<uint32_t> cpus;  // one cpu per core
  const ChainBuffer* buffer = nullptr;
  std::vector<double> all_gb_s, one_gb_s, latency_ns;
};

// On each NumaNode with memory, of the same size.
std::vector<std::unique_ptr<ChainBuffer>> MakeBuffers(const topology::Topology& machine,
                                                      const std::vector<NumaNode>& with_memory,
                                                      const LabOptions& options) {
  uint64_t bytes =
      std::min(uint64_t{options.mib} << 20, machine.memory_bytes() / 2 / with_memory.size());
  for (const NumaNode& node : with_memory) bytes = std::min(bytes, node.memory_bytes / 4);
  uint64_t lines = kPassWords;
  while (lines * 2 * kLineWords * sizeof(uint64_t) <= bytes) lines *= 2;  // PermutedAt wants it
  std::vector<std::unique_ptr<ChainBuffer>> buffers;
  for (const NumaNode& node : with_memory) {
    buffers.push_back(std::make_unique<ChainBuffer>(node, lines, options.seed));
    const absl::Status& bound = buffers.back()->bound();
    if (bound.ok()) continue;
    if (with_memory.size() > 1) Die(std::string(bound.message()));
    std::fprintf(stderr, "%s; there is but one NumaNode\n", std::string(bound.message()).c_str());
  }
  return buffers;
}

void Measure(const LabOptions& options, std::vector<Pair>& pairs) {
  for (uint32_t round = 0; round < options.rounds; ++round) {
    for (Pair& pair : pairs) {
      if (options.bandwidth) {
        pair.all_gb_s.push_back(pair.buffer->Read(pair.cpus));
        pair.one_gb_s.push_back(pair.buffer->Read({pair.cpus.front()}));
      }
      if (options.latency) pair.latency_ns.push_back(pair.buffer->Follow(pair.cpus.front(), round));
    }
  }
}

json ReportOf(const LabOptions& options, const topology::Topology& machine, const Pair& pair) {
  json one{{"cpus_of", pair.cpus_of.id.value},
           {"memory_of", pair.memory_of.id.value},
           {"cores", pair.cpus.size()},
           {"distance", machine.Distance(pair.cpus_of.id, pair.memory_of.id)},
           {"pages_there", pair.buffer->PartOn(pair.memory_of)}};
  if (options.bandwidth) {
    one["all_cores_gb_s"] = Spread(pair.all_gb_s);
    one["one_core_gb_s"] = Spread(pair.one_gb_s);
  }
  if (options.latency) one["latency_ns"] = Spread(pair.latency_ns);
  return one;
}

int Run(const LabOptions& options) {
  const auto machine = topology::Topology::Discover();
  if (!machine.ok()) Die(std::string(machine.status().message()));
  std::vector<NumaNode> with_memory;
  for (const NumaNode& node : machine->numa_nodes()) {
    if (node.memory_bytes > 0) with_memory.push_back(node);
  }
  const auto buffers = MakeBuffers(*machine, with_memory, options);
  std::vector<Pair> pairs;
  for (const NumaNode& cpus_of : machine->numa_nodes()) {
    std::vector<uint32_t> cpus;
    for (const topology::Core& core : machine->cores()) {
      if (core.home_numa_node.value == cpus_of.id.value) cpus.push_back(core.cpus.front());
    }
    if (cpus.empty()) continue;
    for (size_t i = 0; i < with_memory.size(); ++i) {
      pairs.push_back({cpus_of, with_memory[i], cpus, buffers[i].get(), {}, {}, {}});
    }
  }
  const OtherLoad load(AllowedCpus());
  Measure(options, pairs);
  json report{{"cpu", CpuModel()},
              {"build_type", ERIS_BENCH_BUILD_TYPE},
              {"buffer_mib", buffers.front()->bytes() >> 20},
              {"rounds", options.rounds},
              {"seed", options.seed},
              {"cpus_taken_by_others", load.Cpus()},
              {"numa_nodes", machine->numa_nodes().size()},
              {"pairs", json::array()}};
  for (const Pair& pair : pairs) report["pairs"].push_back(ReportOf(options, *machine, pair));
  std::printf("%s\n", report.dump().c_str());
  return 0;
}

LabOptions Parse(int argc, char** argv) {
  LabOptions options;
  std::string only;
  ParseFlags(argc, argv,
             {{"--mib", options.mib, 1, 1 << 20},
              {"--rounds", options.rounds, 1, 1000},
              {"--seed", options.seed, 0},
              {"--only", only, {"bandwidth", "latency"}}});
  if (!only.empty()) (only == "bandwidth" ? options.latency : options.bandwidth) = false;
  return options;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Run(eris::bench::Parse(argc, argv)); }
