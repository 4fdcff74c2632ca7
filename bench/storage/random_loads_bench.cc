// The machine's limit for index lookups: random 8-byte loads over memory far beyond the caches,
// with a number of independent chains in flight. Each load's address depends on the load before it
// in its chain. items_per_second is loads per second on one core.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "bench/storage/key_order.h"

namespace eris::bench {
namespace {

constexpr size_t kBytes = size_t{1} << 30;
constexpr uint64_t kWords = kBytes / sizeof(uint64_t);

// Touched, on huge pages where the system gives them. nullptr without memory. Kept to the end.
const uint64_t* LoadArea() {
  static const uint64_t* area = [] {
    void* mapped =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return static_cast<uint64_t*>(nullptr);
    madvise(mapped, kBytes, MADV_HUGEPAGE);
    auto* words = static_cast<uint64_t*>(mapped);
    for (uint64_t i = 0; i < kWords; ++i) words[i] = Mix(i);
    return words;
  }();
  return area;
}

template <size_t kChains>
void BM_RandomLoads(benchmark::State& state) {
  const uint64_t* area = LoadArea();
  if (area == nullptr) {
    state.SkipWithError("no memory for 1 GiB");
    return;
  }
  std::array<uint64_t, kChains> at;
  for (size_t i = 0; i < kChains; ++i) at[i] = Mix(i) % kWords;
  constexpr uint64_t kSteps = 4096;
  uint64_t salt = 0;
  for (auto _ : state) {
    // The salt keeps a chain from closing into a short cycle.
    for (uint64_t step = 0; step < kSteps; ++step, ++salt) {
      for (size_t i = 0; i < kChains; ++i) at[i] = (area[at[i]] + salt) % kWords;
    }
    benchmark::DoNotOptimize(at);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kSteps * kChains));
}

BENCHMARK(BM_RandomLoads<1>)->Name("RandomLoads/in_flight:1");
BENCHMARK(BM_RandomLoads<8>)->Name("RandomLoads/in_flight:8");
BENCHMARK(BM_RandomLoads<16>)->Name("RandomLoads/in_flight:16");

}  // namespace
}  // namespace eris::bench
