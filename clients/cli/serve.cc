// eris serve: defaults, then the configuration file, the environment and the flags; server/serve.h
// does the rest.
#include "server/serve.h"

#include <cstdio>
#include <memory>
#include <string>

#include "clients/cli/settings/config_source.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/option_flags.h"
#include "clients/cli/version.h"
#include "server/state/config.h"
#include "text/errors_table.h"

namespace eris::cli {
namespace {

struct ServeFlags {
  std::string config_file;
  bool print_config = false;
  bool print_options = false;
  bool print_errors = false;
  OptionFlags options;
};

int ExitCodeOfServer(int code) {
  if (code == server::kServerInvalid) return kExitInvalid;
  return code == server::kServerDrained ? kExitOk : kExitRefused;
}

int RunServe(const ServeFlags& flags) {
  if (flags.print_options) {
    std::fputs(server::OptionsTable().c_str(), stdout);
    return kExitOk;
  }
  if (flags.print_errors) {
    std::fputs(text::ErrorsTable().c_str(), stdout);
    return kExitOk;
  }
  server::ServerConfig config;
  config.version = VersionText();
  const std::string file = ConfigFileOf(flags.config_file);
  const absl::Status status = ReadConfig(file, flags.options, config);
  if (!status.ok()) return Report(status);
  if (flags.print_config) {
    std::fputs(server::ConfigText(config).c_str(), stdout);
    return kExitOk;
  }
  config.file = file;
  return ExitCodeOfServer(server::Serve(config));
}

}  // namespace

void AddServe(Flags& program) {
  auto flags = std::make_shared<ServeFlags>();
  Flags& verb = program.AddVerb("serve", "Run a server until SIGTERM or SIGINT");
  verb.Add("--config", flags->config_file,
           "TOML file; environment variables override it, and flags those. Default: "
           "/etc/eris/eris.toml if it exists; none: no file")
      .Type("FILE");
  verb.Add("--print-config", flags->print_config,
           "Print what is in force as a file to start from, and exit");
  verb.Add("--print-options", flags->print_options,
           "Print a table of all options with their environment variables, and exit");
  verb.Add("--print-errors", flags->print_errors,
           "Print a table of all reasons for which calls are refused, and exit");
  flags->options.AddAllTo(verb);
  verb.SetFooter(
      "SIGTERM drains: new calls get UNAVAILABLE, calls under way are answered; exit code 0.\n"
      "Data lives in memory only and ends with the server.\n"
      "Every option has a key in the file, a flag and an environment variable: "
      "memory_limit_bytes,\n"
      "--memory-limit-bytes, ERIS_MEMORY_LIMIT_BYTES; a variable that begins with ERIS_ and is "
      "none "
      "is\n"
      "refused. BYTES are numbers, or as 64KiB, 512MiB, "
      "4GiB.\n"
      "\n"
      "Examples:\n"
      "  eris serve\n"
      "  eris serve --listen 127.0.0.1:0 --port-file /tmp/eris.port --memory-limit 4GiB\n"
      "  eris serve --config eris.toml --aeus 6 --network-cores 2 --placement sparse\n"
      "  eris serve --topology 'numa:4 core:2 pu:1'\n");
  verb.SetRun([flags] { return RunServe(*flags); });
}

}  // namespace eris::cli
