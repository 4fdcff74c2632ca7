#include "server/http/metrics_answer.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/log/log.h"
#include "server/metrics/refusals.h"
#include "server/metrics/scrape.h"

namespace eris::server {
namespace {

constexpr absl::string_view kMetrics = "/metrics";
constexpr absl::string_view kAlive = "/healthz";
constexpr absl::string_view kReady = "/readyz";

std::vector<AdmissionFigures> AdmissionsOf(const ServerState& server) {
  std::vector<AdmissionFigures> all;
  const auto add = [&all](const char* kind, const QueueGate& gate) {
    if (gate.refuses()) all.push_back({kind, gate.inside(), gate.limit()});
  };
  add("lookups", server.lookups_queued);
  add("writes", server.writes_queued);
  return all;
}

std::vector<ReloadFigures> ReloadsOf(const Access& access) {
  const WatchedFiles& tokens = access.tokens_file();
  const WatchedFiles& tls = access.tls_files();
  return {{"tokens", tokens.reloads(), tokens.refusals()}, {"tls", tls.reloads(), tls.refusals()}};
}

Figures FiguresOf(ServerState& server) {
  std::optional<ConnectionFigures> connections;
  if (server.connections) connections = server.connections();
  const std::chrono::duration<double> up = std::chrono::steady_clock::now() - server.started;
  return {.version = server.config.version,
          .uptime_s = up.count(),
          .ready = !server.gate.closed(),
          .calls = server.watch.metrics.Read(),
          .refusals = Refusals::OfProcess().Read(),
          .slow_calls = server.watch.slow.seen(),
          .log_lines = LogLines(),
          .in_flight_bytes = server.budget.used(),
          .in_flight_bytes_max = server.budget.bytes_max(),
          .admissions = AdmissionsOf(server),
          .connections = std::move(connections),
          .reloads = ReloadsOf(server.access),
          .process = ReadProcess(),
          .engine = server.engine->Stats(),
          .memory = server.engine->Memory({.parts = false}),
          .balancer = server.engine->Balancer()};
}

absl::StatusOr<ProgramAnswer> AnswerMetrics(ServerState& server, const PageTarget& target) {
  ScrapeOptions options;
  for (const auto& [name, value] : target.values) {
    if (name != "aeus" || (value != "0" && value != "1")) {
      return absl::InvalidArgumentError(
          absl::StrCat(kMetrics, " has one parameter, aeus, which is 0 or 1"));
    }
    options.aeus = value == "1";
  }
  return ProgramAnswer{kScrapeType, ScrapeText(FiguresOf(server), options)};
}

}  // namespace

bool IsForPrograms(absl::string_view path) {
  return path == kMetrics || path == kAlive || path == kReady;
}

bool IsForAnyHost(absl::string_view path, bool over_loopback) {
  return path == kAlive || path == kReady || (path == kMetrics && !over_loopback);
}

absl::StatusOr<ProgramAnswer> AnswerProgram(ServerState& server, const PageTarget& target) {
  if (target.path == kMetrics) return AnswerMetrics(server, target);
  if (!target.values.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(target.path, " has no parameters"));
  }
  if (target.path == kReady && server.gate.closed()) {
    return absl::UnavailableError("draining: the server takes no more calls");
  }
  return ProgramAnswer{"text/plain; charset=utf-8", target.path == kReady ? "ready\n" : "alive\n"};
}

}  // namespace eris::server
