// Which structure a range partition table should have at which size: RangeTable as it is, against
// std::upper_bound and a CSB+-tree (paper: ERIS 4), for batches of 1024 random keys.
//
//   range_table_bench [--benchmark_filter=<regex>] [--benchmark_repetitions=5]
//   [--benchmark_format=json]
//
// `ranges` in the names: partitions of the table, starts spread over all 64 bits. csb_tree's
// TreeNodes have one cache line or two, compared by AVX-512 or by scalar code. items_per_second
// counts keys. Every method's owners are compared with the others' before the clock runs, at the
// range boundaries too.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/routing/csb_tree.h"
#include "bench/storage/key_order.h"
#include "routing/partition_table.h"

namespace eris::bench {
namespace {

constexpr size_t kBatchKeys = 1024;
constexpr size_t kProbes = 256 * kBatchKeys;  // no predictor learns them

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
    for (size_t i = 0; i < ranges; ++i) owners.push_back(AeuId{static_cast<uint32_t>(Mix(~i))});
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

template <size_t kLines, Compare kCompare>
struct Csb : Table {
  explicit Csb(size_t ranges) : Table(ranges), tree(starts) {}
  void Find(std::span<const uint64_t> keys, std::span<AeuId> out) {
    partitions.resize(keys.size());
    tree.PartitionsOf(keys, partitions, kCompare);
    for (size_t i = 0; i < keys.size(); ++i) out[i] = owners[partitions[i]];
  }
  const CsbTree<kLines> tree;
  std::vector<uint32_t> partitions;
};

// Against the definition: the last start that is not above the key.
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
  Register<Real>("range_table");
  Register<UpperBound>("upper_bound");
  Register<Csb<1, Compare::kScalar>>("csb_tree_1_line");
  Register<Csb<2, Compare::kScalar>>("csb_tree_2_lines");
  if (CsbTree<1>::Supports(Compare::kAvx512)) {
    Register<Csb<1, Compare::kAvx512>>("csb_tree_1_line_avx512");
    Register<Csb<2, Compare::kAvx512>>("csb_tree_2_lines_avx512");
  }
  return 0;
}();

}  // namespace
}  // namespace eris::bench
