#include "clients/load/workload.h"

#include <utility>

namespace eris::load {
namespace {

constexpr std::array<std::pair<const char*, Distribution>, 7> kDistributions = {{
    {"uniform", Distribution::kUniform},
    {"zipf", Distribution::kZipf},
    {"scrambled", Distribution::kScrambled},
    {"latest", Distribution::kLatest},
    {"hot", Distribution::kHot},
    {"shifting", Distribution::kShifting},
    {"sequential", Distribution::kSequential},
}};

constexpr uint64_t kYcsbScanRowsMax = 100;

}  // namespace

Operation Workload::Pick(uint64_t below_100) const {
  for (size_t i = 0; i + 1 < kOperations; ++i) {
    if (below_100 < percent[i]) return static_cast<Operation>(i);
    below_100 -= percent[i];
  }
  return static_cast<Operation>(kOperations - 1);
}

std::optional<Workload> FindWorkload(absl::string_view name) {
  Workload workload{.name = std::string(name)};
  const auto set = [&](std::array<uint32_t, kOperations> percent, Distribution distribution) {
    workload.percent = percent;
    workload.distribution = distribution;
    return workload;
  };
  if (name == "a") return set({50, 50, 0, 0, 0}, Distribution::kScrambled);
  if (name == "b") return set({95, 5, 0, 0, 0}, Distribution::kScrambled);
  if (name == "c") return set({100, 0, 0, 0, 0}, Distribution::kScrambled);
  if (name == "d") return set({95, 0, 5, 0, 0}, Distribution::kLatest);
  if (name == "e") {
    workload.scan_rows = kYcsbScanRowsMax;
    workload.scan_rows_vary = true;
    return set({0, 0, 5, 95, 0}, Distribution::kScrambled);
  }
  if (name == "f") return set({50, 0, 0, 0, 50}, Distribution::kScrambled);
  if (name == "lookup") return set({100, 0, 0, 0, 0}, Distribution::kUniform);
  if (name == "upsert") return set({0, 100, 0, 0, 0}, Distribution::kUniform);
  if (name == "scan") return set({0, 0, 0, 100, 0}, Distribution::kUniform);
  return std::nullopt;
}

std::vector<std::string> DistributionNames() {
  std::vector<std::string> names;
  for (const auto& [name, distribution] : kDistributions) names.emplace_back(name);
  return names;
}

std::optional<Distribution> FindDistribution(absl::string_view name) {
  for (const auto& [known, distribution] : kDistributions) {
    if (name == known) return distribution;
  }
  return std::nullopt;
}

const char* NameOf(Distribution distribution) {
  for (const auto& [name, known] : kDistributions) {
    if (distribution == known) return name;
  }
  return "unknown";
}

}  // namespace eris::load
