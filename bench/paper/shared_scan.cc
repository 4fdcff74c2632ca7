// The baseline of column scans: one column in plain memory that all threads share. Each thread
// takes the next morsel from one counter. Paper: ERIS 4.2.2, Figure 9.
//
//   shared_scan [--rows 67108864] [--threads 0] [--rounds 7] [--seed 1]
//               [--placements first_touch,interleaved,single]
//
// Threads are pinned to cores in order (0: one per core). The kernel is that of the engine's sums,
// over the same random u64 (bench/scan/scan_placement.cc, sum_a), so the only differences are the
// placement of the rows and the reading threads:
//   first_touch   where the kernel puts the pages of threads that fill morsels from one counter
//   interleaved   over all NumaNodes
//   single        all on the first NumaNode with memory
// On one NumaNode the default is only first_touch, because all three would be the same. Every
// scan's sum is compared with the stored values. A round is one scan of each, in rotating order.
//
// Prints a line of JSON for each placement: GB/s, median and spread, and the fraction of the pages
// on each NumaNode with memory according to the kernel (empty: unknown).
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <functional>
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
#include "storage/table/kernels/kernels.h"
#include "topology/topology.h"

namespace eris::bench {
namespace {

using nlohmann::json;
using storage::Int128;
using storage::kBlockRows;

// Rows that a thread takes at once: enough that the cost of the counter is negligible.
constexpr uint64_t kMorselRows = 64 * kBlockRows;

struct LabOptions {
  uint32_t rows = 1 << 26;
  uint32_t threads = 0;
  uint32_t rounds = 7;
  uint32_t seed = 1;
  std::vector<std::string> placements;  // empty: all that the machine supports
};

// Calls body(first row, rows) for all morsels, by threads on `cpus`; returns the slowest's time in
// ns.
uint64_t ByMorsels(uint64_t rows, const std::vector<uint32_t>& cpus,
                   const std::function<void(size_t thread, uint64_t first, uint64_t rows)>& body) {
  std::atomic<uint64_t> next{0};
  std::barrier<> start(static_cast<std::ptrdiff_t>(cpus.size()));
  std::vector<uint64_t> begin_ns(cpus.size()), end_ns(cpus.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < cpus.size(); ++i) {
    threads.emplace_back([&, i] {
      PinTo(static_cast<int>(cpus[i]));
      start.arrive_and_wait();
      begin_ns[i] = NowNs();
      for (;;) {
        // relaxed: the assignment of morsels orders nothing; results are read after the join.
        const uint64_t first = next.fetch_add(kMorselRows, std::memory_order_relaxed);
        if (first >= rows) break;
        body(i, first, std::min(kMorselRows, rows - first));
      }
      end_ns[i] = NowNs();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(end_ns.begin(), end_ns.end()) -
         *std::min_element(begin_ns.begin(), begin_ns.end());
}

struct alignas(base::kNoSharingBytes) PartialSum {
  Int128 sum = 0;
};

class SharedColumn {
 public:
  SharedColumn(const LabOptions& options, std::string placement,
               std::span<const topology::NumaNode> nodes, const std::vector<uint32_t>& cpus)
      : placement_(std::move(placement)),
        rows_(options.rows),
        cpus_(cpus),
        buffer_(options.rows * sizeof(uint64_t) + 64) {
    absl::Status placed;
    if (placement_ == "interleaved") {
      placed = buffer_.Interleave(nodes);
    } else if (placement_ == "single") {
      placed = buffer_.Bind(nodes.front());
    } else if (placement_ != "first_touch") {
      Die("no placement " + placement_ + " (first_touch, interleaved, single)");
    }
    if (!placed.ok()) Die(std::string(placed.message()));
    std::vector<PartialSum> sums(cpus.size());
    ByMorsels(rows_, cpus_, [&](size_t thread, uint64_t first, uint64_t rows) {
      for (uint64_t i = first; i < first + rows; ++i) {
        buffer_.words()[i] = Mix(i + options.seed);
        sums[thread].sum += buffer_.words()[i];
      }
    });
    for (const PartialSum& one : sums) sum_ += one.sum;
    parts_ = buffer_.PartOf(nodes);
  }

  const std::string& placement() const { return placement_; }
  const std::vector<double>& parts() const { return parts_; }

  double Scan() const {
    std::vector<PartialSum> sums(cpus_.size());
    const uint64_t ns = ByMorsels(rows_, cpus_, [&](size_t thread, uint64_t first, uint64_t rows) {
      for (uint64_t at = first; at < first + rows; at += kBlockRows) {
        const auto block = static_cast<uint32_t>(std::min<uint64_t>(kBlockRows, first + rows - at));
        sums[thread].sum += storage::kernels::Sum(buffer_.words() + at, block, nullptr, false);
      }
    });
    Int128 sum = 0;
    for (const PartialSum& one : sums) sum += one.sum;
    if (sum != sum_) Die("a wrong sum");
    return static_cast<double>(rows_ * sizeof(uint64_t)) / static_cast<double>(ns);
  }

 private:
  const std::string placement_;
  const uint64_t rows_;
  const std::vector<uint32_t> cpus_;
  PlacedBuffer buffer_;
  Int128 sum_ = 0;
  std::vector<double> parts_;
};

int Run(LabOptions options) {
  const auto machine = topology::Topology::Discover();
  if (!machine.ok()) Die(std::string(machine.status().message()));
  std::vector<topology::NumaNode> with_memory;
  for (const topology::NumaNode& node : machine->numa_nodes()) {
    if (node.memory_bytes > 0) with_memory.push_back(node);
  }
  std::vector<uint32_t> cpus;
  for (const topology::Core& core : machine->cores()) cpus.push_back(core.cpus.front());
  if (options.threads > cpus.size()) {
    Die(std::to_string(options.threads) + " threads on " + std::to_string(cpus.size()) + " cores");
  }
  if (options.threads > 0) cpus.resize(options.threads);
  if (options.placements.empty()) {
    options.placements = {"first_touch"};
    if (with_memory.size() > 1) {
      options.placements.insert(options.placements.end(), {"interleaved", "single"});
    }
  }
  std::vector<std::unique_ptr<SharedColumn>> columns;
  for (const std::string& placement : options.placements) {
    columns.push_back(std::make_unique<SharedColumn>(options, placement, with_memory, cpus));
  }
  std::vector<std::vector<double>> gb_s(columns.size());
  for (int round = -1; round < static_cast<int>(options.rounds); ++round) {
    for (size_t i = 0; i < columns.size(); ++i) {
      const size_t which = (i + static_cast<size_t>(round + 1)) % columns.size();
      const double one = columns[which]->Scan();
      if (round >= 0) gb_s[which].push_back(one);
    }
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    const json line{{"placement", columns[i]->placement()},
                    {"threads", cpus.size()},
                    {"gb_s", Spread(gb_s[i])},
                    {"pages_of_numa_nodes", columns[i]->parts()}};
    std::printf("%s\n", line.dump().c_str());
  }
  return 0;
}

LabOptions Parse(int argc, char** argv) {
  LabOptions options;
  ParseFlags(argc, argv,
             {{"--rows", options.rows, 1, UINT32_MAX},
              {"--threads", options.threads, 0, 4096},
              {"--rounds", options.rounds, 1, 1000},
              {"--seed", options.seed, 0},
              {"--placements", options.placements}});
  return options;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Run(eris::bench::Parse(argc, argv)); }
