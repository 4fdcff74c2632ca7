// One thread of load of eris_bench, on a connection of its own: sends, verifies every answer, and
// keeps count. Run blocks in the calling thread; the result is read after it.
#ifndef ERIS_BENCH_LOAD_THREAD_H_
#define ERIS_BENCH_LOAD_THREAD_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bench/key_set.h"
#include "bench/latency_histogram.h"
#include "clients/eris_client.h"

namespace eris::bench {

enum class Mode { kLoad, kLookup, kUpsert, kScan, kMixed };

struct LoadPlan {
  std::string object;
  Mode mode = Mode::kLookup;
  uint32_t threads = 1;
  uint64_t requests = 0;  // over all threads; 0: until `deadline`
  absl::Time deadline = absl::InfiniteFuture();
  uint32_t batch = 4096;
  uint32_t in_flight = 8;
  std::optional<ZipfConstants> zipf;  // of the key set's size; without it keys are uniform
  uint32_t missing_percent = 0;       // of looked-up keys, not in the set
  uint32_t upsert_percent = 10;       // of requests, in mode mixed
  bool unary = false;         // modes lookup and upsert: a call for each batch, one at a time
  uint64_t scan_rows = 1000;  // of one scan; 0: every row
  uint64_t seed = 1;
  bool until_unavailable = false;  // the server's UNAVAILABLE ends the load and is no error
};

struct LoadResult {
  LatencyHistogram latency;
  uint64_t sent = 0;      // requests
  uint64_t answered = 0;  // requests with OK
  uint64_t keys = 0;      // keys or rows in them
  uint64_t refused = 0;   // requests that got UNAVAILABLE
  uint64_t cut_off = 0;   // of these: by the end of the connection, not by the server's answer
  absl::Time cut_off_begun = absl::InfiniteFuture();  // when the first of these was sent
  uint64_t cut_off_rows = 0;                          // rows that had come for them
  uint64_t wrong = 0;   // wrong, missing or surplus keys and values, in answers with OK
  uint64_t failed = 0;  // requests with another status
  std::string first_error;

  void Merge(const LoadResult& other);
};

// Runs thread `index` of the plan. `stop` (set by any thread, relaxed: it only ends loops) ends it
// early.
LoadResult RunLoadThread(client::Client& client, const LoadPlan& plan, const KeySet& key_set,
                         uint32_t index, std::atomic<bool>& stop);

}  // namespace eris::bench

#endif  // ERIS_BENCH_LOAD_THREAD_H_
