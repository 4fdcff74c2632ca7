// The kind of load: operations and their shares, and the choice of keys. Plain data; any thread.
#ifndef ERIS_CLIENTS_LOAD_WORKLOAD_H_
#define ERIS_CLIENTS_LOAD_WORKLOAD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace eris::load {

enum class Operation : uint8_t {
  kLookup,
  kUpsert,           // writes the existing value again
  kInsert,           // keys outside the set, in the order of their numbers
  kScan,             // ordered, from an existing key
  kReadModifyWrite,  // a lookup, then a write if the value has not changed since
};
inline constexpr size_t kOperations = 5;
inline constexpr std::array<const char*, kOperations> kOperationNames = {
    "lookup", "upsert", "insert", "scan", "read-modify-write"};

enum class Distribution : uint8_t {
  kUniform,
  kZipf,        // by Zipf's law, the lowest key most often
  kScrambled,   // by Zipf's law, the most frequent keys spread over the key space
  kLatest,      // by Zipf's law, the last inserted key most often
  kHot,         // hot_percent of the keys are in a range of hot_part of the key space
  kShifting,    // the same; the range moves on by its width every shift_s
  kSequential,  // ascending; each generator begins at its share and wraps around
};

struct Workload {
  std::string name;
  // Out of 100 requests; they add up to 100.
  std::array<uint32_t, kOperations> percent{};
  Distribution distribution = Distribution::kUniform;
  // Rows of a scan: this many, or uniformly 1 to this many; 0: every row.
  uint64_t scan_rows = 1000;
  bool scan_rows_vary = false;

  uint32_t PercentOf(Operation operation) const { return percent[static_cast<size_t>(operation)]; }
  // The operation of a request, for a number below 100.
  Operation Pick(uint64_t below_100) const;
};

// "a" to "f" (after YCSB's core workloads), "lookup", "upsert", "scan"; nullopt for other names.
std::optional<Workload> FindWorkload(absl::string_view name);

std::vector<std::string> DistributionNames();
std::optional<Distribution> FindDistribution(absl::string_view name);
const char* NameOf(Distribution distribution);

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_WORKLOAD_H_
