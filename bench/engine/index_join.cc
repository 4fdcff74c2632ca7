// Measures the cost of an index join, compared with the lookups that a client would send instead.
//
//   index_join [rows of each object, default 1 M] [AEUs, default 2] [rounds, default 5]
//
// The values of the outer rows are the keys of the inner ones in random order. "join" reads every
// chunk; "client" scans the outer object and looks each chunk's values up through the session.
// Prints one JSON object: medians in M rows/s, and the spread of the rounds.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "bench/must.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "eris/engine.h"

namespace eris::bench {
namespace {

uint64_t RunJoin(Session& session, const Object& outer, const Object& inner) {
  const auto join = Must(session.OpenJoin(outer, inner, {}));
  uint64_t rows = 0;
  while (const auto chunk = Must(join->Next())) rows += chunk->rows();
  return rows;
}

uint64_t RunClient(Session& session, const Object& outer, const Object& inner) {
  const auto scan = Must(session.OpenScan(outer, {}));
  std::vector<uint64_t> values;
  std::vector<uint8_t> found;
  uint64_t rows = 0;
  while (const auto chunk = Must(scan->Next())) {
    values.resize(chunk->rows());
    found.resize(chunk->rows());
    Must(session.Lookup(inner, chunk->Uint64s(1), absl::MakeSpan(values), absl::MakeSpan(found)));
    rows += static_cast<uint64_t>(std::count(found.begin(), found.end(), 1));
  }
  return rows;
}

int Main(uint64_t rows, uint32_t aeus, uint32_t rounds) {
  Options options;
  options.aeu_count = aeus;
  const auto engine = Must(Engine::Open(options));
  const auto session = engine->NewSession();
  std::vector<uint64_t> keys(rows);
  std::iota(keys.begin(), keys.end(), 0);
  std::vector<uint64_t> values = keys;
  std::mt19937_64 random(1);
  std::shuffle(values.begin(), values.end(), random);
  std::vector<Object> objects;
  for (const char* name : {"outer", "inner"}) {
    Must(engine->Create(name, {.expected = {0, rows}}));
    objects.push_back(Must(session->Open(name)));
    for (uint64_t from = 0; from < rows; from += 100'000) {
      const size_t n = std::min<uint64_t>(100'000, rows - from);
      Must(session->Upsert(objects.back(), absl::MakeConstSpan(&keys[from], n),
                           absl::MakeConstSpan(&values[from], n)));
    }
  }
  std::vector<double> join, client;  // M rows/s
  for (uint32_t round = 0; round < rounds; ++round) {
    for (auto [rates, run] : {std::pair(&join, &RunJoin), std::pair(&client, &RunClient)}) {
      const uint64_t begin_ns = NowNs();
      if (run(*session, objects[0], objects[1]) != rows) Die("rows are missing");
      rates->push_back(static_cast<double>(rows) * 1e3 / static_cast<double>(NowNs() - begin_ns));
    }
  }
  const auto spread_percent = [](const std::vector<double>& rates) {
    const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
    return 100 * (*most - *least) / MedianOf(rates);
  };
  std::printf(
      "{\"rows\": %llu, \"aeus\": %u, \"join_millions_per_s\": %.2f, "
      "\"join_spread_percent\": %.1f, \"client_millions_per_s\": %.2f, "
      "\"client_spread_percent\": %.1f}\n",
      static_cast<unsigned long long>(rows), aeus, MedianOf(join), spread_percent(join),
      MedianOf(client), spread_percent(client));
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  using namespace eris::bench;
  const auto argument = [&](int i, uint32_t without) {
    return argc > i ? Number<uint32_t>(argv[i], 1, UINT32_MAX) : without;
  };
  return Main(argument(1, 1'000'000), argument(2, 2), argument(3, 5));
}
