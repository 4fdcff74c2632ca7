// Everything that one scrape shows, read at about the same moment.
#ifndef ERIS_SERVER_METRICS_FIGURES_H_
#define ERIS_SERVER_METRICS_FIGURES_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eris/balancer.h"
#include "eris/stats.h"
#include "server/metrics/call_metrics.h"
#include "server/metrics/process_figures.h"

namespace eris::server {

// The server's connections, if it counts them.
struct ConnectionFigures {
  uint64_t open = 0;
  uint64_t open_max = 0;  // the limit
  uint64_t accepted = 0;
  std::vector<std::pair<std::string, uint64_t>> closed{};  // by the server's causes; a fixed list
};

struct Figures {
  std::string version{};
  double uptime_s = 0;
  bool ready = false;  // it takes calls
  std::vector<CallCounts> calls{};
  std::map<std::string, uint64_t> refusals{};
  uint64_t slow_calls = 0;
  std::array<uint64_t, 3> log_lines{};
  uint64_t in_flight_bytes = 0;
  uint64_t in_flight_bytes_max = 0;
  std::optional<ConnectionFigures> connections{};
  ProcessFigures process{};
  EngineStats engine{};
  MemoryStats memory{};
  BalancerStatus balancer{};
};

}  // namespace eris::server

#endif  // ERIS_SERVER_METRICS_FIGURES_H_
