// The seed of a randomised test: ERIS_SEED from the environment, else a new one each run.
#ifndef ERIS_TESTS_SUPPORT_SEED_H_
#define ERIS_TESTS_SUPPORT_SEED_H_

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>

namespace eris::test {

inline std::optional<uint64_t> GivenSeed() {
  const char* text = std::getenv("ERIS_SEED");
  if (text == nullptr) return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

inline uint64_t Seed() {
  static const uint64_t seed = GivenSeed().value_or(std::random_device{}());
  return seed;
}

inline std::string SeedText(uint64_t seed) {
  return "run again with ERIS_SEED=" + std::to_string(seed);
}

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_SEED_H_
