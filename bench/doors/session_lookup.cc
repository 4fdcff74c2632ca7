// Lookups of an engine in this process, without anything between: what eris.open() is compared
// with.
//
//   session_lookup KEYS BATCH SECONDS
//
// An index of KEYS u64 keys on one AEU; batches of BATCH of them, drawn once, the same again and
// again, as bench/doors/clients.py does. Prints {"keys_per_second": ...}.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "bench/must.h"
#include "eris/engine.h"

namespace eris::bench {
namespace {

using Clock = std::chrono::steady_clock;

void Run(uint64_t keys_all, size_t batch, double seconds) {
  const std::unique_ptr<Engine> engine = Must(Engine::Open({.aeu_count = 1}));
  Must(engine->Create("keys", {.expected = {0, keys_all}}));
  const std::unique_ptr<Session> session = engine->NewSession();
  const Object object = Must(session->Open("keys"));
  std::vector<uint64_t> keys(keys_all);
  std::iota(keys.begin(), keys.end(), 0);
  for (size_t from = 0; from < keys.size(); from += batch) {
    const auto part = absl::MakeConstSpan(keys).subspan(from, batch);
    Must(session->Upsert(object, part, part));
  }
  std::mt19937_64 random(1);
  std::shuffle(keys.begin(), keys.end(), random);
  keys.resize(batch);
  std::vector<uint64_t> values(batch);
  std::vector<uint8_t> found(batch);
  const auto lookup = [&] {
    Must(session->Lookup(object, keys, absl::MakeSpan(values), absl::MakeSpan(found)));
  };
  lookup();
  uint64_t done = 0;
  const Clock::time_point start = Clock::now();
  std::chrono::duration<double> passed{};
  while (passed.count() < seconds) {
    lookup();
    done += batch;
    passed = Clock::now() - start;
  }
  if (values != keys) Die("wrong values");
  std::printf("{\"keys_per_second\": %.0f}\n", static_cast<double>(done) / passed.count());
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: session_lookup KEYS BATCH SECONDS\n");
    return 2;
  }
  eris::bench::Run(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10),
                   std::strtod(argv[3], nullptr));
}
