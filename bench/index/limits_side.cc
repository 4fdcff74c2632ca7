// The machine's limits, as a side: random 8-byte loads over memory far larger than the caches,
// where each load's address depends on the previous load of its chain, with several chains in
// flight; and a sequential read. Commands: `build`; `loads <chains> <ms>`; `read <ms>`; `two <ms>`,
// 16 chains on each of two cpus.
#include <immintrin.h>

#include <array>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "bench/index/side.h"
#include "bench/key_order.h"
#include "bench/memory/process_memory.h"
#include "bench/routing/huge_buffer.h"
#include "bench/routing/machine.h"

namespace eris::bench {
namespace {

// Loads per second, in millions. `words` is a power of two.
template <size_t kChains>
double LoadRate(const uint64_t* area, uint64_t words, uint64_t ms) {
  constexpr uint64_t kSteps = 4096;
  const uint64_t mask = words - 1;
  std::array<uint64_t, kChains> at;
  for (size_t i = 0; i < kChains; ++i) at[i] = Mix(i) & mask;
  // prevents a chain from closing into a short cycle, or from repeating its last path
  uint64_t salt = NowNs();
  uint64_t rounds = 0, ns = 0;
  const uint64_t begin_ns = NowNs();
  do {
    for (uint64_t step = 0; step < kSteps; ++step, ++salt) {
      for (size_t i = 0; i < kChains; ++i) at[i] = (area[at[i]] + salt) & mask;
    }
    asm volatile("" : : "r"(at.data()) : "memory");
    ++rounds;
    ns = NowNs() - begin_ns;
  } while (ns < ms * 1'000'000);
  return static_cast<double>(rounds * kSteps * kChains) * 1e3 / static_cast<double>(ns);
}

constexpr uint64_t kAheadWords = 256;  // 2 KiB, the best of 0 .. 8 KiB

[[gnu::target("avx512f")]] uint64_t SumAvx512(const uint64_t* area, uint64_t words) {
  __m512i sums[8] = {};
  for (uint64_t i = 0; i < words; i += 64) {
    for (uint64_t j = 0; j < 8; ++j) {
      __builtin_prefetch(area + i + 8 * j + kAheadWords);
      sums[j] = _mm512_add_epi64(sums[j], _mm512_loadu_si512(area + i + 8 * j));
    }
  }
  uint64_t lanes[8], sum = 0;
  for (const __m512i& one : sums) {
    _mm512_storeu_si512(lanes, one);
    for (const uint64_t lane : lanes) sum += lane;
  }
  return sum;
}
uint64_t SumPlain(const uint64_t* area, uint64_t words) {
  uint64_t sums[8] = {};
  for (uint64_t i = 0; i < words; i += 8) {
    __builtin_prefetch(area + i + kAheadWords);
    for (uint64_t j = 0; j < 8; ++j) sums[j] += area[i + j];
  }
  uint64_t sum = 0;
  for (const uint64_t one : sums) sum += one;
  return sum;
}
uint64_t Sum(const uint64_t* area, uint64_t words) {
  static const bool avx512 = __builtin_cpu_supports("avx512f");
  return avx512 ? SumAvx512(area, words) : SumPlain(area, words);
}

class Limits final : public Side {
 public:
  explicit Limits(const SideOptions& options) : options_(options) {}

  Json Ask(const Command& command) override {
    if (command.name() == "build") return Build();
    if (area_ == nullptr) Die("limits before build");
    if (command.name() == "loads") return Loads(command.Number(1), command.Number(2));
    if (command.name() == "read") return Read(command.Number(1));
    if (command.name() == "two") return TwoThreads(command.Number(1));
    Die("the limits have no " + command.name());
  }

 private:
  Json Build() {
    const ProcessMemory before = ProcessMemory::Now();
    area_ = std::make_unique<HugeBuffer>(options_.area_bytes);
    words_ = reinterpret_cast<uint64_t*>(area_->data());
    count_ = options_.area_bytes / sizeof(uint64_t);
    for (uint64_t i = 0; i < count_; ++i) {
      words_[i] = Mix(i);
      sum_ += words_[i];
    }
    const ProcessMemory after = ProcessMemory::Now();
    return Json()
        .Add("anonymous", after.anonymous - before.anonymous)
        .Add("huge", after.huge - before.huge);
  }
  Json Loads(uint64_t chains, uint64_t ms) const {
    const double rate = chains == 1    ? LoadRate<1>(words_, count_, ms)
                        : chains == 8  ? LoadRate<8>(words_, count_, ms)
                        : chains == 16 ? LoadRate<16>(words_, count_, ms)
                        : chains == 32 ? LoadRate<32>(words_, count_, ms)
                                       : 0;
    if (rate == 0) Die("1, 8, 16 or 32 chains");
    return Json().Add("mloads_s", rate);
  }
  Json Read(uint64_t ms) const {
    uint64_t bytes = 0, ns = 0;
    while (ns < ms * 1'000'000) {
      const uint64_t begin_ns = NowNs();
      const uint64_t sum = Sum(words_, count_);
      ns += NowNs() - begin_ns;
      bytes += options_.area_bytes;
      if (sum != sum_) Die("a wrong sum");
    }
    return Json().Add("gb_s", static_cast<double>(bytes) / static_cast<double>(ns));
  }
  Json TwoThreads(uint64_t ms) const {
    if (options_.cpus.size() < 2) Die("two threads want two cpus");
    const double alone = LoadRate<16>(words_, count_, ms);
    std::barrier side_by_side(2);
    double second = 0;
    std::thread thread([&] {
      PinTo(options_.cpus[1]);
      side_by_side.arrive_and_wait();
      second = LoadRate<16>(words_, count_, ms);
    });
    side_by_side.arrive_and_wait();
    const double first = LoadRate<16>(words_, count_, ms);
    thread.join();
    return Json().Add("one_mloads_s", alone).Add("two_mloads_s", first + second);
  }

  const SideOptions options_;
  std::unique_ptr<HugeBuffer> area_;
  uint64_t* words_ = nullptr;
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
};

}  // namespace

std::vector<NamedSide> LimitSides() {
  return {{"limits", [](const SideOptions& options) -> std::unique_ptr<Side> {
             return std::make_unique<Limits>(options);
           }}};
}

}  // namespace eris::bench
