// What the storage tests share: memory for a tree, seeds, and key distributions that are hard on a
// prefix tree.
#ifndef ERIS_TESTS_UNIT_STORAGE_STORAGE_FIXTURE_H_
#define ERIS_TESTS_UNIT_STORAGE_STORAGE_FIXTURE_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "memory/local_cache.h"
#include "memory/memory_manager.h"
#include "memory/numa_node_pool.h"
#include "memory/system/memory_budget.h"
#include "storage/tree/prefix_tree.h"
#include "storage/tree/tree_scanner.h"
#include "tests/support/seed.h"
#include "topology/topology.h"

namespace eris::storage {

inline constexpr uint64_t kKeyMax = std::numeric_limits<uint64_t>::max();

// A cache with all that stands behind it.
struct TreeMemory {
  explicit TreeMemory(uint64_t limit_bytes = uint64_t{1} << 30)
      : budget(limit_bytes),
        pool(topology::NumaNode{}, /*bind=*/false, budget),
        manager(ObjectId{1}, pool),
        cache(*manager.NewCache()) {}

  memory::MemoryBudget budget;
  memory::NumaNodePool pool;
  memory::MemoryManager manager;
  memory::LocalCache& cache;
};

using test::Seed;
inline std::string SeedText() { return test::SeedText(Seed()); }

using Random = std::mt19937_64;
using Model = std::map<uint64_t, uint64_t>;
using Rows = std::vector<std::pair<uint64_t, uint64_t>>;

enum class Keys { kDense, kSparse, kClustered, kOneByte, kZerosAndOnes, kExtremes, kMixed };

inline std::string KeysName(Keys keys) {
  switch (keys) {
    case Keys::kDense:
      return "Dense";
    case Keys::kSparse:
      return "Sparse";
    case Keys::kClustered:
      return "Clustered";
    case Keys::kOneByte:
      return "OneByte";
    case Keys::kZerosAndOnes:
      return "ZerosAndOnes";
    case Keys::kExtremes:
      return "Extremes";
    default:
      return "Mixed";
  }
}

// A pool of about `count` keys to draw from, so that keys come again. Not sorted, may repeat.
inline std::vector<uint64_t> KeyPool(Keys kind, size_t count, Random& random) {
  std::vector<uint64_t> keys;
  const auto add = [&](uint64_t key) { keys.push_back(key); };
  switch (kind) {
    case Keys::kDense: {
      const uint64_t base = random();
      for (size_t i = 0; i < count; ++i) add(base + i);  // may wrap: both ends are then in it
      break;
    }
    case Keys::kSparse:
      for (size_t i = 0; i < count; ++i) add(random());
      break;
    case Keys::kClustered: {  // long common prefixes: 2 to 7 bytes, and a few bytes below
      std::vector<uint64_t> prefixes;
      for (int i = 0; i < 24; ++i) {
        const unsigned shift = 8 * (1 + random() % 6);
        prefixes.push_back(random() << shift);
      }
      for (size_t i = 0; i < count; ++i) {
        const uint64_t prefix = prefixes[random() % prefixes.size()];
        const int free_bits = std::min(std::countr_zero(prefix | uint64_t{1} << 63), 20);
        add(prefix | (random() & ((uint64_t{1} << free_bits) - 1)));
      }
      break;
    }
    case Keys::kOneByte:
      while (keys.size() < count) {
        const uint64_t base = random();
        for (unsigned shift = 0; shift < 64; shift += 8) {
          for (uint64_t byte = 0; byte < 256; ++byte) add(base ^ (byte << shift));
        }
      }
      break;
    case Keys::kZerosAndOnes:
      for (unsigned bits = 0; bits < 256; ++bits) {
        uint64_t key = 0;
        for (unsigned i = 0; i < 8; ++i) key |= ((bits >> i) & 1) ? uint64_t{0xff} << (8 * i) : 0;
        add(key);
      }
      break;
    case Keys::kExtremes:
      for (uint64_t i = 0; i < 300; ++i) {
        add(i);
        add(kKeyMax - i);
      }
      for (unsigned bit = 0; bit < 64; ++bit) {
        add(uint64_t{1} << bit);
        add((uint64_t{1} << bit) - 1);
        add((uint64_t{1} << bit) + 1);
      }
      break;
    case Keys::kMixed:
      for (const Keys each : {Keys::kDense, Keys::kSparse, Keys::kClustered, Keys::kOneByte,
                              Keys::kZerosAndOnes, Keys::kExtremes}) {
        const std::vector<uint64_t> some = KeyPool(each, count / 6, random);
        keys.insert(keys.end(), some.begin(), some.end());
      }
      break;
  }
  return keys;
}

inline Rows RowsOf(const PrefixTree& tree) {
  std::vector<uint64_t> keys(tree.size() + 1);
  std::vector<uint64_t> values(tree.size() + 1);
  TreeScanner scanner(tree, 0);
  const uint32_t count =
      scanner.Read(kKeyMax, keys.data(), values.data(), static_cast<uint32_t>(keys.size()));
  Rows rows;
  for (uint32_t i = 0; i < count; ++i) rows.emplace_back(keys[i], values[i]);
  return rows;
}

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_STORAGE_STORAGE_FIXTURE_H_
