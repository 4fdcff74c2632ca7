#include "routing/ranges/split_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace eris::routing {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kUntouched = 0x5a5a5a5a5a5a5a5a;

// Ranges that meet at the ends of the key space and hold few keys or none.
std::vector<uint64_t> Starts(std::mt19937_64& random, size_t ranges) {
  std::vector<uint64_t> starts{0};
  while (starts.size() < ranges) {
    const uint64_t pick = random() % 4;
    starts.push_back(pick == 0 ? 1 + random() % 50 : pick == 1 ? kMax - random() % 50 : random());
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  }
  return starts;
}

std::vector<uint64_t> Keys(std::mt19937_64& random, const std::vector<uint64_t>& starts, size_t n) {
  std::vector<uint64_t> keys(n);
  for (uint64_t& key : keys) {
    switch (random() % 4) {
      case 0:
        key = random();
        break;
      case 1:
        key = starts[random() % starts.size()] + random() % 3 - 1;
        break;  // around a start
      case 2:
        key = random() % 60;
        break;
      case 3:
        key = kMax - random() % 60;
        break;
    }
  }
  return keys;
}

TEST(SplitKernelsTest, AgreesWithOneKeyAtATime) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const auto starts = Starts(random, 1 + random() % 16);
    const auto keys = Keys(random, starts, random() % 70);
    std::vector<uint64_t> values(keys.size());
    for (uint64_t& value : values) value = random();
    std::vector<uint32_t> positions(keys.size());
    for (uint32_t& position : positions) position = static_cast<uint32_t>(random());
    const uint32_t first_position = static_cast<uint32_t>(random() % 1000);

    std::vector<uint32_t> counts(starts.size());
    std::vector<uint8_t> range_of(keys.size() + 7);
    CountByRange(keys, starts, range_of.data(), counts);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto after = std::upper_bound(starts.begin(), starts.end(), keys[i]);
      ASSERT_EQ(range_of[i], after - starts.begin() - 1);
    }
    std::vector<uint32_t> counts_alone(starts.size());
    CountByRange(keys, starts, nullptr, counts_alone);
    ASSERT_EQ(counts_alone, counts);
    for (size_t range = 0; range < starts.size(); ++range) {
      const uint64_t last = range + 1 < starts.size() ? starts[range + 1] - 1 : kMax;
      ASSERT_EQ(AllInside(keys, starts[range], last), counts[range] == keys.size());
      std::vector<uint64_t> expected_keys, expected_values;
      std::vector<uint32_t> expected_positions, expected_numbers;
      for (uint32_t i = 0; i < keys.size(); ++i) {
        if (keys[i] < starts[range] || keys[i] > last) continue;
        expected_keys.push_back(keys[i]);
        expected_values.push_back(values[i]);
        expected_positions.push_back(positions[i]);
        expected_numbers.push_back(first_position + i);
      }
      ASSERT_EQ(counts[range], expected_keys.size());
      for (const bool with_values : {false, true}) {
        for (const bool with_positions : {false, true}) {
          // What stands behind the columns is somebody else's.
          const size_t n = expected_keys.size();
          std::vector<uint64_t> keys_out(n + 16, kUntouched), values_out(n + 16, kUntouched);
          std::vector<uint32_t> positions_out(n + 16, 0x5a5a5a5a);
          GatherRange({.keys = keys.data(),
                       .values = with_values ? values.data() : nullptr,
                       .positions = with_positions ? positions.data() : nullptr,
                       .first_position = first_position,
                       .count = keys.size()},
                      starts[range], last,
                      {keys_out.data(), values_out.data(), positions_out.data(), n});
          for (size_t i = 0; i < 16; ++i) {
            ASSERT_EQ(keys_out[n + i], kUntouched);
            ASSERT_EQ(values_out[n + i], kUntouched);
            ASSERT_EQ(positions_out[n + i], 0x5a5a5a5au);
          }
          keys_out.resize(n), values_out.resize(n), positions_out.resize(n);
          ASSERT_EQ(keys_out, expected_keys);
          if (with_values) {
            ASSERT_EQ(values_out, expected_values);
          }
          ASSERT_EQ(positions_out, with_positions ? expected_positions : expected_numbers);

          // Scattered, with every other range in somebody else's columns.
          std::vector<uint64_t> keys_in(n), values_in(n), other_words(2 * keys.size());
          std::vector<uint32_t> positions_in(n), other_positions(keys.size());
          KeyColumnsOut own{keys_in.data(), values_in.data(), positions_in.data(), 0};
          KeyColumnsOut others{other_words.data(), other_words.data() + keys.size(),
                               other_positions.data(), 0};
          std::vector<KeyColumnsOut*> to(starts.size(), &others);
          to[range] = &own;
          ScatterByRange({.keys = keys.data(),
                          .values = with_values ? values.data() : nullptr,
                          .positions = with_positions ? positions.data() : nullptr,
                          .first_position = first_position,
                          .count = keys.size()},
                         range_of.data(), to.data());
          ASSERT_EQ(own.count, n);
          ASSERT_EQ(others.count, keys.size() - n);
          ASSERT_EQ(keys_in, expected_keys);
          if (with_values) {
            ASSERT_EQ(values_in, expected_values);
          }
          ASSERT_EQ(positions_in, positions_out);
        }
      }
    }
  }
}

}  // namespace
}  // namespace eris::routing
