// The loads of the balancer's benchmarks: which of `keys` keys is used next, in phases. Keys are
// spread over 64 bits in the order of their numbers, or are their numbers if they are dense, so a
// range of numbers is a range of keys.
// Load, LoadedKeys: any thread; KeyStream: one.
#ifndef ERIS_BENCH_BALANCER_MOVING_LOAD_H_
#define ERIS_BENCH_BALANCER_MOVING_LOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/must.h"
#include "clients/load/key_set.h"
#include "clients/load/random.h"
#include "clients/load/zipf.h"
#include "eris/engine.h"

namespace eris::bench {

class LoadedKeys {
 public:
  explicit LoadedKeys(uint64_t count, bool dense = false)
      : count_(count), stride_(dense ? 1 : ~uint64_t{0} / count) {}
  uint64_t count() const { return count_; }
  // Ascends with the number; the places inside a stride look random.
  uint64_t Key(uint64_t number) const { return number * stride_ + load::Mix(number) % stride_; }
  // The lowest key of this number and all above.
  uint64_t Border(uint64_t number) const { return number * stride_; }

 private:
  const uint64_t count_;
  const uint64_t stride_;
};

inline constexpr char kLoadedName[] = "keys";

// An index with the keys of the numbers [first, end), the same number on each AEU. ValueOf gives
// the values.
inline Object CreateLoaded(Engine& engine, const LoadedKeys& keys, uint32_t aeus, uint64_t first,
                           uint64_t end) {
  constexpr size_t kBatch = 4096;
  CreateOptions create;
  for (uint32_t i = 1; i < aeus; ++i) {
    create.split_points.push_back(keys.Border(first + (end - first) / aeus * i));
  }
  Must(engine.Create(kLoadedName, create));
  const auto session = engine.NewSession();
  const Object object = Must(session->Open(kLoadedName));
  std::vector<uint64_t> some, values;
  for (uint64_t number = first; number < end; ++number) {
    some.push_back(keys.Key(number));
    values.push_back(load::ValueOf(some.back()));
    if (some.size() < kBatch && number + 1 < end) continue;
    Must(session->Upsert(object, some, values));
    some.clear();
    values.clear();
  }
  return object;
}

inline Object CreateLoaded(Engine& engine, const LoadedKeys& keys, uint32_t aeus) {
  return CreateLoaded(engine, keys, aeus, 0, keys.count());
}

// Ends the program unless this is the right answer for a lookup of `keys`, which all exist.
inline void CheckLoaded(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> values,
                        absl::Span<const uint8_t> found) {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!found[i] || values[i] != load::ValueOf(keys[i])) Die("a wrong answer");
  }
}

// The keys of one phase: numbers [first, first + width) uniformly, or by Zipf's law from `first`
// on, wrapping around at the end of the keys.
struct LoadPhase {
  std::string name;
  uint64_t first = 0;
  uint64_t width = 0;
  bool zipf = false;
};

// middle: all keys, then the middle half of them, then four times that half moved down by a 64th of
//        all keys (the paper's dynamic workload)
// shift: the same with the lower half, moved up: the middle one would leave two AEUs balanced
// zipf:  Zipf's law with parameter 0.99 over all keys, its hottest key first in another place in
//        each phase
// narrow: all keys, then 100 adjacent ones, in another place in each phase
// even: all keys in each phase
// After the first phase `count` others. None at all where `load` is none of these.
inline std::vector<LoadPhase> PhasesOf(const std::string& load, uint64_t keys, uint32_t count) {
  const LoadPhase all{"all keys", 0, keys, false};
  std::vector<LoadPhase> phases{all};
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t step = i % 16;
    if (load == "middle") {
      phases.push_back(
          {i == 0 ? "middle half" : "moved down", keys / 4 - step * (keys / 64), keys / 2, false});
    } else if (load == "shift") {
      phases.push_back({i == 0 ? "lower half" : "moved up", step * (keys / 64), keys / 2, false});
    } else if (load == "zipf") {
      phases.push_back({"zipf", load::Mix(step + 1) % keys, keys, true});
    } else if (load == "narrow") {
      phases.push_back({"100 keys", load::Mix(step + 1) % (keys - 100), 100, false});
    } else if (load == "even") {
      phases.push_back(all);
    } else {
      return {};
    }
  }
  return phases;
}

class KeyStream {
 public:
  // `zipf`: over as many numbers as there are keys, for phases that need it.
  KeyStream(const LoadedKeys& keys, const load::Zipf& zipf, uint64_t seed)
      : keys_(keys), zipf_(zipf), random_(seed) {}

  uint64_t Next(const LoadPhase& phase) {
    const uint64_t offset = phase.zipf ? zipf_.Rank(random_.Next()) : random_.Below(phase.width);
    return keys_.Key((phase.first + offset) % keys_.count());
  }

 private:
  const LoadedKeys& keys_;
  const load::Zipf zipf_;
  load::Random random_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_BALANCER_MOVING_LOAD_H_
