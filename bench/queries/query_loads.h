// What runs at the same time as queries: ranges that move, single lookups, clients; and what is
// watched: memory, and queries that are cancelled. Over a TpchEngine, which is loaded and outlives
// them. A query that fails ends the program.
#ifndef ERIS_BENCH_QUERIES_QUERY_LOADS_H_
#define ERIS_BENCH_QUERIES_QUERY_LOADS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <utility>

#include "bench/queries/tpch_engine.h"
#include "eris/engine.h"

namespace eris::bench {

// While it exists, a thread moves the bounds between AEUs in random tables, one after the other: by
// a quarter of a partition at most.
class RangeMover {
 public:
  // REQUIRES: at least two AEUs.
  RangeMover(TpchEngine& tpch, uint32_t aeus);
  ~RangeMover();
  RangeMover(const RangeMover&) = delete;
  RangeMover& operator=(const RangeMover&) = delete;

  // Ends it. {"moves", "rows_moved"}.
  nlohmann::json Stop();

 private:
  void Move(uint32_t aeus);
  std::pair<KeyRange, AeuId> NextMove(const CutTable& table, uint32_t aeus,
                                      std::mt19937_64& random);

  TpchEngine& tpch_;
  const uint64_t rows_before_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> moves_{0};
  std::thread thread_;
};

// Single lookups in an index, for `ms` at least: alone, or while a thread runs the 22 queries again
// and again, all of them at least once. {"lookups", "p50_us", "p99_us", "p999_us", "queries"}.
nlohmann::json Lookups(TpchEngine& tpch, uint64_t ms, bool with_queries);

// `clients` threads at once; each runs the 22 queries `rounds` times, in an order of its own.
// Those that the engine has no memory for are refused, and are not among the queries: `why` is of
// the last one. {"seconds", "queries", "queries_s", "refused", "why"}.
nlohmann::json Clients(TpchEngine& tpch, uint32_t clients, uint32_t rounds);

// The 22 queries, then again and again for `seconds`; the process's resident bytes after each time.
// {"rounds", "first_bytes", "last_bytes", "least_bytes", "most_bytes"}.
nlohmann::json ResidentLoop(TpchEngine& tpch, double seconds);

// Cancels `count` queries at random moments of their runs. The time from Cancel until the reader
// has returned, the query is destroyed, and the engine has no open scan, no chunk of one and no
// request. {"cancelled", "ended_before", "p50_ms", "p99_ms", "max_ms", "slowest",
// "longest_ms": by query}.
nlohmann::json CancelQueries(TpchEngine& tpch, uint32_t count, uint64_t seed);

}  // namespace eris::bench

#endif  // ERIS_BENCH_QUERIES_QUERY_LOADS_H_
