// What has become of the rows of a DoPut: running totals, which its results tell. Any thread, no
// state.
#ifndef ERIS_SERVER_FLIGHT_PUT_TOTALS_H_
#define ERIS_SERVER_FLIGHT_PUT_TOTALS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "eris/batch.h"

namespace eris::server {

struct PutTotals {
  uint64_t batches = 0;  // that have been answered by the engine
  uint64_t written = 0;  // rows
  uint64_t refused = 0;  // rows that changed nothing
  uint64_t unknown = 0;  // rows of calls that were given up

  void Add(const PutTotals& more) {
    batches += more.batches;
    written += more.written;
    refused += more.refused;
    unknown += more.unknown;
  }
  friend bool operator==(const PutTotals&, const PutTotals&) = default;
};

// What the result of a write of `rows` rows counts as.
PutTotals PutTotalsOf(const BatchResult& result, uint64_t rows);
// {"batches": 2, "written": 70000, "refused": 0, "unknown": 0}
std::string PutTotalsJson(const PutTotals& totals);
// An error of the call, with the totals.
absl::Status WithTotals(const absl::Status& status, const PutTotals& totals);

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_PUT_TOTALS_H_
