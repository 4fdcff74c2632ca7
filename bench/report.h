// Reports of benchmarks, as JSON. Any thread.
#ifndef ERIS_BENCH_REPORT_H_
#define ERIS_BENCH_REPORT_H_

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/routing/machine.h"

namespace eris::bench {

inline nlohmann::json Spread(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {{"median", MedianOf(values)}, {"min", *least}, {"max", *most}};
}

// The build, the machine and the time of a measurement.
inline nlohmann::json ReportOf(const char* build_type) {
  const char* const commit = std::getenv("ERIS_COMMIT");
  return {{"commit", commit == nullptr ? "unknown" : commit},
          {"build_type", build_type},
          {"cpu", CpuModel()}};
}

// Writes to a file; "-": to standard output.
inline void WriteReport(const std::string& path, const nlohmann::json& report) {
  std::FILE* const out = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  const bool written = out != nullptr && std::fputs((report.dump(1) + "\n").c_str(), out) >= 0;
  if (!written || std::fflush(out) != 0) Die("cannot write " + path);
  if (out != stdout) std::fclose(out);
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_REPORT_H_
