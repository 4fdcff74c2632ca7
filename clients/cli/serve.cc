// eris serve: defaults, then the configuration file, then the flags; then server/serve.h takes
// over.
#include "server/serve.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "clients/cli/balancer_flags.h"
#include "clients/cli/cli.h"
#include "clients/cli/engine_flags.h"
#include "clients/cli/exit_code.h"
#include "server/config.h"

namespace eris::cli {
namespace {

struct ServeFlags {
  std::string config_file;
  bool print_config = false;
  std::optional<std::string> listen;
  std::optional<std::string> port_file;
  std::optional<uint32_t> drain_timeout_ms;
  std::optional<uint32_t> sample_interval_ms;
  EngineFlags engine;
  BalancerFlags balancer;
};

int RunServe(const ServeFlags& flags) {
  if (flags.print_config) {
    std::fputs(server::DefaultConfigText().c_str(), stdout);
    return kExitOk;
  }
  server::ServerConfig config;
  if (!flags.config_file.empty()) {
    const absl::Status status = server::ApplyConfigFile(flags.config_file, &config);
    if (!status.ok()) {
      Report(status);
      return kExitInvalid;  // a file that is missing is wrong input, too
    }
  }
  if (flags.listen) config.listen = *flags.listen;
  if (flags.port_file) config.port_file = *flags.port_file;
  if (flags.drain_timeout_ms) config.drain_timeout_ms = *flags.drain_timeout_ms;
  if (flags.sample_interval_ms) config.sample_interval_ms = *flags.sample_interval_ms;
  const absl::StatusOr<client::BalancerChange> balancer = flags.balancer.Change();
  if (!balancer.ok()) return Report(balancer.status());
  Apply(*balancer, config.engine.balancer);
  absl::Status status = flags.engine.Apply(config.engine);
  if (status.ok()) status = server::ValidateConfig(config);
  if (!status.ok()) return Report(status);
  return server::Serve(config) == 0 ? kExitOk : kExitRefused;
}

}  // namespace

void AddServe(CLI::App& app, Cli& cli) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* verb = app.add_subcommand("serve", "Run a server until SIGTERM or SIGINT");
  verb->add_option("--config", flags->config_file, "TOML file; flags override it");
  verb->add_flag("--print-config", flags->print_config, "Print a file to start from, and exit");
  verb->add_option("--listen", flags->listen,
                   "host:port or unix:/path; port 0 takes a free one; default 127.0.0.1:7411");
  verb->add_option("--port-file", flags->port_file, "Write the port to this file when serving");
  verb->add_option("--drain-timeout-ms", flags->drain_timeout_ms,
                   "How long calls under way may go on after SIGTERM");
  verb->add_option("--sample-interval-ms", flags->sample_interval_ms,
                   "Write the load to stderr this often; 0: never");
  flags->engine.AddTo(*verb);
  flags->balancer.AddTo(*verb, "balancer-", "Load balancer");
  verb->footer(
      "SIGTERM drains: new calls get UNAVAILABLE, calls under way are answered; exit code 0.\n"
      "Data lives in memory only and ends with the server.\n"
      "\n"
      "Examples:\n"
      "  eris serve\n"
      "  eris serve --listen 127.0.0.1:0 --port-file /tmp/eris.port --memory-limit 4GiB\n"
      "  eris serve --config eris.toml --aeus 6 --network-cores 2 --placement sparse\n"
      "  eris serve --topology 'numa:4 core:2 pu:1'\n");
  verb->callback([flags, &cli] { cli.run = [flags] { return RunServe(*flags); }; });
}

}  // namespace eris::cli
