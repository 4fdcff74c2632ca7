// Samples of loads as RapidCheck makes them up.
#ifndef ERIS_TESTS_SUPPORT_RANDOM_SAMPLES_H_
#define ERIS_TESTS_SUPPORT_RANDOM_SAMPLES_H_

#include <rapidcheck.h>

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "balancer/load/load_sample.h"
#include "tests/support/load_samples.h"

namespace eris::test {

// One to forty partitions over keys near each other or all over the key space, with an end or
// without; loads from none to huge, even, sparse, or on a single key; owners among `aeus` AEUs,
// each range another's (0), or any.
inline rc::Gen<balancer::LoadSample> AnySample(uint32_t aeus = 0) {
  return rc::gen::exec([aeus] {
    const bool narrow = *rc::gen::inRange(0, 4) == 0;
    const size_t count = *rc::gen::inRange<size_t>(1, 41);
    const int shift = *rc::gen::inRange(0, 50);
    std::set<uint64_t> starts;
    for (size_t i = 0; i < count; ++i) {
      const auto any = *rc::gen::resize(1000, rc::gen::arbitrary<uint64_t>());
      starts.insert(narrow ? any % 60 : any >> shift);
    }
    std::vector<Part> parts;
    for (const uint64_t start : starts) {
      Part part{start, {}, *rc::gen::inRange<uint64_t>(0, 1000)};
      const size_t buckets = *rc::gen::inRange<size_t>(0, 33);
      const int kind = *rc::gen::inRange(0, 5);
      for (size_t i = 0; i < buckets; ++i) {
        uint64_t weight = 0;
        if (kind == 1) weight = *rc::gen::inRange<uint64_t>(0, 10);
        if (kind == 2 && *rc::gen::inRange(0, 8) == 0)
          weight = *rc::gen::inRange<uint64_t>(0, 1000);
        if (kind == 3) weight = i == buckets / 2 ? 1000000 : 1;
        if (kind == 4) weight = *rc::gen::resize(1000, rc::gen::arbitrary<uint64_t>()) >> 2;
        part.weights.push_back(weight);
      }
      parts.push_back(part);
    }
    std::optional<uint64_t> end;
    if (*rc::gen::arbitrary<bool>() && *starts.rbegin() < ~uint64_t{0} - 100) {
      end = *starts.rbegin() + *rc::gen::inRange<uint64_t>(1, 100);
    }
    balancer::LoadSample sample = MakeSample(parts, end);
    for (balancer::PartitionSample& partition : sample.partitions) {
      if (aeus > 0) partition.owner = AeuId{*rc::gen::inRange(0u, aeus)};
      if (*rc::gen::inRange(0, 3) != 0) continue;
      std::vector<uint64_t> weights;
      for (const auto& sub_range : partition.sub_ranges) weights.push_back(sub_range.weight);
      partition.sub_ranges =
          SubRangesOfWidth(partition.range, uint64_t{1} << *rc::gen::inRange(0, 60), weights);
    }
    return sample;
  });
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_RANDOM_SAMPLES_H_
