// Compares the searches of a range partition table by its size (paper: ERIS 4), for batches of 1024
// random keys.
//
//   range_table_bench [--benchmark_filter=<regex>] [--benchmark_repetitions=5]
//   [--benchmark_enable_random_interleaving=true] [--benchmark_format=json]
//
// upper_bound: the standard library's over a sorted array; halving: RangeTable::PartitionOf, key by
// key; csb_scalar, csb_avx512: CsbTree; range_table: the choice of RangeTable::OwnersOf. All of
// them look up the owners as well. `ranges` in the names: partitions of the table, starts spread
// over all 64 bits. items_per_second counts keys. Every method's owners are compared with the
// definition's before measuring, also at the range boundaries.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/key_order.h"
#include "routing/ranges/csb_tree.h"
#include "routing/ranges/range_table.h"

namespace eris::bench {
namespace {

using routing::CsbTree;

constexpr size_t kBatchKeys = 1024;
constexpr size_t kProbes = 256 * kBatchKeys;  // too many for a branch predictor to learn

constexpr uint32_t kAeus = 512;

struct Table {
  explicit Table(size_t ranges) : starts(StartsOf(ranges)), owners(OwnersOf(ranges)) {}

  static std::vector<uint64_t> StartsOf(size_t ranges) {
    std::vector<uint64_t> starts(ranges);
    for (size_t i = 1; i < ranges; ++i) starts[i] = Mix(i);
    std::sort(starts.begin(), starts.end());
    return starts;
  }
  static std::vector<AeuId> OwnersOf(size_t ranges) {
    std::vector<AeuId> owners;
    for (size_t i = 0; i < ranges; ++i) {
      owners.push_back(AeuId{static_cast<uint32_t>(Mix(~i) % kAeus)});
    }
    return owners;
  }

  const std::vector<uint64_t> starts;
  const std::vector<AeuId> owners;
};

struct Real : Table {
  explicit Real(size_t ranges) : Table(ranges), table(1, starts, owners) {}
  void Find(std::span<const uint64_t> keys, std::span<AeuId> out) { table.OwnersOf(keys, out); }
  const routing::RangeTable table;
};

struct UpperBound : Table {
  using Table::Table;
  void Find(std::span<const uint64_t> keys, std::span<AeuId> out) {
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto above = std::upper_bound(starts.begin(), starts.end(), keys[i]);
      out[i] = owners[static_cast<size_t>(above - starts.begin()) - 1];
    }
  }
};

// OwnersOf for a table without a tree.
struct Halving : Table {
  explicit Halving(size_t ranges) : Table(ranges), table(1, starts, owners) {}
  void Find(std::span<const uint64_t> keys, std::span<AeuId> out) {
    for (size_t i = 0; i < keys.size(); ++i) out[i] = owners[table.PartitionOf(keys[i])];
  }
  const routing::RangeTable table;
};

template <CsbTree::Compare kCompare>
struct Csb : Table {
  explicit Csb(size_t ranges) : Table(ranges), tree(starts) {}
  // In chunks, like OwnersOf.
  void Find(std::span<const uint64_t> keys, std::span<AeuId> out) {
    uint32_t partitions[256];
    for (size_t begin = 0; begin < keys.size(); begin += std::size(partitions)) {
      const auto chunk = keys.subspan(begin, std::min(std::size(partitions), keys.size() - begin));
      tree.PartitionsOf(chunk, std::span(partitions, chunk.size()), kCompare);
      for (size_t i = 0; i < chunk.size(); ++i) out[begin + i] = owners[partitions[i]];
    }
  }
  const CsbTree tree;
};

// Checks against the definition: the last start that is not above the key.
template <class Method>
void Verify(Method& method) {
  std::vector<uint64_t> keys = {0, UINT64_MAX, UINT64_MAX - 1};
  for (const uint64_t start : method.starts) {
    keys.insert(keys.end(), {start - 1, start, start + 1});
  }
  for (uint64_t i = 0; i < 4096; ++i) keys.push_back(Mix(i << 32));
  std::vector<AeuId> out(keys.size());
  method.Find(keys, out);
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto above = std::upper_bound(method.starts.begin(), method.starts.end(), keys[i]);
    if (out[i] != method.owners[static_cast<size_t>(above - method.starts.begin()) - 1]) {
      std::fprintf(stderr, "range_table_bench: a wrong owner\n");
      std::exit(1);
    }
  }
}

template <class Method>
void BM_Owners(benchmark::State& state) {
  Method method(static_cast<size_t>(state.range(0)));
  Verify(method);
  std::vector<uint64_t> keys(kProbes);
  for (size_t i = 0; i < kProbes; ++i) keys[i] = Mix(~(uint64_t{i} << 20));
  std::vector<AeuId> out(kBatchKeys);
  size_t at = 0;
  for (auto _ : state) {
    method.Find(std::span(keys).subspan(at, kBatchKeys), out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
    at = (at + kBatchKeys) % kProbes;
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * int64_t{kBatchKeys});
}

template <class Method>
void Register(const char* name) {
  auto* added = benchmark::RegisterBenchmark(name, BM_Owners<Method>)->ArgName("ranges");
  for (const int64_t ranges : {2, 64, 512, 4096, 100'000}) added->Arg(ranges);
}

const int kRegistered = [] {
  Register<UpperBound>("upper_bound");
  Register<Halving>("halving");
  Register<Csb<CsbTree::Compare::kScalar>>("csb_scalar");
  if (CsbTree::Supports(CsbTree::Compare::kAvx512)) {
    Register<Csb<CsbTree::Compare::kAvx512>>("csb_avx512");
  }
  Register<Real>("range_table");
  return 0;
}();

}  // namespace
}  // namespace eris::bench
