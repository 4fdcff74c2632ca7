// Measures the cost of the balancer's monitor for the AEU: batches of lookups with and without the
// code that notes keys and time, alternating in one run. Paper: ERIS 3.3 (monitoring).
//
//   monitor_bench [--rounds=<n>] [--rows=<n>]
//
// An index partition of 4 million (--rows) sparse keys, looked up in batches of 4096 keys, or of
// 1024 commands, the most that an AEU groups. Both sides of a round run the same batches
// alternately, in either order; the result is the median of the rounds' ratios. Recording is also
// timed alone, over thousands of batches without lookups. Every value is compared with its key
// once. One core; some ten seconds.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "aeu/state/access_sample.h"
#include "aeu/state/clock.h"
#include "bench/memory/our_memory.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "storage/index/index_partition.h"

namespace eris::bench {
namespace {

constexpr uint32_t kBatchKeys = 4096;
constexpr uint32_t kBatchCommands = 1024;
constexpr uint32_t kBatches = 200;

uint64_t KeyOf(uint64_t i) { return i * 0x9e3779b97f4a7c15; }

struct Batches {
  uint32_t batch_keys;
  std::vector<uint64_t> keys;
  std::vector<uint64_t> values;
  std::vector<storage::KeyState> states;
  std::vector<uint32_t> positions;
  std::vector<std::vector<storage::BatchPart>> parts;

  Batches(uint64_t rows, uint32_t part_keys)
      : batch_keys(std::min(kBatchKeys, kBatchCommands * part_keys)),
        keys(uint64_t{kBatches} * kBatchKeys),
        values(kBatchKeys),
        states(kBatchKeys),
        positions(kBatchKeys) {
    std::mt19937_64 random(1);
    for (uint64_t& key : keys) key = KeyOf(random() % rows);
    for (uint32_t i = 0; i < kBatchKeys; ++i) positions[i] = i;
    for (uint32_t batch = 0; batch < kBatches; ++batch) {
      auto& one = parts.emplace_back();
      for (uint32_t at = 0; at < batch_keys; at += part_keys) {
        one.push_back({.count = part_keys,
                       .keys = keys.data() + uint64_t{batch} * kBatchKeys + at,
                       .positions = positions.data() + at,
                       .values_out = values.data(),
                       .states_out = states.data()});
      }
    }
  }
};

void Fill(storage::Partition& partition, uint64_t rows) {
  std::vector<uint64_t> keys(kBatchKeys);
  std::vector<storage::KeyState> states(kBatchKeys);
  std::vector<uint32_t> positions(kBatchKeys);
  for (uint32_t i = 0; i < kBatchKeys; ++i) positions[i] = i;
  for (uint64_t at = 0; at < rows; at += kBatchKeys) {
    for (uint64_t i = 0; i < kBatchKeys; ++i) keys[i] = KeyOf(at + i);
    const storage::BatchPart part{.count = kBatchKeys,
                                  .keys = keys.data(),
                                  .values_in = keys.data(),
                                  .positions = positions.data(),
                                  .states_out = states.data()};
    partition.Execute({.operation = storage::Operation::kUpsert, .parts = {&part, 1}});
  }
}

// Ends the program if a key has a wrong value.
void CheckAnswers(storage::Partition& partition, const Batches& batches) {
  for (const auto& parts : batches.parts) {
    partition.Execute({.operation = storage::Operation::kLookup, .parts = parts});
    for (uint32_t i = 0; i < batches.batch_keys; ++i) {
      if (batches.states[i] != storage::KeyState::kPresent ||
          batches.values[i] != parts[0].keys[i]) {
        Die("a wrong value");
      }
    }
  }
}

// Nanoseconds per key.
double Run(storage::Partition& partition, const Batches& batches, aeu::AccessSample* sample) {
  const uint64_t begin_ns = aeu::NowNs();
  for (const auto& parts : batches.parts) {
    const uint64_t keys = sample != nullptr ? sample->NoteKeys(1, parts, batches.batch_keys) : 0;
    const uint64_t batch_ns = sample != nullptr ? aeu::NowNs() : 0;
    partition.Execute({.operation = storage::Operation::kLookup, .parts = parts});
    if (sample != nullptr) sample->RecordExecution(1, keys, aeu::NowNs() - batch_ns);
  }
  return static_cast<double>(aeu::NowNs() - begin_ns) / (double{kBatches} * batches.batch_keys);
}

double Record(const Batches& batches, aeu::AccessSample& sample) {
  constexpr int kTimes = 20;
  const uint64_t begin_ns = aeu::NowNs();
  for (int i = 0; i < kTimes; ++i) {
    for (uint32_t batch = 0; batch < kBatches; ++batch) {
      // The same batch repeatedly: it is in the cache, as it is after its execution.
      const auto& parts = batches.parts.front();
      const uint64_t keys = sample.NoteKeys(1, parts, batches.batch_keys);
      const uint64_t batch_ns = aeu::NowNs();
      sample.RecordExecution(1, keys, aeu::NowNs() - batch_ns);
    }
  }
  return static_cast<double>(aeu::NowNs() - begin_ns) /
         (double{kTimes} * kBatches * batches.batch_keys);
}

void Measure(storage::Partition& partition, uint64_t rows, uint32_t part_keys, int rounds) {
  const Batches batches(rows, part_keys);
  CheckAnswers(partition, batches);
  aeu::AccessSample sample;
  Run(partition, batches, &sample);
  std::vector<double> plain;
  std::vector<double> ratios;
  std::vector<double> recording;
  for (int round = 0; round < rounds; ++round) {
    double without = 0;
    double with = 0;
    if (round % 2 == 0) without = Run(partition, batches, nullptr);
    with = Run(partition, batches, &sample);
    if (round % 2 == 1) without = Run(partition, batches, nullptr);
    plain.push_back(without);
    ratios.push_back(with / without);
    recording.push_back(Record(batches, sample));
  }
  const double lookup = MedianOf(plain);
  std::printf(
      "%4u keys a command: lookup %6.2f ns a key, with the monitor %6.3f times that; "
      "recording alone %5.3f ns a key, %5.2f %%\n",
      part_keys, lookup, MedianOf(ratios), MedianOf(recording), 100 * MedianOf(recording) / lookup);
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  using namespace eris;
  int rounds = 31;
  uint64_t rows = 4'000'000;
  bench::ParseFlags(argc, argv, {{"--rounds", rounds, 1}, {"--rows", rows, 1}});
  bench::OurMemory memory(1);
  auto made = storage::IndexPartition::Create(storage::Range{}, memory.cache(0));
  if (!made.ok()) bench::Die(std::string(made.status().message()));
  bench::Fill(**made, rows);
  for (const uint32_t part_keys : {4096u, 64u, 8u, 1u})
    bench::Measure(**made, rows, part_keys, rounds);
  (*made)->Abandon();
  return 0;
}
