// Queries that arrive at random at one process, at most ten of them under way at once: what they
// wait, how long they take, and how much memory the process has meanwhile and some seconds later.
// W1, W2 and W3 in equal parts, a thread each, over tables that all share.
// Paper: On the impact of memory allocation on high-performance query processing, 4 and 5.
#ifndef ERIS_BENCH_STUDY_BLIND_ARRIVALS_H_
#define ERIS_BENCH_STUDY_BLIND_ARRIVALS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "bench/study/blind/queries.h"

namespace eris::bench::study {

struct ArrivalOptions {
  uint32_t queries = 0;
  double rate = 0;    // queries a second, exponential gaps; 0: all arrive at once
  double idle_s = 5;  // after the last answer
  uint64_t seed = 1;
  static constexpr size_t kAtOnceMax = 10;
};

// latency_s and wait_s of each query in the order of their arrival, which includes their waiting;
// memory: [seconds, resident bytes] every 50 ms; resident bytes before, at most, on average, after
// the last answer and after idle_s more; the sum of all answers.
nlohmann::json RunArrivals(const Tables& groups, const Tables& join, const ArrivalOptions& options);

}  // namespace eris::bench::study

#endif  // ERIS_BENCH_STUDY_BLIND_ARRIVALS_H_
