// What an index join costs, beside the look-ups that a client would send for it.
//
//   index_join [rows of each object, default 1 M] [AEUs, default 2] [rounds, default 5]
//
// The values of the outer rows are the keys of the inner ones in random order. "join" reads every
// chunk; "client" scans the outer object and looks each chunk's values up through the session.
// Prints one JSON object: medians in M rows/s, and how far the rounds lie apart.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "eris/engine.h"

namespace {

double NowSeconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Rates {
  std::vector<double> millions;
  double Median() {
    std::sort(millions.begin(), millions.end());
    return millions[millions.size() / 2];
  }
  double SpreadPercent() {
    const double median = Median();
    return 100 * (millions.back() - millions.front()) / median;
  }
};

[[noreturn]] void Fail(const absl::Status& status) {
  std::fprintf(stderr, "index_join: %s\n", std::string(status.message()).c_str());
  std::exit(1);
}

uint64_t RunJoin(eris::Session& session) {
  auto join = session.OpenJoin("outer", "inner", {});
  if (!join.ok()) Fail(join.status());
  uint64_t rows = 0;
  for (;;) {
    auto chunk = (*join)->Next();
    if (!chunk.ok()) Fail(chunk.status());
    if (!*chunk) return rows;
    rows += (*chunk)->outer_keys().size();
  }
}

uint64_t RunClient(eris::Session& session) {
  auto scan = session.OpenScan("outer", {});
  if (!scan.ok()) Fail(scan.status());
  std::vector<uint64_t> values;
  std::vector<uint8_t> found;
  uint64_t rows = 0;
  for (;;) {
    auto chunk = (*scan)->Next();
    if (!chunk.ok()) Fail(chunk.status());
    if (!*chunk) return rows;
    values.resize((*chunk)->values().size());
    found.resize(values.size());
    const absl::Status status =
        session.Lookup("inner", (*chunk)->values(), absl::MakeSpan(values), absl::MakeSpan(found));
    if (!status.ok()) Fail(status);
    rows += static_cast<uint64_t>(std::count(found.begin(), found.end(), 1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1'000'000;
  eris::Options options;
  options.aeu_count = argc > 2 ? static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 0)) : 2;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  auto engine = eris::Engine::Open(options);
  if (!engine.ok()) Fail(engine.status());
  auto session = (*engine)->NewSession();
  std::vector<uint64_t> keys(rows), values(rows);
  std::iota(keys.begin(), keys.end(), 0);
  values = keys;
  std::mt19937_64 random(1);
  std::shuffle(values.begin(), values.end(), random);
  for (const char* object : {"outer", "inner"}) {
    const auto created = (*engine)->Create(object, {.expected = {0, rows}});
    if (!created.ok()) Fail(created.status());
    for (uint64_t from = 0; from < rows; from += 100'000) {
      const size_t n = std::min<uint64_t>(100'000, rows - from);
      const absl::Status status = session->Upsert(object, absl::MakeConstSpan(&keys[from], n),
                                                  absl::MakeConstSpan(&values[from], n));
      if (!status.ok()) Fail(status);
    }
  }
  Rates join, client;
  for (int round = 0; round < rounds; ++round) {
    for (auto [rates, run] : {std::pair(&join, &RunJoin), std::pair(&client, &RunClient)}) {
      const double begin = NowSeconds();
      if (run(*session) != rows) Fail(absl::InternalError("rows are missing"));
      rates->millions.push_back(static_cast<double>(rows) / (NowSeconds() - begin) * 1e-6);
    }
  }
  std::printf(
      "{\"rows\": %llu, \"aeus\": %u, \"join_millions_per_s\": %.2f, "
      "\"join_spread_percent\": %.1f, \"client_millions_per_s\": %.2f, "
      "\"client_spread_percent\": %.1f}\n",
      static_cast<unsigned long long>(rows), options.aeu_count, join.Median(), join.SpreadPercent(),
      client.Median(), client.SpreadPercent());
  return 0;
}
