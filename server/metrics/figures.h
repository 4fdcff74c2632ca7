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

// Lookups or writes that were admitted and have not ended.
struct AdmissionFigures {
  std::string kind;  // "lookups" or "writes"
  uint64_t under_way = 0;
  uint64_t under_way_max = 0;  // in force now: it follows the rate at which they end
};

// Files with tokens or certificates that have changed.
struct ReloadFigures {
  std::string files;  // "tokens" or "tls"
  uint64_t taken = 0;
  uint64_t refused = 0;  // something is wrong with them: the ones before stay in force
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
  std::vector<AdmissionFigures> admissions{};  // none: everything is admitted
  std::optional<ConnectionFigures> connections{};
  std::vector<ReloadFigures> reloads{};
  ProcessFigures process{};
  EngineStats engine{};
  MemoryStats memory{};
  BalancerStatus balancer{};
};

}  // namespace eris::server

#endif  // ERIS_SERVER_METRICS_FIGURES_H_
