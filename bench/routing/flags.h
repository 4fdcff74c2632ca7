// Command lines of the routing benchmarks: --name value, lists with commas.
#ifndef ERIS_BENCH_ROUTING_FLAGS_H_
#define ERIS_BENCH_ROUTING_FLAGS_H_

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/routing/machine.h"

namespace eris::bench {

inline std::vector<std::string> Split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

inline uint32_t Number(const std::string& text, uint32_t min, uint32_t max) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < min || value > max) {
    Die(text + " is no number between " + std::to_string(min) + " and " + std::to_string(max));
  }
  return static_cast<uint32_t>(value);
}

inline std::vector<uint32_t> Numbers(const std::string& list, uint32_t min, uint32_t max) {
  std::vector<uint32_t> numbers;
  for (const std::string& part : Split(list)) numbers.push_back(Number(part, min, max));
  return numbers;
}

inline double Real(const std::string& text, double min, double max) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= min && value <= max)) {
    Die(text + " is no number between " + std::to_string(min) + " and " + std::to_string(max));
  }
  return value;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_FLAGS_H_
