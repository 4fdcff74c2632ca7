#include "server/admin/config_answers.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "server/log/log.h"
#include "server/state/memory_limits.h"

namespace eris::server {
namespace {

constexpr char kSet[] = "config set";
constexpr char kDerived[] = "derived";

// Options as they are now. The engine knows its own: another call may have changed the balancer's,
// and some that are 0 have been derived from the machine.
ServerConfig ConfigNow(ServerState& server) {
  ServerConfig config = server.live.config();
  const BalancerOptions balancer = server.engine->Balancer().options;
  const EngineStats stats = server.engine->Stats();
  const MemoryPlan plan = server.engine->Memory({.parts = false}).plan;
  ServerConfig now = config;
  now.engine.balancer = balancer;
  if (now.engine.aeu_count == 0) now.engine.aeu_count = static_cast<uint32_t>(stats.aeus.size());
  if (now.engine.memory_limit_bytes == 0) now.engine.memory_limit_bytes = stats.memory_limit_bytes;
  if (now.engine.process_memory_bytes == 0) now.engine.process_memory_bytes = plan.process_bytes;
  const ServerConfig defaults;
  for (const ConfigOption& option : ConfigOptions()) {
    const std::string value = ValueText(option, now);
    const bool without_origin =
        now.origins.count(option.name()) == 0 && value != ValueText(option, defaults);
    if (!without_origin && value == ValueText(option, config)) continue;
    now.origins[option.name()] = option.section == "balancer" ? kSet : kDerived;
  }
  return now;
}

void Fill(const ConfigOption& option, const ServerConfig& config, v1::ConfigOption* message) {
  message->set_name(option.name());
  message->set_value(ValueText(option, config));
  message->set_origin(OriginOf(option, config));
  message->set_live(option.live);
}

// The names to change, each once.
absl::StatusOr<std::vector<std::string>> NamesOf(const v1::UpdateConfigRequest& request) {
  std::vector<std::string> names(request.update_mask().paths().begin(),
                                 request.update_mask().paths().end());
  const bool masked = !names.empty();
  for (const auto& [name, value] : request.values()) {
    const bool there = std::find(names.begin(), names.end(), name) != names.end();
    if (masked && !there) {
      return absl::InvalidArgumentError(
          absl::StrCat("values has '", name, "', which update_mask does not name"));
    }
    if (!there) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty()) return absl::InvalidArgumentError("no option is named: nothing would change");
  return names;
}

absl::StatusOr<const ConfigOption*> LiveOption(const std::string& name) {
  ERIS_ASSIGN_OR_RETURN(const ConfigOption* option, FindOption(name));
  if (option->live) return option;
  return absl::FailedPreconditionError(
      absl::StrCat(option->name(), " needs a restart; set it in the configuration file, as ",
                   option->variable, " or as ", option->flag));
}

// The option's value in `config`, changed as the request says.
absl::Status Change(const v1::UpdateConfigRequest& request, const std::string& name,
                    const ConfigOption& option, ServerConfig* config) {
  const auto value = request.values().find(name);
  if (value != request.values().end()) return SetOption(option, value->second, kSet, config);
  // The table writes a default as in the file. SetOption reads it as on a command line: without
  // quotes.
  std::string standard = option.standard;
  standard.erase(std::remove(standard.begin(), standard.end(), '"'), standard.end());
  return SetOption(option, standard, kSet, config);
}

absl::Status Apply(ServerState& server, const ServerConfig& config) {
  Engine& engine = *server.engine;
  // First what can fail.
  ERIS_RETURN_IF_ERROR(engine.SetBalancer(config.engine.balancer));
  ERIS_RETURN_IF_ERROR(engine.SetTaskScheduling(config.engine.task_scheduling));
  server.calls.queue().SetLimit(std::chrono::milliseconds(config.call_ms_max));
  server.stalls.queue().SetLimit(std::chrono::milliseconds(config.stall_ms_max));
  for (QueueGate* const gate : {&server.lookups_queued, &server.writes_queued}) {
    gate->SetWaitMax(std::chrono::milliseconds(config.queue_ms_max));
  }
  server.watch.slow.SetLimit(config.slow_call_ms);
  SetLogLevel(config.log_level);
  server.live.Set(config);
  return absl::OkStatus();
}

}  // namespace

absl::Status AnswerConfig(ServerState& server, const v1::GetConfigRequest&,
                          v1::GetConfigResponse* response) {
  const ServerConfig config = ConfigNow(server);
  for (const ConfigOption& option : ConfigOptions()) {
    Fill(option, config, response->add_options());
  }
  return absl::OkStatus();
}

absl::Status DoUpdateConfig(const ControlScope& scope, const v1::UpdateConfigRequest& request,
                            v1::UpdateConfigResponse* response) {
  ServerState& server = scope.server;
  ERIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesOf(request));
  scope.permit.SetAudited(absl::StrJoin(names, " "));
  ServerConfig config = server.live.config();
  config.engine.balancer = server.engine->Balancer().options;
  std::vector<const ConfigOption*> options;
  for (const std::string& name : names) {
    ERIS_ASSIGN_OR_RETURN(const ConfigOption* option, LiveOption(name));
    // With and without its section: one of the two values would be lost.
    if (std::find(options.begin(), options.end(), option) != options.end()) {
      return absl::InvalidArgumentError(absl::StrCat("'", option->name(), "' is named twice"));
    }
    ERIS_RETURN_IF_ERROR(Change(request, name, *option, &config));
    options.push_back(option);
  }
  ERIS_RETURN_IF_ERROR(ValidateConfig(config));
  config = WithShares(std::move(config), MemoryPlan{});  // one stream's part, as at the start
  ERIS_RETURN_IF_ERROR(Apply(server, config));
  const ServerConfig now = ConfigNow(server);
  for (const ConfigOption* option : options) {
    Fill(*option, now, response->add_options());
    Log(LogLevel::kInfo, "an option was changed",
        {{"option", option->name()}, {"value", ValueText(*option, now)}});
  }
  return absl::OkStatus();
}

}  // namespace eris::server
