// The index partition against absl::btree_map, on one core, side by side in one run; the limit that
// lookups approach is RandomLoads/in_flight:16 (random_loads_bench.cc), in the same program.
//
//   prefix_tree_bench [--benchmark_filter=<regex>] [--benchmark_repetitions=5]
//   [--benchmark_format=json]
//
// Arguments in the names: `keys` in the index; `sparse` 0 for keys 0 .. n-1, 1 for keys spread over
// 64 bits; `rows` of a range scan; `group` of a batched lookup. Probes come in random order;
// batches are 4096 keys. items_per_second counts keys (rows for scans); bytes_per_key is what the
// cache has handed out, by size class (the btree's is not measured here). Every lookup's value is
// verified.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "bench/storage/key_order.h"
#include "memory/local_cache.h"
#include "memory/memory_budget.h"
#include "memory/memory_manager.h"
#include "memory/numa_node_pool.h"
#include "storage/index_partition.h"
#include "topology/topology.h"

namespace eris::bench {
namespace {

using storage::Batch;
using storage::BatchPart;
using storage::IndexPartition;
using storage::KeyState;
using storage::Operation;
using Btree = absl::btree_map<uint64_t, uint64_t>;

constexpr uint32_t kBatchKeys = 4096;
constexpr uint64_t kMemoryBytes = uint64_t{8} << 30;

uint64_t ValueOf(uint64_t key) { return key ^ 0x5555; }

struct Memory {
  memory::MemoryBudget budget{kMemoryBytes};
  memory::NumaNodePool pool{topology::NumaNode{}, /*bind=*/false, budget};
  memory::MemoryManager manager{ObjectId{1}, pool};
  memory::LocalCache& cache{*manager.NewCache()};
};

// One batch's columns.
struct Columns {
  Columns() {
    for (uint32_t i = 0; i < kBatchKeys; ++i) positions[i] = i;
  }
  void Execute(IndexPartition& partition, Operation operation, uint32_t count) {
    const BatchPart part{count,         keys.data(),  values_in.data(), positions.data(),
                         values.data(), states.data()};
    partition.Execute(Batch{operation, {&part, 1}});
  }
  std::vector<uint64_t> keys = std::vector<uint64_t>(kBatchKeys);
  std::vector<uint64_t> values_in = std::vector<uint64_t>(kBatchKeys);
  std::vector<uint32_t> positions = std::vector<uint32_t>(kBatchKeys);
  std::vector<uint64_t> values = std::vector<uint64_t>(kBatchKeys);
  std::vector<KeyState> states = std::vector<KeyState>(kBatchKeys);
};

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "prefix_tree_bench: %s\n", what);
  std::exit(1);
}

// All keys, inserted in a random order, in batches.
void Fill(IndexPartition& partition, uint64_t keys, bool sparse) {
  Columns columns;
  for (uint64_t i = 0; i < keys; i += kBatchKeys) {
    const uint32_t count = static_cast<uint32_t>(std::min<uint64_t>(kBatchKeys, keys - i));
    for (uint32_t j = 0; j < count; ++j) {
      columns.keys[j] = KeyAt(PermutedAt(i + j, keys), sparse);
      columns.values_in[j] = ValueOf(columns.keys[j]);
    }
    columns.Execute(partition, Operation::kUpsert, count);
  }
  if (partition.size() != keys) Die("an insert was refused");
}

struct Index {
  Index(uint64_t keys, bool sparse)
      : partition(*IndexPartition::Create(storage::Range{}, memory.cache)) {
    Fill(*partition, keys, sparse);
  }
  ~Index() { partition->Abandon(); }
  Memory memory;
  std::unique_ptr<IndexPartition> partition;
};

// The last one built is kept: benchmarks with the same arguments follow each other.
template <class Structure, class Build>
Structure& Kept(uint64_t keys, bool sparse, Build build) {
  static std::pair<uint64_t, bool> built{0, false};
  static std::unique_ptr<Structure> structure;
  if (built != std::pair{keys, sparse}) {
    structure.reset();
    structure = build();
    built = {keys, sparse};
  }
  return *structure;
}

Index& KeptIndex(uint64_t keys, bool sparse) {
  return Kept<Index>(keys, sparse, [&] { return std::make_unique<Index>(keys, sparse); });
}

Btree& KeptBtree(uint64_t keys, bool sparse) {
  return Kept<Btree>(keys, sparse, [&] {
    auto tree = std::make_unique<Btree>();
    for (uint64_t i = 0; i < keys; ++i) {
      const uint64_t key = KeyAt(PermutedAt(i, keys), sparse);
      tree->emplace(key, ValueOf(key));
    }
    return tree;
  });
}

uint64_t KeysArg(const benchmark::State& state) { return static_cast<uint64_t>(state.range(0)); }
bool SparseArg(const benchmark::State& state) { return state.range(1) != 0; }
void CountItems(benchmark::State& state, uint64_t per_iteration) {
  state.SetItemsProcessed(
      static_cast<int64_t>(static_cast<uint64_t>(state.iterations()) * per_iteration));
}

// Probes for lookups: present keys in random order, made before the clock runs.
std::vector<uint64_t> Probes(uint64_t keys, bool sparse) {
  std::vector<uint64_t> probes(std::min<uint64_t>(keys, 1 << 22));
  for (uint64_t i = 0; i < probes.size(); ++i) probes[i] = KeyAt(WalkAt(i, keys), sparse);
  return probes;
}

// Calls visit(probes, count) with one batch after the other, as long as the benchmark runs.
template <class Visit>
void RunProbes(benchmark::State& state, Visit visit) {
  const std::vector<uint64_t> probes = Probes(KeysArg(state), SparseArg(state));
  uint64_t at = 0;
  for (auto _ : state) {
    visit(&probes[at]);
    at += kBatchKeys;
    if (at + kBatchKeys > probes.size()) at = 0;
  }
  CountItems(state, kBatchKeys);
}

void BM_Lookup(benchmark::State& state) {
  Index& index = KeptIndex(KeysArg(state), SparseArg(state));
  Columns columns;
  RunProbes(state, [&](const uint64_t* probes) {
    std::copy_n(probes, kBatchKeys, columns.keys.data());
    columns.Execute(*index.partition, Operation::kLookup, kBatchKeys);
    for (uint32_t i = 0; i < kBatchKeys; ++i) {
      if (columns.values[i] != ValueOf(probes[i])) Die("a wrong value");
    }
  });
  state.counters["bytes_per_key"] =
      static_cast<double>(index.memory.cache.used_bytes()) / static_cast<double>(KeysArg(state));
}

void BM_LookupOneByOne(benchmark::State& state) {
  Index& index = KeptIndex(KeysArg(state), SparseArg(state));
  RunProbes(state, [&](const uint64_t* probes) {
    for (uint32_t i = 0; i < kBatchKeys; ++i) {
      if (index.partition->tree().Lookup(probes[i]) != ValueOf(probes[i])) Die("a wrong value");
    }
  });
}

// What kFindGroupMax is chosen by.
void BM_FindGroup(benchmark::State& state) {
  storage::PrefixTree& tree = const_cast<storage::PrefixTree&>(
      KeptIndex(KeysArg(state), SparseArg(state)).partition->tree());
  const uint32_t group = static_cast<uint32_t>(state.range(2));
  uint64_t* values[storage::kFindGroupMax];
  RunProbes(state, [&](const uint64_t* probes) {
    for (uint32_t i = 0; i < kBatchKeys; i += group) {
      tree.FindGroup(probes + i, group, values);
      for (uint32_t j = 0; j < group; ++j) {
        if (*values[j] != ValueOf(probes[i + j])) Die("a wrong value");
      }
    }
  });
}

void BM_BtreeLookup(benchmark::State& state) {
  const Btree& tree = KeptBtree(KeysArg(state), SparseArg(state));
  RunProbes(state, [&](const uint64_t* probes) {
    for (uint32_t i = 0; i < kBatchKeys; ++i) {
      if (tree.find(probes[i])->second != ValueOf(probes[i])) Die("a wrong value");
    }
  });
}

void BM_Insert(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Memory memory;
    auto partition = *IndexPartition::Create(storage::Range{}, memory.cache);
    state.ResumeTiming();
    Fill(*partition, KeysArg(state), SparseArg(state));
    state.PauseTiming();
    partition->Abandon();
    partition.reset();
    state.ResumeTiming();
  }
  CountItems(state, KeysArg(state));
}

void BM_BtreeInsert(benchmark::State& state) {
  const uint64_t keys = KeysArg(state);
  for (auto _ : state) {
    Btree tree;
    for (uint64_t i = 0; i < keys; ++i) {
      const uint64_t key = KeyAt(PermutedAt(i, keys), SparseArg(state));
      tree.emplace(key, ValueOf(key));
    }
    if (tree.size() != keys) Die("an insert was lost");
    state.PauseTiming();
    Btree().swap(tree);
    state.ResumeTiming();
  }
  CountItems(state, keys);
}

// Upserts of keys that are there.
void BM_Replace(benchmark::State& state) {
  Index& index = KeptIndex(KeysArg(state), SparseArg(state));
  Columns columns;
  RunProbes(state, [&](const uint64_t* probes) {
    for (uint32_t i = 0; i < kBatchKeys; ++i) {
      columns.keys[i] = probes[i];
      columns.values_in[i] = ValueOf(probes[i]);
    }
    columns.Execute(*index.partition, Operation::kUpsert, kBatchKeys);
  });
}

void BM_BtreeReplace(benchmark::State& state) {
  Btree& tree = KeptBtree(KeysArg(state), SparseArg(state));
  RunProbes(state, [&](const uint64_t* probes) {
    for (uint32_t i = 0; i < kBatchKeys; ++i) {
      tree.insert_or_assign(probes[i], ValueOf(probes[i]));
    }
  });
}

void BM_Scan(benchmark::State& state) {
  Index& index = KeptIndex(KeysArg(state), SparseArg(state));
  const std::vector<uint64_t> probes = Probes(KeysArg(state), SparseArg(state));
  const uint64_t rows_max = static_cast<uint64_t>(state.range(2));
  std::vector<uint64_t> keys(rows_max);
  std::vector<uint64_t> values(rows_max);
  uint64_t at = 0;
  uint64_t rows = 0;
  for (auto _ : state) {
    storage::ScanCursor cursor{.rest = {storage::Key::FromU64(probes[at]), std::nullopt},
                               .rows_left = rows_max};
    storage::ScanRows out{keys.data(), values.data(), static_cast<uint32_t>(rows_max), 0};
    index.partition->Scan(cursor, {}, out);
    for (uint32_t i = 0; i < out.rows; ++i) {
      if (values[i] != ValueOf(keys[i])) Die("a wrong row");
    }
    rows += out.rows;
    at = at + 1 == probes.size() ? 0 : at + 1;
  }
  state.SetItemsProcessed(static_cast<int64_t>(rows));
}

void BM_BtreeScan(benchmark::State& state) {
  const Btree& tree = KeptBtree(KeysArg(state), SparseArg(state));
  const std::vector<uint64_t> probes = Probes(KeysArg(state), SparseArg(state));
  const uint64_t rows_max = static_cast<uint64_t>(state.range(2));
  std::vector<uint64_t> keys(rows_max);
  std::vector<uint64_t> values(rows_max);
  uint64_t at = 0;
  uint64_t rows = 0;
  for (auto _ : state) {
    uint64_t count = 0;
    for (auto row = tree.lower_bound(probes[at]); row != tree.end() && count < rows_max;
         ++row, ++count) {
      keys[count] = row->first;
      values[count] = row->second;
    }
    for (uint64_t i = 0; i < count; ++i) {
      if (values[i] != ValueOf(keys[i])) Die("a wrong row");
    }
    rows += count;
    at = at + 1 == probes.size() ? 0 : at + 1;
  }
  state.SetItemsProcessed(static_cast<int64_t>(rows));
}

constexpr int64_t kSizes[] = {1 << 20, 1 << 24};

// Registered by size and distribution, so that each structure is built once.
const int kRegistered = [] {
  for (const int64_t keys : kSizes) {
    for (const int64_t sparse : {0, 1}) {
      const auto add = [&](const char* name, void (*function)(benchmark::State&)) {
        return benchmark::RegisterBenchmark(name, function)
            ->ArgNames({"keys", "sparse"})
            ->Args({keys, sparse});
      };
      const auto add3 = [&](const char* name, void (*function)(benchmark::State&),
                            const char* argument, std::initializer_list<int64_t> values) {
        auto* added =
            benchmark::RegisterBenchmark(name, function)->ArgNames({"keys", "sparse", argument});
        for (const int64_t value : values) added->Args({keys, sparse, value});
      };
      add("Insert", BM_Insert)->Iterations(1)->Unit(benchmark::kMillisecond);
      add("Lookup", BM_Lookup);
      add("LookupOneByOne", BM_LookupOneByOne);
      add3("FindGroup", BM_FindGroup, "group", {8, 16, 32, 64});
      add("Replace", BM_Replace);
      add3("Scan", BM_Scan, "rows", {100, 10'000});
      add("BtreeInsert", BM_BtreeInsert)->Iterations(1)->Unit(benchmark::kMillisecond);
      add("BtreeLookup", BM_BtreeLookup);
      add("BtreeReplace", BM_BtreeReplace);
      add3("BtreeScan", BM_BtreeScan, "rows", {100, 10'000});
    }
  }
  return 0;
}();

}  // namespace
}  // namespace eris::bench
