// Single lookups in an index while something else may run in the engine. What fails ends the
// program.
#ifndef ERIS_BENCH_QUERIES_SINGLE_LOOKUPS_H_
#define ERIS_BENCH_QUERIES_SINGLE_LOOKUPS_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>

#include "eris/engine.h"

namespace eris::bench {

// For `ms` at least. `meanwhile`: a thread calls it again and again, with a session of its own, and
// once at least; empty: the lookups are alone. {"lookups", "p50_us", "p99_us", "p999_us", "loops":
// calls of `meanwhile`}.
nlohmann::json SingleLookups(Engine& engine, uint64_t ms,
                             const std::function<void(Session&)>& meanwhile);

}  // namespace eris::bench

#endif  // ERIS_BENCH_QUERIES_SINGLE_LOOKUPS_H_
